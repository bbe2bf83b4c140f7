//! What has to be done now and then: making late records durable, removing staged bytes that nothing
//! refers to, keeping the journal short.

use std::sync::Arc;
use std::time::Duration;

use crate::outbox::shared::Shared;
use crate::outbox::state::record::Record;

/// How long a change that nobody waits for may stay in memory alone.
const LATE_RECORDS: Duration = Duration::from_secs(1);
/// The journal is rewritten when it is longer than this and than a multiple of what it says.
const REWRITE_ABOVE_BYTES: u64 = 4 << 20;
const REWRITE_FACTOR: u64 = 4;
/// The same while no draft is left: what a day of copying wrote goes when the last of it has gone.
const REWRITE_IDLE_ABOVE_BYTES: u64 = 16 << 10;

/// Runs until the outbox closes.
pub async fn run(shared: Arc<Shared>) {
    let mut rewritten_len = 0;
    while shared.pause(LATE_RECORDS).await {
        if let Err(error) = shared.remove_doomed().await {
            tracing::warn!(%error, "staged bytes that nobody needs are kept for now");
        }
        let work = Arc::clone(&shared);
        let outcome = shared
            .blocking(move || look_after_journal(&work, rewritten_len))
            .await;
        if let Ok(Some(len)) = outcome {
            rewritten_len = len;
        }
    }
}

/// Writes late records, and the journal anew where it has become long; gives its length then.
fn look_after_journal(shared: &Shared, rewritten_len: u64) -> Option<u64> {
    if shared.journal.has_waiting()
        && let Err(error) = shared.journal.settle_all()
    {
        tracing::warn!(%error, "the journal cannot be written");
        return None;
    }
    shared.journal.keep_reserve();
    if !shared.recovered().is_empty() {
        // Somebody may have taken them back.
        shared.look_for_recovered();
    }
    let is_idle = {
        let core = shared.core();
        core.state.drafts.is_empty() && core.open.is_empty()
    };
    if is_idle {
        shared.staging.drop_spares();
    }
    let len = shared.journal.len_bytes();
    let above = match is_idle {
        true => REWRITE_IDLE_ABOVE_BYTES,
        false => REWRITE_ABOVE_BYTES,
    };
    if len <= above || len <= rewritten_len * REWRITE_FACTOR {
        return None;
    }
    let ticket = {
        let core = shared.core();
        // A removal that is not done is known to the old journal alone.
        if !core.doomed.is_empty() {
            return None;
        }
        let snapshot = Record::Snapshot(Box::new(core.state.clone()));
        // Under the core's lock, so that no record falls between the snapshot and what follows it.
        shared.journal.push_snapshot(&snapshot)
    };
    if let Err(error) = shared.journal.settle(ticket) {
        tracing::warn!(%error, "the journal cannot be written");
        return None;
    }
    Some(shared.journal.len_bytes())
}
