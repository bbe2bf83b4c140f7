//! The open database: connections, transactions, migrations.
//!
//! One connection writes and several read (WAL), so a write never finds the database busy. A commit is on disk when
//! it returns. Statements are valid for SQLite and PostgreSQL. A comment with `PostgreSQL:` gives the equivalent of
//! those that are not.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use sqlx::Sqlite;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};

use super::error::RecordsError;
use super::sql::{Record, Statement, sql};
use crate::service::clock::Clock;
use crate::wire::{ModelId, UserId};

/// The steps of the schema. Opening a database applies the missing ones.
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

    /// Whether `user` has `owner`. It may have been deleted since the request began.
    pub(super) async fn has(&mut self, user: UserId, owner: ModelId) -> Result<bool> {
        let query = match owner {
            ModelId::Asset(_) => "SELECT id FROM assets WHERE id = $1 AND user_id = $2",
            ModelId::Rapid(_) => "SELECT id FROM rapids WHERE id = $1 AND user_id = $2",
        };
        let found: Option<i64> = self.optional(sql!(query, owner.key(), user)).await?;
        Ok(found.is_some())
    }

    /// Runs a statement; returns the number of changed rows.
    pub(super) async fn run(&mut self, statement: Statement<'_>) -> Result<u64> {
        Ok(statement.execute(&mut **self).await?.rows_affected())
    }

    pub(super) async fn one<T: Record>(&mut self, statement: Statement<'_>) -> Result<T> {
        Ok(T::read(&statement.fetch_one(&mut **self).await?)?)
    }

    pub(super) async fn optional<T: Record>(
        &mut self,
        statement: Statement<'_>,
    ) -> Result<Option<T>> {
        let row = statement.fetch_optional(&mut **self).await?;
        Ok(row.as_ref().map(T::read).transpose()?)
    }

    pub(super) async fn all<T: Record>(&mut self, statement: Statement<'_>) -> Result<Vec<T>> {
        read_all(statement.fetch_all(&mut **self).await?)
    }
}

fn read_all<T: Record>(rows: Vec<SqliteRow>) -> Result<Vec<T>> {
    Ok(rows.iter().map(T::read).collect::<sqlx::Result<_>>()?)
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
        // PostgreSQL: one pool, without the pragmas.
        let options = SqliteConnectOptions::new()
            .filename(path)
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

    /// Runs a statement in its own transaction; returns the number of changed rows.
    pub(super) async fn run(&self, statement: Statement<'_>) -> Result<u64> {
        Ok(statement.execute(&self.writer).await?.rows_affected())
    }

    /// Runs a statement that changes rows in its own transaction; returns the first changed row.
    pub(super) async fn change<T: Record>(&self, statement: Statement<'_>) -> Result<Option<T>> {
        let row = statement.fetch_optional(&self.writer).await?;
        Ok(row.as_ref().map(T::read).transpose()?)
    }

    pub(super) async fn one<T: Record>(&self, statement: Statement<'_>) -> Result<T> {
        Ok(T::read(&statement.fetch_one(&self.reader).await?)?)
    }

    pub(super) async fn optional<T: Record>(&self, statement: Statement<'_>) -> Result<Option<T>> {
        let row = statement.fetch_optional(&self.reader).await?;
        Ok(row.as_ref().map(T::read).transpose()?)
    }

    pub(super) async fn all<T: Record>(&self, statement: Statement<'_>) -> Result<Vec<T>> {
        read_all(statement.fetch_all(&self.reader).await?)
    }

    /// Begins a transaction on records of `user`.
    ///
    /// # Errors
    /// If the account was deleted since the request began: nothing is created for it any more.
    pub(super) async fn begin_for(&self, user: UserId) -> Result<Tx> {
        let mut tx = self.begin().await?;
        let account: Option<UserId> = tx
            .optional(sql!("SELECT id FROM users WHERE id = $1", user))
            .await?;
        match account {
            Some(_) => Ok(tx),
            None => Err(RecordsError::NoAccount),
        }
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self) -> Result<Tx> {
        // PostgreSQL: `BEGIN`, because it locks rows, not the database.
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
        let newest = sql!("SELECT COALESCE(MAX(version), 0) FROM schema_version");
        let version: i64 = tx.one(newest).await?;
        let done = usize::try_from(version).unwrap_or(usize::MAX);
        if done > MIGRATIONS.len() {
            return Err(RecordsError::NewerSchema { version });
        }
        for (number, migration) in (1_i64..).zip(MIGRATIONS).skip(done) {
            sqlx::raw_sql(*migration).execute(&mut *tx).await?;
            tx.run(sql!(
                "INSERT INTO schema_version (version) VALUES ($1)",
                number
            ))
            .await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// `$from, $from+1, …`: the placeholders for `len` values in an `IN (…)`.
pub(super) fn places(from: usize, len: usize) -> String {
    let places: Vec<String> = (from..from + len)
        .map(|place| format!("${place}"))
        .collect();
    places.join(", ")
}
