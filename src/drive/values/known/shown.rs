//! Stored records that are shown as texts: viewers, API tokens and webhooks.

use serde::{Deserialize, Serialize};

use crate::drive::values::listing::Record;
use crate::wire::secret::json_without_secrets;
use crate::wire::{ApiToken, Embed, EmbedId, RapidId, Timestamp, Webhook};

/// A viewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownEmbed {
    pub id: EmbedId,
    /// Its name on the service.
    pub name: String,
    /// The URL of the viewer, if reported.
    pub url: Option<String>,
    /// The optimized model it shows.
    pub rapid: Option<RapidId>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Its record, as text.
    pub text: String,
}

impl KnownEmbed {
    /// From a record. The view count changes all the time and is left out.
    pub fn from_record(record: &Embed) -> KnownEmbed {
        let seen_by_nobody = Embed {
            view_count: None,
            ..record.clone()
        };
        KnownEmbed {
            id: record.id,
            name: record.name.clone(),
            url: record.url.clone(),
            rapid: record.rapid(),
            created: record.created_at,
            text: text_of(&seen_by_nobody, &["thumbnail"]),
        }
    }
}

impl Record for KnownEmbed {
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
    fn keep_details_of(&mut self, known: &KnownEmbed) {
        if self.url.is_none() {
            self.url.clone_from(&known.url);
            self.text.clone_from(&known.text);
        }
    }
}

/// A record of the account that is only shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownRecord {
    pub id: u64,
    pub name: String,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Its JSON without secrets.
    pub text: String,
}

impl KnownRecord {
    /// From the record of an API token.
    pub fn from_token(record: &ApiToken) -> KnownRecord {
        KnownRecord {
            id: record.id.0,
            name: record.name.clone(),
            created: record.created_at,
            text: text_of(record, &["plain_text", "last_used_at"]),
        }
    }

    /// From the record of a webhook, without its secret and without the path of its URL, which may authenticate
    /// calls of the service.
    pub fn from_webhook(record: &Webhook) -> KnownRecord {
        let parsed = url::Url::parse(&record.url);
        let host = parsed.map_or_else(
            |_| "unknown".to_owned(),
            |url| url.origin().ascii_serialization(),
        );
        let shown = Webhook {
            url: host.clone(),
            ..record.clone()
        };
        KnownRecord {
            id: record.id.0,
            name: host.rsplit('/').next().unwrap_or(&host).replace(':', "_"),
            created: record.created_at,
            text: text_of(&shown, &["secret"]),
        }
    }
}

impl Record for KnownRecord {
    fn number(&self) -> u64 {
        self.id
    }
    fn service_name(&self) -> &str {
        &self.name
    }
}

/// A record as JSON, without the named fields and without the secrets in its URLs.
fn text_of(record: &impl Serialize, left_out: &[&str]) -> String {
    let mut value = serde_json::to_value(record).unwrap_or_default();
    if let Some(map) = value.as_object_mut() {
        map.retain(|name, _| !left_out.contains(&name.as_str()));
    }
    format!("{:#}\n", json_without_secrets(value))
}
