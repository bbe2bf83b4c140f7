//! What has to be done now and then: making late records durable, removing staged bytes that nothing
//! refers to, keeping the journal short.

use std::sync::Arc;
use std::time::Duration;

use super::journal::record::Record;
use super::shared::Shared;

/// How long a change that nobody waits for may stay in memory alone.
const LATE_RECORDS: Duration = Duration::from_secs(1);
/// The journal is rewritten when it is longer than this and than a multiple of what it says.
const REWRITE_ABOVE_BYTES: u64 = 4 << 20;
const REWRITE_FACTOR: u64 = 4;

/// Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    let mut rewritten_len = 0;
    while shared.pause(LATE_RECORDS).await {
        let work = Arc::clone(&shared);
        let outcome = shared
            .blocking(move || {
                if work.journal.has_waiting()
                    && let Err(error) = work.journal.settle_all()
                {
                    tracing::warn!(%error, "the journal cannot be written");
                    return None;
                }
                work.journal.keep_reserve();
                let len = work.journal.len_bytes();
                let due = len > REWRITE_ABOVE_BYTES && len > rewritten_len * REWRITE_FACTOR;
                due.then(|| rewrite(&work))
            })
            .await;
        if let Ok(Some(len)) = outcome {
            rewritten_len = len;
        }
        if let Err(error) = shared.remove_doomed().await {
            tracing::warn!(%error, "staged bytes that nobody needs are kept for now");
        }
    }
}

/// Rewrites the journal as one snapshot; gives its length.
fn rewrite(shared: &Shared) -> u64 {
    let core = shared.core();
    let snapshot = Record::Snapshot(Box::new(core.state.clone()));
    // Under the core's lock, so that no record falls between the snapshot and the new journal.
    if let Err(error) = shared.journal.replace(&[snapshot]) {
        tracing::warn!(%error, "the journal could not be rewritten and stays as it is");
    }
    drop(core);
    shared.journal.len_bytes()
}
