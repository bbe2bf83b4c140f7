//! Starts the upload of a draft.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::{Notify, watch};

use crate::outbox::drafts::activity::LiveUpload;
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
    let task = Upload::new(Arc::clone(parts), draft, live);
    parts.tasks.spawn(task.run());
}
