//! The result of an optimization.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::error::EngineError;
use super::super::job::{self, OptimizeTask, Pictures, Report};
use super::super::settings::{ExportSettings, Settings};
use super::model::Model;
use assetfs_formats::FileFormat;

/// An optimized model: its files in a temporary folder, which is removed with this value, and what is known of them.
#[derive(Debug)]
pub struct Outcome {
    report: Report,
    folder: TempDir,
}

impl Outcome {
    pub(super) fn of(model: &Model, settings: &Settings) -> Result<Outcome, EngineError> {
        let folder = tempfile::tempdir().map_err(|source| EngineError::Io {
            path: std::env::temp_dir(),
            source,
        })?;
        let task = OptimizeTask {
            input_dir: model.dir().to_owned(),
            files: model.files().to_vec(),
            output_dir: folder.path().to_owned(),
            config: serde_json::Map::new(),
            export_name: None,
            base_name: model.name(),
            scale: 1.0,
        };
        let mut settings = settings.clone();
        if settings.exports.is_empty() {
            settings.exports.push(ExportSettings::new(FileFormat::Glb));
        }
        let report = job::optimize_with(&task, settings, Pictures::Drawn)?;
        Ok(Outcome { report, folder })
    }

    /// Counts before and after, the exported files with their similarity to the source (0 to 100), and warnings.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The temporary folder: the exported files below `exports/`, pictures of source, result and differences below
    /// `renders/`, and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The first exported file as a model.
    ///
    /// # Errors
    /// If it cannot be read again.
    pub fn model(&self) -> Result<Model, EngineError> {
        Model::open(self.exports_folder().join(&self.report.exports[0].name))
    }

    /// Copies the exported files into a folder, which is made if it is missing. Files of the same name are replaced.
    /// Returns the paths of the main files, in the order of the settings.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<Vec<PathBuf>, EngineError> {
        for name in self.report.exports.iter().flat_map(|file| &file.parts) {
            let to = folder.join(name);
            let copied = match to.parent() {
                Some(parent) => fs::create_dir_all(parent),
                None => Ok(()),
            };
            copied
                .and_then(|()| fs::copy(self.exports_folder().join(name), &to))
                .map_err(|source| EngineError::Io { path: to, source })?;
        }
        let main = self.report.exports.iter();
        Ok(main.map(|file| folder.join(&file.name)).collect())
    }

    fn exports_folder(&self) -> PathBuf {
        self.folder.path().join("exports")
    }
}
