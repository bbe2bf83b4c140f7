//! Rapid models (optimized models): the record and its forms. Nested objects are in `parts`.
//!
//! [`RapidModel::to_form`] writes exactly the fields of one form, including nulls; the local service uses it.

mod parts;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::asset::in_form;
use super::id::RapidId;
use super::lenient::{self, Other};
use super::secret::SignedUrl;
use super::tag::Tag;
use super::time::Timestamp;

pub use super::export::{
    ExportFile, ExportImage, ExportInfo, ExportList, FormatList, RapidDownloads,
};
pub use super::status::{JobState, OptimizationStatus};
pub use parts::{JobStatus, ModelFiles, QcScore, RapidMeta, SourceModel, Thumbnail};

/// A rapid model: the result of an optimization. Contains the fields of all forms.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RapidModel {
    #[serde_with(skip_apply)]
    pub id: RapidId,
    pub name: String,
    pub optimization_status: OptimizationStatus,
    pub job_status: Option<JobStatus>,
    /// 0 to 100.
    pub progress: u64,
    /// Name of the current step.
    pub processing_step: Option<String>,
    /// Whether it was imported from another system.
    pub external: Option<bool>,
    pub rawmodel: Option<SourceModel>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    /// Version of the optimizer.
    pub engine_core_version: Option<String>,
    pub tags: Vec<Tag>,
    /// The requested name of the exported files.
    pub export_name: Option<String>,
    pub uuid: Option<String>,
    pub accepted: Option<bool>,
    pub meta: Option<RapidMeta>,
    pub origin: Option<String>,
    /// The formats of its exports.
    pub optimization_formats: Option<FormatList>,
    pub thumbnail: Option<Thumbnail>,
    pub model: Option<ModelFiles>,
    /// rpd_info.json.
    pub rpd_info: Option<SignedUrl>,
    /// warning.log.
    pub rpd_warnings: Option<SignedUrl>,
    /// error.log.
    pub rpd_error: Option<SignedUrl>,
    /// metrics.json.
    pub metrics: Option<SignedUrl>,
    pub downloads: RapidDownloads,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a rapid model is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RapidForm {
    /// The reply to an optimize request.
    Summary,
    /// The whole record, in lists and alone.
    Full,
}

const SUMMARY_FIELDS: &str =
    "id name optimization_status job_status progress processing_step external rawmodel";
const FULL_FIELDS: &str = "id name optimization_status job_status progress processing_step external rawmodel \
     created_at updated_at engine_core_version tags export_name uuid accepted meta origin \
     optimization_formats thumbnail model rpd_info rpd_warnings rpd_error metrics downloads";

/// The name of a field that only our own service has: the lines of warning.log, of which a long log has the first.
pub const WARNINGS: &str = "warnings";

impl RapidModel {
    /// The triangles of the result, if the service says so.
    pub fn triangles(&self) -> Option<u64> {
        lenient::triangles(&self.other)
    }

    /// The name that the request gave to the exported files, if it gave one.
    pub fn own_export_name(&self) -> Option<&str> {
        self.export_name.as_deref().filter(|name| !name.is_empty())
    }

    /// The lines of its warning.log, if the service says so.
    pub fn warnings(&self) -> Option<impl Iterator<Item = &str>> {
        let lines = self.other.get(WARNINGS)?.as_array()?;
        Some(lines.iter().filter_map(Value::as_str))
    }

    /// Why our own service has not begun to work on it, if an infrastructure fault is the cause.
    pub fn waits_because(&self) -> Option<String> {
        lenient::waits_because(&self.other)
    }

    /// Why it failed, as far as the record says so. `processing_step` of a job that has ended usually repeats its state
    /// ("Failed"); such a word is no reason.
    pub fn failure(&self) -> Option<String> {
        if !self.optimization_status.is_failure() {
            return None;
        }
        let is_reason = |step: &&str| {
            let state = OptimizationStatus::from_word(step);
            !step.is_empty() && matches!(state, OptimizationStatus::Other(_))
        };
        let step = self.processing_step.as_deref().map(str::trim);
        let step = step.filter(is_reason).map(str::to_owned);
        step.or_else(|| self.job_status.as_ref()?.error())
    }

    pub fn has_thumbnail(&self) -> bool {
        let thumbnail = self.thumbnail.as_ref();
        thumbnail.is_some_and(|it| it.first.is_some())
    }

    /// With which token it was made, if the service says so.
    pub fn made_by(&self) -> Option<String> {
        lenient::made_by(&self.other)
    }

    /// Whether a finished model has this folder, if the service says so.
    pub fn has_folder(&self, name: &str) -> Option<bool> {
        lenient::has_folder(&self.other, name)
    }

    /// A record with only an id, a name and a state.
    pub fn new(
        id: RapidId,
        name: impl Into<String>,
        optimization_status: OptimizationStatus,
    ) -> Self {
        let record: Self =
            serde_json::from_value(json!({ "id": id })).expect("a record needs only its id");
        Self {
            name: name.into(),
            optimization_status,
            ..record
        }
    }

    /// The record with exactly the fields of one form; a field of the form that has no value is null.
    pub fn to_form(&self, form: RapidForm) -> Value {
        match form {
            RapidForm::Summary => in_form(self, SUMMARY_FIELDS, ""),
            RapidForm::Full => in_form(self, FULL_FIELDS, ""),
        }
    }
}
