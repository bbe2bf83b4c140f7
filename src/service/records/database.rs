//! The open database: connections and transactions.
//!
//! In SQLite, one connection writes and several read (WAL), so a write never finds the database busy; a transaction
//! that writes has the whole database. In PostgreSQL, every transaction that changes records of an account first locks
//! the row of the account ([`Database::begin_locking`]). So the transactions of one account run one after another,
//! what one of them has checked stays true until it commits, and no two wait for each other. Claims of jobs are single
//! statements and lock one row each. A commit is on disk when it returns.

use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Postgres, Sqlite, Transaction};

use super::error::RecordsError;
pub(super) use super::error::Result;
use super::listings::Places;
use super::shared::{Lane, SharedDatabase, Turn};
use super::sql::{Record, Row, Statement, sql};
use crate::service::clock::Clock;
use crate::wire::{ModelId, UserId};

/// How often a transaction runs that the database refuses because of others.
pub(super) const MOST_TRIES: u32 = 5;

/// Runs a block with a transaction. It runs again, a bounded number of times, if the database rolled the transaction
/// back because of another one.
macro_rules! retried {
    ($body:block) => {{
        let mut tries = 1;
        loop {
            let done: crate::service::records::database::Result<_> = async { $body }.await;
            match done {
                Err(error)
                    if error.is_conflict()
                        && tries < crate::service::records::database::MOST_TRIES =>
                {
                    tries += 1;
                }
                done => break done,
            }
        }
    }};
}
pub(super) use retried;

/// A connection that runs a statement.
enum Link<'a> {
    Sqlite(&'a mut SqliteConnection),
    Postgres(&'a mut PgConnection),
}

impl Link<'_> {
    async fn run(self, statement: &Statement) -> Result<u64> {
        Ok(match self {
            Link::Sqlite(link) => {
                let done = statement.for_sqlite().execute(link).await?;
                done.rows_affected()
            }
            Link::Postgres(link) => {
                let done = statement.for_postgres().execute(link).await?;
                done.rows_affected()
            }
        })
    }

    async fn optional<T: Record>(self, statement: &Statement) -> Result<Option<T>> {
        let row = match self {
            Link::Sqlite(link) => {
                let row = statement.for_sqlite().fetch_optional(link).await?;
                row.map(Row::Sqlite)
            }
            Link::Postgres(link) => {
                let row = statement.for_postgres().fetch_optional(link).await?;
                row.map(Row::Postgres)
            }
        };
        Ok(row.as_ref().map(T::read).transpose()?)
    }

    async fn one<T: Record>(self, statement: &Statement) -> Result<T> {
        let row = self.optional(statement).await?;
        Ok(row.ok_or(sqlx::Error::RowNotFound)?)
    }

    async fn all<T: Record>(self, statement: &Statement) -> Result<Vec<T>> {
        let read: sqlx::Result<Vec<T>> = match self {
            Link::Sqlite(link) => {
                let rows = statement.for_sqlite().fetch_all(link).await?;
                rows.into_iter()
                    .map(|row| T::read(&Row::Sqlite(row)))
                    .collect()
            }
            Link::Postgres(link) => {
                let rows = statement.for_postgres().fetch_all(link).await?;
                rows.into_iter()
                    .map(|row| T::read(&Row::Postgres(row)))
                    .collect()
            }
        };
        Ok(read?)
    }
}

/// A connection of a pool.
enum Pooled {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl Pooled {
    fn link(&mut self) -> Link<'_> {
        match self {
            Pooled::Sqlite(pooled) => Link::Sqlite(pooled),
            Pooled::Postgres(pooled) => Link::Postgres(pooled),
        }
    }
}

enum Open {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// An open transaction. Without a commit it is rolled back.
pub(super) struct Tx {
    open: Open,
    now: i64,
    shared: Option<Arc<SharedDatabase>>,
    /// The account that this process changes in no other transaction meanwhile.
    turn: Option<Turn>,
}

/// The result of `work`, unless the database is shared and away before it ends.
async fn answered<T>(
    shared: Option<&Arc<SharedDatabase>>,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    match shared {
        Some(shared) => shared.answered(work).await,
        None => work.await,
    }
}

impl Tx {
    /// The time of the transaction, in microseconds.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    pub(super) async fn commit(self) -> Result<()> {
        let Tx {
            open, shared, turn, ..
        } = self;
        let committing = async {
            match open {
                Open::Sqlite(open) => open.commit().await?,
                Open::Postgres(open) => open.commit().await?,
            }
            Ok(())
        };
        let committed = answered(shared.as_ref(), committing).await;
        drop(turn);
        committed
    }

    /// Locks an account; false if there is none.
    async fn lock(&mut self, user: UserId) -> Result<bool> {
        let query = "SELECT id FROM users WHERE id = $1 FOR UPDATE";
        let account: Option<UserId> = self.optional(sql!(query, user)).await?;
        Ok(account.is_some())
    }

    /// Makes other transactions that lock this setting wait. Creates it if it is missing.
    pub(super) async fn lock_setting(&mut self, name: &str) -> Result<()> {
        let insert = "INSERT INTO settings (name, value) VALUES ($1, '') ON CONFLICT DO NOTHING";
        self.run(sql!(insert, name)).await?;
        let lock = "SELECT name FROM settings WHERE name = $1 FOR UPDATE";
        self.one::<String>(sql!(lock, name)).await.map(drop)
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
    pub(super) async fn run(&mut self, statement: Statement) -> Result<u64> {
        let Tx { open, shared, .. } = self;
        answered(shared.as_ref(), open.link().run(&statement)).await
    }

    /// Runs statements without values.
    pub(super) async fn run_script(&mut self, script: &str) -> Result<()> {
        let script = sqlx::raw_sql(sqlx::AssertSqlSafe(script.to_owned()));
        match self.open.link() {
            Link::Sqlite(link) => script.execute(link).await.map(drop)?,
            Link::Postgres(link) => script.execute(link).await.map(drop)?,
        }
        Ok(())
    }

    pub(super) async fn one<T: Record>(&mut self, statement: Statement) -> Result<T> {
        let Tx { open, shared, .. } = self;
        answered(shared.as_ref(), open.link().one(&statement)).await
    }

    pub(super) async fn optional<T: Record>(&mut self, statement: Statement) -> Result<Option<T>> {
        let Tx { open, shared, .. } = self;
        answered(shared.as_ref(), open.link().optional(&statement)).await
    }

    pub(super) async fn all<T: Record>(&mut self, statement: Statement) -> Result<Vec<T>> {
        let Tx { open, shared, .. } = self;
        answered(shared.as_ref(), open.link().all(&statement)).await
    }
}

impl Open {
    fn link(&mut self) -> Link<'_> {
        match self {
            Open::Sqlite(open) => Link::Sqlite(open),
            Open::Postgres(open) => Link::Postgres(open),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Pools {
    /// One connection that writes, and several that read.
    Sqlite {
        reader: SqlitePool,
        writer: SqlitePool,
    },
    Postgres(Arc<SharedDatabase>),
}

/// The open database.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pools: Pools,
    clock: Clock,
    places: Arc<Places>,
}

impl Database {
    pub(super) fn new(pools: Pools, clock: Clock) -> Database {
        Database {
            pools,
            clock,
            places: Arc::default(),
        }
    }

    /// The places in listings that are remembered.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// The shared database, if it is PostgreSQL.
    pub(super) fn shared(&self) -> Option<&Arc<SharedDatabase>> {
        match &self.pools {
            Pools::Sqlite { .. } => None,
            Pools::Postgres(shared) => Some(shared),
        }
    }

    /// Closes the database once the statements under way have ended.
    pub(super) async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { reader, writer } => {
                reader.close().await;
                writer.close().await;
            }
            Pools::Postgres(shared) => shared.close().await,
        }
    }

    /// Runs statements that change rows with connections of `lane`.
    pub(super) fn in_lane(&self, lane: Lane) -> InLane<'_> {
        InLane {
            database: self,
            lane,
        }
    }

    /// Runs a statement in its own transaction; returns the number of changed rows.
    pub(super) async fn run(&self, statement: Statement) -> Result<u64> {
        self.in_lane(Lane::Changes).run(statement).await
    }

    pub(super) async fn one<T: Record>(&self, statement: Statement) -> Result<T> {
        let reading = async { self.reader().await?.link().one(&statement).await };
        answered(self.shared(), reading).await
    }

    pub(super) async fn optional<T: Record>(&self, statement: Statement) -> Result<Option<T>> {
        let reading = async { self.reader().await?.link().optional(&statement).await };
        answered(self.shared(), reading).await
    }

    pub(super) async fn all<T: Record>(&self, statement: Statement) -> Result<Vec<T>> {
        let reading = async { self.reader().await?.link().all(&statement).await };
        answered(self.shared(), reading).await
    }

    /// Begins a transaction on records of `user`, alone with them.
    ///
    /// # Errors
    /// If the account was deleted since the request began: nothing is created for it any more.
    pub(super) async fn begin_for(&self, user: UserId) -> Result<Tx> {
        let mut tx = self.begin_in_turn(user).await?;
        match tx.lock(user).await? {
            true => Ok(tx),
            false => Err(RecordsError::NoAccount),
        }
    }

    /// Begins a transaction on records of `user`, alone with them, even if the account was deleted.
    pub(super) async fn begin_locking(&self, user: UserId) -> Result<Tx> {
        let mut tx = self.begin_in_turn(user).await?;
        if self.shared().is_some() {
            tx.lock(user).await?;
        }
        Ok(tx)
    }

    async fn begin_in_turn(&self, user: UserId) -> Result<Tx> {
        let turn = match self.shared() {
            Some(shared) => Some(shared.answered(shared.turn(user)).await?),
            None => None,
        };
        let tx = self.begin().await?;
        Ok(Tx { turn, ..tx })
    }

    /// Begins a transaction that locks no account.
    pub(super) async fn begin(&self) -> Result<Tx> {
        let open = match &self.pools {
            Pools::Sqlite { writer, .. } => {
                Open::Sqlite(writer.begin_with("BEGIN IMMEDIATE").await?)
            }
            Pools::Postgres(shared) => {
                let beginning = async { Ok(shared.pool(Lane::Changes).begin().await?) };
                Open::Postgres(shared.answered(beginning).await?)
            }
        };
        Ok(Tx {
            open,
            now: self.now(),
            shared: self.shared().cloned(),
            turn: None,
        })
    }

    /// Removes deleted data from the log files of SQLite.
    pub(super) async fn purge(&self) -> Result<()> {
        match &self.pools {
            Pools::Sqlite { .. } => {
                let purge = sql!("PRAGMA wal_checkpoint(TRUNCATE)");
                self.run(purge).await.map(drop)
            }
            Pools::Postgres(_) => Ok(()),
        }
    }

    /// The current time, in microseconds.
    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_microsecond()
    }

    async fn reader(&self) -> Result<Pooled> {
        Ok(match &self.pools {
            Pools::Sqlite { reader, .. } => Pooled::Sqlite(reader.acquire().await?),
            Pools::Postgres(shared) => Pooled::Postgres(shared.pool(Lane::Reads).acquire().await?),
        })
    }
}

/// The database with the connections of one lane.
#[derive(Clone, Copy)]
pub(super) struct InLane<'a> {
    database: &'a Database,
    lane: Lane,
}

impl InLane<'_> {
    /// Runs a statement in its own transaction; returns the number of changed rows.
    pub(super) async fn run(self, statement: Statement) -> Result<u64> {
        let changing = async { retried!({ self.writer().await?.link().run(&statement).await }) };
        answered(self.database.shared(), changing).await
    }

    /// Runs a statement that changes rows in its own transaction; returns the first changed row.
    pub(super) async fn change<T: Record>(self, statement: Statement) -> Result<Option<T>> {
        let changing =
            async { retried!({ self.writer().await?.link().optional(&statement).await }) };
        answered(self.database.shared(), changing).await
    }

    async fn writer(&self) -> Result<Pooled> {
        Ok(match &self.database.pools {
            Pools::Sqlite { writer, .. } => Pooled::Sqlite(writer.acquire().await?),
            Pools::Postgres(shared) => Pooled::Postgres(shared.pool(self.lane).acquire().await?),
        })
    }
}

/// `$from, $from+1, …`: the placeholders for `len` values in an `IN (…)`.
pub(super) fn places(from: usize, len: usize) -> String {
    let places: Vec<String> = (from..from + len)
        .map(|place| format!("${place}"))
        .collect();
    places.join(", ")
}
