//! Wakes the task that sends events to webhooks, and tells the ends of jobs to other parts of this process.

use tokio::sync::{Notify, broadcast};

use crate::wire::{AssetId, Event, EventData, EventType, RapidId};

/// Maximum number of events that a listener has not read; it misses older ones.
const MAX_UNREAD: usize = 256;

/// Notes that there are new events.
#[derive(Debug)]
pub struct Events {
    pub(super) wake: Notify,
    added: Notify,
    ends: broadcast::Sender<Event>,
}

impl Default for Events {
    fn default() -> Events {
        Events {
            wake: Notify::new(),
            added: Notify::new(),
            ends: broadcast::Sender::new(MAX_UNREAD),
        }
    }
}

impl Events {
    /// Tells the ends of jobs of this process, which are recorded: without the links that webhooks get.
    pub fn tell(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            // Without a listener nobody has to know.
            let _ = self.ends.send(event);
        }
        self.announce();
    }

    /// Tells this process alone that a result has got its pictures: webhooks know of no such event.
    pub fn tell_drawn(&self, asset: AssetId, rapid: RapidId) {
        let data = EventData {
            rawmodel_id: Some(asset),
            rapidmodel_id: Some(rapid),
            ..EventData::default()
        };
        let _ = self.ends.send(Event {
            event_type: EventType::OptimizationFinished,
            timestamp: None,
            data,
            other: crate::wire::Other::default(),
        });
    }

    /// The ends of jobs from now on.
    pub fn ends(&self) -> broadcast::Receiver<Event> {
        self.ends.subscribe()
    }

    /// Notes that events may have been added, here and in each process that shares the records.
    pub fn announce(&self) {
        self.wake();
        self.added.notify_one();
    }

    /// Looks for events in this process.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits until events may have been added.
    pub async fn added(&self) {
        self.added.notified().await;
    }
}
