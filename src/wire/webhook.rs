//! Webhooks and their events. An event is only a hint: the receiver requests the record itself.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{AssetId, RapidId, UserId, WebhookId};
use super::lenient::{self, Other, open_words};
use super::time::Timestamp;
use super::upload::Downloads;

/// A registered webhook. Its secret never shows in `Debug`.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Webhook {
    #[serde_with(skip_apply)]
    pub id: WebhookId,
    pub user_id: Option<UserId>,
    pub url: String,
    pub last_called_at: Option<Timestamp>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    /// The key that signs events.
    pub secret: Option<String>,
    /// Result of the last call.
    pub last_status: Value,
    /// Whether the receiver's certificate is checked.
    pub verify_ssl: Option<bool>,
    pub failed_calls: u64,
    /// When the owner was notified of failed calls.
    pub notified_at: Option<Timestamp>,
    #[serde_with(skip_apply)]
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
    EventStatus {
        Successful = "Successful",
        Failed = "Failed",
    }
}

/// The body that a webhook receives.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub event_type: EventType,
    pub timestamp: Option<Timestamp>,
    pub data: EventData,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The subject of an event.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventData {
    pub status: Option<EventStatus>,
    pub message: Option<String>,
    pub rawmodel_id: Option<AssetId>,
    pub rapidmodel_id: Option<RapidId>,
    #[serde(skip_serializing_if = "Downloads::is_empty")]
    pub rapidmodel: Downloads,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

super::lenient::by_deserialize!(EventData, EventStatus, EventType);
