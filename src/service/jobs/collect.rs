//! Stores the files that a worker wrote into its output folder.
//!
//! The folder is not trusted: only regular files with safe names are stored, up to a maximum number.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;

use super::error::JobError;
use super::work_folder::WorkFolder;
use crate::backoff::Backoff;
use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::names;
use crate::service::records::{Area, Lease, NewFile, RecordsError};

/// Pauses between questions to a database that does not answer: each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(16);

/// Maximum number of files; no export has so many.
const MAX_FILES: usize = 20_000;

/// A file of the output folder: its area, its name there, and its path.
type Found = (Area, String, PathBuf);

/// Stores every file of the output folder.
pub async fn collect(app: &App, place: &WorkFolder) -> Result<Vec<NewFile>, JobError> {
    collect_from(app, &place.output()).await
}

/// Stores every file of `output`, which has the form of an output folder.
pub async fn collect_from(app: &App, output: &Path) -> Result<Vec<NewFile>, JobError> {
    let mut files = Vec::new();
    let found = find(output)?;
    let blobs = app.records.blobs().fresh_keys(found.len()).await?;
    for ((area, name, path), blob) in found.into_iter().zip(blobs) {
        match app.files.adopt(&blob, path).await {
            Ok(bytes) => files.push(NewFile { area, name, bytes }),
            Err(error) => {
                discard(app, &files).await;
                return Err(error.into());
            }
        }
    }
    Ok(files)
}

/// Stores a short text as a file of the analysis.
pub async fn store_text(app: &App, name: &str, text: String) -> Result<NewFile, JobError> {
    let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from(text))]);
    let blob = app.records.blobs().fresh().await?;
    Ok(NewFile {
        area: Area::Analysis,
        name: name.to_owned(),
        bytes: app.files.receive(&blob, body, u64::MAX).await?,
    })
}

/// Finishes storing a job's files, depending on the result of the commit. If the commit succeeded, the blobs that the
/// files replace are removed. If the attempt has lost its job, the new blobs are removed. True if the files have an
/// owner. If they do not fit into the account, they are removed, too.
///
/// If the commit failed, it may still have taken effect: the records are asked again, and nothing is removed. The
/// janitor removes blobs that no record refers to.
pub async fn settle(
    app: &App,
    lease: Lease,
    recorded: Result<Option<Vec<String>>, RecordsError>,
    files: &[NewFile],
) -> Result<bool, JobError> {
    match recorded {
        Ok(Some(replaced)) => {
            app.files.remove(&replaced).await;
            Ok(true)
        }
        Ok(None) => {
            discard(app, files).await;
            Ok(false)
        }
        Err(error @ RecordsError::NoRoom { .. }) => {
            discard(app, files).await;
            Err(error.into())
        }
        Err(error) => {
            tracing::warn!(job = %lease.job, error = %chain(&error), "it is unknown whether a job ended: checking again");
            match was_ended(app, lease).await? {
                true => Ok(true),
                false => Err(error.into()),
            }
        }
    }
}

/// Whether the end of an attempt is recorded. Asks again for a while if the database does not answer: it may start
/// again at this moment.
async fn was_ended(app: &App, lease: Lease) -> Result<bool, RecordsError> {
    let mut pauses = Backoff::doubling(FIRST_PAUSE, LAST_PAUSE);
    loop {
        let pause = pauses.next_pause();
        match app.records.jobs().was_ended(lease).await {
            Err(error) if pause < LAST_PAUSE && !app.stop.is_cancelled() => {
                tracing::warn!(job = %lease.job, error = %chain(&error), "the database does not answer: asking again");
                tokio::time::sleep(pause).await;
            }
            answered => return answered,
        }
    }
}

/// Removes the bytes of files that get no record.
pub async fn discard(app: &App, files: &[NewFile]) {
    let blobs: Vec<String> = files.iter().map(|file| file.bytes.blob.clone()).collect();
    app.give_up_blobs(&blobs).await;
}

/// The text of the file `name` in the output folder, if it exists and has at most `limit` bytes.
pub fn read_text(place: &WorkFolder, name: &str, limit: u64) -> Option<String> {
    let path = place.output().join(name);
    let metadata = fs::symlink_metadata(&path).ok()?;
    if !metadata.is_file() || metadata.len() > limit {
        return None;
    }
    String::from_utf8(fs::read(path).ok()?).ok()
}

fn find(output: &Path) -> std::io::Result<Vec<Found>> {
    let areas = [
        ("exports", Area::Export),
        ("renders", Area::Render),
        ("turntable", Area::Turntable),
        ("converted", Area::Converted),
        ("materials", Area::PbrMaterial),
        ("pbr_qc", Area::PbrQc),
        ("qc", Area::Qc),
    ];
    let mut found = Vec::new();
    add_files(output, Area::Analysis, &mut found)?;
    for (folder, area) in areas {
        add_tree(&output.join(folder), "", area, &mut found)?;
    }
    found.truncate(MAX_FILES);
    found.sort_by(|(_, a, _), (_, b, _)| a.cmp(b));
    Ok(found)
}

/// Adds the regular files of one folder, without its subfolders.
fn add_files(folder: &Path, area: Area, found: &mut Vec<Found>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(name) = name.to_str()
            && entry.file_type()?.is_file()
        {
            found.push((area, name.to_owned(), entry.path()));
        }
    }
    Ok(())
}

/// Adds the regular files of a folder and its subfolders, if the folder exists.
fn add_tree(
    folder: &Path,
    prefix: &str,
    area: Area,
    found: &mut Vec<Found>,
) -> std::io::Result<()> {
    if !fs::symlink_metadata(folder).is_ok_and(|folder| folder.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let name = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && found.len() < MAX_FILES {
            add_tree(&entry.path(), &format!("{name}/"), area, found)?;
        } else if kind.is_file() && names::check_file_names(std::slice::from_ref(&name)).is_ok() {
            found.push((area, name, entry.path()));
        }
    }
    Ok(())
}
