//! A connection of either database, and the transactions on it.

use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Postgres, Sqlite, Transaction};

use super::error::Result;
use super::shared::{AccountLock, SharedDatabase};
use super::sql::{Record, Row, Statement, sql};
use crate::wire::{ModelId, UserId};

/// A connection that runs a statement.
pub(super) enum Link<'a> {
    Sqlite(&'a mut SqliteConnection),
    Postgres(&'a mut PgConnection),
}

impl Link<'_> {
    pub(super) async fn run(self, statement: &Statement) -> Result<u64> {
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

    pub(super) async fn optional<T: Record>(self, statement: &Statement) -> Result<Option<T>> {
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
        Ok(row.map(|row| T::read(&row, "")).transpose()?)
    }

    pub(super) async fn one<T: Record>(self, statement: &Statement) -> Result<T> {
        let row = self.optional(statement).await?;
        Ok(row.ok_or(sqlx::Error::RowNotFound)?)
    }

    pub(super) async fn all<T: Record>(self, statement: &Statement) -> Result<Vec<T>> {
        let read: sqlx::Result<Vec<T>> = match self {
            Link::Sqlite(link) => {
                let rows = statement.for_sqlite().fetch_all(link).await?;
                rows.into_iter()
                    .map(|row| T::read(&Row::Sqlite(row), ""))
                    .collect()
            }
            Link::Postgres(link) => {
                let rows = statement.for_postgres().fetch_all(link).await?;
                rows.into_iter()
                    .map(|row| T::read(&Row::Postgres(row), ""))
                    .collect()
            }
        };
        Ok(read?)
    }
}

/// A connection of a pool.
pub(super) enum Pooled {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl Pooled {
    pub(super) fn link(&mut self) -> Link<'_> {
        match self {
            Pooled::Sqlite(pooled) => Link::Sqlite(pooled),
            Pooled::Postgres(pooled) => Link::Postgres(pooled),
        }
    }
}

pub(super) enum Open {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// An open transaction. Without a commit it is rolled back.
pub(super) struct Tx {
    pub(super) open: Open,
    pub(super) now: i64,
    pub(super) shared: Option<Arc<SharedDatabase>>,
    /// The account that this process changes in no other transaction meanwhile.
    pub(super) account_lock: Option<AccountLock>,
}

/// Runs `work`; fails early if a shared database becomes unreachable.
pub(super) async fn answered<T>(
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
            open,
            shared,
            account_lock,
            ..
        } = self;
        let committing = async {
            match open {
                Open::Sqlite(open) => open.commit().await?,
                Open::Postgres(open) => open.commit().await?,
            }
            Ok(())
        };
        let committed = answered(shared.as_ref(), committing).await;
        drop(account_lock);
        committed
    }

    /// Locks an account; false if there is none.
    pub(super) async fn lock(&mut self, user: UserId) -> Result<bool> {
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
