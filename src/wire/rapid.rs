//! Rapid models (optimized models): the record, the job behind it, and its exports.
//!
//! [`RapidModel::to_form`] writes exactly the fields of one form, nulls included, for whoever plays the
//! service.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Other;
use super::asset::in_form;
use super::id::{AssetId, RapidId};
use super::lenient::{self, open_words};
use super::secret::SignedUrl;
use super::tag::Tag;
use super::time::Timestamp;
use super::upload::Downloads;

open_words! {
    /// How far an optimization is.
    OptimizationStatus {
        /// Accepted, or under way.
        SentToQueue = "sent_to_queue",
        /// Done, and well.
        Done = "done",
        /// Ended badly.
        Failed = "failed",
    }
}

impl OptimizationStatus {
    /// Whether it ended badly; an unknown word that says `failed` counts.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failed => true,
            Self::Other(word) => word.to_ascii_lowercase().contains("failed"),
            Self::SentToQueue | Self::Done => false,
        }
    }

    /// Whether nothing more will happen by itself.
    pub fn is_final(&self) -> bool {
        *self == Self::Done || self.is_failure()
    }
}

open_words! {
    /// The state of the job behind an optimization.
    JobState {
        /// Not begun.
        Queued = "queued",
        /// Under way.
        Executing = "executing",
        /// Ended.
        Finished = "finished",
        /// Ended badly.
        Failed = "failed",
    }
}

/// A rapid model: what an optimization makes. The union of all forms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RapidModel {
    /// Its id.
    pub id: RapidId,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// How far it is.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub optimization_status: OptimizationStatus,
    /// The job behind it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub job_status: Option<JobStatus>,
    /// 0 to 100.
    #[serde(default, deserialize_with = "lenient::count")]
    pub progress: u64,
    /// The step under way, in words.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub processing_step: Option<String>,
    /// Whether it comes from elsewhere.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub external: Option<bool>,
    /// The base asset it was made from.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rawmodel: Option<SourceModel>,
    /// When it was made.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_at: Option<Timestamp>,
    /// Version of the optimizer.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub engine_core_version: Option<String>,
    /// Its tags.
    #[serde(default, deserialize_with = "lenient::list")]
    pub tags: Vec<Tag>,
    /// The name asked for.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub export_name: Option<String>,
    /// Its universal id.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub uuid: Option<String>,
    /// Whether it was accepted.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub accepted: Option<bool>,
    /// Sizes and scores.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub meta: Option<RapidMeta>,
    /// Where it comes from.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub origin: Option<String>,
    /// The formats it was made in.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub optimization_formats: Option<FormatList>,
    /// Pictures of it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub thumbnail: Option<Thumbnail>,
    /// Where its viewer files are.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub model: Option<ModelFiles>,
    /// rpd_info.json.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rpd_info: Option<SignedUrl>,
    /// warning.log.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rpd_warnings: Option<SignedUrl>,
    /// error.log.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rpd_error: Option<SignedUrl>,
    /// metrics.json.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub metrics: Option<SignedUrl>,
    /// Its files.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub downloads: RapidDownloads,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a rapid model is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RapidForm {
    /// The answer to an optimize request.
    Summary,
    /// The whole record, in lists and on its own.
    Full,
}

const SUMMARY_FIELDS: &[&str] = &[
    "id",
    "name",
    "optimization_status",
    "job_status",
    "progress",
    "processing_step",
    "external",
    "rawmodel",
];
const FULL_FIELDS: &[&str] = &[
    "id",
    "name",
    "optimization_status",
    "job_status",
    "progress",
    "processing_step",
    "external",
    "rawmodel",
    "created_at",
    "updated_at",
    "engine_core_version",
    "tags",
    "export_name",
    "uuid",
    "accepted",
    "meta",
    "origin",
    "optimization_formats",
    "thumbnail",
    "model",
    "rpd_info",
    "rpd_warnings",
    "rpd_error",
    "metrics",
    "downloads",
];

impl RapidModel {
    /// A record that has nothing but an id, a name and a state.
    pub fn new(
        id: RapidId,
        name: impl Into<String>,
        optimization_status: OptimizationStatus,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            optimization_status,
            job_status: None,
            progress: 0,
            processing_step: None,
            external: None,
            rawmodel: None,
            created_at: None,
            updated_at: None,
            engine_core_version: None,
            tags: Vec::new(),
            export_name: None,
            uuid: None,
            accepted: None,
            meta: None,
            origin: None,
            optimization_formats: None,
            thumbnail: None,
            model: None,
            rpd_info: None,
            rpd_warnings: None,
            rpd_error: None,
            metrics: None,
            downloads: RapidDownloads::default(),
            other: Other::new(),
        }
    }

    /// The record with exactly the fields of one form; a field of the form that has no value is null.
    pub fn to_form(&self, form: RapidForm) -> Value {
        match form {
            RapidForm::Summary => in_form(self, SUMMARY_FIELDS, &[]),
            RapidForm::Full => in_form(self, FULL_FIELDS, &[]),
        }
    }
}

/// The job behind an optimization.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its number.
    #[serde(default, deserialize_with = "lenient::maybe_count")]
    pub id: Option<u64>,
    /// Its id in the queue.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub job_id: Option<String>,
    /// Its kind.
    #[serde(default, rename = "type", deserialize_with = "lenient::text")]
    pub kind: String,
    /// The queue it is in.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub queue: Option<String>,
    /// How often it was tried.
    #[serde(default, deserialize_with = "lenient::count")]
    pub attempts: u64,
    /// Steps done.
    #[serde(default, deserialize_with = "lenient::count")]
    pub progress_now: u64,
    /// Steps in all.
    #[serde(default, deserialize_with = "lenient::count")]
    pub progress_max: u64,
    /// How far it is.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: JobState,
    /// Always null so far.
    #[serde(default)]
    pub input: Value,
    /// A JSON text such as an exit code record.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub output: Option<String>,
    /// When it was made.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub updated_at: Option<Timestamp>,
    /// When it began.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub finished_at: Option<Timestamp>,
    /// Its key.
    #[serde(default, deserialize_with = "lenient::text")]
    pub key: String,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The base asset that a rapid model was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceModel {
    /// Its id.
    pub id: AssetId,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// Whether it is being processed; only in the answer to an optimize request.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub processing: Option<bool>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Sizes and scores of a rapid model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RapidMeta {
    /// Bytes of the model.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub size: Option<u64>,
    /// Bytes of all exports.
    #[serde(
        default,
        rename = "exportSize",
        deserialize_with = "lenient::maybe_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub export_size: Option<u64>,
    /// Scores by format, one object a format.
    #[serde(default, deserialize_with = "lenient::list")]
    pub qc: Vec<BTreeMap<String, QcScore>>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// How similar an export is to its source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QcScore {
    /// The best view's score.
    #[serde(
        default,
        rename = "maxScore",
        deserialize_with = "lenient::maybe_number"
    )]
    pub max_score: Option<f64>,
    /// The mean of the views.
    #[serde(
        default,
        rename = "avgScore",
        deserialize_with = "lenient::maybe_number"
    )]
    pub avg_score: Option<f64>,
}

/// A list of formats that travels as text. Read from a JSON text, from names between commas or spaces,
/// or from a real list; written as a JSON text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatList(pub Vec<String>);

impl FormatList {
    fn from_text(text: &str) -> Self {
        if let Ok(formats) = serde_json::from_str(text) {
            return Self(formats);
        }
        let names = text.split(|c: char| c.is_whitespace() || ",;[]\"'".contains(c));
        Self(
            names
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }
}

impl Serialize for FormatList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for FormatList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(text) => Self::from_text(&text),
            value => Self(lenient::items(value).0),
        })
    }
}

/// Pictures of a rapid model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thumbnail {
    /// The first picture.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub first: Option<SignedUrl>,
    /// Pictures from all around.
    #[serde(default)]
    pub turntable: Downloads,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Where a viewer finds the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFiles {
    /// The folder.
    #[serde(default, rename = "rootUrl", deserialize_with = "lenient::or_default")]
    pub root_url: Option<SignedUrl>,
    /// The file in it.
    #[serde(default, rename = "fileName", deserialize_with = "lenient::maybe_text")]
    pub file_name: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The files of a rapid model: one URL a format, and under `all` every file by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RapidDownloads {
    /// The main file of each format.
    pub formats: Downloads,
    /// Every file by its name.
    pub all: Downloads,
}

impl Serialize for RapidDownloads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self
            .formats
            .iter()
            .map(|(name, url)| (name, Entry::File(url)));
        serializer.collect_map(entries.chain([("all", Entry::All(&self.all))]))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    File(&'a SignedUrl),
    All(&'a Downloads),
}

impl<'de> Deserialize<'de> for RapidDownloads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(mut map) = Value::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let all = Downloads::from_value(map.remove("all").unwrap_or_default());
        Ok(Self {
            formats: Downloads::from_value(Value::Object(map)),
            all,
        })
    }
}

/// The exports of a rapid model by file name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExportList(#[serde(deserialize_with = "exports")] pub BTreeMap<String, ExportFile>);

fn exports<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, ExportFile>, D::Error> {
    let Value::Object(map) = Value::deserialize(d)? else {
        return Ok(BTreeMap::new());
    };
    let read = |(name, value)| Some((name, serde_json::from_value(value).ok()?));
    Ok(map.into_iter().filter_map(read).collect())
}

/// One export of a rapid model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportFile {
    /// Where to get it.
    pub download: SignedUrl,
    /// What is in it; for glb and gltf only.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub info: Option<ExportInfo>,
}

/// What is in an export.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportInfo {
    /// Its images.
    #[serde(default, deserialize_with = "lenient::list")]
    pub images: Vec<ExportImage>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// An image in an export.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportImage {
    /// Colour channels.
    #[serde(default, deserialize_with = "lenient::count")]
    pub channels: u64,
    /// Bytes in the file.
    #[serde(default, deserialize_with = "lenient::count")]
    pub compressed_byte_size: u64,
    /// Pixels down.
    #[serde(default, deserialize_with = "lenient::count")]
    pub height: u64,
    /// Pixels across.
    #[serde(default, deserialize_with = "lenient::count")]
    pub width: u64,
    /// Its type, such as `image/png`.
    #[serde(default, deserialize_with = "lenient::text")]
    pub mimetype: String,
    /// What the material uses it for.
    #[serde(default, deserialize_with = "lenient::text")]
    pub slot: String,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}
