//! What a job reports while it runs, and at its end.

use serde::{Deserialize, Serialize};

use super::super::analyse::ModelCounts;
use assetfs_formats::warnings::Warning;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100, never decreasing.
    pub percent: u8,
    /// The current step, as text for users.
    pub step: String,
    /// The current phase, for programs; `None` in an optimization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// About how many bytes of memory the job needs; 0 if that is not known.
    #[serde(default)]
    pub memory_bytes: u64,
}

/// The phases of an analysis, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The model is read.
    Reading,
    /// The statistics of the model are computed and written.
    Preparing,
    /// The pictures are drawn, from which the quality is computed.
    Drawing,
}

/// The results of a finished job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The exported files; empty for an analysis.
    pub exports: Vec<ExportedFile>,
    /// The other files written into the output folder, by name (`rpd_info.json`, `thumb.jpg`, …).
    pub files: Vec<String>,
    /// The lines of `warning.log`; without codes in reports of older versions.
    pub warnings: Vec<Warning>,
    pub source: ModelCounts,
    /// Counts of the result; equal to `source` for an analysis.
    pub result: ModelCounts,
    /// Which of the uploaded files was read as the model; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFile>,
}

/// The file that was read as the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Its path below the input folder, with `/` between parts; for a file in an archive that the engine opened, the
    /// path of the archive and then the path in it.
    pub path: String,
    /// Its format: the extension in lower case.
    pub format: String,
}

/// One exported file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportedFile {
    /// `glb`, `gltf`, `obj`, `stl`, `ply` or `usdz`.
    pub format: String,
    /// The main file, relative to `exports/` with `/` between parts.
    pub name: String,
    /// Every file of this export, the main one included, relative to `exports/`.
    pub parts: Vec<String>,
    /// The bytes of all parts.
    pub size_bytes: u64,
    /// The images inside, for glb and gltf; none for other formats.
    pub images: Option<Vec<ExportedImage>>,
    /// Number of triangles, counted in the written file if it was read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u64>,
    /// The similarity to the source; `None` if the export was not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<QualityScore>,
}

/// One image of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedImage {
    /// 1 (grey) to 4 (colour and alpha).
    pub channels: u8,
    /// Bytes as stored.
    pub compressed_byte_size: u64,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Such as `image/png`.
    pub mimetype: String,
    /// `baseColor`, `emissive`, `normal`, `orm` or `other`.
    pub slot: String,
}

/// The similarity of an export to its source, from 0 (completely different) to 100 (equal).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QualityScore {
    /// The score of the best view.
    pub max_score: f64,
    /// The mean score of the views.
    pub avg_score: f64,
    /// The score of the worst view; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
    /// The score of the worst tile of all views; `None` in reports of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_tile: Option<f64>,
}
