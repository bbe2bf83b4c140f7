//! What happened, on its way to whoever shows it. Things that change often are told once for many
//! changes; nothing that waits here holds anybody up.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, mpsc};

use crate::outbox::ids::{DraftId, JobFolder};
use crate::wire::{AssetId, RapidId};

/// What happened, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxEvent {
    /// A draft's phase, status or content changed, or it is gone.
    DraftChanged(DraftId),
    /// The service has accepted a draft.
    AssetCreated {
        /// The draft.
        draft: DraftId,
        /// The asset it became.
        asset: AssetId,
    },
    /// An asset that is watched has another state.
    AssetChanged(AssetId),
    /// A job has another state.
    JobChanged(JobFolder, String),
    /// A rapid model came to be or changed.
    RapidFound(RapidId),
    /// An embed was made.
    EmbedsChanged,
    /// A preset was made, changed or deleted.
    PresetsChanged,
}

/// Events that wait to be taken. The line is bounded by the number of things that can change: an
/// event that is in line already is not put there twice.
#[derive(Debug, Default)]
pub struct EventQueue {
    line: Mutex<VecDeque<OutboxEvent>>,
    news: Notify,
}

impl EventQueue {
    /// Puts an event into the line, unless it is there.
    pub fn tell(&self, event: OutboxEvent) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if !line.contains(&event) {
            line.push_back(event);
        }
        drop(line);
        self.news.notify_one();
    }

    /// Hands events on until the receiver goes.
    pub async fn forward(&self, to: mpsc::Sender<OutboxEvent>) {
        loop {
            let next = {
                let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
                line.pop_front()
            };
            match next {
                Some(event) => {
                    if to.send(event).await.is_err() {
                        return;
                    }
                }
                None => self.news.notified().await,
            }
        }
    }
}
