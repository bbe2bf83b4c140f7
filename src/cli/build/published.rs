//! Which files in the folder of results are ours: those of each result, as their records say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::super::files;
use super::super::record_log::RecordLog;
use super::super::watch::Key;
use crate::fuse::shell_quoted;

/// The log of the records, in the folder of a build.
pub(super) const LOG: &str = "published.log";
/// Where earlier versions had a file for each record. They are taken into the log.
pub(super) const EARLIER_RECORDS: &str = "published";

/// The file in the folder of a build that keeps [`ComparedFiles`].
pub(super) const COMPARED: &str = "compared";

/// The files of one result in the folder of results. A record without files says that the result was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Published {
    pub(super) model: String,
    pub(super) preset: String,
    pub(super) files: Vec<PublishedFile>,
    /// Files of the version before, until they are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) old: Vec<PublishedFile>,
    /// The inode of the folder that the files are moved from: an interrupted move goes on with the same one.
    pub(super) from: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PublishedFile {
    /// Below the folder of results.
    pub(super) path: PathBuf,
    /// Bytes.
    size: u64,
    modified: FileTime,
    /// A hash of its bytes. Records of earlier versions of assetfs have none; the file is then compared by `modified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hash: Option<String>,
}

/// A timestamp of a file: seconds and nanoseconds since 1970-01-01 UTC.
pub(super) type FileTime = (i64, i64);

/// The change times (ctime) of the inodes of files whose bytes were compared, by their paths below the folder of results. While
/// a file has the same ctime, it has the same bytes: no program can set it back, as `cp -p` does with the mtime. A file without
/// an entry is read again.
pub(super) type ComparedFiles = BTreeMap<PathBuf, FileTime>;

/// All results that were published and not removed since.
#[derive(Debug)]
pub(super) struct PublishedResults {
    /// The folder of results.
    pub(super) out: PathBuf,
    pub(super) known: BTreeMap<Key, Published>,
    /// Which result each file of `known` belongs to.
    owners: BTreeMap<PathBuf, Key>,
    pub(super) compared: ComparedFiles,
}

impl PublishedResults {
    /// Those that earlier builds have left in `folder`, read without changing anything.
    pub(super) fn peek(out: &Path, folder: &Path) -> Result<PublishedResults> {
        let in_log = RecordLog::peek(&folder.join(LOG))?;
        PublishedResults::read(out, folder, in_log)
    }

    pub(super) fn read(
        out: &Path,
        folder: &Path,
        in_log: Vec<Published>,
    ) -> Result<PublishedResults> {
        let earlier = files::records_in(&folder.join(EARLIER_RECORDS), "its result is made again")?;
        let compared = fs::read(folder.join(COMPARED)).ok();
        let compared = compared.and_then(|text| serde_json::from_slice(&text).ok());
        let mut results = PublishedResults {
            out: out.to_owned(),
            known: BTreeMap::new(),
            owners: BTreeMap::new(),
            compared: compared.unwrap_or_default(),
        };
        for record in earlier.into_iter().chain(in_log) {
            results.note(record);
        }
        Ok(results)
    }

    /// Stores a record; returns the one that it replaces.
    pub(super) fn note(&mut self, record: Published) -> Option<Published> {
        let key = record.key();
        let before = self.forget(&key);
        if !record.files.is_empty() {
            for file in record.files.iter().chain(&record.old) {
                self.owners.insert(file.path.clone(), key.clone());
            }
            self.known.insert(key, record);
        }
        before
    }

    /// Removes a result from the table; returns its record.
    pub(super) fn forget(&mut self, key: &Key) -> Option<Published> {
        let before = self.known.remove(key)?;
        for file in before.files.iter().chain(&before.old) {
            if self.owners.get(&file.path) == Some(key) {
                self.owners.remove(&file.path);
            }
        }
        Some(before)
    }

    /// Whether every file of a result is where it was put, unchanged.
    pub(super) fn is_current(&mut self, key: &Key) -> bool {
        let Some(record) = self.known.get(key) else {
            return false;
        };
        let mut files = record.files.iter();
        files.all(|file| file.is_at(&self.out, &mut self.compared))
    }

    /// The paths of the files of a result, relative to the folder of results.
    pub(super) fn files(&self, key: &Key) -> Vec<PathBuf> {
        let record = self.known.get(key).into_iter();
        let files = record.flat_map(|record| &record.files);
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

    /// Leaves out the files that no result has any more.
    pub(super) fn forget_compared(&mut self) {
        let files = self.known.values().flat_map(|record| &record.files);
        let known: BTreeSet<&PathBuf> = files.map(|file| &file.path).collect();
        self.compared.retain(|path, _| known.contains(path));
    }

    /// # Errors
    /// If something is at `path` that this result may not replace.
    pub(super) fn check_free(&self, key: &Key, path: &Path) -> Result<()> {
        let whole = self.out.join(path);
        match self.owners.get(path) {
            Some(owner) if owner == key => Ok(()),
            Some((model, preset)) => bail!(
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

    /// Removes a file, unless somebody has changed it since. Folders that are empty then go with it.
    pub(super) fn remove(&mut self, file: &PublishedFile) -> Result<()> {
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
}

impl Published {
    pub(super) fn key(&self) -> Key {
        (self.model.clone(), self.preset.clone())
    }
}

impl PublishedFile {
    /// What is to be known of `file`, which is moved to `path` below the folder of results.
    pub(super) fn of(file: &Path, path: PathBuf) -> Result<PublishedFile> {
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

/// When the inode was changed.
pub(super) fn changed(status: &fs::Metadata) -> FileTime {
    (status.ctime(), status.ctime_nsec())
}

fn hash_of(file: &Path) -> Result<String> {
    files::checksum(|take| files::read_through(file, take))
}
