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

/// When there are no drafts and no late records, files are checked only in one of so many rounds.
const ROUNDS_AT_REST: u32 = 30;

/// The rounds since there is nothing to do.
#[derive(Default)]
struct RestingRounds(u32);

impl RestingRounds {
    /// Whether the files are looked at in this round. The first one at rest tidies up what the work has left.
    fn is_due(&mut self, is_at_rest: bool) -> bool {
        if !is_at_rest {
            self.0 = 0;
            return true;
        }
        let is_due = self.0.is_multiple_of(ROUNDS_AT_REST);
        self.0 = (self.0 + 1) % ROUNDS_AT_REST;
        is_due
    }
}

/// Runs until the outbox closes.
pub async fn run(machines: Arc<Machines>) {
    let mut rewritten_len = 0;
    let mut rounds = RestingRounds::default();
    while machines.foundation.tasks.pause(LATE_RECORDS).await {
        if let Err(error) = machines.drafts.remove_pending().await {
            tracing::warn!(%error, "unused staged bytes could not be deleted yet");
        }
        if !rounds.is_due(is_at_rest(&machines)) {
            continue;
        }
        let work = Arc::clone(&machines);
        let outcome = off_thread(move || look_after_journal(&work, rewritten_len)).await;
        if let Ok(Some(len)) = outcome {
            rewritten_len = len;
        }
    }
}

fn is_at_rest(machines: &Machines) -> bool {
    machines.drafts.is_idle()
        && !machines.foundation.journal.has_waiting()
        && machines.recovered().is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outbox_at_rest_looks_at_its_files_twice_a_minute_and_with_work_in_every_round() {
        const ROUNDS_AN_HOUR: u32 = 3600;
        let mut rounds = RestingRounds::default();
        let mut looks = |at_rest| {
            (0..ROUNDS_AN_HOUR)
                .filter(|_| rounds.is_due(at_rest))
                .count()
        };
        assert_eq!((looks(true), looks(false)), (120, 3600));
        let mut rounds = RestingRounds::default();
        assert!(rounds.is_due(true) && !rounds.is_due(true));
        assert!(rounds.is_due(false), "work wakes it");
        assert!(rounds.is_due(true), "and is tidied up once");
        assert!(!rounds.is_due(true));
    }
}
