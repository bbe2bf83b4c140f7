//! Periodic work: writes late records, deletes unused staged bytes, rewrites a long journal.

use std::sync::Arc;
use std::time::Duration;

use crate::outbox::machines::Machines;
use crate::outbox::off_thread::off_thread;

/// How long a change that no caller waits for may be in memory only.
const LATE_RECORDS: Duration = Duration::from_secs(1);
/// The journal is rewritten if it is longer than this, and longer than a multiple of its last rewritten length.
const REWRITE_ABOVE_BYTES: u64 = 4 << 20;
const REWRITE_FACTOR: u64 = 4;
/// The same while there are no drafts.
const REWRITE_IDLE_ABOVE_BYTES: u64 = 16 << 10;

/// Runs until the outbox closes.
pub async fn run(machines: Arc<Machines>) {
    let mut rewritten_len = 0;
    while machines.foundation.tasks.pause(LATE_RECORDS).await {
        if let Err(error) = machines.drafts.remove_pending().await {
            tracing::warn!(%error, "unused staged bytes could not be deleted yet");
        }
        let work = Arc::clone(&machines);
        let outcome = off_thread(move || look_after_journal(&work, rewritten_len)).await;
        if let Ok(Some(len)) = outcome {
            rewritten_len = len;
        }
    }
}

/// Writes late records, and rewrites a long journal; returns its length if it was rewritten.
fn look_after_journal(machines: &Machines, rewritten_len: u64) -> Option<u64> {
    let journal = &machines.foundation.journal;
    if journal.has_waiting()
        && let Err(error) = journal.settle_all()
    {
        tracing::warn!(%error, "the journal cannot be written");
        return None;
    }
    journal.keep_reserve();
    if !machines.recovered().is_empty() {
        // `assetfs recover` may have moved them back.
        machines.look_for_recovered();
    }
    let is_idle = machines.drafts.is_idle();
    if is_idle {
        machines.drafts.own.staging.drop_spares();
    }
    let len = journal.len_bytes();
    let above = match is_idle {
        true => REWRITE_IDLE_ABOVE_BYTES,
        false => REWRITE_ABOVE_BYTES,
    };
    if len <= above || len <= rewritten_len * REWRITE_FACTOR {
        return None;
    }
    let ticket = machines.push_snapshot()?;
    if let Err(error) = journal.settle(ticket) {
        tracing::warn!(%error, "the journal cannot be written");
        return None;
    }
    Some(journal.len_bytes())
}
