//! Periodic work: makes late records durable, removes staged bytes that nothing refers to, keeps the journal short.

use std::sync::Arc;
use std::time::Duration;

use crate::outbox::machines::Machines;
use crate::outbox::off_thread::off_thread;

/// How long a change that nobody waits for may stay in memory alone.
const LATE_RECORDS: Duration = Duration::from_secs(1);
/// The journal is rewritten when it is longer than this and than a multiple of what it says.
const REWRITE_ABOVE_BYTES: u64 = 4 << 20;
const REWRITE_FACTOR: u64 = 4;
/// The same while no draft is left: what a day of copying wrote goes when the last of it has gone.
const REWRITE_IDLE_ABOVE_BYTES: u64 = 16 << 10;

/// Runs until the outbox closes.
pub async fn run(machines: Arc<Machines>) {
    let mut rewritten_len = 0;
    while machines.foundation.tasks.pause(LATE_RECORDS).await {
        if let Err(error) = machines.drafts.remove_doomed().await {
            tracing::warn!(%error, "staged bytes that nobody needs are kept for now");
        }
        let work = Arc::clone(&machines);
        let outcome = off_thread(move || look_after_journal(&work, rewritten_len)).await;
        if let Ok(Some(len)) = outcome {
            rewritten_len = len;
        }
    }
}

/// Writes late records, and rewrites the journal if it has become long; gives its length then.
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
        // `assetfs recover` may have taken them back.
        machines.look_for_recovered();
    }
    let is_idle = machines.drafts.is_idle();
    if is_idle {
        machines.drafts.staging.drop_spares();
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
