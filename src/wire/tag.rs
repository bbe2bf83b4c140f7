//! Tags on base assets and rapid models.

use serde::{Deserialize, Serialize};

use super::id::{AssetId, RapidId, TagId};
use super::time::Timestamp;
use super::{Other, lenient};

/// The longest tag, in characters.
pub const MAX_TAG_CHARS: usize = 255;

/// A tag on one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tag {
    /// Its id, by which it is removed.
    pub id: TagId,
    /// Its text.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// When it was added.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// When it was changed.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_at: Option<Timestamp>,
    /// The base asset that carries it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw_id: Option<AssetId>,
    /// The rapid model that carries it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rapid_id: Option<RapidId>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// An item of the list of all tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagName {
    /// The tag's text.
    pub name: String,
}

/// Body that adds tags to a rapid model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagsRequest {
    /// The tags to add.
    pub tags: Vec<String>,
}
