//! Where the records are, and how their database is opened.
//!
//! A connection to PostgreSQL is opened once before the pool, so that a wrong address or password ends the start with
//! one sentence.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use url::Url;

use super::database::{Database, Pools, Result};
use super::error::RecordsError;
use super::migrations;
use crate::service::clock::Clock;

/// How long a connection to PostgreSQL may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Maximum number of connections of one process to PostgreSQL.
const MOST_CONNECTIONS: u32 = 16;

/// The error codes of PostgreSQL for a wrong user or password, and for a missing database.
const WRONG_CREDENTIAL: [&str; 2] = ["28P01", "28000"];
const NO_DATABASE: &str = "3D000";

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
        let Ok(url) = Url::parse(text) else {
            // Unreadable, so it is unknown whether it contains a password.
            return Err(DatabaseUrlError::Form("…".to_owned()));
        };
        if url.password().is_some() || url.query_pairs().any(|(name, _)| name == "password") {
            return Err(DatabaseUrlError::Password);
        }
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            return Err(form());
        }
        let options = PgConnectOptions::from_url(&url).map_err(|_| form())?;
        // Wherever the server's settings differ, these two must not.
        let options = options.options([
            ("default_transaction_isolation", "read committed"),
            ("standard_conforming_strings", "on"),
        ]);
        Ok(PostgresServer {
            options: Box::new(options),
            shown: text.to_owned(),
        })
    }
}

impl PostgresServer {
    pub fn with_password(mut self, password: &str) -> PostgresServer {
        self.options = Box::new(self.options.password(password));
        self
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
    let trial = trial.map_err(|error| connect_error(server, error))?;
    trial.close().await?;
    let pool = PgPoolOptions::new()
        .max_connections(MOST_CONNECTIONS)
        .acquire_timeout(CONNECT_TIME)
        .connect_with(PgConnectOptions::clone(&server.options))
        .await?;
    Ok(Pools::Postgres(pool))
}

fn connect_error(server: &PostgresServer, error: sqlx::Error) -> RecordsError {
    let server = server.to_string();
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some(code) if WRONG_CREDENTIAL.contains(&code) => RecordsError::Credential { server },
        Some(NO_DATABASE) => RecordsError::NoDatabase { server },
        _ => RecordsError::Unreachable {
            server,
            source: error,
        },
    }
}

#[cfg(test)]
mod tests {
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
}
