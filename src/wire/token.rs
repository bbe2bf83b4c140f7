//! Records about API tokens. None of them contains a usable token; the one reply that does is plain text
//! and becomes a [`Token`](super::secret::Token).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::asset::in_form;
use super::id::{TokenId, UserId};
use super::lenient::{self, Other};
use super::time::Timestamp;

/// An API token as described by the service. Contains the fields of the list and the single form.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiToken {
    #[serde_with(skip_apply)]
    pub id: TokenId,
    pub name: String,
    #[serialize_always]
    pub last_used_at: Option<Timestamp>,
    #[serialize_always]
    pub created_at: Option<Timestamp>,
    /// Single form.
    pub updated_at: Option<Timestamp>,
    /// Optimizations started with this token; list form.
    pub optimization_count: Option<u64>,
    /// Single form.
    pub tokenable_type: Option<String>,
    /// Id of the owner; single form.
    pub tokenable_id: Option<UserId>,
    /// Single form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub abilities: Vec<String>,
    /// Always empty; single form.
    pub plain_text: Option<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a token record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenForm {
    List,
    Single,
}

const LIST_FIELDS: &str = "id name last_used_at created_at optimization_count";
const SINGLE_FIELDS: &str = "id name last_used_at created_at updated_at tokenable_type tokenable_id abilities \
     plain_text";

impl ApiToken {
    /// The record with exactly the fields of one form; a field of the form that has no value is null.
    pub fn to_form(&self, form: TokenForm) -> Value {
        match form {
            TokenForm::List => in_form(self, LIST_FIELDS, ""),
            TokenForm::Single => in_form(self, SINGLE_FIELDS, ""),
        }
    }
}

/// A code that signs in to the page of a local service once. It has no `Debug`, because it is a secret.
#[derive(Serialize, Deserialize)]
pub struct SignInCode {
    pub code: String,
    /// In seconds.
    pub expires_in: u64,
}

impl SignInCode {
    /// The link for the page at `base`. What is after `#` is not sent to a server.
    pub fn link(&self, base: &Url) -> String {
        format!("{}#sign-in={}", base, self.code)
    }
}

/// Body that makes a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateToken {
    pub name: String,
}
