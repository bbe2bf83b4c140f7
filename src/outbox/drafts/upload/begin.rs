//! Starts the upload of a draft.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::{Notify, watch};

use crate::client::{ClientError, reporting_failures};
use crate::outbox::drafts::activity::{LiveUpload, Trouble};
use crate::outbox::drafts::draft::{Draft, Stage};
use crate::outbox::drafts::parts::DraftParts;
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
    let stop = watch::Sender::new(false);
    let live = LiveUpload {
        sent: Arc::new(AtomicU64::new(0)),
        total: 0,
        files_sent: 0,
        files: 0,
        objects: Arc::default(),
        rate: Arc::default(),
        stop,
        poke: Arc::new(Notify::new()),
    };
    activity.upload = Some(live.clone());
    drop(memory);
    let task = Upload::new(Arc::clone(parts), draft, live.clone());
    let watched = Arc::clone(parts);
    let report = move |error: &ClientError| show_failure(&watched, draft, &live, error);
    parts.tasks.spawn(reporting_failures(report, task.run()));
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
