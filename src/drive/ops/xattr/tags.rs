//! Tags as `user.xdg.tags`, which file managers show and edit. A change is sent as the difference.

use std::sync::Arc;
use std::time::Duration;

use crate::client::MAX_PER_PAGE;
use crate::drive::catalog::{
    FlightKey, found, keep_for_good, refresh_asset, refresh_listing, refresh_rapid,
    send_with_deadline, subject_of, write_tags,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::ops::command::{TagChange, tag_of};
use crate::drive::places::{Node, refusals};
use crate::drive::tree::Tree;
use crate::drive::values::known::KnownTag;
use crate::drive::values::node::{Family, ListingKind};
use crate::wire::{AssetUpdate, ModelId, TagId};

/// The id of a tag that was added here, until the service lists it.
const UNKNOWN_ID: TagId = TagId(0);

/// The model whose tags a node shows.
fn tagged(tree: &Tree, node: &Node) -> Option<ModelId> {
    subject_of(tree.catalog(), node.model_folder()?)
}

pub(super) fn tags_of(tree: &Tree, node: &Node) -> Option<Vec<KnownTag>> {
    known_tags(tree, tagged(tree, node)?)
}

fn known_tags(tree: &Tree, subject: ModelId) -> Option<Vec<KnownTag>> {
    let known = tree.catalog().known();
    match subject {
        ModelId::Asset(asset) => known.assets.row(asset.0).map(|row| row.tags.clone()),
        ModelId::Rapid(rapid) => known.rapids.row(rapid.0).map(|row| row.tags.clone()),
    }
}

/// Adds the new tags and removes the missing ones.
pub(super) async fn set_tags(tree: &Arc<Tree>, node: &Node, value: &[u8]) -> DriveResult<()> {
    let wanted = split_tags(value)?;
    let subject = tagged(tree, node).ok_or_else(refusals::unsupported_xattr)?;
    let before = fresh_tags(tree, subject).await?;
    send_difference(tree, subject, &before, &wanted).await
}

/// Adds and removes tags; a model that has them so already costs no request but those of the list of models. A tag whose
/// id is not known, because it was added here, is looked up before it is removed: for many models by one search.
pub(in crate::drive::ops) async fn change_tags(
    tree: &Arc<Tree>,
    subject: ModelId,
    change: &TagChange,
) -> DriveResult<()> {
    let which = match subject {
        ModelId::Asset(_) => ListingKind::Assets,
        ModelId::Rapid(_) => ListingKind::Rapids,
    };
    refresh_listing(tree.catalog(), which).await?;
    let mut before = match known_tags(tree, subject) {
        Some(known) => known,
        None => fresh_tags(tree, subject).await?,
    };
    let is_removed = |tag: &KnownTag| change.removed.contains(&tag.name);
    let mut removed = before.iter().filter(|tag| is_removed(tag));
    if let Some(unknown) = removed.find(|tag| tag.id == UNKNOWN_ID) {
        before = tags_with_ids(tree, subject, &unknown.name.clone()).await?;
    }
    let kept = before.iter().filter(|tag| !is_removed(tag));
    let mut wanted: Vec<String> = kept.map(|tag| tag.name.clone()).collect();
    for tag in &change.added {
        if !wanted.contains(tag) {
            wanted.push(tag.clone());
        }
    }
    send_difference(tree, subject, &before, &wanted).await
}

/// Sends what makes one list of tags the other, and nothing if they are the same.
async fn send_difference(
    tree: &Arc<Tree>,
    subject: ModelId,
    before: &[KnownTag],
    wanted: &[String],
) -> DriveResult<()> {
    let is_there = |tag: &String| before.iter().any(|known| known.name == *tag);
    let added: Vec<String> = wanted
        .iter()
        .filter(|tag| !is_there(tag))
        .cloned()
        .collect();
    let is_removed = |known: &&KnownTag| !wanted.contains(&known.name);
    let removed: Vec<&KnownTag> = before.iter().filter(is_removed).collect();
    if added.is_empty() && removed.is_empty() {
        return Ok(());
    }
    if !added.is_empty() {
        add_tags(tree, subject, added).await?;
    }
    let (catalog, client) = (tree.catalog(), tree.client());
    for tag in removed {
        let removed = match subject {
            ModelId::Asset(it) => {
                send_with_deadline(catalog, client.assets().remove_tag(it, tag.id)).await
            }
            ModelId::Rapid(it) => {
                send_with_deadline(catalog, client.rapids().remove_tag(it, tag.id)).await
            }
        };
        match removed {
            // Somebody else has removed it.
            Err(DriveError::NotFound) if tag.id != UNKNOWN_ID => {}
            removed => removed?,
        }
    }
    wrote_tags(tree, subject, before, wanted);
    keep_for_good(tree.catalog()).await
}

/// From now on reads return the written tags, even if a request in flight still answers with older ones.
fn wrote_tags(tree: &Tree, subject: ModelId, before: &[KnownTag], wanted: &[String]) {
    let kept = before.iter().filter(|known| wanted.contains(&known.name));
    let is_new = |name: &&String| before.iter().all(|known| known.name != **name);
    let new = wanted.iter().filter(is_new).map(|name| KnownTag {
        id: UNKNOWN_ID,
        name: name.clone(),
    });
    // The order of the service: new tags are at the end.
    let tags = kept.cloned().chain(new);
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

/// The tags of a model with their ids, one of which is not known. A search for that tag gives its ids on all models.
async fn tags_with_ids(
    tree: &Arc<Tree>,
    subject: ModelId,
    unknown: &str,
) -> DriveResult<Vec<KnownTag>> {
    let family = match subject {
        ModelId::Asset(_) => Family::Raw,
        ModelId::Rapid(_) => Family::Rapid,
    };
    if is_searched(tree, family, unknown) {
        let query = format!("\"{unknown}\"").into();
        if let Err(error) = found(tree.catalog(), family, &query).await {
            tracing::debug!(%error, "the ids of a tag could not be searched for");
        }
        let known = known_tags(tree, subject).unwrap_or_default();
        let is_known = |tag: &KnownTag| tag.name == unknown && tag.id != UNKNOWN_ID;
        if known.iter().any(is_known) {
            return Ok(known);
        }
    }
    fresh_tags(tree, subject).await
}

/// Whether a search for a tag has fewer pages than there are models on which its id is not known.
fn is_searched(tree: &Tree, family: Family, tag: &str) -> bool {
    let known = tree.catalog().known();
    let tags: Vec<&KnownTag> = match family {
        Family::Raw => known.assets.rows().flat_map(|row| &row.tags).collect(),
        Family::Rapid => known.rapids.rows().flat_map(|row| &row.tags).collect(),
    };
    let of_name = tags.into_iter().filter(|it| it.name == tag);
    let ids: Vec<TagId> = of_name.map(|it| it.id).collect();
    let unknown = ids.iter().filter(|id| **id == UNKNOWN_ID).count();
    !tag.contains('"') && unknown > ids.len().div_ceil(MAX_PER_PAGE as usize)
}

/// The tags that the service has now.
async fn fresh_tags(tree: &Arc<Tree>, subject: ModelId) -> DriveResult<Vec<KnownTag>> {
    let tags = asked_tags(tree, subject).await?;
    match tags.iter().any(|tag| tag.id == UNKNOWN_ID) {
        // The answer of a request that was in flight when they were added is older than they are.
        true => asked_tags(tree, subject).await,
        false => Ok(tags),
    }
}

async fn asked_tags(tree: &Arc<Tree>, subject: ModelId) -> DriveResult<Vec<KnownTag>> {
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
        let tag = tag_of(tag)?;
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
