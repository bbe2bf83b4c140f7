//! Webhooks and the events that are sent to them. An event is a hint: what it says is asked again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Other;
use super::id::{AssetId, RapidId, UserId, WebhookId};
use super::lenient::{self, open_words};
use super::time::Timestamp;
use super::upload::Downloads;

/// A registered webhook. Its secret never shows in `Debug`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Its owner.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub user_id: Option<UserId>,
    /// Where events go.
    #[serde(default, deserialize_with = "lenient::text")]
    pub url: String,
    /// When it was last called.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub last_called_at: Option<Timestamp>,
    /// When it was made.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub updated_at: Option<Timestamp>,
    /// The key that signs events.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub secret: Option<String>,
    /// How the last call ended.
    #[serde(default)]
    pub last_status: Value,
    /// Whether the receiver's certificate is checked.
    #[serde(default, deserialize_with = "lenient::maybe_flag")]
    pub verify_ssl: Option<bool>,
    /// Calls that failed.
    #[serde(default, deserialize_with = "lenient::count")]
    pub failed_calls: u64,
    /// When its owner was told of failures.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub notified_at: Option<Timestamp>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook")
            .field("id", &self.id)
            .field("url", &super::secret::without_secrets(&self.url))
            .field("last_called_at", &self.last_called_at)
            .field("last_status", &self.last_status)
            .field("failed_calls", &self.failed_calls)
            .finish_non_exhaustive()
    }
}

/// Body that registers a webhook. Its secret never shows in `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateWebhook {
    /// Where events go.
    pub url: String,
    /// Whether the receiver's certificate is checked.
    pub verify_ssl: bool,
    /// The key that signs events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl std::fmt::Debug for CreateWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreateWebhook")
            .field("url", &super::secret::without_secrets(&self.url))
            .field("verify_ssl", &self.verify_ssl)
            .finish_non_exhaustive()
    }
}

open_words! {
    /// What happened.
    EventType {
        /// An optimization ended.
        OptimizationFinished = "optimization_finished",
        /// The analysis of a base asset ended.
        AnalysisFinished = "analysis_finished",
        /// An archive was unpacked.
        UnzipFinished = "unzip_finished",
        /// An embed was made of a rapid model.
        EmbedCreation = "embed_creation",
        /// An embed was made of a base asset.
        EmbedFromRawCreation = "embed_from_raw_creation",
    }
}

open_words! {
    /// How it ended.
    EventStatus {
        /// Well.
        Successful = "Successful",
        /// Badly.
        Failed = "Failed",
    }
}

/// What a webhook receives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub event_type: EventType,
    /// When.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub timestamp: Option<Timestamp>,
    /// To what.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub data: EventData,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// What an event is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventData {
    /// How it ended.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub status: Option<EventStatus>,
    /// In words.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub message: Option<String>,
    /// The base asset.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rawmodel_id: Option<AssetId>,
    /// The rapid model.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rapidmodel_id: Option<RapidId>,
    /// Its files.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Downloads::is_empty"
    )]
    pub rapidmodel: Downloads,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}
