//! The work folder of one job: the model for its worker, and an output folder.
//!
//! The folder is removed when this value is dropped, whether the job succeeded or not.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::error::JobError;
use crate::service::app::App;
use crate::service::archive::{UnpackError, unpack};
use crate::service::files::TakenIn;
use crate::service::records::{Area, Arrived, JobRow};
use crate::wire::ModelId;
use assetfs_engine::intake::ZipLimits;
use assetfs_engine::job::ModelFile;

/// A prepared work folder.
#[derive(Debug)]
pub struct WorkFolder {
    /// `None` only while dropping.
    dir: Option<TempDir>,
    /// The uploaded files, by their names below the input folder.
    pub files: Vec<String>,
    /// Whether these files come from an uploaded archive.
    is_unpacked: bool,
}

/// Result of preparing a work folder.
#[derive(Debug)]
pub enum Prepared {
    /// The worker can begin.
    Ready(WorkFolder),
    /// The upload is refused.
    Refused {
        /// The reason, for the user.
        reason: String,
        /// Whether it exceeds the limits of imports.
        limit: bool,
    },
    /// The attempt was stopped.
    Stopped,
}

impl Prepared {
    fn refused(reason: &str) -> Prepared {
        Prepared::Refused {
            reason: reason.to_owned(),
            limit: false,
        }
    }
}

impl WorkFolder {
    /// Creates the folder and puts the files of the job's asset into it. An archive is unpacked. `stop` ends it early.
    pub async fn lay_out(
        app: &App,
        job: &JobRow,
        stop: &CancellationToken,
    ) -> Result<Prepared, JobError> {
        let filling = WorkFolder::fill(app, job);
        let filled = stop.run_until_cancelled(filling).await;
        filled.unwrap_or(Ok(Prepared::Stopped))
    }

    async fn fill(app: &App, job: &JobRow) -> Result<Prepared, JobError> {
        let Some(asset) = app.records.assets().get(job.user, job.asset).await? else {
            return Ok(Prepared::refused(
                "the base asset was deleted before the job started",
            ));
        };
        let dir = tempfile::Builder::new()
            .prefix(&format!("job-{}-", job.id))
            .tempdir_in(&app.work_dir)
            .map_err(JobError::WorkFolder)?;
        let mut place = WorkFolder {
            dir: Some(dir),
            files: Vec::new(),
            is_unpacked: false,
        };
        fs::create_dir(place.output()).map_err(JobError::WorkFolder)?;
        let frozen = app.records.incoming().frozen(job.asset).await?;
        let owner = ModelId::Asset(job.asset);
        for file in app.records.files().list(&[owner]).await? {
            if file.area != Area::Source {
                continue;
            }
            let target = place.input().join(&file.name);
            if let Some(stored) = file.stored() {
                app.files.lay_out(&stored, target).await?;
            } else if let Some(frozen) = frozen.get(&file.id) {
                if let Some(problem) = take_in(app, job, frozen, target).await? {
                    let reason = format!("the uploaded file {} {problem}", file.name);
                    return Ok(Prepared::refused(&reason));
                }
            } else {
                continue;
            }
            place.files.push(file.name);
        }
        match (place.files.as_slice(), asset.is_zip) {
            ([], _) => Ok(Prepared::refused("the base asset has no files")),
            ([archive], true) => {
                let archive = archive.clone();
                place.unpack(&archive).await
            }
            _ => Ok(Prepared::Ready(place)),
        }
    }

    /// Replaces the archive with its content.
    async fn unpack(mut self, archive: &str) -> Result<Prepared, JobError> {
        // Messages use the archive's own name.
        let aside = self.path().join("packed");
        fs::create_dir(&aside)?;
        let packed = aside.join(Path::new(archive).file_name().unwrap_or_default());
        fs::rename(self.input().join(archive), &packed)?;
        fs::remove_dir_all(self.input())?;
        fs::create_dir(self.input())?;
        let target = self.input();
        let unpacking = spawn_blocking(move || unpack(&packed, &target, &ZipLimits::default()));
        match unpacking.await.map_err(io::Error::other)? {
            Ok(files) => {
                self.files = files;
                self.is_unpacked = true;
                Ok(Prepared::Ready(self))
            }
            Err(UnpackError::Disk(error)) => Err(error.into()),
            Err(refusal) => Ok(Prepared::Refused {
                limit: matches!(refusal, UnpackError::Limit(_)),
                reason: refusal.to_string(),
            }),
        }
    }

    /// The uploaded file that the engine read `model` from: the file itself, or the archive around it. `None` if the
    /// service unpacked the archive, which is then the only uploaded file.
    pub fn uploaded_file(&self, model: &ModelFile) -> Option<String> {
        let holds = |file: &&String| {
            let rest = model.path.strip_prefix(file.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self.is_unpacked {
            true => None,
            false => self.files.iter().find(holds).cloned(),
        }
    }

    fn path(&self) -> &Path {
        self.dir.as_ref().expect("only dropping takes it").path()
    }

    /// The folder of the model.
    pub fn input(&self) -> PathBuf {
        self.path().join("in")
    }

    /// The size of the model.
    pub fn input_bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|file| {
            let found = fs::metadata(self.input().join(file));
            // One that cannot be read is left to the worker.
            found.map_or(0, |found| found.len())
        });
        sizes.sum()
    }

    /// The folder that the worker writes into.
    pub fn output(&self) -> PathBuf {
        self.path().join("out")
    }

    /// Writes the reason of a failure if the worker wrote none.
    pub fn note_failure(&self, reason: &str) -> io::Result<()> {
        note_failure(&self.output().join("error.log"), reason)
    }
}

/// Copies a file that a client has sent to the storage to a blob of its own, and puts it at `target`. Returns why the
/// upload is refused.
async fn take_in(
    app: &App,
    job: &JobRow,
    frozen: &Arrived,
    target: PathBuf,
) -> Result<Option<&'static str>, JobError> {
    let blob = app.records.blobs().fresh().await?;
    let taken = app.files.take_in(&blob, job.asset, frozen, target);
    let stored = match taken.await? {
        TakenIn::Done(stored) => stored,
        TakenIn::Changed => {
            return Ok(Some(
                "was sent again after the upload was completed; upload the model again",
            ));
        }
        TakenIn::Gone => {
            return Ok(Some(
                "is not in the storage any more; upload the model again",
            ));
        }
    };
    let incoming = app.records.incoming();
    match incoming
        .take_in(job.lease(), job.user, frozen.file, &stored)
        .await?
    {
        true => Ok(None),
        // The worker would be killed; ending the attempt here is the same.
        false => Ok(Some("was taken in by another attempt")),
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // Removing many files takes long, so it runs on a blocking thread.
        if let Some(dir) = self.dir.take() {
            tokio::task::spawn_blocking(move || drop(dir));
        }
    }
}

fn note_failure(path: &Path, reason: &str) -> io::Result<()> {
    let written = fs::read_to_string(path).unwrap_or_default();
    if written.contains(reason) {
        return Ok(());
    }
    fs::write(path, format!("{written}{reason}\n"))
}
