//! The machine of drafts and uploads: their memory and the staged bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use assetfs_formats::number_text;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::locks::Locked;
use crate::outbox::drafts::activity::Trouble;
use crate::outbox::drafts::draft::Stage;
use crate::outbox::drafts::memory::{DraftsMemory, FateListener};
use crate::outbox::drafts::settle::rule::SettleTimes;
use crate::outbox::drafts::state::{DraftsChange, DraftsState};
use crate::outbox::drafts::upload::seal::Seal;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::OutboxEvent;
use crate::outbox::foundation::{Foundation, Machine};
use crate::outbox::ids::DraftId;
use crate::outbox::journal::{Part, Ticket};
use crate::outbox::off_thread::off_thread;
use crate::outbox::staging::{ContentHash, ContentId, Staging};
use crate::wire::AssetId;

/// How far a file may exceed the account's free storage: the user may free storage before it is sent.
const MORE_THAN_IS_LEFT_BYTES: u64 = 64 << 30;
/// How long a look at the account's free storage counts.
const ROOM_IS_KNOWN: Duration = Duration::from_secs(30);
/// The largest file while the account's free storage is unknown.
const MAX_FILE_BYTES_OFFLINE: u64 = 1 << 40;
/// Stands for a number of bytes that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Finds the complete model of the account with this name and files with this checksum, without a request.
pub type KnownModels = dyn Fn(&str, &ContentHash) -> Option<KnownModel> + Send + Sync;

/// A model of the account that has not been replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    pub asset: AssetId,
    /// Its earlier versions, the latest first.
    pub before: Vec<AssetId>,
}

pub type DraftParts = Machine<DraftsMemory, DraftTools>;

pub struct DraftTools {
    pub staging: Staging,
    pub times: SettleTimes,
    /// Encrypts signed URLs in the journal.
    pub seal: Seal,
    /// Wakes the settle rule.
    pub settle_wake: Notify,
    /// Wakes the deletion of unwanted assets.
    pub discard_wake: Notify,
    /// Wakes the notes on assets.
    pub note_wake: Notify,
    /// Limits how many files are sent at once.
    pub puts: Semaphore,
    /// Set by the drive, which has the list of models.
    pub known_models: OnceLock<Box<KnownModels>>,
    /// Bytes that the account has left, as far as known.
    storage_left: AtomicU64,
    /// What uploads may still start to send without another look at the account.
    pub room: Room,
    /// Held while an upload looks at the account and is recorded.
    pub room_turn: Arc<tokio::sync::Mutex<()>>,
    epoch: Instant,
}

/// The free storage of the account at the last look, less what was started since.
#[derive(Debug, Default)]
pub struct Room(Mutex<Option<(Instant, u64)>>);

impl Room {
    /// Notes an answer of the service.
    pub fn looked(&self, left: u64) {
        *self.0.locked() = Some((Instant::now(), left));
    }

    /// An upload was given up, or an asset deleted: the next upload looks again.
    fn forget(&self) {
        *self.0.locked() = None;
    }

    /// Takes room for an upload of so many bytes. False if the last look is too old, or showed too little.
    pub fn take(&self, bytes: u64) -> bool {
        let mut known = self.0.locked();
        match known.as_mut() {
            Some((at, left)) if at.elapsed() < ROOM_IS_KNOWN && *left >= bytes => {
                *left -= bytes;
                true
            }
            _ => false,
        }
    }
}

impl DraftParts {
    pub fn open(
        foundation: &Foundation,
        staging: Staging,
        state: DraftsState,
        on_fate: FateListener,
    ) -> Arc<DraftParts> {
        let (config, journal) = (&foundation.config, &foundation.journal);
        let epoch = Instant::now();
        let memory = DraftsMemory::new(state, Arc::clone(journal), on_fate, epoch.elapsed());
        let tools = DraftTools {
            seal: Seal::open(&config.dir.join("seal.key")),
            times: SettleTimes {
                loose_ended: config.settle_loose.unwrap_or(config.settle),
                ..SettleTimes::scaled(config.settle)
            },
            puts: Semaphore::new(config.parallel_puts.max(1)),
            known_models: OnceLock::new(),
            staging,
            settle_wake: Notify::new(),
            discard_wake: Notify::new(),
            note_wake: Notify::new(),
            storage_left: AtomicU64::new(UNKNOWN),
            room: Room::default(),
            room_turn: Arc::default(),
            epoch,
        };
        Machine::new(
            foundation,
            Part::new(journal, &foundation.events, memory),
            tools,
        )
    }

    /// The asset that a draft became. `Some(None)` while the service has not accepted it; `None` if the draft was removed.
    /// For code that holds the memory of another machine.
    pub fn model_of(&self, draft: DraftId) -> Option<Option<AssetId>> {
        let memory = self.peek();
        let asset = memory.state.asset_of(draft);
        (asset.is_some() || memory.state.drafts.contains_key(&draft)).then_some(asset)
    }

    /// The stage of the draft that became an asset; `None` if there is no such draft.
    pub fn stage_of(&self, asset: AssetId) -> Option<Stage> {
        let memory = self.peek();
        let draft = memory.state.draft_of(asset)?;
        memory.state.drafts.get(&draft)?.stage()
    }

    /// The present time on the clock of drafts, which is monotonic.
    pub fn now(&self) -> Duration {
        self.own.epoch.elapsed()
    }

    /// True while there is no draft and no open file.
    pub fn is_idle(&self) -> bool {
        let memory = self.memory();
        memory.state.drafts.is_empty() && memory.open.is_empty()
    }

    /// Notes the free storage of the account.
    pub fn storage_is_left(&self, bytes: u64) {
        self.own.storage_left.store(bytes, Ordering::Relaxed);
    }

    /// The account may have more room than at the last look: the next upload looks again.
    pub fn forget_room(&self) {
        self.own.room.forget();
    }

    /// The account has more room: uploads that wait for it are tried again now.
    pub fn room_is_freed(&self) {
        self.forget_room();
        let memory = self.memory();
        for draft in memory.state.drafts.keys() {
            let activity = memory.activity_of(*draft);
            let waiting = activity.filter(|it| matches!(it.trouble, Some(Trouble::Quota { .. })));
            if let Some(upload) = waiting.and_then(|it| it.upload.as_ref()) {
                upload.poke.give();
            }
        }
    }

    /// Refuses a length that can never be sent, before anything is written.
    pub fn check_len(&self, len: u64) -> OutboxResult<()> {
        let limit = match self.own.storage_left.load(Ordering::Relaxed) {
            UNKNOWN => MAX_FILE_BYTES_OFFLINE,
            left => left.saturating_add(MORE_THAN_IS_LEFT_BYTES),
        };
        if len > limit {
            return Err(OutboxError::TooLarge {
                asked: number_text::bytes(len),
                limit: number_text::bytes(limit),
            });
        }
        Ok(())
    }

    /// Sends the event that a draft changed, and wakes the settle rule.
    pub fn draft_changed(&self, draft: DraftId) {
        self.own.settle_wake.notify_one();
        self.status_changed(draft);
    }

    /// The same for a change that the settle rule need not look at.
    pub fn status_changed(&self, draft: DraftId) {
        self.events.send(OutboxEvent::DraftChanged(draft));
    }

    /// The paths of a loose file are no longer there, if there was one.
    pub fn loose_file_left(&self, name: Option<String>) {
        if let Some(name) = name {
            self.events.send(OutboxEvent::LooseFileLeft(name));
        }
    }

    /// Makes a change, and returns when its record is durable.
    pub async fn record(&self, record: impl DraftsChange) -> OutboxResult<()> {
        let ticket = self.memory().record(record)?;
        self.journal.settle_async(ticket).await
    }

    /// Returns when a removal is durable. If the disk has no room for its record, what was removed before makes
    /// room. Blocks on local disk.
    pub fn settle_removal(&self, ticket: Ticket) -> OutboxResult<()> {
        match self.journal.settle(ticket) {
            Err(OutboxError::StagingFull { .. }) if self.make_room() => self.journal.settle(ticket),
            settled => settled,
        }
    }

    /// Removes the contents that wait to be removed from disk; false if there are none.
    /// Blocks on local disk.
    pub fn make_room(&self) -> bool {
        let pending_removals = std::mem::take(&mut self.memory().pending_removals);
        if pending_removals.is_empty() {
            return false;
        }
        let count = pending_removals.len();
        match self.remove_contents(pending_removals) {
            Ok(()) => true,
            Err((kept, error)) => {
                tracing::warn!(%error, "the journal cannot be written on the full disk");
                kept < count
            }
        }
    }

    /// Removes contents whose removal is durable. On an error the others are kept for later, so many as it says.
    fn remove_contents(
        &self,
        pending_removals: Vec<(Ticket, ContentId)>,
    ) -> Result<(), (usize, OutboxError)> {
        let settled = self.journal.settle_all();
        let durable = self.journal.durable();
        let is_durable = |(ticket, _): &(Ticket, ContentId)| *ticket <= durable;
        let (gone, kept): (Vec<_>, Vec<_>) = pending_removals.into_iter().partition(is_durable);
        for (_, content) in gone {
            self.own.staging.remove(content);
        }
        // The journal takes its reserve from the freed space before a program fills it.
        self.journal.keep_reserve();
        let left = kept.len();
        self.memory().pending_removals.extend(kept);
        settled.map_err(|error| (left, error))
    }

    /// Deletes the contents that the durable journal no longer refers to.
    pub async fn remove_pending(self: &Arc<DraftParts>) -> OutboxResult<()> {
        // Called every second. A mutable access counts as a change and wakes all waiters, so check first.
        if self.memory().pending_removals.is_empty() {
            return Ok(());
        }
        let pending_removals = std::mem::take(&mut self.memory().pending_removals);
        let parts = Arc::clone(self);
        let removed = off_thread(move || parts.remove_contents(pending_removals)).await?;
        removed.map_err(|(_, error)| error)
    }
}
