//! Starts the upload of a draft.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::client::{ClientError, reporting_failures};
use crate::outbox::drafts::activity::{Activity, LiveUpload, Trouble};
use crate::outbox::drafts::draft::{Draft, Stage};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::upload::link::MAX_RETRY_PAUSE;
use crate::outbox::drafts::upload::run::Upload;
use crate::outbox::ids::DraftId;

/// Starts or resumes the upload of a draft, unless it runs. Does nothing if the draft changed since `generation`,
/// when it was found ready.
pub fn begin(parts: &Arc<DraftParts>, draft: DraftId, generation: u64) {
    let mut memory = parts.memory();
    if !memory.state.drafts.contains_key(&draft) {
        return;
    }
    let activity = memory.activity(draft);
    if activity.upload.is_some() || activity.generation != generation {
        return;
    }
    let live = LiveUpload {
        sent: Arc::new(AtomicU64::new(0)),
        total: 0,
        files_sent: 0,
        files: 0,
        objects: Arc::default(),
        rate: Arc::default(),
        stop: Arc::default(),
        poke: Arc::default(),
    };
    activity.upload = Some(live.clone());
    let pause = pause_before(activity, parts.config.first_poll * 2);
    drop(memory);
    let task = Upload::new(Arc::clone(parts), draft, live.clone());
    let watched = Arc::clone(parts);
    let report = move |error: &ClientError| show_failure(&watched, draft, &live, error);
    parts
        .tasks
        .spawn(reporting_failures(report, task.run(pause)));
}

/// Back-off of uploads: if an upload ends without success, the next one of the same content begins after a growing pause.
/// A change of the content or an order of the user resets it.
fn pause_before(activity: &mut Activity, first: Duration) -> Duration {
    let generation = activity.generation;
    match &mut activity.begun {
        Some((begun, pauses)) if *begun == generation => pauses.next_pause(),
        begun => {
            *begun = Some((generation, Backoff::doubling(first, MAX_RETRY_PAUSE)));
            Duration::ZERO
        }
    }
}

/// Shows why a call of an upload is repeated. Its pause may be as long as the service asks for.
fn show_failure(parts: &DraftParts, draft: DraftId, live: &LiveUpload, error: &ClientError) {
    // An outage is shown once a call has failed for good: most connections work at the second try.
    let has_reason = matches!(
        error,
        ClientError::Unavailable {
            status: Some(_),
            ..
        }
    );
    if error.is_no_answer() && !has_reason {
        return;
    }
    let mut memory = parts.memory();
    let is_sent = |found: &Draft| matches!(found.stage(), Some(Stage::Imported { .. }));
    if memory.state.drafts.get(&draft).is_none_or(is_sent) {
        return;
    }
    let activity = memory.activity(draft);
    if activity.upload.as_ref().is_some_and(|it| it.is(live)) {
        activity.trouble = Some(Trouble::Service(error.clone()));
        activity.next_try = None;
        drop(memory);
        parts.status_changed(draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_that_ends_by_itself_begins_again_after_pauses_that_double() {
        let mut activity = Activity::default();
        let pause =
            |activity: &mut Activity| pause_before(activity, Duration::from_secs(1)).as_secs();
        let pauses = [0; 5].map(|_| pause(&mut activity));
        assert_eq!(pauses, [0, 1, 2, 4, 8]);
        activity.generation += 1;
        assert_eq!(pause(&mut activity), 0, "the content has changed");
        assert_eq!(pause(&mut activity), 1);
        activity.begun = None;
        assert_eq!(pause(&mut activity), 0, "the user has ordered it");
    }
}
