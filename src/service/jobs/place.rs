//! The folder of one job: the model laid out for its worker, and room for what the worker makes.
//!
//! The folder is removed with this value, whatever became of the job.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::JobError;
use crate::service::app::App;
use crate::service::records::{Area, JobRow, Owner};

/// The laid-out job.
#[derive(Debug)]
pub struct Place {
    /// Always there; only dropping takes it.
    dir: Option<TempDir>,
    /// The uploaded files, by their names below the input folder.
    pub files: Vec<String>,
}

impl Place {
    /// Makes the folder and lays the files of the job's asset out in it; none when the asset has no
    /// files (any more).
    pub async fn lay_out(app: &App, job: &JobRow) -> Result<Option<Place>, JobError> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("job-{}-", job.id))
            .tempdir_in(&app.work_dir)?;
        let mut place = Place {
            dir: Some(dir),
            files: Vec::new(),
        };
        std::fs::create_dir(place.output())?;
        for file in app.records.files_of(&[Owner::Asset(job.asset)]).await? {
            if file.area == Area::Source
                && let Some(blob) = &file.blob
            {
                app.files
                    .lay_out(blob, place.input().join(&file.name))
                    .await?;
                place.files.push(file.name);
            }
        }
        Ok((!place.files.is_empty()).then_some(place))
    }

    fn path(&self) -> &Path {
        self.dir.as_ref().expect("only dropping takes it").path()
    }

    /// The folder of the model.
    pub fn input(&self) -> PathBuf {
        self.path().join("in")
    }

    /// The folder that the worker fills.
    pub fn output(&self) -> PathBuf {
        self.path().join("out")
    }

    /// Writes the reason of a failure where the worker left none.
    pub fn note_failure(&self, reason: &str) -> std::io::Result<()> {
        note_failure(&self.output().join("error.log"), reason)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Many files take their time to remove; the runtime's threads are not for that.
        if let Some(dir) = self.dir.take() {
            tokio::task::spawn_blocking(move || drop(dir));
        }
    }
}

fn note_failure(path: &Path, reason: &str) -> std::io::Result<()> {
    let written = std::fs::read_to_string(path).unwrap_or_default();
    if written.contains(reason) {
        return Ok(());
    }
    std::fs::write(path, format!("{written}{reason}\n"))
}
