//! The open database: connections, changes, migrations, and how rows are read.
//!
//! One connection writes and several read (WAL), so that a write never meets a busy database. A
//! commit is on disk when it returns. Statements are written so that SQLite and PostgreSQL both know them; each one
//! that only SQLite knows says what its twin is.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{Row as _, Sqlite};

use super::error::RecordsError;
use crate::service::clock::Clock;
use crate::wire::{ModelId, UserId};

/// The schema, step by step; a database is brought to the last one when it is opened.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_start.sql"),
    include_str!("migrations/0002_leases.sql"),
    include_str!("migrations/0003_file_names.sql"),
];

/// An open transaction. Without a commit it is rolled back.
pub(super) struct Tx {
    inner: sqlx::Transaction<'static, Sqlite>,
    now: i64,
}

impl Tx {
    /// The time of the transaction, in microseconds.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    pub(super) async fn commit(self) -> Result<()> {
        Ok(self.inner.commit().await?)
    }

    /// Whether `user` has `owner`: it may have been deleted since the request began.
    pub(super) async fn has(&mut self, user: UserId, owner: ModelId) -> Result<bool> {
        let query = match owner {
            ModelId::Asset(_) => "SELECT id FROM assets WHERE id = $1 AND user_id = $2",
            ModelId::Rapid(_) => "SELECT id FROM rapids WHERE id = $1 AND user_id = $2",
        };
        let row = sqlx::query(query)
            .bind(owner.key())
            .bind(key(user.0))
            .fetch_optional(&mut **self)
            .await?;
        Ok(row.is_some())
    }
}

impl Deref for Tx {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.inner
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.inner
    }
}

pub(super) type Result<T> = std::result::Result<T, RecordsError>;

/// The open database: one connection that writes and several that read.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pub(super) reader: SqlitePool,
    pub(super) writer: SqlitePool,
    clock: Clock,
}

impl Database {
    /// Opens the database in the file `path`, creates it if it is missing, and migrates its schema.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a database, or comes from a newer version.
    pub(super) async fn open(path: &Path, clock: Clock) -> Result<Database> {
        // Both pools are SQLite's; on PostgreSQL they are one pool, and the pragmas fall away.
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            // What is deleted is overwritten, not only forgotten.
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
        let database = Database {
            reader,
            writer,
            clock,
        };
        database.migrate().await?;
        Ok(database)
    }

    /// Closes the database once the statements under way have ended.
    pub(super) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }

    /// The numbers in the column `id` that `query` finds for one owner.
    pub(super) async fn ids(&self, query: &'static str, owner: u64) -> Result<Vec<u64>> {
        let rows = sqlx::query(query)
            .bind(key(owner))
            .fetch_all(&self.reader)
            .await?;
        let ids = rows.iter().map(|row| count(row, "id"));
        Ok(ids.collect::<sqlx::Result<_>>()?)
    }

    /// Begins a transaction on records of `user`.
    ///
    /// # Errors
    /// When the account was deleted since the request began: nothing is made for it any more.
    pub(super) async fn begin_for(&self, user: UserId) -> Result<Tx> {
        let mut tx = self.begin().await?;
        let row = sqlx::query("SELECT id FROM users WHERE id = $1")
            .bind(key(user.0))
            .fetch_optional(&mut *tx)
            .await?;
        match row {
            Some(_) => Ok(tx),
            None => Err(RecordsError::NoAccount),
        }
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self) -> Result<Tx> {
        // Twin: a plain `BEGIN`; PostgreSQL locks rows, not the database.
        Ok(Tx {
            inner: self.writer.begin_with("BEGIN IMMEDIATE").await?,
            now: self.now(),
        })
    }

    /// The current time, in microseconds.
    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_microsecond()
    }

    async fn migrate(&self) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
            .execute(&mut *tx)
            .await?;
        let row = sqlx::query("SELECT COALESCE(MAX(version), 0) AS version FROM schema_version")
            .fetch_one(&mut *tx)
            .await?;
        let version: i64 = row.try_get("version")?;
        let done = usize::try_from(version).unwrap_or(usize::MAX);
        if done > MIGRATIONS.len() {
            return Err(RecordsError::NewerSchema { version });
        }
        for (number, migration) in (1_i64..).zip(MIGRATIONS).skip(done) {
            sqlx::raw_sql(*migration).execute(&mut *tx).await?;
            sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
                .bind(number)
                .execute(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// An id as the database has it. No row has a negative id, so an id beyond its range finds nothing.
pub(super) fn key(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(-1)
}

/// A count or size as the database has it.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that the schema never lets go below zero.
pub(super) fn count(row: &SqliteRow, column: &str) -> sqlx::Result<u64> {
    row.try_get::<i64, _>(column)
        .map(|value| u64::try_from(value).unwrap_or(0))
}

pub(super) fn optional_count(row: &SqliteRow, column: &str) -> sqlx::Result<Option<u64>> {
    row.try_get::<Option<i64>, _>(column)
        .map(|value| value.map(|value| u64::try_from(value).unwrap_or(0)))
}

pub(super) fn flag(row: &SqliteRow, column: &str) -> sqlx::Result<bool> {
    row.try_get::<i64, _>(column).map(|value| value != 0)
}

pub(super) fn moment(row: &SqliteRow, column: &str) -> sqlx::Result<Timestamp> {
    row.try_get(column).map(from_micros)
}

pub(super) fn optional_moment(row: &SqliteRow, column: &str) -> sqlx::Result<Option<Timestamp>> {
    row.try_get::<Option<i64>, _>(column)
        .map(|value| value.map(from_micros))
}

fn from_micros(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// `$from, $from+1, …`: the placeholders for `len` values in an `IN (…)`.
pub(super) fn places(from: usize, len: usize) -> String {
    let places: Vec<String> = (from..from + len)
        .map(|place| format!("${place}"))
        .collect();
    places.join(", ")
}
