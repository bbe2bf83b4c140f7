//! The tasks of drafts and uploads that run until the outbox closes.

use std::sync::Arc;

use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::settle::watch;
use crate::outbox::drafts::upload::{discard, note};

pub fn start(parts: &Arc<DraftParts>) {
    parts.tasks.spawn(watch::run(Arc::clone(parts)));
    parts.tasks.spawn(discard::run(Arc::clone(parts)));
    parts.tasks.spawn(note::run(Arc::clone(parts)));
}
