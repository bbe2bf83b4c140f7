//! Everything that is sent to the service: drafts with their staged bytes, uploads, the jobs of the drop folders, the
//! texts of presets.
//!
//! [`Outbox`] is the public interface. What it has accepted (a `flush`, a rename or a job's text that returned
//! without error) survives a kill and a power cut and reaches the service exactly once. Local operations are
//! synchronous and use the local disk only: no file operation of the kernel waits for the network here. It knows no
//! inodes and no paths.
//!
//! Three machines work over one journal: `drafts`, `jobs` and `presets`. Each folds its state from records, plans
//! with pure functions, and executes; none imports another. `machines` connects them.

mod boot;
mod config;
mod drafts;
mod effect;
mod elsewhere;
mod error;
mod events;
mod failpoint;
mod foundation;
mod housekeeping;
mod ids;
mod jobs;
mod journal;
mod machines;
mod moment;
mod names;
mod off_thread;
mod presets;
mod recovery;
mod signal;
#[cfg(test)]
mod simulator;
mod staging;
mod state;
mod status;
mod tasks;
mod texts;

pub use config::OutboxConfig;
pub use drafts::{
    AttributeChange, Deletions, DraftInfo, DraftKind, DraftPhase, Drafts, DrainReport, Entries,
    EntryInfo, EntryKind, FileTransfer, KnownModel, LoneZip, OpenMode, Orphan, Orphans, Place,
    Renamed, Replaced, SentEntry, SentRecord, StagedFile, TransferInfo, Uploads, process_of,
    program_of, source_hash,
};
pub use elsewhere::{unsent_in, waits_unsent};
pub use error::{OutboxError, OutboxResult};
pub use events::{OutboxEvent, SeenRapid, SeenRecord};
pub use failpoint::Failpoint;
pub use ids::{Caller, DraftId, EntryId, JobFolder, Maker, OwnerFolder};
pub use jobs::{
    JobInfo, JobSettings, JobState, JobText, Jobs, config_hash, parse_job_text, reason_in_log,
};
pub use journal::Ticket;
pub use names::{
    SAVE_START, has_references, is_junk_path, is_never_sent, is_service_folder,
    model_of_loose_file, model_of_only_file, service_folder_of,
};
pub use presets::{PresetFile, PresetOverlay, PresetState, Presets, SavedPreset};
pub use recovery::{Recovered, RecoveredFile, holds_unsent, recovered_in};
pub use staging::{ContentHash, ContentHasher};
pub use status::{ItemStatus, StatusWord};
pub use texts::{
    TEXT_MAX_BYTES, is_sendable_name as is_text_name, preset_named, several_presets, text_stem,
    why_never_sent,
};

use std::fmt;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::error::journal_error;
use self::machines::Machines;
use self::off_thread::off_thread;
use crate::client::Client;
use crate::durable::{DirLock, PrivateDir};
use crate::wire::{AssetId, BaseAsset, RapidId, RapidModel};

/// Capacity of the channel of events.
const EVENTS_WAITING: usize = 256;

/// The outbox of one account. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    drafts: Drafts,
    entries: Entries,
    uploads: Uploads,
    orphans: Orphans,
    deletions: Deletions,
    jobs: Jobs,
    presets: Presets,
    owner: Arc<Owner>,
}

/// Drop guard, held by the clones of the outbox but not by its tasks: closes the outbox when the last clone is dropped.
struct Owner {
    machines: Arc<Machines>,
    _lock: DirLock,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.machines.close();
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

impl Outbox {
    /// Opens the outbox of one account, replays its journal and starts its tasks, which run until
    /// [`Outbox::shut_down`]. Must be called inside a tokio runtime.
    pub fn open(
        config: OutboxConfig,
        client: Client,
    ) -> OutboxResult<(Outbox, mpsc::Receiver<OutboxEvent>)> {
        let dir = config.dir.clone();
        PrivateDir::open(&dir).map_err(journal_error(&dir))?;
        let lock = DirLock::acquire(&dir).map_err(journal_error(&dir))?;
        let machines = Arc::new(Machines::open(config, client)?);
        let events = start(&machines);
        let drafts = || Arc::clone(&machines.drafts);
        let outbox = Outbox {
            drafts: Drafts { parts: drafts() },
            entries: Entries { parts: drafts() },
            uploads: Uploads { parts: drafts() },
            orphans: Orphans { parts: drafts() },
            deletions: Deletions { parts: drafts() },
            jobs: Jobs {
                parts: Arc::clone(&machines.jobs),
            },
            presets: Presets {
                parts: Arc::clone(&machines.presets),
            },
            owner: Arc::new(Owner {
                machines,
                _lock: lock,
            }),
        };
        Ok((outbox, events))
    }

    pub fn config(&self) -> &OutboxConfig {
        &self.owner.machines.foundation.config
    }

    /// The last change of anything here. A file or folder that is made, renamed or removed is a change, written bytes are
    /// not.
    pub fn last_change(&self) -> Ticket {
        self.owner.machines.foundation.journal.last()
    }

    /// Models that were copied in and whose staged copy is kept.
    pub fn drafts(&self) -> &Drafts {
        &self.drafts
    }

    /// Files and folders in drafts.
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Uploads of drafts, and records of what was sent.
    pub fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// Incomplete assets that lost replies may have left on the service.
    pub fn orphans(&self) -> &Orphans {
        &self.orphans
    }

    /// Deletions of assets by the user.
    pub fn deletions(&self) -> &Deletions {
        &self.deletions
    }

    /// The record that came with the last [`OutboxEvent::AssetChanged`] of an asset, if it did; once.
    pub fn take_seen_asset(&self, asset: AssetId) -> Option<SeenRecord<BaseAsset>> {
        self.owner.machines.foundation.events.take_asset(asset)
    }

    /// The same for [`OutboxEvent::RapidFound`].
    pub fn take_seen_rapid(&self, rapid: RapidId) -> Option<SeenRapid> {
        self.owner.machines.foundation.events.take_rapid(rapid)
    }

    /// The records of rapid models whose [`OutboxEvent::RapidFound`] has not been received yet. The status of a job is never
    /// ahead of them.
    pub fn take_waiting_rapids(&self) -> Vec<SeenRecord<RapidModel>> {
        self.owner.machines.foundation.events.take_waiting_rapids()
    }

    /// The files of drop folders.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// The files of the presets folder.
    pub fn presets(&self) -> &Presets {
        &self.presets
    }

    /// Recovered files that the journal did not know of.
    pub fn recovered(&self) -> Arc<[Recovered]> {
        self.owner.machines.recovered()
    }

    /// Stores the free storage of the account, so that files that can never be sent are refused at once.
    pub fn storage_is_left(&self, bytes: u64) {
        self.owner.machines.drafts.storage_is_left(bytes);
    }

    /// Handles that an asset is gone from the service: its record, jobs and staged copy are deleted.
    pub fn asset_gone(&self, asset: AssetId) {
        self.deletions.gone(asset, self.jobs.knows_asset(asset));
    }

    /// Sends the drafts that are ready without waiting for the quiet time, and waits until the service has accepted
    /// them. With `ready_only`, drafts with missing files stay; otherwise they are sent with a warning.
    pub async fn drain(&self, ready_only: bool) -> DrainReport {
        drafts::drain(&self.owner.machines.drafts, ready_only).await
    }

    /// Stops and joins all tasks. Nothing that was accepted is lost; uploads continue at the next open.
    pub async fn shut_down(&self) {
        let machines = &self.owner.machines;
        machines.close();
        machines.foundation.tasks.join().await;
        let journal = Arc::clone(&machines.foundation.journal);
        let settled = off_thread(move || journal.settle_all()).await;
        if let Ok(Err(error)) | Err(error) = settled {
            tracing::error!(%error, "the last changes could not be written to the journal");
        }
    }
}

fn start(machines: &Arc<Machines>) -> mpsc::Receiver<OutboxEvent> {
    let (sender, receiver) = mpsc::channel(EVENTS_WAITING);
    let tasks = Arc::clone(&machines.foundation.tasks);
    let events = Arc::clone(&machines.foundation.events);
    machines.foundation.tasks.spawn(async move {
        // Ends with the outbox, or when the receiver is dropped.
        let _ = tasks.until_closed(events.forward(sender)).await;
    });
    machines.start();
    let tasks = &machines.foundation.tasks;
    tasks.spawn(housekeeping::run(Arc::clone(machines)));
    receiver
}
