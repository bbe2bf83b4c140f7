//! Nested objects of a rapid model: job, source, scores, pictures, and viewer files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::id::AssetId;
use crate::wire::lenient::{self, Other};
use crate::wire::secret::SignedUrl;
use crate::wire::status::JobState;
use crate::wire::time::Timestamp;
use crate::wire::upload::Downloads;

/// The job behind an optimization.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    pub id: Option<u64>,
    pub job_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub queue: Option<String>,
    pub attempts: u64,
    pub progress_now: u64,
    pub progress_max: u64,
    pub status: JobState,
    /// Always null in known replies.
    pub input: Value,
    /// A JSON text, for example with an exit code.
    pub output: Option<String>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub key: String,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

impl JobStatus {
    /// Why it failed, if its output says so.
    pub fn error(&self) -> Option<String> {
        let output = self.output.as_deref()?.trim();
        let told = serde_json::from_str::<Value>(output).ok();
        let told = told.and_then(|it| Some(it.get("error")?.as_str()?.to_owned()));
        told.or_else(|| Some(output.to_owned()).filter(|it| !it.is_empty()))
    }
}

/// The base asset that a rapid model was made from.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceModel {
    #[serde_with(skip_apply)]
    pub id: AssetId,
    pub name: String,
    /// Only in the reply to an optimize request.
    pub processing: Option<bool>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// Sizes and scores of a rapid model.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RapidMeta {
    /// Bytes of the model.
    pub size: Option<u64>,
    /// Bytes of all exports.
    #[serde(rename = "exportSize")]
    pub export_size: Option<u64>,
    /// Scores by format, one object per format.
    pub qc: Vec<BTreeMap<String, QcScore>>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The similarity of an export to its source.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QcScore {
    #[serde(rename = "maxScore")]
    pub max_score: Option<f64>,
    #[serde(rename = "avgScore")]
    pub avg_score: Option<f64>,
}

/// Pictures of a rapid model.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Thumbnail {
    pub first: Option<SignedUrl>,
    /// Pictures from all sides.
    pub turntable: Downloads,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The files that a viewer loads.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFiles {
    #[serde(rename = "rootUrl")]
    pub root_url: Option<SignedUrl>,
    #[serde(rename = "fileName")]
    pub file_name: Option<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

crate::wire::lenient::by_deserialize!(JobStatus, ModelFiles, RapidMeta, SourceModel, Thumbnail);
