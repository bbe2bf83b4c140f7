//! All that is on its way out: drafts with their staged bytes and journal, the uploader, the jobs
//! behind the drop folders, the texts of presets.
//!
//! [`Outbox`] is the front door. What it has accepted (a `flush`, a rename, a job's text that
//! returned without error) survives a kill and a power cut and reaches the service, once. Local
//! operations are synchronous and touch local disk only; nothing that the kernel waits for waits for
//! the network here. It knows no inodes and no paths of the tree.

mod config;
mod core;
mod drafts;
mod effect;
mod error;
mod events;
mod failpoint;
mod housekeeping;
mod ids;
mod jobs;
mod journal;
mod moment;
mod names;
mod off_thread;
mod pauses;
mod presets;
mod recovery;
mod shared;
#[cfg(test)]
mod simulator;
mod staging;
mod state;
mod status;

pub use config::OutboxConfig;
pub use drafts::info::{
    AttributeChange, DraftInfo, DraftKind, DraftPhase, EntryInfo, EntryKind, OpenMode, Place,
    Renamed,
};
pub use drafts::sent::{SentEntry, SentRecord};
pub use drafts::staged_file::StagedFile;
pub use drafts::upload::info::{DrainReport, FileTransfer, Orphan, TransferInfo};
pub use error::{OutboxError, OutboxResult};
pub use events::OutboxEvent;
pub use failpoint::Failpoint;
pub use ids::{Caller, DraftId, EntryId, JobFolder, OwnerFolder};
pub use jobs::info::{JobInfo, JobState};
pub use jobs::reason_in_log;
pub use jobs::text::{JobText, Settings as JobSettings, parse as parse_job_text};
pub use names::{is_junk_path, is_service_folder};
pub use presets::info::{PresetFile, PresetOverlay, PresetState, SavedPreset};
pub use recovery::{Recovered, RecoveredFile, recovered_in};
pub use staging::{ContentHash, ContentHasher};
pub use status::{ItemStatus, StatusWord};

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::client::Client;
use crate::durable::{DirLock, DurableError, PrivateDir};

use self::core::Core;
use shared::Shared;

/// Events that may wait for a receiver that is busy.
const EVENTS_WAITING: usize = 256;

/// Everything that is on its way out, for one account. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
    _owner: Arc<Owner>,
}

/// Held by the handles of the outbox alone, not by its tasks: when the last handle goes, the tasks
/// are told to stop.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    _lock: DirLock,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Outbox {
    /// Opens the outbox of one account, replays its journal and begins to send what is due. Must be
    /// called inside a tokio runtime, whose tasks it uses until [`Outbox::shut_down`].
    pub fn open(
        config: OutboxConfig,
        client: Client,
    ) -> OutboxResult<(Outbox, mpsc::Receiver<OutboxEvent>)> {
        let dir = config.dir.clone();
        let broken = |error: DurableError| OutboxError::Journal {
            reason: error.to_string(),
            dir: dir.display().to_string(),
        };
        PrivateDir::open(&dir).map_err(broken)?;
        let lock = DirLock::acquire(&dir).map_err(broken)?;
        let recovery::Opened {
            journal,
            state,
            staging,
        } = recovery::open(&dir)?;
        let journal = Arc::new(journal);
        let epoch = Instant::now();
        let core = Core::new(state, Arc::clone(&journal), epoch.elapsed());
        let shared = Arc::new(Shared::new(config, client, journal, staging, core, epoch));
        shared.look_for_recovered();
        let events = start_tasks(&shared);
        let owner = Owner {
            shared: Arc::clone(&shared),
            _lock: lock,
        };
        let outbox = Outbox {
            shared,
            _owner: Arc::new(owner),
        };
        Ok((outbox, events))
    }

    /// Files that the journal did not know of, kept beside it.
    pub fn recovered(&self) -> Arc<[Recovered]> {
        self.shared.recovered()
    }

    /// Stops and joins all tasks. Nothing that was accepted is lost; uploads go on at the next open.
    pub async fn shut_down(&self) {
        self.shared.close();
        self.shared.join().await;
        let shared = Arc::clone(&self.shared);
        let settled = self
            .shared
            .blocking(move || shared.journal.settle_all())
            .await;
        if let Ok(Err(error)) | Err(error) = settled {
            tracing::error!(%error, "the last changes could not be written to the journal");
        }
    }
}

fn start_tasks(shared: &Arc<Shared>) -> mpsc::Receiver<OutboxEvent> {
    let (sender, events) = mpsc::channel(EVENTS_WAITING);
    let forwarding = Arc::clone(shared);
    shared.spawn(async move {
        // Ends with the outbox, or with whoever listens.
        let forward = forwarding.events.forward(sender);
        let _ = forwarding.until_closed(forward).await;
    });
    shared.spawn(drafts::settle::watch::run(Arc::clone(shared)));
    shared.spawn(drafts::upload::discard::run(Arc::clone(shared)));
    shared.spawn(jobs::send::run(Arc::clone(shared)));
    shared.spawn(jobs::follow::run(Arc::clone(shared)));
    shared.spawn(presets::save::run(Arc::clone(shared)));
    shared.spawn(housekeeping::run(Arc::clone(shared)));
    shared.job_news.notify_one();
    events
}
