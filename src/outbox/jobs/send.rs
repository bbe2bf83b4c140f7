//! Starts a task for every job that wants to go out, and for every request that was lost.
//!
//! Invariant: one task a file, one search a request. A request whose outcome is not known is never sent
//! again: it is looked for by its tag, and what is not found within the time stays unknown.

use std::sync::Arc;

use crate::outbox::core::Core;
use crate::outbox::drafts::activity::JobTask;
use crate::outbox::events::OutboxEvent;
use crate::outbox::jobs::book::{EmbedStage, JobKey, SubmissionStage, Wanted};
use crate::outbox::jobs::search::look_for;
use crate::outbox::jobs::sender::Sender;
use crate::outbox::shared::Shared;

/// Starts a task for every job that wants to go out and every request that was lost. Runs until the
/// outbox closes.
pub async fn run(shared: Arc<Shared>) {
    loop {
        if !shared.config.paused {
            start_tasks(&shared);
        }
        tokio::select! {
            biased;
            () = shared.job_news.notified() => {}
            () = shared.closed() => return,
        }
    }
}

fn start_tasks(shared: &Arc<Shared>) {
    let (wanted, lost) = {
        let mut core = shared.core();
        let files = core.state.jobs.files.iter();
        let wanted: Vec<JobKey> = files
            .filter(|(key, file)| file.wanted != Wanted::No && !core.job_tasks.contains_key(*key))
            .map(|(key, _)| key.clone())
            .collect();
        let lost = lost_requests(&core);
        for key in &wanted {
            core.job_tasks.insert(key.clone(), JobTask::default());
        }
        core.job_calls.extend(lost.iter().cloned());
        (wanted, lost)
    };
    for key in wanted {
        let sender = Sender::new(shared, key);
        shared.spawn(sender.run());
    }
    for tag in lost {
        let shared_too = Arc::clone(shared);
        shared.spawn(async move {
            look_for(&shared_too, &tag).await;
            shared_too.core().job_calls.remove(&tag);
        });
    }
}

/// Requests without an outcome that nobody is about to learn of.
fn lost_requests(core: &Core) -> Vec<String> {
    let book = &core.state.jobs;
    let under_way = |tag: &String| core.job_calls.contains(tag);
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

/// Tells that a job has another state.
pub fn tell(shared: &Shared, key: &JobKey) {
    let event = OutboxEvent::JobChanged(key.folder, key.name.clone());
    shared.events.tell(event);
    shared.something_changed();
}

/// Tells it for every file of a submission.
pub fn tell_all(shared: &Shared, tag: &str) {
    let keys = shared.core().state.jobs.keys_of(tag);
    for key in keys {
        tell(shared, &key);
    }
}
