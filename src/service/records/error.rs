//! Why a record could not be read or changed.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Error codes of PostgreSQL for a transaction that was rolled back because of another one, and that may succeed when
/// it is repeated: serialization failure and deadlock.
const CONFLICTS: [&str; 2] = ["40001", "40P01"];

/// The error code of PostgreSQL for a lock that another transaction holds for too long.
const LOCK_TIMEOUT: &str = "55P03";

/// Error codes of PostgreSQL for a server that ends, starts, has no connection or memory left, or takes no writes
/// because another one has taken over; and the class of broken connections.
const NOT_SERVING: [&str; 9] = [
    "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53200", "25006",
    // Wrong password: it may have been rotated, and the password file may not have the new one yet.
    "28P01",
];
const BROKEN_CONNECTION: &str = "08";

/// Error codes for a full disk: of SQLite, also for its shared memory file, and of PostgreSQL.
const FULL: [&str; 3] = ["13", "4874", "53100"];

/// Error codes of PostgreSQL for prepared statements of another client.
const MIXED_SESSIONS: [&str; 2] = ["42P05", "26000"];

pub(super) type Result<T> = std::result::Result<T, RecordsError>;

/// A failure of the database. Mistakes of callers are in the results of the single calls.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    #[error(
        "the database {server} cannot be reached: check that it runs and that the address is right"
    )]
    Unreachable {
        server: String,
        #[source]
        source: sqlx::Error,
    },
    #[error(
        "the database {server} refuses the password: check the user in the URL, and the password in \
         --records-password-file, in ~/.pgpass or in PGPASSWORD"
    )]
    Credential { server: String },
    #[error(
        "the database {server} asks for a password, and none is given: put it into a file for --records-password-file, \
         into ~/.pgpass or into PGPASSWORD"
    )]
    NoPassword { server: String },
    #[error(
        "the database {server} refuses the login: check the user in the URL, and that pg_hba.conf of the server allows \
         this user and this machine"
    )]
    LoginRefused {
        server: String,
        #[source]
        source: sqlx::Error,
    },
    #[error("the server has no database {server}: create it with createdb")]
    NoDatabase { server: String },
    #[error(
        "the database {server} has no connection left: let max_connections of the server allow {most} for each process \
         of assetfs, or run fewer processes"
    )]
    ServerFull { server: String, most: u32 },
    #[error("the disk that holds {} is full: make room on it, and start again", file.display())]
    DiskFull { file: PathBuf },
    /// The shared database does not answer since some time. The log has said so.
    #[error("{reason}")]
    Away { reason: Arc<str>, since: Instant },
    #[error("other changes of the same account take too long; try again")]
    Busy,
    #[error("there is no such account any more")]
    NoAccount,
    /// The janitor gave up a blob that took too long to store.
    #[error("storing the bytes took so long that they were given up")]
    BlobExpired,
    /// The result of a job does not fit into the storage of the account; nothing changed.
    #[error("{needed} bytes do not fit into the {left} bytes that are left of the storage")]
    NoRoom { needed: u64, left: u64 },
    #[error(
        "a connection pooler in front of the database {server} cannot be used as it is set: PgBouncer needs pool_mode = \
         session and ignore_startup_parameters = extra_float_digits, options"
    )]
    Pooler {
        server: String,
        #[source]
        source: sqlx::Error,
    },
    #[error(
        "a connection pooler in front of the database gives each transaction another session, which cannot be used: \
         PgBouncer needs pool_mode = session and ignore_startup_parameters = extra_float_digits, options"
    )]
    MixedSessions(#[source] sqlx::Error),
    #[error(
        "the tables of the database {server} have to be made or changed, and its user may not do that: start `assetfs \
         serve` once as the owner of the database, or give the user the rights"
    )]
    NoRights {
        server: String,
        #[source]
        source: sqlx::Error,
    },
    #[error(
        "the database has schema {version}, which this version does not know: start the version of assetfs that wrote \
         it, or a newer one"
    )]
    NewerSchema { version: i64 },
}

impl From<sqlx::Error> for RecordsError {
    fn from(error: sqlx::Error) -> RecordsError {
        let code = error.as_database_error().and_then(|error| error.code());
        match code
            .as_deref()
            .is_some_and(|code| MIXED_SESSIONS.contains(&code))
        {
            true => RecordsError::MixedSessions(error),
            false => RecordsError::Database(error),
        }
    }
}

impl RecordsError {
    /// Whether the transaction was rolled back only because of another one.
    pub(super) fn is_conflict(&self) -> bool {
        self.code().is_some_and(|code| CONFLICTS.contains(&&*code))
    }

    /// Whether this is a known outage of the shared database, which the log has named.
    pub fn is_away(&self) -> bool {
        matches!(self, RecordsError::Away { .. })
    }

    /// How long the shared database has been away, if this is a known outage.
    pub fn outage_time(&self) -> Option<Duration> {
        match self {
            RecordsError::Away { since, .. } => Some(since.elapsed()),
            _ => None,
        }
    }

    /// Whether the database did not answer or is overloaded, so that the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            RecordsError::Away { .. }
            | RecordsError::Busy
            | RecordsError::ServerFull { .. }
            | RecordsError::Unreachable { .. } => true,
            RecordsError::Database(
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed,
            ) => true,
            error => error.code().is_some_and(|code| {
                code == LOCK_TIMEOUT
                    || FULL.contains(&&*code)
                    || NOT_SERVING.contains(&&*code)
                    || code.starts_with(BROKEN_CONNECTION)
            }),
        }
    }

    /// Whether the disk of the database is full.
    pub fn is_full(&self) -> bool {
        self.code().is_some_and(|code| FULL.contains(&&*code))
    }

    /// The error code of the database.
    fn code(&self) -> Option<Cow<'_, str>> {
        let RecordsError::Database(error) = self else {
            return None;
        };
        error.as_database_error().and_then(|error| error.code())
    }
}
