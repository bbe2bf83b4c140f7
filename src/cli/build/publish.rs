//! Moves results to where they are wanted, and remembers which files there are ours.
//!
//! Invariants: a file that this build has not made is never replaced or removed. The record of a result names its files
//! before the first of them is moved, so after a kill at any moment the next run knows them. A file is moved by a rename,
//! so it is whole or not there.
//!
//! Many results are published together: their records are one write to the log, and each folder is synced once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::super::exit::sentence;
use super::super::exported_files::exports;
use super::super::record_log::RecordLog;
use super::super::watch::Key;
use super::published::{
    COMPARED, EARLIER_RECORDS, LOG, Published, PublishedFile, PublishedResults, changed,
};
use crate::durable::{sync_dir, write_atomic};

const MAGIC: [u8; 8] = *b"afsbuild";

/// Publishes results, and has the log of their records.
#[derive(Debug)]
pub(super) struct Publisher {
    /// The folder of the log.
    folder: PathBuf,
    log: RecordLog,
    pub(super) results: PublishedResults,
}

/// A result that is whole and is to be published.
pub(super) struct NewResult {
    pub(super) key: Key,
    /// The folder that has its files now.
    pub(super) made_in: PathBuf,
    /// The folder for its exports, below the folder of results.
    pub(super) folder: PathBuf,
}

/// A result with the record that its files get.
struct PlannedMove {
    new: NewResult,
    exports: Vec<PathBuf>,
    record: Published,
    /// The record of the version before.
    before: Option<Published>,
}

impl Publisher {
    /// Reads the records in `folder`, which exists; `out` is the folder of results.
    pub(super) fn open(out: &Path, folder: &Path) -> Result<Publisher> {
        let lost =
            "files whose records are lost count as yours: move them away, and they are made again";
        let (log, in_log) = RecordLog::open(&folder.join(LOG), MAGIC, lost)?;
        let mut publisher = Publisher {
            folder: folder.to_owned(),
            log,
            results: PublishedResults::read(out, folder, in_log)?,
        };
        let earlier = folder.join(EARLIER_RECORDS);
        let is_earlier = earlier.exists();
        if is_earlier || publisher.log.count() > publisher.results.known.len() {
            publisher
                .log
                .replace_all(publisher.results.known.values())?;
        }
        if is_earlier {
            let removed = fs::remove_dir_all(&earlier);
            removed.with_context(|| format!("cannot remove {}", earlier.display()))?;
        }
        Ok(publisher)
    }

    /// Writes down which files the next build need not read.
    pub(super) fn keep_compared(&mut self) -> Result<()> {
        self.results.forget_compared();
        let text = serde_json::to_vec(&self.results.compared)?;
        let path = self.folder.join(COMPARED);
        match fs::read(&path) {
            Ok(before) if before == text => Ok(()),
            _ => Ok(write_atomic(&path, &text)?),
        }
    }

    /// Moves the exports of results to their folders. Files of an earlier version that a new one does not have are removed. Does
    /// nothing for a result whose interrupted move was already finished. Returns what came of each, in the same order: a failure
    /// if a file there is not ours or of another result, or it cannot be written.
    pub(super) fn publish(&mut self, all: Vec<NewResult>) -> Vec<(Key, Result<()>)> {
        let mut plans = Vec::new();
        for new in all {
            let key = new.key.clone();
            plans.push((key, self.plan(new)));
        }
        let planned = plans.iter().filter_map(|(_, plan)| plan.as_ref().ok());
        let is_new = |plan: &&PlannedMove| plan.before.as_ref() != Some(&plan.record);
        let records = planned.filter(is_new).map(|plan| &plan.record);
        if let Err(error) = self.log.append(records) {
            let undone = |(key, plan): (Key, Result<PlannedMove>)| {
                let ended = plan.and_then(|plan| Err(self.undo(plan, &error)));
                (key, ended)
            };
            return plans.into_iter().map(undone).collect();
        }
        let moved: Vec<(Key, Result<PlannedMove>)> = plans
            .into_iter()
            .map(|(key, plan)| (key, plan.and_then(|plan| self.move_files(plan))))
            .collect();
        let synced = self.synced(&moved);
        let mut ended = Vec::new();
        let mut without_old = Vec::new();
        for (key, plan) in moved {
            let end = plan.and_then(|plan| self.finish(plan, &synced));
            let end = end.map(|record| without_old.extend(record));
            ended.push((key, end));
        }
        // If this fails, nothing is lost: the next build only looks for the old files again.
        if let Err(error) = self.log.append(&without_old) {
            tracing::debug!(%error, "the records keep the names of files that were removed");
        }
        ended
    }

    /// Plans a move and reserves the names of its files: another result of the same call must not take them.
    fn plan(&mut self, new: NewResult) -> Result<PlannedMove> {
        let made_in = &new.made_in;
        let from = fs::metadata(made_in).with_context(|| made_in.display().to_string())?;
        let exports = exports(made_in)?;
        let before = self.results.known.get(&new.key).cloned();
        let record = match &before {
            Some(known) if known.from == from.ino() => known.clone(),
            known => {
                let of = |below: &PathBuf| {
                    PublishedFile::of(&made_in.join(below), new.folder.join(below))
                };
                let files: Vec<PublishedFile> = exports.iter().map(of).collect::<Result<_>>()?;
                let is_old = |old: &&PublishedFile| files.iter().all(|file| file.path != old.path);
                let known = known.iter();
                let before = known.flat_map(|known| known.files.iter().chain(&known.old));
                Published {
                    model: new.key.0.clone(),
                    preset: new.key.1.clone(),
                    old: before.filter(is_old).cloned().collect(),
                    files,
                    from: from.ino(),
                }
            }
        };
        if record.files.is_empty() {
            bail!("the result has no files");
        }
        for file in &record.files {
            self.results.check_free(&new.key, &file.path)?;
        }
        self.results.note(record.clone());
        Ok(PlannedMove {
            new,
            exports,
            record,
            before,
        })
    }

    /// Restores what was known before a plan whose record could not be written. Returns the error for its result.
    fn undo(&mut self, plan: PlannedMove, why: &anyhow::Error) -> anyhow::Error {
        match plan.before {
            Some(before) => drop(self.results.note(before)),
            None => drop(self.results.forget(&plan.new.key)),
        }
        anyhow!("{}", sentence(why))
    }

    fn move_files(&mut self, plan: PlannedMove) -> Result<PlannedMove> {
        for below in &plan.exports {
            let path = plan.new.folder.join(below);
            let whole = self.results.out.join(&path);
            move_file(&plan.new.made_in.join(below), &whole)?;
            if let Ok(status) = fs::symlink_metadata(&whole) {
                self.results.compared.insert(path, changed(&status));
            }
        }
        Ok(plan)
    }

    /// Syncs the folders that files were moved to. Returns those for which that failed, with the reasons.
    fn synced(&self, moved: &[(Key, Result<PlannedMove>)]) -> BTreeMap<PathBuf, String> {
        let plans = moved.iter().filter_map(|(_, plan)| plan.as_ref().ok());
        let folders: BTreeSet<PathBuf> = plans.flat_map(PlannedMove::folders).collect();
        let sync = |folder: PathBuf| match sync_dir(self.results.out.join(&folder)) {
            Ok(()) => None,
            Err(error) => Some((folder, sentence(&error.into()))),
        };
        folders.into_iter().filter_map(sync).collect()
    }

    /// Removes the files of the version before. Returns the record without them, if there were any.
    fn finish(
        &mut self,
        plan: PlannedMove,
        not_synced: &BTreeMap<PathBuf, String>,
    ) -> Result<Option<Published>> {
        if let Some(why) = plan.folders().find_map(|folder| not_synced.get(&folder)) {
            bail!("{why}");
        }
        if plan.record.old.is_empty() {
            return Ok(None);
        }
        for file in &plan.record.old {
            self.results.remove(file)?;
        }
        let record = Published {
            old: Vec::new(),
            ..plan.record
        };
        self.results.note(record.clone());
        Ok(Some(record))
    }

    /// Removes the files of a result, and its record.
    pub(super) fn retract(&mut self, key: &Key) -> Result<()> {
        let Some(record) = self.results.known.get(key).cloned() else {
            return Ok(());
        };
        for file in record.files.iter().chain(&record.old) {
            self.results.remove(file)?;
        }
        self.log.append([&Published {
            files: Vec::new(),
            old: Vec::new(),
            ..record
        }])?;
        self.results.forget(key);
        Ok(())
    }
}

impl PlannedMove {
    /// The folders that its files are moved to, with those above, which may be new, too; below the folder of results.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let paths = self.exports.iter().map(|below| self.new.folder.join(below));
        paths.flat_map(|path| {
            path.ancestors()
                .skip(1)
                .map(Path::to_owned)
                .collect::<Vec<_>>()
        })
    }
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
        renamed => renamed.with_context(cannot),
    }
}

#[cfg(test)]
mod tests;
