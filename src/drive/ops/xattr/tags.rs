//! Tags as `user.xdg.tags`, which file managers show and edit. A change is sent as the difference.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::catalog::{
    FlightKey, keep_for_good, refresh_asset, refresh_rapid, send_with_deadline, subject_of,
    write_tags,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::{Node, refusals};
use crate::drive::tree::Tree;
use crate::drive::values::known::KnownTag;
use crate::wire::{AssetUpdate, ModelId, TagId};

/// Maximum length of a tag in characters.
const MAX_TAG_CHARS: usize = 255;

/// The model whose tags a node shows.
fn tagged(tree: &Tree, node: &Node) -> Option<ModelId> {
    subject_of(tree.catalog(), node.model_folder()?)
}

pub(super) fn tags_of(tree: &Tree, node: &Node) -> Option<Vec<KnownTag>> {
    let known = tree.catalog().known();
    match tagged(tree, node)? {
        ModelId::Asset(asset) => known.assets.row(asset.0).map(|row| row.tags.clone()),
        ModelId::Rapid(rapid) => known.rapids.row(rapid.0).map(|row| row.tags.clone()),
    }
}

/// Adds the new tags and removes the missing ones.
pub(super) async fn set_tags(tree: &Arc<Tree>, node: &Node, value: &[u8]) -> DriveResult<()> {
    let wanted = split_tags(value)?;
    let subject = tagged(tree, node).ok_or_else(refusals::unsupported_xattr)?;
    let before = fresh_tags(tree, subject).await?;
    let added: Vec<String> = wanted
        .iter()
        .filter(|tag| !before.iter().any(|known| known.name == **tag))
        .cloned()
        .collect();
    if !added.is_empty() {
        add_tags(tree, subject, added).await?;
    }
    let (catalog, client) = (tree.catalog(), tree.client());
    for tag in before.iter().filter(|known| !wanted.contains(&known.name)) {
        match subject {
            ModelId::Asset(it) => {
                send_with_deadline(catalog, client.assets().remove_tag(it, tag.id)).await?
            }
            ModelId::Rapid(it) => {
                send_with_deadline(catalog, client.rapids().remove_tag(it, tag.id)).await?
            }
        }
    }
    wrote_tags(tree, subject, &before, &wanted);
    // Reads the record again for the ids of the new tags. If that fails, the written names are used.
    if let Err(error) = fresh_tags(tree, subject).await {
        tracing::debug!(error = %error, "new tags are shown without their ids");
    }
    keep_for_good(tree.catalog()).await
}

/// From now on reads return the written tags, even if a request in flight still answers with older ones.
fn wrote_tags(tree: &Tree, subject: ModelId, before: &[KnownTag], wanted: &[String]) {
    let number = |name: &str| before.iter().find(|known| known.name == name);
    let tags = wanted.iter().map(|name| KnownTag {
        id: number(name).map_or(TagId(0), |known| known.id),
        name: name.clone(),
    });
    write_tags(tree.catalog(), subject, tags.collect());
    let mut known = tree.catalog().known();
    known.searches.clear();
    let key = match subject {
        ModelId::Asset(asset) => FlightKey::Asset(asset),
        ModelId::Rapid(rapid) => FlightKey::Rapid(rapid),
    };
    known.details.remove(&key);
}

async fn add_tags(tree: &Tree, subject: ModelId, tags: Vec<String>) -> DriveResult<()> {
    let (catalog, client) = (tree.catalog(), tree.client());
    match subject {
        ModelId::Asset(asset) => {
            let update = AssetUpdate {
                tags: Some(tags),
                ..AssetUpdate::default()
            };
            send_with_deadline(catalog, client.assets().update(asset, &update)).await
        }
        ModelId::Rapid(rapid) => {
            send_with_deadline(catalog, client.rapids().add_tags(rapid, &tags)).await
        }
    }
}

async fn fresh_tags(tree: &Arc<Tree>, subject: ModelId) -> DriveResult<Vec<KnownTag>> {
    Ok(match subject {
        ModelId::Asset(asset) => {
            refresh_asset(tree.catalog(), asset, Duration::ZERO)
                .await?
                .tags
        }
        ModelId::Rapid(rapid) => {
            refresh_rapid(tree.catalog(), rapid, Duration::ZERO)
                .await?
                .tags
        }
    })
}

/// Separated by commas; a comma in a tag is `%2C`.
pub(super) fn join_tags(tags: &[KnownTag]) -> String {
    tags.iter()
        .map(|tag| tag.name.replace(',', "%2C"))
        .collect::<Vec<_>>()
        .join(",")
}

fn split_tags(value: &[u8]) -> DriveResult<Vec<String>> {
    let text = std::str::from_utf8(value)
        .map_err(|_| DriveError::Invalid("tags are UTF-8 text".into()))?;
    let mut tags: Vec<String> = Vec::new();
    for tag in text
        .trim_end_matches('\0')
        .split(',')
        .map(str::trim)
        .filter(|tag| !tag.is_empty())
    {
        let tag = tag.replace("%2C", ",").replace("%2c", ",");
        if tag.chars().count() > MAX_TAG_CHARS {
            return Err(DriveError::Invalid(format!(
                "a tag has at most {MAX_TAG_CHARS} characters"
            )));
        }
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_tag_is_escaped_both_ways() {
        let tags = split_tags(b"chair, red%2C green,,chair\0").unwrap();
        assert_eq!(tags, ["chair", "red, green"]);
        let known: Vec<KnownTag> = tags
            .into_iter()
            .map(|name| KnownTag { id: TagId(1), name })
            .collect();
        assert_eq!(join_tags(&known), "chair,red%2C green");
    }

    #[test]
    fn a_tag_over_255_characters_is_refused() {
        assert!(split_tags("é".repeat(255).as_bytes()).is_ok());
        assert!(matches!(
            split_tags("é".repeat(256).as_bytes()),
            Err(DriveError::Invalid(_))
        ));
    }
}
