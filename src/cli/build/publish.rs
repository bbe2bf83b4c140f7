//! Moves results to where they are wanted, and remembers which files there are ours.
//!
//! Invariants: a file that this build has not made is never replaced or removed. The record of a result names its files
//! before the first of them is moved, so after a kill at any moment the next run knows them. A file is moved by a rename,
//! so it is whole or not there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::super::exported_files::exports;
use super::super::files;
use super::super::watch::Key;
use crate::durable::{sync_dir, write_atomic};
use crate::fuse::shell_quoted;

/// The file beside the records that [`ComparedFiles`] is kept in.
const COMPARED: &str = "compared";

/// The files of one result in the folder of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Published {
    model: String,
    preset: String,
    files: Vec<PublishedFile>,
    /// Files of the version before, until they are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    old: Vec<PublishedFile>,
    /// The inode of the folder that the files are moved from: an interrupted move goes on with the same one.
    from: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PublishedFile {
    /// Below the folder of results.
    path: PathBuf,
    /// Bytes.
    size: u64,
    modified: FileTime,
    /// A hash of its bytes. A record of an earlier version has none: then the file is known by `modified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

/// A time of a file in seconds and nanoseconds since 1970.
type FileTime = (i64, i64);

/// The change times (ctime) of the inodes of files whose bytes were compared, by their paths below the folder of results. While
/// a file has the same ctime, it has the same bytes: no program can set it back, as `cp -p` does with the mtime. A file without
/// an entry is read again.
type ComparedFiles = BTreeMap<PathBuf, FileTime>;

/// The records of what was published.
#[derive(Debug)]
pub(super) struct Publisher {
    out: PathBuf,
    records: PathBuf,
    known: BTreeMap<Key, Published>,
    compared: ComparedFiles,
}

impl Publisher {
    /// Reads the records in the folder `records`; `out` is the folder of results.
    pub(super) fn open(out: &Path, records: &Path) -> Result<Publisher> {
        let known = files::records_in(records, "its result is made again")?.into_iter();
        let by_key = |record: Published| ((record.model.clone(), record.preset.clone()), record);
        let compared = fs::read(records.join(COMPARED)).ok();
        let compared = compared.and_then(|text| serde_json::from_slice(&text).ok());
        Ok(Publisher {
            out: out.to_owned(),
            records: records.to_owned(),
            known: known.map(by_key).collect(),
            compared: compared.unwrap_or_default(),
        })
    }

    /// Writes down which files the next build need not read.
    pub(super) fn keep_compared(&mut self) -> Result<()> {
        let files = self.known.values().flat_map(|record| &record.files);
        let known: BTreeSet<&PathBuf> = files.map(|file| &file.path).collect();
        self.compared.retain(|path, _| known.contains(path));
        let text = serde_json::to_vec(&self.compared)?;
        let path = self.records.join(COMPARED);
        match fs::read(&path) {
            Ok(before) if before == text => Ok(()),
            _ => Ok(write_atomic(&path, &text)?),
        }
    }

    /// Whether every file of a result is where it was put, unchanged.
    pub(super) fn is_current(&mut self, key: &Key) -> bool {
        let Some(record) = self.known.get(key) else {
            return false;
        };
        let mut files = record.files.iter();
        files.len() > 0 && files.all(|file| file.is_at(&self.out, &mut self.compared))
    }

    /// The files of a result, below the folder of results.
    pub(super) fn files(&self, key: &Key) -> Vec<PathBuf> {
        let files = self
            .known
            .get(key)
            .into_iter()
            .flat_map(|record| &record.files);
        files.map(|file| file.path.clone()).collect()
    }

    /// Whether a result was published and not removed since.
    pub(super) fn knows(&self, key: &Key) -> bool {
        self.known.contains_key(key)
    }

    /// The results that were published.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.known.keys().cloned().collect()
    }

    /// Moves the exports in `results` to `folder`, which is below the folder of results. Files of an earlier version that the
    /// new one does not have are removed. Does nothing if an interrupted move was already finished.
    ///
    /// # Errors
    /// If a file there is not ours or of another result, or it cannot be written.
    pub(super) fn publish(&mut self, key: &Key, results: &Path, folder: &Path) -> Result<()> {
        let from = fs::metadata(results)
            .with_context(|| results.display().to_string())?
            .ino();
        let exports = exports(results)?;
        let known = self.known.get(key);
        let record = match known.filter(|known| known.from == from) {
            Some(known) => known.clone(),
            None => {
                let of =
                    |below: &PathBuf| PublishedFile::of(&results.join(below), folder.join(below));
                let files: Vec<PublishedFile> = exports.iter().map(of).collect::<Result<_>>()?;
                let is_old = |old: &&PublishedFile| files.iter().all(|file| file.path != old.path);
                let before = known
                    .into_iter()
                    .flat_map(|known| known.files.iter().chain(&known.old));
                Published {
                    model: key.0.clone(),
                    preset: key.1.clone(),
                    old: before.filter(is_old).cloned().collect(),
                    files,
                    from,
                }
            }
        };
        if record.files.is_empty() {
            bail!("the result has no files");
        }
        for file in &record.files {
            self.check_free(key, &file.path)?;
        }
        self.put(record.clone())?;
        for below in &exports {
            let path = folder.join(below);
            let whole = self.out.join(&path);
            move_file(&results.join(below), &whole)?;
            if let Ok(status) = fs::symlink_metadata(&whole) {
                self.compared.insert(path, changed(&status));
            }
        }
        for file in &record.old {
            self.remove(file)?;
        }
        self.put(Published {
            old: Vec::new(),
            ..record
        })
    }

    /// Removes the files of a result, and its record.
    pub(super) fn retract(&mut self, key: &Key) -> Result<()> {
        let Some(record) = self.known.get(key).cloned() else {
            return Ok(());
        };
        for file in record.files.iter().chain(&record.old) {
            self.remove(file)?;
        }
        fs::remove_file(self.record_of(key))?;
        sync_dir(&self.records)?;
        self.known.remove(key);
        Ok(())
    }

    /// Removes a file, unless somebody has changed it since. Folders that are empty then go with it.
    fn remove(&mut self, file: &PublishedFile) -> Result<()> {
        let path = self.out.join(&file.path);
        if !file.is_at(&self.out, &mut self.compared) {
            return Ok(());
        }
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        let folders = path
            .ancestors()
            .skip(1)
            .take_while(|folder| *folder != self.out);
        for folder in folders {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// # Errors
    /// If something is at `path` that this result may not replace.
    fn check_free(&self, key: &Key, path: &Path) -> Result<()> {
        let has = |record: &Published| {
            let mut files = record.files.iter().chain(&record.old);
            files.any(|file| file.path == path)
        };
        let owner = self.known.iter().find(|(_, record)| has(record));
        let whole = self.out.join(path);
        match owner {
            Some((owner, _)) if owner == key => Ok(()),
            Some(((model, preset), _)) => bail!(
                "{} is a file of {model} ({preset}); put more into `name` to tell them apart",
                whole.display()
            ),
            None if fs::symlink_metadata(&whole).is_ok() => bail!(
                "{} is there, and no build has made it; move it away, or change `name` or `out`",
                shell_quoted(&whole)
            ),
            None => Ok(()),
        }
    }

    fn put(&mut self, record: Published) -> Result<()> {
        let key = (record.model.clone(), record.preset.clone());
        if self.known.get(&key) == Some(&record) {
            return Ok(());
        }
        let path = self.record_of(&key);
        write_atomic(&path, &serde_json::to_vec(&record)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        self.known.insert(key, record);
        Ok(())
    }

    fn record_of(&self, (model, preset): &Key) -> PathBuf {
        let name = xxh3_128(format!("{model}\0{preset}").as_bytes());
        self.records.join(format!("{name:032x}.json"))
    }
}

impl PublishedFile {
    fn of(file: &Path, path: PathBuf) -> Result<PublishedFile> {
        let status = fs::metadata(file).with_context(|| file.display().to_string())?;
        Ok(PublishedFile {
            path,
            size: status.len(),
            modified: modified(&status),
            hash: Some(hash_of(file)?),
        })
    }

    /// Whether the file with this path below `out` has the same bytes.
    fn is_at(&self, out: &Path, compared: &mut ComparedFiles) -> bool {
        let path = out.join(&self.path);
        let Ok(status) = fs::symlink_metadata(&path) else {
            return false;
        };
        if !status.is_file() || status.len() != self.size {
            return false;
        }
        if compared.get(&self.path) == Some(&changed(&status)) {
            return true;
        }
        let is_same = match &self.hash {
            Some(hash) => hash_of(&path).is_ok_and(|it| it == *hash),
            None => modified(&status) == self.modified,
        };
        if is_same {
            compared.insert(self.path.clone(), changed(&status));
        }
        is_same
    }
}

fn modified(status: &fs::Metadata) -> FileTime {
    (status.mtime(), status.mtime_nsec())
}

fn changed(status: &fs::Metadata) -> FileTime {
    (status.ctime(), status.ctime_nsec())
}

fn hash_of(file: &Path) -> Result<String> {
    files::checksum(|take| files::read_through(file, take))
}

/// Whether a folder of results has exported files.
pub(super) fn has_exports(results: &Path) -> Result<bool> {
    Ok(!exports(results)?.is_empty())
}

fn move_file(from: &Path, to: &Path) -> Result<()> {
    let cannot = || format!("cannot write {}", to.display());
    let folder = to.parent().context("a file without a folder")?;
    fs::create_dir_all(folder).with_context(cannot)?;
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            bail!("{}: a folder has this name", cannot())
        }
        renamed => renamed.with_context(cannot)?,
    }
    Ok(sync_dir(folder)?)
}

#[cfg(test)]
mod tests;
