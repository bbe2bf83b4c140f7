//! Records about API tokens. None of them holds a usable token; the one answer that does is plain text
//! and becomes a [`Token`](super::secret::Token).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asset::in_form;
use super::id::{TokenId, UserId};
use super::time::Timestamp;
use super::{Other, lenient};

/// An API token as the service describes it. The union of list and single forms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiToken {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// When it was last used.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub last_used_at: Option<Timestamp>,
    /// When it was made.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created_at: Option<Timestamp>,
    /// When it last changed; single form.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_at: Option<Timestamp>,
    /// Optimizations started with it; list form.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub optimization_count: Option<u64>,
    /// The kind of its owner; single form.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tokenable_type: Option<String>,
    /// Its owner; single form.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub tokenable_id: Option<UserId>,
    /// What it may do; single form.
    #[serde(
        default,
        deserialize_with = "lenient::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub abilities: Vec<String>,
    /// Always empty; single form.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub plain_text: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a token record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenForm {
    /// An item of the list.
    List,
    /// The record on its own.
    Single,
}

const LIST_FIELDS: &[&str] = &[
    "id",
    "name",
    "last_used_at",
    "created_at",
    "optimization_count",
];
const SINGLE_FIELDS: &[&str] = &[
    "id",
    "name",
    "last_used_at",
    "created_at",
    "updated_at",
    "tokenable_type",
    "tokenable_id",
    "abilities",
    "plain_text",
];

impl ApiToken {
    /// The record with exactly the fields of one form; a field of the form that has no value is null.
    pub fn to_form(&self, form: TokenForm) -> Value {
        match form {
            TokenForm::List => in_form(self, LIST_FIELDS, &[]),
            TokenForm::Single => in_form(self, SINGLE_FIELDS, &[]),
        }
    }
}

/// Body that makes a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateToken {
    /// Its name.
    pub name: String,
}
