//! What stands in the record of a rapid model: its job, its source, scores, pictures, and where a viewer finds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::Other;
use crate::wire::id::AssetId;
use crate::wire::lenient;
use crate::wire::secret::SignedUrl;
use crate::wire::state::JobState;
use crate::wire::time::Timestamp;
use crate::wire::upload::Downloads;

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
