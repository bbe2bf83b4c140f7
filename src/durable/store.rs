//! A small typed key-value store on disk: what is known about things elsewhere, kept over restarts.
//!
//! Each value carries its own checksum, so what is read is what was written. A store that the
//! database cannot open is moved aside, never deleted, and an empty one takes its place: what is
//! kept here can be learned again. Leaves what must never be lost to the append log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use redb::{Database, Durability, ReadableDatabase as _, TableDefinition, TableError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::warn;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::DurableError;

/// The database's own memory; the default of 1 GiB is far more than metadata needs.
const MEMORY_BYTES: usize = 8 << 20;
/// After this many relaxed commits one is made durable, which also gives their old pages free.
const RELAXED_COMMITS: u32 = 256;
/// Up to this size every page is checked when the store is opened; it takes about 0.1 s.
const CHECKED_LEN_BYTES: u64 = 64 << 20;

/// A typed key-value store. Cloning gives another handle to the same store.
#[derive(Debug, Clone)]
pub struct MetaStore {
    inner: Arc<Inner>,
    relaxed: bool,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    database: Database,
    moved_aside: Option<PathBuf>,
    relaxed_commits: AtomicU32,
}

/// Changes that are made together or not at all.
#[derive(Debug, Default)]
pub struct Batch {
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    table: String,
    key: String,
    /// The sealed value, or none to remove the key.
    value: Option<Vec<u8>>,
}

impl MetaStore {
    /// Opens the store or makes it. One that is damaged is moved aside, see
    /// [`MetaStore::moved_aside`].
    pub fn open(path: impl AsRef<Path>) -> Result<MetaStore, DurableError> {
        let path = path.as_ref();
        let (database, moved_aside) = match open_checked(path) {
            Ok(database) => (database, None),
            Err(error) if is_damage(&error) => {
                let aside = move_aside(path)?;
                warn!(path = %path.display(), aside = %aside.display(), error = %error, "moved a damaged store aside");
                let database = open_checked(path).map_err(|error| store_error(path, error))?;
                (database, Some(aside))
            }
            Err(error) => return Err(store_error(path, error)),
        };
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

    /// Where the damaged store lies that was found in our place.
    pub fn moved_aside(&self) -> Option<&Path> {
        self.inner.moved_aside.as_deref()
    }

    /// A handle whose writes return before they are durable, for what can be fetched again. They
    /// are seen at once, and become durable in order, at the latest when the store is closed.
    #[must_use]
    pub fn relaxed(&self) -> MetaStore {
        MetaStore {
            inner: self.inner.clone(),
            relaxed: true,
        }
    }

    /// The value of a key.
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

    /// All keys of the table that begin with `prefix`, in order, with their values.
    ///
    /// A value that cannot be read is left out, with a warning: one bad row hides no other.
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
                Err(error) => warn!(table, key, error = %error, "left out a stored value"),
            }
        }
        Ok(values)
    }

    /// Sets the value of a key.
    pub fn put<T: Serialize + ?Sized>(
        &self,
        table: &str,
        key: &str,
        value: &T,
    ) -> Result<(), DurableError> {
        self.batch(|batch| batch.put(table, key, value))
    }

    /// Removes a key, if it is there.
    pub fn remove(&self, table: &str, key: &str) -> Result<(), DurableError> {
        self.batch(|batch| {
            batch.remove(table, key);
            Ok(())
        })
    }

    /// Makes the changes that `fill` names in one transaction; none when it gives an error.
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
            .map_err(|error| store_error(&self.inner.path, error))
    }

    /// Makes every relaxed write so far durable.
    pub fn flush(&self) -> Result<(), DurableError> {
        self.inner.relaxed_commits.store(0, Ordering::Relaxed);
        self.commit(&Batch::default(), Durability::Immediate)
            .map_err(|error| store_error(&self.inner.path, error))
    }

    fn next_durability(&self) -> Durability {
        let commits = &self.inner.relaxed_commits;
        if self.relaxed && commits.fetch_add(1, Ordering::Relaxed) + 1 < RELAXED_COMMITS {
            return Durability::None;
        }
        commits.store(0, Ordering::Relaxed);
        Durability::Immediate
    }

    fn commit(&self, batch: &Batch, durability: Durability) -> Result<(), redb::Error> {
        let mut transaction = self.inner.database.begin_write()?;
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
    }

    /// Runs `look` on the table as it is now; `None` when nothing was ever put into it.
    fn read<R>(
        &self,
        table: &str,
        look: impl FnOnce(&redb::ReadOnlyTable<&'static str, &'static [u8]>) -> Result<R, redb::Error>,
    ) -> Result<Option<R>, DurableError> {
        let read = || -> Result<Option<R>, redb::Error> {
            let transaction = self.inner.database.begin_read()?;
            match transaction.open_table(definition(table)) {
                Ok(rows) => look(&rows).map(Some),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(error.into()),
            }
        };
        read().map_err(|error| store_error(&self.inner.path, error))
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
    /// Sets the value of a key.
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

    /// Removes a key, if it is there.
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

impl Drop for Inner {
    fn drop(&mut self) {
        if self.relaxed_commits.load(Ordering::Relaxed) == 0 {
            return;
        }
        let synced = self.database.begin_write().map_err(redb::Error::from);
        let synced = synced.and_then(|transaction| transaction.commit().map_err(redb::Error::from));
        if let Err(error) = synced {
            warn!(path = %self.path.display(), error = %error, "could not make the last writes of a store durable");
        }
    }
}

fn definition(table: &str) -> TableDefinition<'_, &'static str, &'static [u8]> {
    TableDefinition::new(table)
}

/// The place is part of the check: a value found under another key is as bad as a changed one.
fn value_check(table: &str, key: &str, json: &[u8]) -> u64 {
    let place = xxh3_64_with_seed(key.as_bytes(), xxh3_64_with_seed(table.as_bytes(), 0));
    xxh3_64_with_seed(json, place)
}

/// Opens and checks the file. The database trusts its pages and may panic on bad ones: that, too,
/// is damage here.
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
    catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_panic| {
        Err(redb::Error::Corrupted(
            "the database gave up on it".to_owned(),
        ))
    })
}

fn is_damage(error: &redb::Error) -> bool {
    match error {
        redb::Error::Corrupted(_)
        | redb::Error::RepairAborted
        | redb::Error::UpgradeRequired(_)
        | redb::Error::TableTypeMismatch { .. } => true,
        // "Not a database" and "shorter than it says" come as errors of the file.
        redb::Error::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
        ),
        _ => false,
    }
}

/// Moves the file to the first free name beside it.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Known {
        size: u64,
        etag: Option<String>,
    }

    fn store(dir: &Path) -> MetaStore {
        MetaStore::open(dir.join("meta")).unwrap()
    }

    #[test]
    fn values_are_kept_over_a_restart_by_both_kinds_of_handle() {
        let dir = tempfile::tempdir().unwrap();
        let known = Known {
            size: 7,
            etag: Some("\"x\"".to_owned()),
        };
        {
            let store = store(dir.path());
            store.put("sizes", "raw/1", &known).unwrap();
            store.relaxed().put("sizes", "raw/2", &known).unwrap();
            store.put("names", "raw/1", "chair").unwrap();
            store.remove("sizes", "raw/3").unwrap();
        }
        let store = store(dir.path());
        assert_eq!(store.moved_aside(), None);
        assert_eq!(store.get::<Known>("sizes", "raw/1").unwrap(), Some(known));
        assert!(store.get::<Known>("sizes", "raw/2").unwrap().is_some());
        assert_eq!(store.get::<Known>("sizes", "raw/3").unwrap(), None);
        assert_eq!(store.get::<Known>("nothing here", "x").unwrap(), None);
        assert_eq!(
            store.get::<String>("names", "raw/1").unwrap().unwrap(),
            "chair"
        );
    }

    #[test]
    fn a_scan_gives_one_prefix_in_order_and_skips_what_cannot_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        for (key, value) in [
            ("a/2", "two"),
            ("a/1", "one"),
            ("b/1", "other"),
            ("a", "short"),
        ] {
            store.put("t", key, value).unwrap();
        }
        store
            .put(
                "t",
                "a/3",
                &Known {
                    size: 1,
                    etag: None,
                },
            )
            .unwrap();
        let found: Vec<(String, String)> = store.scan("t", "a/").unwrap();
        let expected = [("a/1", "one"), ("a/2", "two")];
        assert_eq!(found, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(store.scan::<String>("none", "").unwrap(), []);
        let error = store.get::<String>("t", "a/3").unwrap_err();
        assert!(error.to_string().contains("t/a/3"), "{error}");
    }

    #[test]
    fn a_batch_with_an_error_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        let unwritable = BTreeMap::from([((1, 2), "a key that JSON has not")]);
        let failed = store.batch(|batch| {
            batch.put("t", "good", &1)?;
            batch.put("t", "bad", &unwritable)
        });
        assert!(failed.is_err());
        assert_eq!(store.get::<u32>("t", "good").unwrap(), None);
    }

    #[test]
    fn a_damaged_store_is_moved_aside_and_a_new_one_works() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meta");
        fs::write(&path, b"this is no database at all, just a line of text").unwrap();
        let store = MetaStore::open(&path).unwrap();
        let aside = store.moved_aside().unwrap();
        assert!(fs::read(aside).unwrap().starts_with(b"this is no"));
        store.put("t", "k", &1).unwrap();
        assert_eq!(store.get::<u32>("t", "k").unwrap(), Some(1));
    }

    #[test]
    fn a_second_opening_is_refused_and_moves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        store.put("t", "k", &1).unwrap();
        assert!(MetaStore::open(dir.path().join("meta")).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn many_threads_read_and_write_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path()).relaxed();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let store = store.clone();
                scope.spawn(move || {
                    for number in 0..100 {
                        let key = format!("{writer}/{number:03}");
                        store.put("t", &key, &number).unwrap();
                        assert_eq!(store.get::<u32>("t", &key).unwrap(), Some(number));
                    }
                });
            }
        });
        assert_eq!(store.scan::<u32>("t", "").unwrap().len(), 400);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Whatever the disk did to the file: no panic, no wrong value, and a store that works.
        #[test]
        fn random_damage_is_never_served(
            hits in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..40),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("meta");
            {
                let store = MetaStore::open(&path).unwrap().relaxed();
                for number in 0..200 {
                    store.put("t", &format!("{number}"), &number).unwrap();
                }
            }
            let mut bytes = fs::read(&path).unwrap();
            for (place, flip) in &hits {
                let at = place.index(bytes.len());
                bytes[at] ^= flip;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            fs::write(&path, &bytes).unwrap();
            let store = MetaStore::open(&path).unwrap();
            for number in 0..200_u32 {
                if let Ok(Some(value)) = store.get::<u32>("t", &number.to_string()) {
                    prop_assert_eq!(value, number);
                }
            }
            store.put("t", "new", &1).unwrap();
            prop_assert_eq!(store.get::<u32>("t", "new").unwrap(), Some(1));
        }
    }
}
