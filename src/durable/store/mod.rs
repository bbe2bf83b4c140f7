//! A typed key-value store on disk, for metadata that can be fetched again.
//!
//! The invariant: each value has its own checksum, so a read returns what was written or an error. A store
//! that the database cannot open is moved aside, never deleted, and replaced by an empty one. Data that must
//! not be lost belongs in the append log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::{Database, Durability, ReadableDatabase as _, TableDefinition, TableError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::answering;
use super::error::DurableError;

#[cfg(test)]
mod tests;

/// Cache size of the database; its default of 1 GiB is far more than metadata needs.
const MEMORY_BYTES: usize = 8 << 20;
/// Relaxed commits between two durable ones; a durable commit also frees their old pages.
const RELAXED_COMMITS: u32 = 256;
/// Maximum size of a store whose pages are all checked on open, which takes about 0.1 s.
const CHECKED_LEN_BYTES: u64 = 64 << 20;

/// The pause between two attempts to open a database again.
const REOPENING: Duration = Duration::from_secs(1);

/// A typed key-value store. Clones are handles to the same store.
#[derive(Debug, Clone)]
pub struct MetaStore {
    inner: Arc<Inner>,
    relaxed: bool,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    opened: RwLock<Opened>,
    moved_aside: Option<PathBuf>,
    relaxed_commits: AtomicU32,
}

#[derive(Debug)]
struct Opened {
    /// `None` if it could not be opened again.
    database: Option<Database>,
    /// When it was opened again last.
    again: Option<Instant>,
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
        let (database, moved_aside) = opened(path)?;
        let opened = Opened {
            database: Some(database),
            again: None,
        };
        Ok(MetaStore {
            inner: Arc::new(Inner {
                path: path.to_path_buf(),
                opened: RwLock::new(opened),
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
        self.inner.work(|database| {
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
        self.inner.work(|database| {
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

impl Inner {
    /// Works on the database. After a failed read or write, as on a full disk, it refuses everything until it is opened again;
    /// this takes back the relaxed writes, as a kill does.
    fn work<R>(
        &self,
        work: impl Fn(&Database) -> Result<R, redb::Error>,
    ) -> Result<R, DurableError> {
        let attempt = || {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            let database = opened.database.as_ref();
            work(database.ok_or(redb::Error::PreviousIo)?)
        };
        let done = match attempt() {
            Err(redb::Error::PreviousIo) => {
                self.open_again()?;
                attempt()
            }
            done => done,
        };
        done.map_err(|error| store_error(&self.path, error))
    }

    fn open_again(&self) -> Result<(), DurableError> {
        let mut current = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        let works = |database: &Database| database.begin_write().is_ok();
        let is_early = current.again.is_some_and(|at| at.elapsed() < REOPENING);
        // Another thread may have done it.
        if is_early || current.database.as_ref().is_some_and(works) {
            return Ok(());
        }
        current.again = Some(Instant::now());
        // Two cannot have the file open.
        current.database = None;
        current.database = Some(opened(&self.path)?.0);
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let opened = self
            .opened
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(database) = &opened.database else {
            return;
        };
        if self.relaxed_commits.load(Ordering::Relaxed) == 0 {
            return;
        }
        let synced = database.begin_write().map_err(redb::Error::from);
        let synced = synced.and_then(|transaction| transaction.commit().map_err(redb::Error::from));
        if let Err(error) = synced {
            warn!(path = %self.path.display(), error = %error, "could not sync the last writes of a store");
        }
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

/// Opens or creates the file. A damaged one is moved aside, to a path that is returned, too.
fn opened(path: &Path) -> Result<(Database, Option<PathBuf>), DurableError> {
    match open_checked(path) {
        Ok(database) => Ok((database, None)),
        Err(error) if is_damage(&error) => {
            let aside = move_aside(path)?;
            warn!(path = %path.display(), aside = %aside.display(), error = %error, "moved a damaged store aside");
            let database = open_checked(path).map_err(|error| store_error(path, error))?;
            Ok((database, Some(aside)))
        }
        Err(error) => Err(store_error(path, error)),
    }
}

/// Opens and checks the file. The database may panic on bad pages; a panic counts as damage.
fn open_checked(path: &Path) -> Result<Database, redb::Error> {
    let checked_len = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let open = || -> Result<Database, redb::Error> {
        let mut database = Database::builder()
            .set_cache_size(MEMORY_BYTES)
            .create(path)?;
        if (1..=CHECKED_LEN_BYTES).contains(&checked_len) {
            database.check_integrity()?;
        }
        Ok(database)
    };
    catch_unwind(AssertUnwindSafe(open))
        .unwrap_or_else(|_panic| Err(redb::Error::Corrupted("the database panicked".to_owned())))
}

fn is_damage(error: &redb::Error) -> bool {
    match error {
        redb::Error::Corrupted(_)
        | redb::Error::RepairAborted
        | redb::Error::UpgradeRequired(_)
        | redb::Error::TableTypeMismatch { .. } => true,
        // "Not a database" and "too short" are reported as I/O errors.
        redb::Error::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
        ),
        _ => false,
    }
}

/// Renames the file to a name with the current time.
fn move_aside(path: &Path) -> Result<PathBuf, DurableError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".damaged-{}", jiff::Timestamp::now().as_second()));
    let aside = PathBuf::from(aside);
    std::fs::rename(path, &aside).map_err(DurableError::io("move aside", path))?;
    Ok(aside)
}

fn store_error(path: &Path, error: redb::Error) -> DurableError {
    DurableError::Store {
        path: path.to_path_buf(),
        source: Box::new(error),
    }
}
