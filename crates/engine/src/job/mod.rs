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
mod gain;
mod judge;
mod memory;
mod optimize;
mod rebaked;
mod reduce;
mod report;
mod run;
mod size_estimate;
mod size_search;
mod size_trial;
mod steps;
mod target_size;
mod task;

pub use super::analyse::ModelCounts;
use super::error::EngineError;
pub use super::pictures::{
    BEFORE_AFTER_NAME, Badge, ICON_NAME, OVERVIEW_NAME, RENDERS_FOLDER, THUMBNAIL_NAME, badged,
    icon_of_thumbnail,
};
use super::settings::Settings;
pub use report::{ExportedFile, ExportedImage, ModelFile, Phase, Progress, QualityScore, Report};
pub use task::{AnalyseTask, DrawTask, OptimizeTask, Pictures, Task};

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
    TaskRunner::default().run(task, None, pictures, progress)
}

/// Runs tasks one after another. For consecutive tasks with the same source, the pictures of the source are drawn once.
#[derive(Debug, Default)]
pub struct TaskRunner {
    drawn: context::DrawnSources,
}

impl TaskRunner {
    /// Runs a task, as [`run_with`]. `source` identifies the bytes of the files of the model; two tasks with different
    /// bytes must not have the same. With `None` its pictures are not shared.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(
        &mut self,
        task: &Task,
        source: Option<&str>,
        pictures: Pictures,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report, EngineError> {
        self.drawn.source = source.map(str::to_owned);
        run::run(task, pictures, &mut self.drawn, progress)
    }
}

/// Runs an optimization with settings that were read already; `task.config` is not read.
pub(crate) fn optimize_with(
    task: &OptimizeTask,
    settings: Settings,
    pictures: Pictures,
) -> Result<Report, EngineError> {
    let mut drawn = context::DrawnSources::default();
    steps::run_steps(&task.output_dir, pictures, &mut drawn, &mut |_| (), |job| {
        optimize::optimize(task, settings, job)
    })
}
