//! Messages between the processes that share a PostgreSQL database: there is a new job.
//!
//! A message is sent after the commit of the job, outside of its transaction, because PostgreSQL would otherwise commit
//! one such transaction at a time. Messages are lost when a connection breaks; polling finds the job then.

use sqlx::postgres::PgListener;

use super::database::Result;
use super::groups::JobRecords;
use super::sql::sql;

const CHANNEL: &str = "assetfs_jobs";

/// The messages of the other processes, and of this one.
pub struct Wakeups {
    listener: PgListener,
}

impl Wakeups {
    /// Waits for a message. Connects again if the connection broke.
    pub async fn next(&mut self) -> Result<()> {
        // `None`: the connection broke, and messages may be lost.
        self.listener.try_recv().await?;
        Ok(())
    }
}

impl JobRecords<'_> {
    /// Tells the other processes that there is a job. Does nothing in SQLite.
    pub async fn announce(self) -> Result<()> {
        if self.database.postgres().is_none() {
            return Ok(());
        }
        let notify = sql!("SELECT CAST(pg_notify($1, '') AS TEXT)", CHANNEL);
        self.database.one::<String>(notify).await.map(drop)
    }

    /// Listens for jobs of other processes; `None` in SQLite, which has none.
    pub async fn wakeups(self) -> Result<Option<Wakeups>> {
        let Some(pool) = self.database.postgres() else {
            return Ok(None);
        };
        let mut listener = PgListener::connect_with(pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(Some(Wakeups { listener }))
    }
}
