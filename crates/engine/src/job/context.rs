//! The state that the steps of a running job share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::analyse::{Logs, Metrics};
use super::super::error::EngineError;
use super::super::export::losses;
use super::super::import::ImportOptions;
use super::super::pictures::ModelPictures;
use super::super::scene::Scene;
use super::report::{Phase, Progress};
use super::task::Pictures;
use assetfs_formats::FileFormat;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Output folder, logs, metrics and progress of a running job.
pub(super) struct JobContext<'p> {
    pub(super) output_dir: PathBuf,
    pub(super) logs: Logs,
    pub(super) metrics: Metrics,
    pub(super) written: Vec<String>,
    pub(super) progress: &'p mut dyn FnMut(Progress),
    pub(super) percent: u8,
    pub(super) phase: Option<Phase>,
    /// About how many bytes of memory the job needs.
    pub(super) memory_bytes: u64,
    pub(super) pictures: Pictures,
    pub(super) drawn: &'p mut DrawnSources,
}

/// The pictures of the last source that was drawn, for the next tasks that have the same source.
#[derive(Debug, Default)]
pub(super) struct DrawnSources {
    /// What identifies the bytes of the source of the task that runs; `None` if its pictures cannot be shared.
    pub(super) source: Option<String>,
    last: Option<(String, ImportOptions, Arc<ModelPictures>)>,
}

impl DrawnSources {
    /// The pictures of `scene`, which is the source read with `options`.
    fn of(&mut self, scene: &Scene, options: ImportOptions) -> Arc<ModelPictures> {
        if let (Some(source), Some((known, read_with, pictures))) = (&self.source, &self.last)
            && (source, options) == (known, *read_with)
        {
            return Arc::clone(pictures);
        }
        // Before the new pictures need memory.
        self.last = None;
        let pictures = Arc::new(ModelPictures::draw(scene));
        let source = self.source.clone();
        self.last = source.map(|source| (source, options, Arc::clone(&pictures)));
        pictures
    }
}

impl JobContext<'_> {
    /// The pictures of the source, drawn now unless the task before had the same source.
    pub(super) fn pictures_of(
        &mut self,
        scene: &Scene,
        options: ImportOptions,
    ) -> Arc<ModelPictures> {
        self.drawn.of(scene, options)
    }

    pub(super) fn step(&mut self, percent: u8, step: impl Into<String>) {
        self.percent = self.percent.max(percent.min(100));
        (self.progress)(Progress {
            percent: self.percent,
            step: step.into(),
            phase: self.phase,
            memory_bytes: self.memory_bytes,
        });
    }

    pub(super) fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.logs.warnings.push(Warning::new(kind, text));
    }

    /// Names the parts of a scene that a format cannot hold; only once for several files of one format.
    pub(super) fn warn_of_losses(&mut self, scene: &Scene, format: FileFormat) {
        for loss in losses(scene, format) {
            if !self.logs.warnings.contains(&loss) {
                self.logs.warnings.push(loss);
            }
        }
    }

    pub(super) fn info(&mut self, text: impl Into<String>) {
        self.logs.info.push(text.into());
    }

    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        write_file(&self.output_dir.join(name), bytes)?;
        self.written.push(name.to_owned());
        Ok(())
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let io = |source| EngineError::Io {
        path: path.to_owned(),
        source,
    };
    match fs::write(path, bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        written => return written.map_err(io),
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io)?;
    }
    fs::write(path, bytes).map_err(io)
}
