//! A record of the work that is done: one small file for each model and preset in `OUT/.assetfs-watch`, replaced
//! atomically.
//!
//! The record of a result is written before the result is moved to where it is seen, so after a kill at any moment the
//! next run knows whether that move was made. Nothing is done a second time for the same bytes and the same settings.
//! A record says that results are whole, or done, only when a power cut cannot take them away any more.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::super::exit::sentence;
use super::super::files;
use super::file_system;
use crate::durable::{DirLock, FileSystem, StagedFiles, recorder, sync_dir, write_all_atomic};

/// The folder of records and unfinished results, in the folder of the results.
const FOLDER: &str = ".assetfs-watch";

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
    known: KnownRecords,
    /// The file system of results and records, if one sync can make durable what is on it.
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
        for folder in [dir.clone(), dir.join("records")] {
            make_folder(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let lock = DirLock::acquire(&dir).with_context(|| {
            format!(
                "another `assetfs watch` writes its results to {}",
                out.display()
            )
        })?;
        let known = peek(out)?;
        let file_system = file_system::is_local(&dir).then(|| FileSystem::of(&dir));
        Ok(Records {
            file_system: file_system.transpose()?,
            dir,
            known,
            _lock: lock,
        })
    }

    pub(super) fn get(&self, entry: &str, preset: &str) -> Option<&Record> {
        self.known.get(entry)?.get(preset)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.known.values().flat_map(BTreeMap::values)
    }

    /// Keeps a record; durable when this returns.
    pub(super) fn put(&mut self, record: Record) -> Result<()> {
        self.put_all(vec![record])
    }

    /// Keeps records; durable when this returns.
    fn put_all(&mut self, records: Vec<Record>) -> Result<()> {
        write_all_atomic(&self.files_of(&records)?).with_context(|| self.cannot_write())?;
        records.into_iter().for_each(|record| self.note(record));
        Ok(())
    }

    /// The files of records.
    fn files_of(&self, records: &[Record]) -> Result<Vec<(PathBuf, Vec<u8>)>> {
        let file = |record: &Record| {
            let name = format!("{}\0{}", record.entry, record.preset);
            let name = format!("records/{:032x}.json", xxh3_128(name.as_bytes()));
            Ok((self.dir.join(name), serde_json::to_vec_pretty(record)?))
        };
        records.iter().map(file).collect()
    }

    fn cannot_write(&self) -> String {
        format!("cannot write records in {}", self.dir.display())
    }

    /// Knows a record for as long as this process runs: for work that the next run begins again.
    pub(super) fn note(&mut self, record: Record) {
        let of_entry = self.known.entry(record.entry.clone()).or_default();
        of_entry.insert(record.preset.clone(), record);
    }

    /// A new folder for unfinished results.
    pub(super) fn work_folder(&self) -> Result<PathBuf> {
        let dir = tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(&self.dir);
        Ok(dir
            .with_context(|| format!("cannot write to {}", self.dir.display()))?
            .keep())
    }

    /// Finishes the moves that a kill interrupted, and removes unfinished results.
    pub(super) fn recover(&mut self, out: &Path) -> Result<()> {
        let moving: Vec<Record> = self.all().cloned().collect();
        for record in moving {
            if let RecordState::Moving { folder, inode } = &record.state {
                let target = out.join(&record.results);
                let state = match (
                    inode_of(folder)? == Some(*inode),
                    inode_of(&target)? == Some(*inode),
                ) {
                    (true, _) => {
                        swap_in(folder, &target)?;
                        RecordState::Done
                    }
                    (false, true) => RecordState::Done,
                    (false, false) => RecordState::Working,
                };
                // The killed process may have moved it without a sync, so the move may not be durable yet.
                sync_dir(out)?;
                self.put(Record { state, ..record })?;
            }
        }
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"work-") {
                remove(&entry.path())?;
            }
        }
        for entry in fs::read_dir(self.dir.join("records"))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Moves whole results, which are durable in their folders, to where they are seen, in place of older ones.
    pub(super) fn land(&mut self, landings: &[(Record, PathBuf)], out: &Path) -> Result<()> {
        self.put_all(moving(landings)?)?;
        let older = swap_all_in(landings, out)?;
        sync_dir(out)?;
        self.put_all(done(landings))?;
        older.iter().try_for_each(|path| remove(path))
    }

    /// As [`Records::land`], for many results that are not durable yet: two syncs of their file system make them and their
    /// records durable. False if nothing was done, because there are few, or the file system cannot be synced.
    pub(super) fn land_at_once(
        &mut self,
        landings: &[(Record, PathBuf)],
        out: &Path,
    ) -> Result<bool> {
        let Some(file_system) = &self.file_system else {
            return Ok(false);
        };
        if landings.len() < MIN_AT_ONCE {
            return Ok(false);
        }
        let moving = moving(landings)?;
        let staged =
            StagedFiles::write(self.files_of(&moving)?).with_context(|| self.cannot_write())?;
        if let Err(error) = file_system.sync() {
            tracing::warn!(error = %sentence(&error.into()), "results are synced file by file");
            return Ok(false);
        }
        staged.publish().with_context(|| self.cannot_write())?;
        let older = swap_all_in(landings, out)?;
        let done = done(landings);
        let staged =
            StagedFiles::write(self.files_of(&done)?).with_context(|| self.cannot_write())?;
        file_system.sync()?;
        staged.publish().with_context(|| self.cannot_write())?;
        done.into_iter().for_each(|record| self.note(record));
        older.iter().try_for_each(|path| remove(path))?;
        Ok(true)
    }
}

/// The records of a folder of results as they are, read without changing anything; none if there are none.
pub(super) fn peek(out: &Path) -> Result<KnownRecords> {
    let mut known = KnownRecords::new();
    let folder = out.join(FOLDER).join("records");
    for record in files::records_in::<Record>(&folder, "its model is done again")? {
        let of_entry = known.entry(record.entry.clone()).or_default();
        of_entry.insert(record.preset.clone(), record);
    }
    Ok(known)
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

/// The records of results that were moved.
fn done(landings: &[(Record, PathBuf)]) -> Vec<Record> {
    let done = landings.iter().map(|(record, _)| Record {
        state: RecordState::Done,
        ..record.clone()
    });
    done.collect()
}

/// Moves results to where they are seen; returns where older ones are now.
fn swap_all_in(landings: &[(Record, PathBuf)], out: &Path) -> Result<Vec<PathBuf>> {
    let mut older = Vec::new();
    for (record, folder) in landings {
        older.extend(swap_in(folder, &out.join(&record.results))?);
    }
    Ok(older)
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

fn inode_of(path: &Path) -> io::Result<Option<u64>> {
    use std::os::unix::fs::MetadataExt as _;
    match fs::symlink_metadata(path) {
        Ok(status) => Ok(Some(status.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the files and folders below `dir` durable.
pub(super) fn sync_tree(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        match path.is_dir() {
            true => sync_tree(&path)?,
            false => fs::File::open(&path)?.sync_all()?,
        }
    }
    Ok(sync_dir(dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::recorder::DiskOp;

    fn record(state: RecordState) -> Record {
        let text = |text: &str| text.to_owned();
        Record {
            entry: text("chair.glb"),
            preset: text("web"),
            config: text("1"),
            stamp: text("2"),
            content: text("3"),
            results: text("chair"),
            upload: None,
            state,
            form: FORM,
        }
    }

    fn filled(records: &Records) -> PathBuf {
        let work = records.work_folder().unwrap();
        fs::write(work.join("chair.glb"), b"new").unwrap();
        work
    }

    #[test]
    fn a_move_that_was_interrupted_is_finished_and_made_once() {
        for moved in [false, true] {
            let out = tempfile::tempdir().unwrap();
            fs::create_dir(out.path().join("chair")).unwrap();
            fs::write(out.path().join("chair/chair.glb"), b"old").unwrap();
            let mut records = Records::open(out.path()).unwrap();
            let work = filled(&records);
            let state = RecordState::Moving {
                inode: inode_of(&work).unwrap().unwrap(),
                folder: work.clone(),
            };
            records.put(record(state)).unwrap();
            if moved {
                swap_in(&work, &out.path().join("chair")).unwrap();
            }
            drop(records);
            let unnamed = out.path().join(FOLDER).join("records/.new-1");
            fs::write(&unnamed, b"{").unwrap();
            let mut records = Records::open(out.path()).unwrap();
            recorder::begin();
            records.recover(out.path()).unwrap();
            let tape = recorder::end();
            assert_eq!(
                records.get("chair.glb", "web").unwrap().state,
                RecordState::Done
            );
            assert!(!unnamed.exists());
            // After a kill the move may have been made, but not synced.
            let synced = tape
                .iter()
                .position(|op| matches!(op, DiskOp::SyncDir(dir) if dir == out.path()));
            let recorded = tape
                .iter()
                .position(|op| matches!(op, DiskOp::Rename(_, to) if to.extension().is_some()));
            assert!(synced.is_some() && synced < recorded, "{tape:?}");
            assert_eq!(
                fs::read(out.path().join("chair/chair.glb")).unwrap(),
                b"new"
            );
            assert!(!work.exists());
        }
    }

    /// Lands results and returns what was done to the disk. That of an earlier run is in the place of one of them.
    fn landed(count: usize) -> (tempfile::TempDir, Vec<DiskOp>) {
        let out = tempfile::tempdir().unwrap();
        fs::create_dir(out.path().join("chair 0")).unwrap();
        let mut records = Records::open(out.path()).unwrap();
        let landing = |number: usize| {
            let record = Record {
                entry: format!("chair{number}.glb"),
                results: format!("chair {number}"),
                ..record(RecordState::Working)
            };
            (record, filled(&records))
        };
        let landings: Vec<_> = (0..count).map(landing).collect();
        recorder::begin();
        let is_done = records.land_at_once(&landings, out.path()).unwrap();
        let tape = recorder::end();
        assert_eq!(is_done, count >= MIN_AT_ONCE, "{count} results");
        for (record, _) in landings.iter().filter(|_| is_done) {
            let known = records.get(&record.entry, "web").unwrap();
            assert_eq!(known.state, RecordState::Done);
            let file = out.path().join(&record.results).join("chair.glb");
            assert_eq!(fs::read(file).unwrap(), b"new");
        }
        let left = fs::read_dir(out.path().join(FOLDER)).unwrap().count();
        let work = if is_done { 0 } else { count };
        assert_eq!(left, 2 + work, "older results are removed");
        (out, tape)
    }

    /// After a power cut a change counts for certain only if it was synced before: so each record gets its name after a sync
    /// that came after its bytes and after what it speaks of.
    #[test]
    fn many_results_are_durable_before_their_records_speak_of_them() {
        let (_few, tape) = landed(MIN_AT_ONCE - 1);
        assert_eq!(tape, []);
        let count = 3 * MIN_AT_ONCE;
        let (out, tape) = landed(count);
        let is_record = |path: &Path| path.parent().unwrap().ends_with("records");
        let (mut unsynced, mut syncs, mut speaking) = (0, 0, 0);
        for op in &tape {
            match op {
                DiskOp::SyncAll(_) => {
                    (unsynced, syncs) = (0, syncs + 1);
                }
                DiskOp::SyncDir(dir) => {
                    assert!(dir.ends_with("records"), "{dir:?}");
                    (speaking, syncs) = (0, syncs + 1);
                }
                DiskOp::Rename(_, to) if is_record(to) => {
                    assert!(syncs > 0, "the results are not durable");
                    assert_eq!(unsynced, 0, "a record speaks of what is not durable");
                    speaking += 1;
                }
                DiskOp::Rename(_, to) => {
                    assert_eq!(to.parent(), Some(out.path()));
                    assert_eq!(speaking, 0, "a move is not known after a power cut");
                    unsynced += 1;
                }
                DiskOp::Create(_) | DiskOp::Write(..) => unsynced += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(speaking, 0);
        assert_eq!(syncs, 4, "the number of syncs is that of one result");
    }

    #[test]
    fn unfinished_results_are_removed_and_the_work_is_known_as_begun() {
        let out = tempfile::tempdir().unwrap();
        let mut records = Records::open(out.path()).unwrap();
        let work = filled(&records);
        records.put(record(RecordState::Working)).unwrap();
        assert!(
            Records::open(out.path()).is_err(),
            "two processes write to one folder"
        );
        drop(records);
        let mut records = Records::open(out.path()).unwrap();
        records.recover(out.path()).unwrap();
        assert!(!work.exists());
        assert_eq!(
            records.get("chair.glb", "web").unwrap().state,
            RecordState::Working
        );
    }

    #[test]
    fn a_link_in_the_place_of_the_records_is_refused() {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join("work-of-mine")).unwrap();
        let out = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), out.path().join(FOLDER)).unwrap();
        let error = format!("{:#}", Records::open(out.path()).unwrap_err());
        assert!(
            error.contains(FOLDER) && error.contains("a link"),
            "{error}"
        );
        assert!(elsewhere.path().join("work-of-mine").exists());
    }

    #[test]
    fn a_damaged_record_is_named() {
        let out = tempfile::tempdir().unwrap();
        Records::open(out.path())
            .unwrap()
            .put(record(RecordState::Done))
            .unwrap();
        let dir = out.path().join(FOLDER).join("records");
        let path = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
        fs::write(&path, b"{").unwrap();
        let error = format!("{:#}", Records::open(out.path()).unwrap_err());
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
}
