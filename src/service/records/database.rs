//! The open database: connections and transactions.
//!
//! In SQLite, one connection writes and several read (WAL), so a write never finds the database busy; a transaction
//! that writes has the whole database. In PostgreSQL, every transaction that changes records of an account first locks
//! the row of the account ([`Database::begin_locking`]). So the transactions of one account run one after another,
//! what one of them has checked stays true until it commits, and no two wait for each other. Claims of jobs are single
//! statements and lock one row each. A commit is on disk when it returns.

use std::sync::Arc;

use sqlx::sqlite::SqlitePool;

use super::error::RecordsError;
pub(super) use super::error::Result;
use super::page_ends::Places;
use super::shared::{PoolKind, SharedDatabase};
use super::sql::{Record, Statement, sql};
pub(super) use super::transaction::Tx;
use super::transaction::{Open, Pooled, answered};
use crate::service::clock::Clock;
use crate::wire::UserId;

/// How often a transaction runs that the database refuses because of others.
pub(super) const MAX_TRIES: u32 = 5;

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
                        && tries < crate::service::records::database::MAX_TRIES =>
                {
                    tries += 1;
                }
                done => break done,
            }
        }
    }};
}
pub(super) use retried;

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

    /// Runs statements that change rows with connections of `pool_kind`.
    pub(super) fn in_pool(&self, pool_kind: PoolKind) -> PoolHandle<'_> {
        PoolHandle {
            database: self,
            pool_kind,
        }
    }

    /// Runs a statement in its own transaction; returns the number of changed rows.
    pub(super) async fn run(&self, statement: Statement) -> Result<u64> {
        self.in_pool(PoolKind::Changes).run(statement).await
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
        let account_lock = match self.shared() {
            Some(shared) => Some(shared.answered(shared.lock_account(user)).await?),
            None => None,
        };
        let tx = self.begin().await?;
        Ok(Tx { account_lock, ..tx })
    }

    /// Begins a transaction that locks no account.
    pub(super) async fn begin(&self) -> Result<Tx> {
        let open = match &self.pools {
            Pools::Sqlite { writer, .. } => {
                Open::Sqlite(Box::pin(writer.begin_with("BEGIN IMMEDIATE")).await?)
            }
            Pools::Postgres(shared) => {
                let beginning =
                    async { Ok(Box::pin(shared.pool(PoolKind::Changes).begin()).await?) };
                Open::Postgres(shared.answered(beginning).await?)
            }
        };
        Ok(Tx {
            open,
            now: self.now(),
            shared: self.shared().cloned(),
            account_lock: None,
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

    // The future that connects is 24 kB. Boxed, it does not make every future that reads a record as large: an unoptimized build
    // copies futures on the stack, and that of a job overflowed it.
    async fn reader(&self) -> Result<Pooled> {
        Ok(match &self.pools {
            Pools::Sqlite { reader, .. } => Pooled::Sqlite(Box::pin(reader.acquire()).await?),
            Pools::Postgres(shared) => {
                Pooled::Postgres(Box::pin(shared.pool(PoolKind::Reads).acquire()).await?)
            }
        })
    }
}

/// The database with the connections of one lane.
#[derive(Clone, Copy)]
pub(super) struct PoolHandle<'a> {
    database: &'a Database,
    pool_kind: PoolKind,
}

impl PoolHandle<'_> {
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

    /// Runs a statement that changes rows in its own transaction; returns the changed rows.
    pub(super) async fn change_all<T: Record>(self, statement: Statement) -> Result<Vec<T>> {
        let changing = async { retried!({ self.writer().await?.link().all(&statement).await }) };
        answered(self.database.shared(), changing).await
    }

    async fn writer(&self) -> Result<Pooled> {
        Ok(match &self.database.pools {
            Pools::Sqlite { writer, .. } => Pooled::Sqlite(Box::pin(writer.acquire()).await?),
            Pools::Postgres(shared) => {
                Pooled::Postgres(Box::pin(shared.pool(self.pool_kind).acquire()).await?)
            }
        })
    }
}

/// The most rows that one statement inserts or names. SQLite takes 32,766 values, PostgreSQL 65,535.
pub(super) const MAX_ROWS: usize = 1_000;

/// `(shared, $from, …), …`: `count` rows for a `VALUES`. Each begins with `shared` and has `width` placeholders of its own.
pub(super) fn rows(count: usize, shared: &str, from: usize, width: usize) -> String {
    let rows: Vec<String> = (0..count)
        .map(|row| format!("({shared}, {})", places(from + row * width, width)))
        .collect();
    rows.join(", ")
}

/// `$from, $from+1, …`: the placeholders for `len` values in an `IN (…)`.
pub(super) fn places(from: usize, len: usize) -> String {
    let places: Vec<String> = (from..from + len)
        .map(|place| format!("${place}"))
        .collect();
    places.join(", ")
}
