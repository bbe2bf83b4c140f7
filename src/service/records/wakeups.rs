//! Messages between the processes that share a PostgreSQL database: there are new jobs or events.
//!
//! A message is sent after the commit, outside of its transaction, because PostgreSQL would otherwise commit
//! one such transaction at a time. Messages are lost when a connection breaks; polling finds them then.

use std::sync::Arc;

use sqlx::postgres::PgListener;

use super::database::Result;
use super::groups::JobRecords;
use super::shared::{Lane, SharedDatabase};
use super::sql::sql;

const CHANNEL: &str = "assetfs_jobs";

/// The messages of the other processes, and of this one.
pub struct Wakeups {
    listener: PgListener,
    shared: Arc<SharedDatabase>,
}

impl Wakeups {
    /// Waits for a message. Connects again if the connection broke.
    pub async fn next(&mut self) -> Result<()> {
        let Wakeups { listener, shared } = self;
        // `None`: the connection broke, and messages may be lost.
        let receiving = async { Ok(listener.try_recv().await.map(drop)?) };
        shared.answered(receiving).await
    }
}

impl JobRecords<'_> {
    /// Wakes the other processes. Does nothing in SQLite.
    pub async fn announce(self) -> Result<()> {
        if self.database.shared().is_none() {
            return Ok(());
        }
        let notify = sql!("SELECT CAST(pg_notify($1, '') AS TEXT)", CHANNEL);
        let told = self.database.in_lane(Lane::Leases).change::<String>(notify);
        told.await.map(drop)
    }

    /// Listens for other processes; `None` in SQLite, which has none.
    pub async fn wakeups(self) -> Result<Option<Wakeups>> {
        let Some(shared) = self.database.shared() else {
            return Ok(None);
        };
        let opening = async {
            let mut listener = PgListener::connect_with(&shared.pool(Lane::Leases)).await?;
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        Ok(Some(Wakeups {
            listener: shared.answered(opening).await?,
            shared: Arc::clone(shared),
        }))
    }
}
