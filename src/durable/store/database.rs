//! A database in a file that is opened again after a failed read or write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redb::Database;
use tracing::warn;

use crate::durable::error::DurableError;

/// Cache size of the database; its default of 1 GiB is far more than metadata needs.
const MEMORY_BYTES: usize = 8 << 20;
/// Maximum size of a store whose pages are all checked on open, which takes about 0.1 s.
const CHECKED_LEN_BYTES: u64 = 64 << 20;
/// The shortest time between two attempts to open the database again.
const REOPENING: Duration = Duration::from_secs(1);

/// After a failed read or write, such as on a full disk, redb refuses every call until the database is opened again. The relaxed
/// writes before that are lost, as after a kill.
#[derive(Debug)]
pub(super) struct LastingDatabase {
    path: PathBuf,
    opened: RwLock<LastOpening>,
}

#[derive(Debug)]
struct LastOpening {
    /// `None` if it could not be opened again.
    database: Option<Database>,
    /// When it was opened again last.
    again: Option<Instant>,
}

impl LastingDatabase {
    /// Opens or creates the file. A damaged one is moved aside, to a path that is returned, too.
    pub(super) fn open(path: &Path) -> Result<(LastingDatabase, Option<PathBuf>), DurableError> {
        let (database, moved_aside) = opened(path)?;
        let attempt = LastOpening {
            database: Some(database),
            again: None,
        };
        let lasting = LastingDatabase {
            path: path.to_path_buf(),
            opened: RwLock::new(attempt),
        };
        Ok((lasting, moved_aside))
    }

    pub(super) fn work<R>(
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
        // redb locks the file, so it is closed first.
        current.database = None;
        current.database = Some(opened(&self.path)?.0);
        Ok(())
    }

    /// Makes relaxed writes durable before the end.
    pub(super) fn sync(&self) {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = &opened.database else {
            return;
        };
        let synced = database.begin_write().map_err(redb::Error::from);
        let synced = synced.and_then(|transaction| transaction.commit().map_err(redb::Error::from));
        if let Err(error) = synced {
            warn!(path = %self.path.display(), error = %error, "could not sync the last writes of a store");
        }
    }
}

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
