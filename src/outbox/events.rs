//! Events for the receiver that [`Outbox::open`](super::Outbox::open) returns, and two signals for tasks of the
//! outbox. An event that is queued already is not queued again, so the queue is bounded by the number of objects that
//! can change, and sending never blocks.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::{Notify, mpsc};

use crate::locks::Locked;
use crate::outbox::ids::{DraftId, JobFolder};
use crate::outbox::signal::Signal;
use crate::wire::{AssetId, RapidId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxEvent {
    /// A draft's phase, status or content changed, or it was removed.
    DraftChanged(DraftId),
    /// No loose file has this name any more: it was removed or renamed, or its model is gone.
    LooseFileLeft(String),
    /// The service has accepted a draft.
    AssetCreated {
        draft: DraftId,
        /// The asset it became.
        asset: AssetId,
    },
    /// A new version has taken the name of an asset.
    NameTaken { old: AssetId, new: AssetId },
    /// The state of an asset changed.
    AssetChanged(AssetId),
    /// The state of a job changed.
    JobChanged(JobFolder, String),
    /// A rapid model was made or changed.
    RapidFound(RapidId),
    /// An embed was made.
    EmbedsChanged,
    /// A preset was made, changed or deleted.
    PresetsChanged,
}

#[derive(Debug, Default)]
pub struct Events {
    queue: Mutex<VecDeque<OutboxEvent>>,
    queued: Notify,
    /// Something that tasks wait for has changed. Given by the lock of each part.
    pub changes: Signal,
    /// The state of an asset may have changed.
    pub assets: Signal,
}

impl Events {
    /// Queues an event, unless it is queued already.
    pub fn send(&self, event: OutboxEvent) {
        let mut queue = self.queue.locked();
        if !queue.contains(&event) {
            queue.push_back(event);
        }
        drop(queue);
        self.queued.notify_one();
    }

    /// Passes events on until the receiver is dropped.
    pub async fn forward(&self, to: mpsc::Sender<OutboxEvent>) {
        loop {
            let next = {
                let mut queue = self.queue.locked();
                queue.pop_front()
            };
            match next {
                Some(event) => {
                    if to.send(event).await.is_err() {
                        return;
                    }
                }
                None => self.queued.notified().await,
            }
        }
    }
}
