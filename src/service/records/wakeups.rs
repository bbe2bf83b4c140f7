//! Messages between the processes that share a PostgreSQL database: there are new jobs or events.
//!
//! A message is sent after the commit, outside of its transaction, because PostgreSQL would otherwise commit
//! one such transaction at a time. Messages are lost when a connection breaks; polling finds them then.

use std::sync::Arc;

use sqlx::postgres::PgListener;

use super::database::Result;
use super::groups::JobRecords;
use super::shared::{PoolKind, SharedDatabase};
use super::sql::sql;

const CHANNEL: &str = "assetfs_jobs";

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    Jobs,
    Events,
}

impl Added {
    /// The text of the message.
    fn text(self) -> &'static str {
        match self {
            Added::Jobs => "jobs",
            Added::Events => "events",
        }
    }

    fn from_text(text: &str) -> Option<Added> {
        let all = [Added::Jobs, Added::Events];
        all.into_iter().find(|added| added.text() == text)
    }
}

/// The messages of the other processes, and of this one.
pub struct Wakeups {
    listener: PgListener,
    shared: Arc<SharedDatabase>,
}

impl Wakeups {
    /// Waits for a message. `None` if it may be about anything: the connection broke and is open again, or the message
    /// comes from another version.
    pub async fn next(&mut self) -> Result<Option<Added>> {
        let Wakeups { listener, shared } = self;
        let receiving = async {
            let message = listener.try_recv().await?;
            Ok(message.and_then(|message| Added::from_text(message.payload())))
        };
        shared.answered(receiving).await
    }
}

impl JobRecords<'_> {
    /// Wakes the other processes. Does nothing in SQLite.
    pub async fn announce(self, added: Added) -> Result<()> {
        if self.database.shared().is_none() {
            return Ok(());
        }
        let notify = sql!(
            "SELECT CAST(pg_notify($1, $2) AS TEXT)",
            CHANNEL,
            added.text()
        );
        let told = self
            .database
            .in_pool(PoolKind::Leases)
            .change::<String>(notify);
        told.await.map(drop)
    }

    /// Listens for other processes; `None` in SQLite, which has none.
    pub async fn wakeups(self) -> Result<Option<Wakeups>> {
        let Some(shared) = self.database.shared() else {
            return Ok(None);
        };
        let opening = async {
            let mut listener = PgListener::connect_with(&shared.pool(PoolKind::Leases)).await?;
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        Ok(Some(Wakeups {
            listener: shared.answered(opening).await?,
            shared: Arc::clone(shared),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::records::Records;

    #[tokio::test]
    async fn a_message_says_what_was_added() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let Some(mut wakeups) = records.jobs().wakeups().await.unwrap() else {
            assert!(!records.is_shared(), "only SQLite has no messages");
            return;
        };
        for added in [Added::Events, Added::Jobs] {
            records.jobs().announce(added).await.unwrap();
            assert_eq!(wakeups.next().await.unwrap(), Some(added));
        }
        let old = sql!("SELECT CAST(pg_notify($1, '') AS TEXT)", CHANNEL);
        records.database.one::<String>(old).await.unwrap();
        assert_eq!(wakeups.next().await.unwrap(), None);
    }
}
