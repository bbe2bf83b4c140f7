//! Stored parts of the service's records: enough to show a folder without a request, offline and after a
//! remount. URLs are not stored.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::listing::Record;
use crate::formats::{self, Kind};
use crate::outbox::{ItemStatus, SavedPreset};
use crate::wire::secret::json_without_secrets;
use crate::wire::{
    ApiToken, AssetId, BaseAsset, Embed, EmbedId, FactoryPreset, OptimizationStatus, Preset,
    PresetId, RapidId, RapidModel, Tag, TagId, Timestamp, UploadStatus, Webhook,
};

/// A tag of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownTag {
    pub id: TagId,
    pub name: String,
}

impl KnownTag {
    fn all(tags: &[Tag]) -> Vec<KnownTag> {
        tags.iter()
            .map(|tag| KnownTag {
                id: tag.id,
                name: tag.name.clone(),
            })
            .collect()
    }
}

/// A source model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownAsset {
    pub id: AssetId,
    /// Its name on the service.
    pub name: String,
    /// The state of its import.
    pub state: UploadStatus,
    /// Percent of the present step, if reported.
    pub progress: Option<f64>,
    /// Why it failed.
    pub error: Option<String>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Size of its files as the service reports it.
    pub size: Option<u64>,
    /// Format of the upload.
    pub format: Option<String>,
    /// Its tags.
    pub tags: Vec<KnownTag>,
    /// Its optimized models, if a detail record was received.
    pub rapid_models: Vec<RapidId>,
}

impl KnownAsset {
    /// From a record.
    pub fn from_record(record: &BaseAsset) -> KnownAsset {
        KnownAsset {
            id: record.id,
            name: record.name.clone(),
            state: record.upload_status.clone(),
            progress: record.progress,
            error: record
                .error_message
                .clone()
                .filter(|text| !text.trim().is_empty()),
            created: record.created_at,
            size: record.size,
            format: record.format.clone(),
            tags: KnownTag::all(&record.tags),
            rapid_models: record.rapid_models.clone(),
        }
    }

    /// True if a viewer can be made of it directly.
    pub fn is_glb(&self) -> bool {
        let format = self.format.as_deref();
        format.is_some_and(|format| format.eq_ignore_ascii_case("glb"))
    }

    /// False for formats whose materials the service cannot convert.
    pub fn may_have_materials(&self) -> bool {
        let format = self.format.as_deref().unwrap_or_default();
        let known = formats::of_extension(format);
        known.is_none_or(|format| format.kind == Kind::Authoring)
    }

    pub fn status(&self) -> ItemStatus {
        match &self.state {
            UploadStatus::Complete => ItemStatus::Complete,
            state if state.is_failure() => ItemStatus::Failed {
                reason: self.failure_reason(),
            },
            state => ItemStatus::importing(state, self.progress),
        }
    }

    /// Why it failed, in words.
    pub fn failure_reason(&self) -> String {
        match (&self.error, &self.state) {
            (Some(error), _) => error.clone(),
            (None, UploadStatus::ImportLimitExceeded) => {
                "the model exceeds the import limits of the service".to_owned()
            }
            (None, _) => {
                "the service could not import it; analysis/error.log may say why".to_owned()
            }
        }
    }
}

impl Record for KnownAsset {
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
    fn has_moved(&self, known: &KnownAsset) -> bool {
        self.state != known.state || self.size != known.size
    }
    fn keep_details_of(&mut self, known: &KnownAsset) {
        if self.rapid_models.is_empty() {
            self.rapid_models.clone_from(&known.rapid_models);
        }
        if self.state == known.state {
            self.progress = self.progress.or(known.progress);
            if self.error.is_none() {
                self.error.clone_from(&known.error);
            }
        }
    }
}

/// An optimized model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownRapid {
    pub id: RapidId,
    /// Its name on the service.
    pub name: String,
    /// How far the optimization is.
    pub state: OptimizationStatus,
    /// 0 to 100.
    pub progress: u64,
    /// What it does at the moment.
    pub step: Option<String>,
    /// The model it was made from.
    pub source: Option<AssetId>,
    /// The text of a drop folder it was made with, without extension; `None` if it was made elsewhere, or was named
    /// before this was known.
    #[serde(default)]
    pub made_with: Option<String>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
    /// Its tags.
    pub tags: Vec<KnownTag>,
}

impl KnownRapid {
    /// From a record.
    pub fn from_record(record: &RapidModel) -> KnownRapid {
        KnownRapid {
            id: record.id,
            name: record.name.clone(),
            state: record.optimization_status.clone(),
            progress: record.progress,
            step: record.processing_step.clone(),
            source: record.rawmodel.as_ref().map(|source| source.id),
            made_with: None,
            created: record.created_at,
            updated: record.updated_at,
            tags: KnownTag::all(&record.tags),
        }
    }

    pub fn status(&self) -> ItemStatus {
        match &self.state {
            OptimizationStatus::Done => ItemStatus::Done,
            state if state.is_failure() => ItemStatus::Failed {
                reason: self
                    .step
                    .clone()
                    .unwrap_or_else(|| "analysis/error.log may say why".to_owned()),
            },
            OptimizationStatus::SentToQueue if self.progress == 0 => {
                ItemStatus::Queued { obstacle: None }
            }
            OptimizationStatus::SentToQueue => ItemStatus::Running {
                percent: self.progress.min(100) as u8,
            },
            state => ItemStatus::Other {
                word: state.to_string(),
            },
        }
    }
}

impl Record for KnownRapid {
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
    fn qualifier(&self) -> Option<&str> {
        self.made_with.as_deref()
    }
    fn has_moved(&self, known: &KnownRapid) -> bool {
        self.state != known.state
    }
    fn keep_details_of(&mut self, known: &KnownRapid) {
        self.source = self.source.or(known.source);
        self.made_with.clone_from(&known.made_with);
    }
}

/// A preset, the user's own or one of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownPreset {
    pub id: PresetId,
    /// Its name on the service.
    pub name: String,
    /// Its config as it was written, or rendered.
    pub text: String,
    /// Its description.
    pub description: Option<String>,
    /// Version of its format.
    pub rpdx_version: Option<String>,
    /// Modification time.
    pub updated: Option<Timestamp>,
}

impl KnownPreset {
    /// From the record of an own preset. One of the `written` texts with the same value is its text.
    pub fn from_record(record: &Preset, written: &[SavedPreset]) -> KnownPreset {
        let mut written = written.iter();
        let written =
            written.find(|it| it.preset == record.id && it.config.meaning_eq(&record.config));
        KnownPreset {
            id: record.id,
            name: record.name.clone(),
            text: written.map_or_else(|| record.config.to_pretty_text(), |it| it.text.clone()),
            description: record.description.clone(),
            rpdx_version: record.rpdx_version.clone(),
            updated: written
                .map(|it| Timestamp::from(it.mtime))
                .or(record.updated_at)
                .or(record.created_at),
        }
    }

    /// From a preset that the outbox saved, and what was known of it `before`.
    pub fn saved(saved: &SavedPreset, before: Option<&KnownPreset>) -> KnownPreset {
        let name = saved.name.rsplit_once('.').map_or(&*saved.name, |it| it.0);
        let described = before.and_then(|before| before.description.clone());
        KnownPreset {
            id: saved.preset,
            name: name.to_owned(),
            text: saved.text.clone(),
            description: described.or_else(|| saved.description.clone()),
            rpdx_version: before.and_then(|before| before.rpdx_version.clone()),
            updated: Some(Timestamp::from(saved.mtime)),
        }
    }

    /// From the record of a factory preset.
    pub fn from_factory_record(record: &FactoryPreset) -> KnownPreset {
        KnownPreset {
            id: record.id,
            name: record.name.clone(),
            text: record.config.to_pretty_text(),
            description: None,
            rpdx_version: None,
            updated: None,
        }
    }

    /// A checksum of the text: other text is another inode.
    pub fn text_checksum(&self) -> u64 {
        xxh3_64(self.text.as_bytes())
    }
}

impl Record for KnownPreset {
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
}

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

/// A time as the file system shows it; the epoch if there is none.
pub fn system_time(timestamp: Option<Timestamp>) -> SystemTime {
    timestamp.map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
}
