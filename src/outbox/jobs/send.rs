//! Starts a task for each job that is to be sent, and for each lost request.
//!
//! Invariant: one task per file, one search per request. A request with an unknown outcome is never sent again: it is
//! searched for by its tag, and stays unknown if it is not found in time.

use std::sync::Arc;

use crate::outbox::jobs::book::{EmbedStage, JobKey, SubmissionStage, Wanted};
use crate::outbox::jobs::memory::{JobTask, JobsMemory};
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::search::look_for;
use crate::outbox::jobs::sender::Sender;

/// Runs until the outbox closes.
pub async fn run(parts: Arc<JobParts>) {
    loop {
        if !parts.config.paused {
            start_tasks(&parts);
        }
        tokio::select! {
            biased;
            () = parts.own.jobs_wake.notified() => {}
            () = parts.tasks.closed() => return,
        }
    }
}

fn start_tasks(parts: &Arc<JobParts>) {
    let (wanted, lost) = {
        let mut memory = parts.memory();
        let files = memory.book.files.iter();
        let wanted: Vec<JobKey> = files
            .filter(|(key, file)| file.wanted != Wanted::No && !memory.tasks.contains_key(*key))
            .map(|(key, _)| key.clone())
            .collect();
        let lost = lost_requests(&memory);
        for key in &wanted {
            memory.tasks.insert(key.clone(), JobTask::default());
        }
        memory.calls.extend(lost.iter().cloned());
        (wanted, lost)
    };
    for key in wanted {
        let sender = Sender::new(parts, key);
        parts.tasks.spawn(sender.run());
    }
    for tag in lost {
        let parts_for_search = Arc::clone(parts);
        parts.tasks.spawn(async move {
            look_for(&parts_for_search, &tag).await;
            parts_for_search.memory().calls.remove(&tag);
        });
    }
}

/// Requests without an outcome that are neither in flight nor searched for.
fn lost_requests(memory: &JobsMemory) -> Vec<String> {
    let book = &memory.book;
    let under_way = |tag: &String| memory.calls.contains(tag);
    let optimizations = book.submissions.iter();
    let optimizations = optimizations
        .filter(|(_, it)| it.stage == SubmissionStage::Sent)
        .filter(|(_, it)| !it.group.as_ref().is_some_and(under_way))
        .map(|(tag, _)| tag);
    let embeds = book.embeds.iter();
    let embeds = embeds
        .filter(|(_, it)| it.stage == EmbedStage::Sent)
        .map(|(tag, _)| tag);
    let all = optimizations.chain(embeds);
    all.filter(|tag| !under_way(tag)).cloned().collect()
}
