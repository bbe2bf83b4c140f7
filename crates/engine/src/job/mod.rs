//! The jobs of the engine, as a worker process receives them: analyse an upload, optimize a model, draw a picture of one.
//!
//! A [`Task`] is plain data (serde), names every folder and file it may touch, and is run by [`run`] from start to end
//! on the calling thread (which may fan out with rayon). A failure is written to `error.log` in the output folder and
//! returned as one sentence. This module only orders the steps; other modules do them. It starts no process.

pub(crate) mod automatic;
mod chart_maps;
mod compare;
mod context;
mod export;
mod judge;
mod memory;
mod optimize;
mod rebaked;
mod reduce;
mod run;
mod size_estimate;
mod size_search;
mod size_trial;
mod target_size;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::EngineError;
pub use super::pictures::{
    BEFORE_AFTER_NAME, ICON_NAME, RENDERS_FOLDER, THUMBNAIL_NAME, icon_of_thumbnail,
};
use super::settings::Settings;

/// A piece of work for the engine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Read an upload and report its content.
    Analyse(AnalyseTask),
    /// Read an upload, optimize it as the configuration says and write the exports.
    Optimize(OptimizeTask),
    /// Read a model and draw one small picture of it.
    Draw(DrawTask),
}

impl Task {
    /// The folder that holds the files of the model.
    pub fn input_dir(&self) -> &Path {
        match self {
            Task::Analyse(task) => &task.input_dir,
            Task::Optimize(task) => &task.input_dir,
            Task::Draw(task) => &task.input_dir,
        }
    }

    /// The paths of the files of the model, relative to the input folder.
    pub fn files(&self) -> &[String] {
        match self {
            Task::Analyse(task) => &task.files,
            Task::Optimize(task) => &task.files,
            Task::Draw(task) => &task.files,
        }
    }

    /// The folder that receives the results.
    pub fn output_dir(&self) -> &Path {
        match self {
            Task::Analyse(task) => &task.output_dir,
            Task::Optimize(task) => &task.output_dir,
            Task::Draw(task) => &task.output_dir,
        }
    }
}

/// Reads a model and writes a picture of it, [`ICON_NAME`], into the output folder.
///
/// [`ICON_NAME`]: super::pictures::ICON_NAME
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DrawTask {
    /// The folder that holds the model's files; nothing outside it is read.
    pub input_dir: PathBuf,
    /// The files that may be the model, as paths relative to `input_dir` with `/` between parts.
    pub files: Vec<String>,
    /// The folder that receives the picture; made when it is missing.
    pub output_dir: PathBuf,
    /// Pixels on each side.
    pub size: usize,
}

/// Reads a model and writes `rpd_info.json`, `metrics.json`, `info.log`, `warning.log`, `error.log`
/// and `thumb.jpg` into the output folder; for a CAD file also `converted/<file>`, a glb and a usdz, and for a scene of an
/// authoring program (fbx, USD) `converted/<file>` in four formats, `materials/<file>` and `pbr_qc/<file>`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnalyseTask {
    /// The folder that holds the uploaded files; nothing outside it is read.
    pub input_dir: PathBuf,
    /// The uploaded files, as paths relative to `input_dir` with `/` between parts.
    pub files: Vec<String>,
    /// The folder that receives the results; created if it does not exist.
    pub output_dir: PathBuf,
}

/// Optimizes a model: writes `exports/<file>` and the same analysis files as [`AnalyseTask`], these
/// describing the result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OptimizeTask {
    /// The folder that holds the uploaded files; nothing outside it is read.
    pub input_dir: PathBuf,
    /// The uploaded files, as paths relative to `input_dir` with `/` between parts.
    pub files: Vec<String>,
    /// The folder that receives the results; created if it does not exist.
    pub output_dir: PathBuf,
    /// The optimizer configuration, layout A or B. An empty object is a lossless clean-up to GLB.
    #[serde(default)]
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The name of the exported files without extension, where the user gave one.
    #[serde(default)]
    pub export_name: Option<String>,
    /// The name of the exports if neither the configuration nor `export_name` gives one.
    pub base_name: String,
    /// Scales every export, in addition to its own `customScaling`.
    #[serde(default = "no_scaling")]
    pub scale: f64,
}

fn no_scaling() -> f64 {
    1.0
}

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
    /// The lines of `warning.log`.
    pub warnings: Vec<String>,
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

/// The size of a model in common measures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCounts {
    /// Triangles drawn: a mesh used by two nodes counts twice, as a viewer counts it.
    pub triangles: u64,
    /// Vertices stored.
    pub vertices: u64,
    pub meshes: u64,
    pub materials: u64,
    pub textures: u64,
    /// The longest side of any image in pixels; 0 without images.
    pub largest_texture: u32,
    /// Bytes of the model's own files.
    pub bytes: u64,
}

/// Whether a job draws pictures of its model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pictures {
    /// Thumbnail, six views, and for exports a turntable, differences and scores.
    #[default]
    Drawn,
    /// As [`Pictures::Drawn`], with `before-after.png` (source and result side by side) instead of the turntable.
    Shown,
    /// No pictures.
    Skipped,
}

/// The names of the main files of an optimization, one for each export.
pub fn planned_names(
    settings: &Settings,
    export_name: Option<&str>,
    base_name: &str,
) -> Vec<String> {
    export::planned_names(settings, export_name, base_name)
}

/// Runs a task to its end and reports its progress.
///
/// # Errors
/// One sentence that names the file and its fault; it is also written to `error.log`.
pub fn run(task: &Task, progress: &mut dyn FnMut(Progress)) -> Result<Report, EngineError> {
    run_with(task, Pictures::Drawn, progress)
}

/// As [`run`], with or without pictures.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    task: &Task,
    pictures: Pictures,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, EngineError> {
    run::run(task, pictures, progress)
}

/// Runs an optimization with settings that were read already; `task.config` is not read.
pub(crate) fn optimize_with(
    task: &OptimizeTask,
    settings: Settings,
    pictures: Pictures,
) -> Result<Report, EngineError> {
    run::run_steps(&task.output_dir, pictures, &mut |_| (), |job| {
        optimize::optimize(task, settings, job)
    })
}
