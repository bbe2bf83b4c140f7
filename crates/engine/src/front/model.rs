//! A model that was read from its files.

use std::path::{Path, PathBuf};

use super::super::analyse::ModelCounts;
use super::super::analyse::counts;
use super::super::caught::caught;
use super::super::error::EngineError;
use super::super::import::{Imported, import};
use super::super::scene::Scene;
use assetfs_formats::input_files::files_below;
use assetfs_formats::warnings::Warning;

/// A model in memory, and where its files are.
#[derive(Debug)]
pub struct Model {
    imported: Imported,
    /// The folder that the model's files are in; nothing outside of it is read.
    dir: PathBuf,
    /// The files that may be the model, relative to `dir`.
    files: Vec<String>,
}

impl Model {
    /// Reads a model: a file in one of the formats that [`assetfs_formats::read`] lists, a zip with one, or a folder. In
    /// a folder the most likely file is the model; [`Model::warnings`] names the others.
    ///
    /// Files that the model refers to (buffers, images, materials) are looked for beside it and below, never outside of
    /// its folder. A hostile file can take much memory and time: run it in a process with limits.
    ///
    /// # Errors
    /// If the path cannot be read, there is no model, or it is damaged. The message names the file and the place in it.
    ///
    /// ```
    /// use assetfs_engine::{EngineError, Model};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let folder = dir.path();
    /// std::fs::write(folder.join("part.stl"), "solid part\nendsolid part\n")?;
    /// let error = Model::open(folder.join("part.glb")).unwrap_err();
    /// assert!(matches!(error, EngineError::Io { .. }));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Model, EngineError> {
        let path = path.as_ref();
        let io = |source| EngineError::Io {
            path: path.to_owned(),
            source,
        };
        let is_dir = std::fs::metadata(path).map_err(io)?.is_dir();
        let (dir, files) = match (is_dir, path.file_name()) {
            (false, Some(name)) => {
                let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
                let name = name.to_string_lossy().into_owned();
                (dir.unwrap_or(Path::new(".")), vec![name])
            }
            _ => (path, files_below(path)),
        };
        let imported = caught(|| Ok(import(dir, &files)?))?;
        Ok(Model {
            imported,
            dir: dir.to_owned(),
            files,
        })
    }

    /// The name of the model's file without its extension.
    pub fn name(&self) -> String {
        let stem = self.imported.model.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// The path of the model's file below the folder that was opened; in a zip first the path of the zip.
    pub fn file(&self) -> &Path {
        &self.imported.model
    }

    /// The format of the model's file: the extension in lower case.
    pub fn format(&self) -> &'static str {
        self.imported.format
    }

    /// Numbers of triangles, vertices and textures, and bytes of all files of the model.
    pub fn counts(&self) -> ModelCounts {
        counts(self.scene(), self.imported.size_bytes)
    }

    /// The lower and upper corner of the box that the model fills, with y up, in the model's units (metres if its format
    /// has units); `None` without geometry.
    pub fn bounds(&self) -> Option<[[f64; 3]; 2]> {
        let (low, high) = self.scene().in_world(self.scene().bounds()?);
        Some([low, high].map(Into::into))
    }

    /// Parts of the model that were left out or changed.
    pub fn warnings(&self) -> &[Warning] {
        &self.imported.warnings
    }

    pub(super) fn scene(&self) -> &Scene {
        &self.imported.scene
    }

    pub(super) fn scene_mut(&mut self) -> &mut Scene {
        &mut self.imported.scene
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn files(&self) -> &[String] {
        &self.files
    }

    pub(super) fn check_it_can_be_drawn(&self) -> Result<(), EngineError> {
        match self.scene().drawn_triangles() {
            0 => Err(EngineError::NothingToDraw(self.name())),
            _ => Ok(()),
        }
    }
}
