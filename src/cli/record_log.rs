//! The records of a command in the folder of its results: one log, in which the last record of a thing counts.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::durable::{AppendLog, DurableError};

/// How many records that do not count any more may be in the log of a running process.
pub(super) const MAX_REPLACED: usize = 10_000;

#[derive(Debug)]
pub(super) struct RecordLog {
    log: AppendLog,
    /// Number of records in the log.
    count: usize,
}

impl RecordLog {
    /// Opens the log at `path`, or makes it, and reads its records. Damaged ones are left out, with a message that ends with `lost`:
    /// what that means for the user.
    ///
    /// # Errors
    /// If it cannot be read, or another version wrote it.
    pub(super) fn open<R: DeserializeOwned>(
        path: &Path,
        magic: [u8; 8],
        lost: &str,
    ) -> Result<(RecordLog, Vec<R>)> {
        let (log, lines) = match AppendLog::open(path, magic) {
            Err(DurableError::LogDamaged { .. }) => {
                let found = AppendLog::salvage(path)?;
                eprintln!("assetfs: {} was damaged; {lost}", path.display());
                let log = AppendLog::create_over(path, magic, &found.records)?;
                (log, found.records)
            }
            found => found?,
        };
        let records = parsed(&lines, path)?;
        let count = records.len();
        Ok((RecordLog { log, count }, records))
    }

    /// Reads the records of a log without changing it. Without a log there are none.
    ///
    /// # Errors
    /// As [`RecordLog::open`].
    pub(super) fn peek<R: DeserializeOwned>(path: &Path) -> Result<Vec<R>> {
        match path.exists() {
            true => parsed(&AppendLog::salvage(path)?.records, path),
            false => Ok(Vec::new()),
        }
    }

    /// Adds records; durable when this returns. After an error none of them is in the log.
    pub(super) fn append<'r, R: Serialize + 'r>(
        &mut self,
        records: impl IntoIterator<Item = &'r R>,
    ) -> Result<()> {
        let lines = lines(records)?;
        let appended = self.log.append_all(&lines);
        appended.with_context(|| self.cannot_write())?;
        self.count += lines.len();
        Ok(())
    }

    /// Has these records and no others from now on; a crash leaves the old or the new ones.
    pub(super) fn replace_all<'r, R: Serialize + 'r>(
        &mut self,
        records: impl IntoIterator<Item = &'r R>,
    ) -> Result<()> {
        let lines = lines(records)?;
        let replaced = self.log.replace_all(&lines);
        replaced.with_context(|| self.cannot_write())?;
        self.count = lines.len();
        Ok(())
    }

    /// Number of records in the log.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether it should be written anew, because it has far more records than the `known` ones that still count.
    pub(super) fn is_long(&self, known: usize) -> bool {
        self.count > known + MAX_REPLACED
    }

    fn cannot_write(&self) -> String {
        let folder = self.log.path().parent().unwrap_or(self.log.path());
        format!("cannot write records in {}", folder.display())
    }
}

fn parsed<R: DeserializeOwned>(lines: &[Vec<u8>], path: &Path) -> Result<Vec<R>> {
    let parse = |line: &Vec<u8>| {
        serde_json::from_slice(line).with_context(|| {
            format!(
                "a record in {} cannot be read; a newer version of assetfs wrote it: use that one",
                path.display()
            )
        })
    };
    lines.iter().map(parse).collect()
}

fn lines<'r, R: Serialize + 'r>(records: impl IntoIterator<Item = &'r R>) -> Result<Vec<Vec<u8>>> {
    let records = records.into_iter();
    records
        .map(|record| Ok(serde_json::to_vec(record)?))
        .collect()
}
