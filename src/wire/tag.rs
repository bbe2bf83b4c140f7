//! Tags on base assets and rapid models.

use serde::{Deserialize, Serialize};

use super::id::{AssetId, RapidId, TagId};
use super::lenient::{self, Other};
use super::time::Timestamp;

/// The longest tag, in characters.
pub const MAX_TAG_CHARS: usize = 255;

/// A tag on one object.
#[serde_with::apply(
    _ => #[serde(default, deserialize_with = "lenient::field")],
    Option => #[serde(skip_serializing_if = "Option::is_none")],
)]
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
