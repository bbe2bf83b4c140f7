//! Rapid models (optimized models): the record and its forms; what stands in it is in `parts`.
//!
//! [`RapidModel::to_form`] writes exactly the fields of one form, nulls included, for whoever plays the
//! service.

mod parts;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Other;
use super::asset::in_form;
use super::id::RapidId;
use super::lenient;
use super::secret::SignedUrl;
use super::tag::Tag;
use super::time::Timestamp;

pub use super::export::{
    ExportFile, ExportImage, ExportInfo, ExportList, FormatList, RapidDownloads,
};
pub use super::state::{JobState, OptimizationStatus};
pub use parts::{JobStatus, ModelFiles, QcScore, RapidMeta, SourceModel, Thumbnail};

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
