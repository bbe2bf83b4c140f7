//! A typed key-value store on disk, for metadata that can be fetched again.
//!
//! The invariant: each value has its own checksum, so a read returns what was written or an error. A store
//! that the database cannot open is moved aside, never deleted, and replaced by an empty one. Data that must
//! not be lost belongs in the append log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use redb::{Durability, ReadableDatabase as _, TableDefinition, TableError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::answering;
use super::error::DurableError;
use database::LastingDatabase;

mod database;
#[cfg(test)]
mod tests;

/// Relaxed commits between two durable ones; a durable commit also frees their old pages.
const RELAXED_COMMITS: u32 = 256;

/// A typed key-value store. Clones are handles to the same store.
#[derive(Debug, Clone)]
pub struct MetaStore {
    inner: Arc<Inner>,
    relaxed: bool,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    database: LastingDatabase,
    moved_aside: Option<PathBuf>,
    relaxed_commits: AtomicU32,
}

/// Changes that are applied atomically.
#[derive(Debug, Default)]
pub struct Batch {
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    table: String,
    key: String,
    /// The value with its checksum, or `None` to remove the key.
    value: Option<Vec<u8>>,
}

impl MetaStore {
    /// Opens or creates the store. A damaged store is moved aside, see [`MetaStore::moved_aside`].
    pub fn open(path: impl AsRef<Path>) -> Result<MetaStore, DurableError> {
        let path = path.as_ref();
        let (database, moved_aside) = LastingDatabase::open(path)?;
        Ok(MetaStore {
            inner: Arc::new(Inner {
                path: path.to_path_buf(),
                database,
                moved_aside,
                relaxed_commits: AtomicU32::new(0),
            }),
            relaxed: false,
        })
    }

    /// New path of the damaged store that was found on open.
    pub fn moved_aside(&self) -> Option<&Path> {
        self.inner.moved_aside.as_deref()
    }

    /// Returns a handle whose writes return before they are durable. They are visible at once and become durable
    /// in order, at the latest when the store is closed.
    #[must_use]
    pub fn relaxed(&self) -> MetaStore {
        MetaStore {
            inner: self.inner.clone(),
            relaxed: true,
        }
    }

    pub fn get<T: DeserializeOwned>(
        &self,
        table: &str,
        key: &str,
    ) -> Result<Option<T>, DurableError> {
        self.read(table, |rows| match rows.get(key)? {
            Some(sealed) => Ok(Some(sealed.value().to_vec())),
            None => Ok(None),
        })?
        .flatten()
        .map(|sealed| self.unseal(table, key, &sealed))
        .transpose()
    }

    /// Returns all keys that start with `prefix`, in order, with their values.
    ///
    /// A value that cannot be read is skipped with a warning, so one bad row does not hide others.
    pub fn scan<T: DeserializeOwned>(
        &self,
        table: &str,
        prefix: &str,
    ) -> Result<Vec<(String, T)>, DurableError> {
        let rows = self
            .read(table, |rows| {
                let mut found = Vec::new();
                for row in rows.range(prefix..)? {
                    let (key, sealed) = row?;
                    if !key.value().starts_with(prefix) {
                        break;
                    }
                    found.push((key.value().to_owned(), sealed.value().to_vec()));
                }
                Ok(found)
            })?
            .unwrap_or_default();
        let mut values = Vec::with_capacity(rows.len());
        for (key, sealed) in rows {
            match self.unseal(table, &key, &sealed) {
                Ok(value) => values.push((key, value)),
                Err(error) => warn!(table, key, error = %error, "skipped a stored value"),
            }
        }
        Ok(values)
    }

    pub fn put<T: Serialize + ?Sized>(
        &self,
        table: &str,
        key: &str,
        value: &T,
    ) -> Result<(), DurableError> {
        self.batch(|batch| batch.put(table, key, value))
    }

    /// Removes a key if it exists.
    pub fn remove(&self, table: &str, key: &str) -> Result<(), DurableError> {
        self.batch(|batch| {
            batch.remove(table, key);
            Ok(())
        })
    }

    /// Applies the changes made by `fill` in one transaction; none if `fill` returns an error.
    pub fn batch(
        &self,
        fill: impl FnOnce(&mut Batch) -> Result<(), DurableError>,
    ) -> Result<(), DurableError> {
        let mut batch = Batch::default();
        fill(&mut batch)?;
        if batch.changes.is_empty() {
            return Ok(());
        }
        let durability = self.next_durability();
        self.commit(&batch, durability)
    }

    /// Whether there are relaxed writes that a kill would take back.
    pub fn has_relaxed(&self) -> bool {
        self.inner.relaxed_commits.load(Ordering::Relaxed) > 0
    }

    /// Makes all relaxed writes durable.
    pub fn flush(&self) -> Result<(), DurableError> {
        self.inner.relaxed_commits.store(0, Ordering::Relaxed);
        self.commit(&Batch::default(), Durability::Immediate)
    }

    fn next_durability(&self) -> Durability {
        let commits = &self.inner.relaxed_commits;
        if self.relaxed && commits.fetch_add(1, Ordering::Relaxed) + 1 < RELAXED_COMMITS {
            return Durability::None;
        }
        commits.store(0, Ordering::Relaxed);
        Durability::Immediate
    }

    fn commit(&self, batch: &Batch, durability: Durability) -> Result<(), DurableError> {
        if matches!(durability, Durability::Immediate) {
            answering::check_may_block("a durable commit");
        }
        self.inner.database.work(|database| {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(durability)?;
            for change in &batch.changes {
                let mut rows = transaction.open_table(definition(&change.table))?;
                match &change.value {
                    Some(sealed) => drop(rows.insert(change.key.as_str(), sealed.as_slice())?),
                    None => drop(rows.remove(change.key.as_str())?),
                }
            }
            transaction.commit()?;
            Ok(())
        })
    }

    /// Runs `look` on a snapshot of the table; `None` if the table does not exist.
    fn read<R>(
        &self,
        table: &str,
        look: impl Fn(&redb::ReadOnlyTable<&'static str, &'static [u8]>) -> Result<R, redb::Error>,
    ) -> Result<Option<R>, DurableError> {
        self.inner.database.work(|database| {
            let transaction = database.begin_read()?;
            match transaction.open_table(definition(table)) {
                Ok(rows) => look(&rows).map(Some),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn unseal<T: DeserializeOwned>(
        &self,
        table: &str,
        key: &str,
        sealed: &[u8],
    ) -> Result<T, DurableError> {
        let bad = |source| DurableError::StoredValue {
            path: self.inner.path.clone(),
            table: table.to_owned(),
            key: key.to_owned(),
            source,
        };
        let (check, json) = sealed.split_first_chunk::<8>().ok_or_else(|| bad(None))?;
        if value_check(table, key, json) != u64::from_le_bytes(*check) {
            return Err(bad(None));
        }
        serde_json::from_slice(json).map_err(|error| bad(Some(error)))
    }
}

impl Batch {
    pub fn put<T: Serialize + ?Sized>(
        &mut self,
        table: &str,
        key: &str,
        value: &T,
    ) -> Result<(), DurableError> {
        let mut sealed = vec![0; 8];
        serde_json::to_writer(&mut sealed, value).map_err(|error| DurableError::StoredValue {
            path: PathBuf::new(),
            table: table.to_owned(),
            key: key.to_owned(),
            source: Some(error),
        })?;
        let check = value_check(table, key, &sealed[8..]);
        sealed[..8].copy_from_slice(&check.to_le_bytes());
        self.push(table, key, Some(sealed));
        Ok(())
    }

    /// Removes a key if it exists.
    pub fn remove(&mut self, table: &str, key: &str) {
        self.push(table, key, None);
    }

    fn push(&mut self, table: &str, key: &str, value: Option<Vec<u8>>) {
        self.changes.push(Change {
            table: table.to_owned(),
            key: key.to_owned(),
            value,
        });
    }
}

fn definition(table: &str) -> TableDefinition<'_, &'static str, &'static [u8]> {
    TableDefinition::new(table)
}

/// The checksum covers table and key, so a value under a wrong key is detected too.
fn value_check(table: &str, key: &str, json: &[u8]) -> u64 {
    let place = xxh3_64_with_seed(key.as_bytes(), xxh3_64_with_seed(table.as_bytes(), 0));
    xxh3_64_with_seed(json, place)
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.relaxed_commits.load(Ordering::Relaxed) > 0 {
            self.database.sync();
        }
    }
}
