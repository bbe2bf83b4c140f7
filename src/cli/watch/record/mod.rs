//! Records of the work that is done, in the log `OUT/.assetfs-watch/records.log`. The last record of a model and a preset counts.
//!
//! The record of a result is written before the result is moved to where it is seen, so after a kill at any moment the
//! next run knows whether that move was made. Nothing is done a second time for the same bytes and the same settings.
//! A record says that results are whole only when a power cut cannot take them away any more. That a result has been moved is
//! written together with the next record. If the process is killed before that, the next run finds the result in its place.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::file_system;
use crate::cli::exit::sentence;
use crate::cli::files;
use crate::cli::record_log::RecordLog;
use crate::durable::{DirLock, FileSystem, in_parallel, recorder, sync_dir};

/// The folder of records and unfinished results, in the folder of the results.
const FOLDER: &str = ".assetfs-watch";
const LOG: &str = "records.log";
/// Where earlier versions had a file for each record. They are taken into the log.
const EARLIER_RECORDS: &str = "records";
const MAGIC: [u8; 8] = *b"afswatch";
/// From this number of results on, one sync of the file system makes them durable. It waits for what other programs have
/// written as well, so fewer are synced file by file.
const MIN_AT_ONCE: usize = 4;

/// The outcome for one model with one preset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The entry of the watched folder.
    pub(super) entry: String,
    /// The preset's label.
    pub(super) preset: String,
    /// A hash of the configuration.
    pub(super) config: String,
    /// See [`crate::cli::models_of_folder::Source::stamp`].
    pub(super) stamp: String,
    /// A hash of the model's bytes.
    pub(super) content: String,
    /// The name of the results in the folder of the results.
    pub(super) results: String,
    /// The model's folder in the drive, where a drive does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) upload: Option<Upload>,
    pub(super) state: RecordState,
    /// How far the record can be believed: see [`FORM`].
    #[serde(default)]
    pub(super) form: u32,
}

/// The form of the records that this version writes. Those of form 0 did not compare the text in a drive with the preset.
pub(super) const FORM: u32 = 1;

impl Record {
    /// The text that says why the model failed, in the folder of the results `out`.
    pub(super) fn failure_text(&self, out: &Path) -> PathBuf {
        out.join(format!("{}.failed.txt", self.results))
    }
}

/// A model's copy in a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Upload {
    /// The folder below `rawmodels/`.
    pub(super) name: String,
    /// True once every file was copied.
    pub(super) is_copied: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(super) enum RecordState {
    /// Work has begun; the name of the results is taken.
    Working,
    /// The results are whole in `folder` and are being moved; `inode` is that of the folder.
    Moving {
        folder: PathBuf,
        inode: u64,
    },
    Done,
    Failed,
}

/// Records by entry and preset.
pub(super) type KnownRecords = BTreeMap<String, BTreeMap<String, Record>>;

/// All records of a folder of results. Held by one process at a time.
#[derive(Debug)]
pub(super) struct Records {
    dir: PathBuf,
    log: RecordLog,
    known: KnownRecords,
    /// The names of results that any record has, or had in this run.
    names: HashSet<String>,
    /// They are known, and go into the log with the next ones.
    not_in_log: Vec<Record>,
    /// Number of paths for unfinished results that were given out.
    work_folders: u64,
    /// The file system of the results, if one sync can make durable what is on it.
    file_system: Option<FileSystem>,
    _lock: DirLock,
}

impl Records {
    /// Reads the records of `out`, which exists.
    ///
    /// # Errors
    /// When another process watches with the same folder, or a record cannot be read.
    pub(super) fn open(out: &Path) -> Result<Records> {
        let dir = out.join(FOLDER);
        make_folder(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let lock = DirLock::acquire(&dir).with_context(|| {
            format!(
                "another `assetfs watch` writes its results to {}",
                out.display()
            )
        })?;
        let file_system = file_system::is_local(&dir).then(|| FileSystem::of(&dir));
        let lost = "models whose records are lost are done again";
        let (log, in_log) = RecordLog::open(&dir.join(LOG), MAGIC, lost)?;
        let mut known = earlier_records(&dir)?;
        in_log
            .into_iter()
            .for_each(|record| note(&mut known, record));
        Ok(Records {
            file_system: file_system.transpose()?,
            dir,
            log,
            names: all_of(&known).map(|it| it.results.clone()).collect(),
            known,
            not_in_log: Vec::new(),
            work_folders: 0,
            _lock: lock,
        })
    }

    pub(super) fn get(&self, entry: &str, preset: &str) -> Option<&Record> {
        self.known.get(entry)?.get(preset)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        all_of(&self.known)
    }

    /// Whether results of a record have this name.
    pub(super) fn has_name(&self, results: &str) -> bool {
        self.names.contains(results)
    }

    /// Keeps a record; durable when this returns.
    pub(super) fn put(&mut self, record: Record) -> Result<()> {
        self.put_all(vec![record])
    }

    /// Keeps records; durable when this returns.
    fn put_all(&mut self, records: Vec<Record>) -> Result<()> {
        self.log.append(self.not_in_log.iter().chain(&records))?;
        self.not_in_log.clear();
        records.into_iter().for_each(|record| self.note(record));
        if self.log.is_long(self.all().count()) {
            self.compact()?;
        }
        Ok(())
    }

    /// Writes what is not in the log yet. What cannot be written now, the next run finds.
    pub(super) fn rest(&mut self) {
        if !self.not_in_log.is_empty()
            && let Err(error) = self.put_all(Vec::new())
        {
            tracing::warn!(error = %sentence(&error), "records are not complete");
        }
    }

    /// Leaves out of the log what does not count any more.
    fn compact(&mut self) -> Result<()> {
        self.log.replace_all(all_of(&self.known))?;
        self.not_in_log.clear();
        Ok(())
    }

    /// Knows a record for as long as this process runs: for work that the next run begins again.
    pub(super) fn note(&mut self, record: Record) {
        if !self.names.contains(&record.results) {
            self.names.insert(record.results.clone());
        }
        note(&mut self.known, record);
    }

    /// Where unfinished results come to: a path that nothing has.
    pub(super) fn work_folder(&mut self) -> PathBuf {
        self.work_folders += 1;
        let name = format!("work-result-{}", self.work_folders);
        self.dir.join(name)
    }

    /// Finishes the moves that a kill interrupted, and removes unfinished results.
    pub(super) fn recover(&mut self, out: &Path) -> Result<()> {
        let mut settled = Vec::new();
        for record in self.all() {
            if let RecordState::Moving { folder, inode } = &record.state {
                let state = state_of_move(folder, &out.join(&record.results), *inode)?;
                let record = record.clone();
                settled.push(Record { state, ..record });
            }
        }
        let earlier = self.dir.join(EARLIER_RECORDS);
        let is_earlier = fs::symlink_metadata(&earlier).is_ok();
        let is_long = self.log.count() > self.all().count();
        if !settled.is_empty() {
            // The killed process may have moved them without a sync, so the moves may not be durable yet.
            sync_dir(out)?;
        }
        let has_settled = !settled.is_empty();
        settled.into_iter().for_each(|record| self.note(record));
        if has_settled || is_earlier || is_long {
            match self.compact() {
                Ok(()) if is_earlier => remove(&earlier)?,
                Ok(()) => {}
                // The next run finds what this one has found.
                Err(error) => tracing::warn!(error = %sentence(&error), "the log stays long"),
            }
        }
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_unfinished = [&b"work-"[..], b".new-"]
                .iter()
                .any(|prefix| name.as_encoded_bytes().starts_with(prefix));
            if is_unfinished {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Makes whole results durable in their folders.
    pub(super) fn make_durable(&self, landings: &[(Record, PathBuf)]) -> Vec<Result<()>> {
        if landings.len() >= MIN_AT_ONCE
            && let Some(file_system) = &self.file_system
        {
            match file_system.sync() {
                Ok(()) => return landings.iter().map(|_| Ok(())).collect(),
                Err(error) => {
                    tracing::warn!(error = %sentence(&error.into()), "results are synced file by file");
                }
            }
        }
        in_parallel(landings, |(_, folder)| sync_tree(folder))
    }

    /// Moves results, which are durable in their folders, to where they are seen, in place of older ones. They are there
    /// for certain when this returns.
    pub(super) fn land(&mut self, landings: &[(Record, PathBuf)], out: &Path) -> Result<()> {
        if landings.is_empty() {
            return Ok(());
        }
        self.put_all(moving(landings)?)?;
        let mut older = Vec::new();
        for (record, folder) in landings {
            older.extend(swap_in(folder, &out.join(&record.results))?);
        }
        sync_dir(out)?;
        for (record, _) in landings {
            let done = Record {
                state: RecordState::Done,
                ..record.clone()
            };
            self.note(done.clone());
            self.not_in_log.push(done);
        }
        older.iter().try_for_each(|path| remove(path))
    }
}

/// The records of a folder of results as they are, read without changing anything; none if there are none.
pub(super) fn peek(out: &Path) -> Result<KnownRecords> {
    let dir = out.join(FOLDER);
    let mut known = earlier_records(&dir)?;
    let in_log = RecordLog::peek(&dir.join(LOG))?;
    in_log
        .into_iter()
        .for_each(|record| note(&mut known, record));
    Ok(known)
}

/// The records that an earlier version has left.
fn earlier_records(dir: &Path) -> Result<KnownRecords> {
    let mut known = KnownRecords::new();
    for record in files::records_in(&dir.join(EARLIER_RECORDS), "its model is done again")? {
        note(&mut known, record);
    }
    Ok(known)
}

fn all_of(known: &KnownRecords) -> impl Iterator<Item = &Record> {
    known.values().flat_map(BTreeMap::values)
}

fn note(known: &mut KnownRecords, record: Record) {
    let of_entry = known.entry(record.entry.clone()).or_default();
    of_entry.insert(record.preset.clone(), record);
}

/// What became of a move that may have been interrupted; one that was not made is made.
fn state_of_move(folder: &Path, target: &Path, inode: u64) -> Result<RecordState> {
    if inode_of(folder)? == Some(inode) {
        swap_in(folder, target)?;
        return Ok(RecordState::Done);
    }
    Ok(match inode_of(target)? == Some(inode) {
        true => RecordState::Done,
        false => RecordState::Working,
    })
}

/// The records of results that are about to be moved.
fn moving(landings: &[(Record, PathBuf)]) -> Result<Vec<Record>> {
    let moving = landings.iter().map(|(record, folder)| {
        let inode = inode_of(folder)?.context("the folder of the results is gone")?;
        let folder = folder.clone();
        Ok(Record {
            state: RecordState::Moving { folder, inode },
            ..record.clone()
        })
    });
    moving.collect()
}

/// Makes a folder unless it is there. A link is refused: what it leads to is not ours to write and to remove in.
fn make_folder(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    match fs::symlink_metadata(path)?.is_dir() {
        true => Ok(()),
        false => bail!("a link or a file has this name; remove it, or give another --out"),
    }
}

/// Moves `folder` to `target`. Returns where older results are now, which are removed once the move is durable, or by
/// [`Records::recover`].
fn swap_in(folder: &Path, target: &Path) -> Result<Option<PathBuf>> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    recorder::renamed(folder, target);
    let cannot = || format!("cannot write {}", target.display());
    match renameat_with(CWD, folder, CWD, target, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::EXIST) => {
            renameat_with(CWD, folder, CWD, target, RenameFlags::EXCHANGE).with_context(cannot)?;
            Ok(Some(folder.to_owned()))
        }
        other => other.map(|()| None).with_context(cannot),
    }
}

/// Removes older results; a file in the place of a folder goes as well.
fn remove(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path)?,
        false => fs::remove_file(path)?,
    }
    Ok(())
}

/// Removes an unfinished result. What cannot be removed now, the next run removes.
pub(super) fn discard(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}

fn inode_of(path: &Path) -> io::Result<Option<u64>> {
    use std::os::unix::fs::MetadataExt as _;
    match fs::symlink_metadata(path) {
        Ok(status) => Ok(Some(status.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the files and folders below `dir` durable.
fn sync_tree(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        match path.is_dir() {
            true => sync_tree(&path)?,
            false => fs::File::open(&path)?.sync_all()?,
        }
    }
    Ok(sync_dir(dir)?)
}
