//! What a worker process is asked to do, as plain data.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
/// [`ICON_NAME`]: super::ICON_NAME
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

/// Whether a job draws pictures of its model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pictures {
    /// A thumbnail and six large views. For each export also a turntable, pictures of the differences, and scores.
    #[default]
    Drawn,
    /// As [`Pictures::Drawn`], but the views are those that were compared, of half the size, and `before-after.png` (source
    /// and result side by side) replaces the turntable.
    Shown,
    /// No pictures.
    Skipped,
}
