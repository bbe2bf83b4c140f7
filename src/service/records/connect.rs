//! Where the records are, and how their database is opened.
//!
//! A connection to PostgreSQL is opened once before the pool, so that a wrong address or password ends the start with
//! one sentence.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use url::Url;

use super::database::{Database, Pools, Result};
use super::migrations;
use super::shared::{CONNECT_TIME, SharedDatabase, connect_error, read_password};
use crate::service::clock::Clock;

/// Settings of each session. The server ends the sessions of a process that was killed, suspended or cut off, so that
/// these do not hold an account for long.
const SESSION: [(&str, &str); 8] = [
    // Wherever the server's own settings differ, these two must not.
    ("default_transaction_isolation", "read committed"),
    ("standard_conforming_strings", "on"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "20s"),
    ("tcp_keepalives_idle", "20"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "30s"),
];

/// Where the records of a service are.
#[derive(Debug, Clone, Default)]
pub enum RecordsAt {
    /// In a SQLite database in the data folder: for one process.
    #[default]
    DataFolder,
    /// In a PostgreSQL database, which several processes share.
    Postgres(PostgresServer),
}

/// A PostgreSQL database and how to log in. `Display` and `Debug` omit the password.
#[derive(Clone)]
pub struct PostgresServer {
    options: Box<PgConnectOptions>,
    /// The URL without the password.
    shown: String,
    /// The file with the password, which is read again when it changes.
    password_file: Option<PathBuf>,
}

/// Why the URL of a database cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    #[error(
        "the URL of the database contains a password, which other users of this machine can read: remove it from the \
         URL and put it into a file for --records-password-file, into ~/.pgpass or into the environment variable \
         PGPASSWORD"
    )]
    Password,
    #[error(
        "\"{0}\" is not the URL of a PostgreSQL database, such as postgres://user@host:5432/name"
    )]
    Form(String),
}

impl FromStr for PostgresServer {
    type Err = DatabaseUrlError;

    /// Reads `postgres://user@host:port/database?sslmode=…`. The password comes from `PGPASSWORD` or the file of
    /// `PGPASSFILE` (`~/.pgpass`), as with all clients of PostgreSQL.
    fn from_str(text: &str) -> std::result::Result<PostgresServer, DatabaseUrlError> {
        let form = || DatabaseUrlError::Form(text.to_owned());
        // Unreadable, so it is unknown whether it contains a password.
        let hidden = || DatabaseUrlError::Form("…".to_owned());
        let Ok(url) = Url::parse(text) else {
            return Err(hidden());
        };
        if url.password().is_some() || url.query_pairs().any(|(name, _)| name == "password") {
            return Err(DatabaseUrlError::Password);
        }
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            // In `me:secret@host/db`, the user is read as the scheme.
            return Err(if text.contains('@') { hidden() } else { form() });
        }
        let options = PgConnectOptions::from_url(&url).map_err(|_| form())?;
        let options = options.options(SESSION);
        Ok(PostgresServer {
            options: Box::new(options),
            shown: text.to_owned(),
            password_file: None,
        })
    }
}

impl PostgresServer {
    pub fn with_password(mut self, password: &str) -> PostgresServer {
        self.options = Box::new(self.options.password(password));
        self
    }

    /// Reads the password from a file, now and whenever it changes.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn with_password_file(self, file: &Path) -> std::io::Result<PostgresServer> {
        let password = read_password(file)?;
        let server = self.with_password(&password);
        Ok(PostgresServer {
            password_file: Some(file.to_owned()),
            ..server
        })
    }
}

impl fmt::Display for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

/// Opens the database, creates the file of SQLite if it is missing, and migrates the schema.
///
/// # Errors
/// If it cannot be reached or opened, refuses the login, or comes from a newer version.
pub(super) async fn open(at: &RecordsAt, file: &Path, clock: Clock) -> Result<Database> {
    let pools = match at {
        RecordsAt::DataFolder => sqlite(file).await?,
        RecordsAt::Postgres(server) => postgres(server).await?,
    };
    let database = Database::new(pools, clock);
    migrations::apply(&database).await?;
    Ok(database)
}

async fn sqlite(file: &Path) -> Result<Pools> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Deleted data is overwritten.
        .pragma("secure_delete", "ON")
        .busy_timeout(Duration::from_secs(10));
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        // A full disk ends a transaction inside SQLite. sqlx does not notice, and begins no other one on that connection.
        .before_acquire(|connection, _| {
            let is_usable = !connection.is_in_transaction();
            Box::pin(async move { Ok(is_usable) })
        })
        .connect_with(options.clone())
        .await?;
    let reader = SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(options)
        .await?;
    Ok(Pools::Sqlite { reader, writer })
}

async fn postgres(server: &PostgresServer) -> Result<Pools> {
    let trial = PgConnection::connect_with(&server.options);
    let trial = tokio::time::timeout(CONNECT_TIME, trial).await;
    let trial = trial.unwrap_or_else(|_| {
        let late = std::io::ErrorKind::TimedOut;
        Err(sqlx::Error::Io(late.into()))
    });
    let trial = trial.map_err(|error| connect_error(&server.options, &server.shown, error))?;
    trial.close().await?;
    let options = PgConnectOptions::clone(&server.options);
    let password_file = server.password_file.clone();
    let shared = SharedDatabase::open(options, server.shown.clone(), password_file);
    Ok(Pools::Postgres(Arc::new(shared)))
}

#[cfg(test)]
mod tests {
    use super::super::sql::sql;
    use super::*;

    #[test]
    fn a_password_in_the_url_is_refused() {
        for url in [
            "postgres://me:secret@host/db",
            "postgresql://me@host/db?password=secret",
        ] {
            let refused = url.parse::<PostgresServer>().unwrap_err();
            assert_eq!(refused, DatabaseUrlError::Password);
            assert!(!refused.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_url_without_a_scheme_is_refused_without_showing_it() {
        for url in [
            "me:secret@host/db",
            "//me:secret@host/db",
            "db://me:secret@host/x",
        ] {
            let refused = url.parse::<PostgresServer>().unwrap_err().to_string();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for url in ["mysql://host/db", "records.sqlite", "postgres://me:a b@:x/"] {
            assert!(url.parse::<PostgresServer>().is_err(), "{url}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let server: PostgresServer = "postgres://me@host/db".parse().unwrap();
        let server = server.with_password("secret");
        assert_eq!(server.to_string(), "postgres://me@host/db");
        assert!(!format!("{server:?}").contains("secret"));
    }

    #[tokio::test]
    async fn the_first_change_after_a_full_disk_works() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("records.sqlite");
        let database = open(&RecordsAt::DataFolder, &file, Clock::default())
            .await
            .unwrap();
        for text in [
            "CREATE TABLE filling (bytes BLOB NOT NULL)",
            // The file must not grow. The limit holds for this connection only.
            "PRAGMA max_page_count = 1",
        ] {
            database.run(sql!(text)).await.unwrap();
        }
        let fill = "INSERT INTO filling VALUES (zeroblob(1000000))";
        let mut tx = database.begin().await.unwrap();
        let full = tx.run(sql!(fill)).await.unwrap_err();
        assert!(full.is_temporary() && full.is_full(), "{full}");
        drop(tx);
        let mut tx = database.begin().await.unwrap();
        tx.run(sql!(fill)).await.unwrap();
        tx.commit().await.unwrap();
    }
}
