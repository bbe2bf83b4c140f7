//! Events for the receiver that [`Outbox::open`](super::Outbox::open) returns, and two signals for tasks of the
//! outbox. An event that is queued already is not queued again, so the queue is bounded by the number of objects that
//! can change, and sending never blocks.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Mutex;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::locks::Locked;
use crate::outbox::ids::{DraftId, JobFolder};
use crate::outbox::signal::Signal;
use crate::wire::{AssetId, BaseAsset, RapidId, RapidModel};

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
    /// An upload that was given up here is over: its asset is gone, or stays because another machine has joined it.
    AssetGivenUp(AssetId),
    /// The state of a job changed.
    JobChanged(JobFolder, String),
    /// A rapid model was made or changed.
    RapidFound(RapidId),
    /// An embed was made.
    EmbedsChanged,
    /// A preset was made, changed or deleted.
    PresetsChanged,
}

/// The record of a model as the service has sent it.
#[derive(Debug, Clone)]
pub struct SeenRecord<T> {
    pub record: T,
    /// When it was requested.
    pub asked: Instant,
}

/// What came with an event of a rapid model.
#[derive(Debug)]
pub enum SeenRapid {
    Record(Box<SeenRecord<RapidModel>>),
    /// [`Events::take_waiting_rapids`] has passed its record on already.
    Taken,
}

/// Events, and the records that came with them.
#[derive(Debug, Default)]
struct EventQueue {
    events: VecDeque<OutboxEvent>,
    assets: HashMap<AssetId, SeenRecord<BaseAsset>>,
    rapids: HashMap<RapidId, SeenRapid>,
    preset_changes: u64,
}

#[derive(Debug, Default)]
pub struct Events {
    queue: Mutex<EventQueue>,
    queued: Notify,
    /// Something that tasks wait for has changed. Given by the lock of each part.
    pub changes: Signal,
    /// The state of an asset may have changed.
    pub assets: Signal,
}

impl Events {
    /// Queues an event, unless it is queued already. A record of the model that was seen before is not the last one.
    pub fn send(&self, event: OutboxEvent) {
        let mut queue = self.queue.locked();
        match &event {
            OutboxEvent::AssetChanged(asset) => drop(queue.assets.remove(asset)),
            OutboxEvent::RapidFound(rapid) => drop(queue.rapids.remove(rapid)),
            OutboxEvent::PresetsChanged => queue.preset_changes += 1,
            _ => {}
        }
        if !queue.events.contains(&event) {
            queue.events.push_back(event);
        }
        drop(queue);
        self.queued.notify_one();
    }

    /// The same for an asset whose record is here: the receiver need not request it.
    pub fn asset_seen(&self, seen: SeenRecord<BaseAsset>) {
        let id = seen.record.id;
        let event = OutboxEvent::AssetChanged(id);
        self.send_seen(event, |queue| &mut queue.assets, id, seen);
    }

    /// The same for a rapid model.
    pub fn rapid_seen(&self, seen: SeenRecord<RapidModel>) {
        let id = seen.record.id;
        let event = OutboxEvent::RapidFound(id);
        let seen = SeenRapid::Record(Box::new(seen));
        self.send_seen(event, |queue| &mut queue.rapids, id, seen);
    }

    fn send_seen<K: Eq + Hash, T>(
        &self,
        event: OutboxEvent,
        records: impl Fn(&mut EventQueue) -> &mut HashMap<K, T>,
        id: K,
        seen: T,
    ) {
        let mut queue = self.queue.locked();
        let is_queued = queue.events.contains(&event);
        // An event without a record stands for a change that this record may not have.
        if !is_queued || records(&mut queue).contains_key(&id) {
            records(&mut queue).insert(id, seen);
        }
        if !is_queued {
            queue.events.push_back(event);
        }
        drop(queue);
        self.queued.notify_one();
    }

    /// How often presets were changed here.
    pub fn preset_changes(&self) -> u64 {
        self.queue.locked().preset_changes
    }

    /// The record that came with the last [`OutboxEvent::AssetChanged`] of an asset.
    pub fn take_asset(&self, asset: AssetId) -> Option<SeenRecord<BaseAsset>> {
        self.queue.locked().assets.remove(&asset)
    }

    /// The record that came with the last [`OutboxEvent::RapidFound`] of a rapid model.
    pub fn take_rapid(&self, rapid: RapidId) -> Option<SeenRapid> {
        self.queue.locked().rapids.remove(&rapid)
    }

    /// The records whose events have not been received yet. Their events tell nothing new then.
    pub fn take_waiting_rapids(&self) -> Vec<SeenRecord<RapidModel>> {
        let mut queue = self.queue.locked();
        let waiting = queue.rapids.values_mut();
        let taken = waiting.map(|seen| std::mem::replace(seen, SeenRapid::Taken));
        let records = taken.filter_map(|seen| match seen {
            SeenRapid::Record(record) => Some(*record),
            SeenRapid::Taken => None,
        });
        records.collect()
    }

    /// Passes events on until the receiver is dropped.
    pub async fn forward(&self, to: mpsc::Sender<OutboxEvent>) {
        loop {
            let next = {
                let mut queue = self.queue.locked();
                queue.events.pop_front()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{OptimizationStatus, UploadStatus};

    fn seen(status: UploadStatus) -> SeenRecord<BaseAsset> {
        SeenRecord {
            record: BaseAsset::new(AssetId(7), "chair", status),
            asked: Instant::now(),
        }
    }

    #[test]
    fn the_last_record_comes_with_the_event_once() {
        let events = Events::default();
        events.asset_seen(seen(UploadStatus::Waiting));
        events.asset_seen(seen(UploadStatus::Complete));
        assert_eq!(events.queue.locked().events.len(), 1);
        let taken = events.take_asset(AssetId(7)).expect("a record");
        assert_eq!(taken.record.upload_status, UploadStatus::Complete);
        assert!(events.take_asset(AssetId(7)).is_none());
    }

    #[test]
    fn a_record_that_is_taken_before_its_event_is_received_need_not_be_requested() {
        let events = Events::default();
        let seen = || SeenRecord {
            record: RapidModel::new(RapidId(7), "chair", OptimizationStatus::Done),
            asked: Instant::now(),
        };
        events.rapid_seen(seen());
        assert_eq!(events.take_waiting_rapids().len(), 1);
        assert!(events.take_waiting_rapids().is_empty());
        assert!(matches!(
            events.take_rapid(RapidId(7)),
            Some(SeenRapid::Taken)
        ));
        assert!(events.take_rapid(RapidId(7)).is_none());
        events.queue.locked().events.clear();
        events.rapid_seen(seen());
        let taken = events.take_rapid(RapidId(7));
        assert!(matches!(taken, Some(SeenRapid::Record(_))));
    }

    #[test]
    fn a_change_without_a_record_is_requested_whatever_was_seen_before_or_comes_with_it() {
        let events = Events::default();
        events.asset_seen(seen(UploadStatus::Complete));
        events.send(OutboxEvent::AssetChanged(AssetId(7)));
        assert!(events.take_asset(AssetId(7)).is_none());
        events.asset_seen(seen(UploadStatus::Complete));
        assert!(events.take_asset(AssetId(7)).is_none());
    }
}
