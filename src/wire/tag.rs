//! Tags on base assets and rapid models.

use serde::{Deserialize, Serialize};

use super::id::{AssetId, RapidId, TagId};
use super::lenient::{self, Other};
use super::time::Timestamp;

/// The longest tag, in characters.
pub const MAX_TAG_CHARS: usize = 255;

/// Prefix of the tags in which a drive notes which text made a result. They are not tags of the user.
pub const NOTE_PREFIX: &str = "assetfs:";
/// Prefix of the one-off tag by which the result of a request is found if its answer is lost.
pub const REQUEST_PREFIX: &str = "assetfs-";

/// True for a tag that a drive has set for itself.
pub fn is_own_tag(name: &str) -> bool {
    let is_random = |rest: &str| rest.len() == 32 && rest.bytes().all(|it| it.is_ascii_hexdigit());
    name.starts_with(NOTE_PREFIX) || name.strip_prefix(REQUEST_PREFIX).is_some_and(is_random)
}

/// The terms of a search, in lower case: words, and phrases in quotes. An unclosed quote reaches to the end.
pub fn search_terms(query: &str) -> Vec<String> {
    let parts = query.split('"').enumerate();
    let terms = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    let terms = terms.filter(|term| !term.is_empty());
    terms.map(str::to_lowercase).collect()
}

/// True for what a search finds only because a drive has noted something on it.
pub fn is_found_by_notes(query: &str, name: &str, tags: &[Tag]) -> bool {
    let (notes, theirs): (Vec<&Tag>, Vec<&Tag>) = tags.iter().partition(|it| is_own_tag(&it.name));
    let is_in = |tags: &[&Tag], term: &str| {
        tags.iter()
            .any(|tag| tag.name.to_lowercase().contains(term))
    };
    let name = name.to_lowercase();
    let terms = search_terms(query).into_iter();
    let mut terms = terms.filter(|term| !name.contains(term.as_str()) && !is_in(&theirs, term));
    terms.any(|term| is_in(&notes, &term))
}

/// A tag on one object.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tag {
    /// Its id, by which it is removed.
    #[serde_with(skip_apply)]
    pub id: TagId,
    pub name: String,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub raw_id: Option<AssetId>,
    pub rapid_id: Option<RapidId>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// An item of the list of all tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagName {
    pub name: String,
}

/// Body that adds tags to a rapid model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagsRequest {
    pub tags: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_search_finds_what_people_called_it_and_not_what_a_drive_has_noted() {
        let tags = ["Old Oak", "assetfs:by=anna@farm", "assetfs:name=web"];
        let tags =
            tags.map(|name| serde_json::from_value(json!({ "id": 1, "name": name })).unwrap());
        for (query, by_notes) in [
            ("chair", false),
            ("CHAIR oak", false),
            ("\"old oak\"", false),
            ("anna", true),
            ("chair web", true),
            ("\"anna@farm\"", true),
            ("", false),
            // A service may find it by something else.
            ("sofa", false),
        ] {
            assert_eq!(
                is_found_by_notes(query, "Chair", &tags),
                by_notes,
                "{query}"
            );
        }
    }

    #[test]
    fn tags_of_a_drive_are_told_from_tags_of_people() {
        let random = format!("{REQUEST_PREFIX}{:032x}", 7);
        for own in [&*random, "assetfs:text=00ff", "assetfs:later=x"] {
            assert!(is_own_tag(own), "{own}");
        }
        for theirs in ["assetfs", "assetfs-demo", "wood", "assetfs-00ff", ""] {
            assert!(!is_own_tag(theirs), "{theirs}");
        }
    }
}
