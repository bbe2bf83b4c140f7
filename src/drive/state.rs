//! The drive's beginning and its state as `status.json` tells it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::runtime::Handle;

use super::ahead::Ahead;
use super::background::Background;
use super::config::DriveConfig;
use super::error::DriveError;
use super::fresh::flight::Flights;
use super::fresh::listings::{self, Which};
use super::fresh::{FlightKey, maps::FileMaps, watch::Watched};
use super::handles::Handles;
use super::kernel::Corrections;
use super::ops::cache::Verification;
use super::places::{Root, job_folder_path};
use super::reading::{Reading, ReadingLimits};
use super::shared::{Known, Orphans, Shared};
use super::status::{
    DraftStatus, FailureLine, FileTransferStatus, JobStatusLine, MountStatus, OrphanStatus,
    RateStatus, RecoveredStatus, TransferStatus,
};
use super::tree::inode::InodeTable;
use super::tree::node::Home;
use super::tree::sizes::ContentTable;
use crate::cache::BlockCache;
use crate::client::Client;
use crate::durable::MetaStore;
use crate::outbox::{DraftInfo, DraftPhase, JobState, Outbox, TransferInfo};
use crate::wire::Timestamp;

/// How long the list of orphans is believed.
const ORPHANS_HOLD: Duration = Duration::from_secs(30);
/// How long a look at the status waits for it.
const ORPHANS_PATIENCE: Duration = Duration::from_secs(2);
/// Failures shown.
const FAILURES_SHOWN: usize = 20;

impl Shared {
    /// The state over its parts, with what an earlier mount knew.
    pub(super) fn new(
        config: DriveConfig,
        client: Client,
        cache: BlockCache,
        outbox: Outbox,
        meta: MetaStore,
    ) -> Shared {
        let runtime = Handle::current();
        let background = Background::new(runtime.clone());
        let made: HashMap<_, _> = outbox
            .sent_records()
            .iter()
            .map(|record| (record.draft, record.asset))
            .collect();
        let (jobs, jobs_belief) = listings::restore_jobs(&meta);
        let known = Known {
            assets: listings::restore(&meta, Which::Assets, ""),
            rapids: listings::restore(&meta, Which::Rapids, ""),
            presets: listings::restore(&meta, Which::Presets, ".json"),
            factory: listings::restore(&meta, Which::Factory, ".json"),
            embeds: listings::restore(&meta, Which::Embeds, ".html"),
            tokens: listings::restore(&meta, Which::Tokens, ".json"),
            webhooks: listings::restore(&meta, Which::Webhooks, ".json"),
            jobs,
            jobs_belief,
            searches: HashMap::new(),
            changed: HashMap::new(),
            account: HashMap::new(),
            details: HashMap::new(),
            rapids_of: HashMap::new(),
            orphans: None,
            preset_saves: None,
        };
        let reading = Reading::new(
            client.clone(),
            cache.clone(),
            runtime.clone(),
            ReadingLimits::default(),
        );
        Shared {
            config,
            client,
            cache,
            reading,
            outbox,
            contents: ContentTable::new(&meta),
            meta,
            flights: Flights::new(background.clone()),
            runtime,
            background,
            opened: SystemTime::now(),
            inodes: Mutex::new(InodeTable::new(Root.into())),
            known: Mutex::new(known),
            maps: FileMaps::default(),
            archives: Default::default(),
            blobs: Default::default(),
            handles: Handles::default(),
            failures: super::failures::Failures::default(),
            corrections: Arc::new(Corrections::default()),
            deletions: Mutex::default(),
            watched: Watched::default(),
            ahead: Ahead::new(),
            verification: Verification::default(),
            pages_arrived: Default::default(),
            shown: Mutex::new(made.keys().copied().collect()),
            made: Mutex::new(made),
            offline: Mutex::new(None),
        }
    }

    /// The mount's state at this moment, as far as it is at hand.
    pub(super) fn mount_status(&self) -> MountStatus {
        let offline = self.offline_reason();
        let transfers = self.outbox.transfers();
        let drafts = self.outbox.drafts();
        let offline = offline.or_else(|| drafts.iter().find_map(|draft| draft.no_answer.clone()));
        MountStatus {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            account: self.config.account_label.clone(),
            online: offline.is_none(),
            read_only: self.config.read_only,
            offline_because: offline,
            drafts: drafts
                .iter()
                .filter(|draft| draft.phase != DraftPhase::Complete)
                .map(|draft| self.draft_status(draft, &transfers))
                .collect(),
            transfers: transfers
                .iter()
                .map(|transfer| self.transfer_status(transfer))
                .collect(),
            jobs: self.job_lines(),
            orphans: self.orphans_at_hand(),
            recovered: self.recovered_status(),
            cache: self.cache_status(),
            rate: self.rate_status(),
            failures: self
                .failures
                .latest(FAILURES_SHOWN)
                .into_iter()
                .map(|failure| FailureLine {
                    path: failure.path,
                    why: failure.why,
                    at: Some(Timestamp::from(failure.at).iso_micros()),
                })
                .collect(),
            inodes: self.inodes().count() as u64,
            handles: self.handles.len() as u64,
        }
    }

    /// What was kept because the journal did not know of it.
    pub(super) fn recovered_status(&self) -> Vec<RecoveredStatus> {
        let recovered = self.outbox.recovered();
        let told = recovered.iter().map(|found| RecoveredStatus {
            folder: found.path.display().to_string(),
            reason: found.reason.clone(),
            files: found.files.len() as u64,
            bytes: found.bytes(),
        });
        told.collect()
    }

    fn draft_status(&self, draft: &DraftInfo, transfers: &[TransferInfo]) -> DraftStatus {
        let transfer = transfers.iter().find(|transfer| transfer.draft == draft.id);
        let is_sent = draft.phase.is_frozen();
        DraftStatus {
            path: self.home_path(Home::Made(draft.id)),
            status: draft.status_text.clone(),
            asset: draft.asset.map(|asset| asset.0),
            sent_bytes: transfer.map_or(if is_sent { draft.size } else { 0 }, |transfer| {
                transfer.sent
            }),
            total_bytes: transfer.map_or(draft.size, |transfer| transfer.total),
            stuck: draft.failure.is_some(),
        }
    }

    fn transfer_status(&self, transfer: &TransferInfo) -> TransferStatus {
        TransferStatus {
            path: self.home_path(Home::Made(transfer.draft)),
            direction: "up".to_owned(),
            done_bytes: transfer.sent,
            total_bytes: transfer.total,
            done_files: transfer.files_sent,
            total_files: transfer.files,
            bytes_per_second: transfer.bytes_per_second,
            seconds_left: transfer.time_left.map(|left| left.as_secs()),
            files: transfer
                .current
                .iter()
                .map(|file| FileTransferStatus {
                    name: file.name.clone(),
                    done_bytes: file.sent,
                    total_bytes: file.total,
                })
                .collect(),
        }
    }

    fn job_lines(&self) -> Vec<JobStatusLine> {
        let mut lines = Vec::new();
        for folder in self.outbox.job_folders() {
            let path = job_folder_path(self, &folder);
            for job in self.outbox.job_entries(&folder) {
                if !matches!(job.state, JobState::Editing | JobState::Done) {
                    lines.push(JobStatusLine {
                        path: format!("{path}/{}", job.name),
                        status: job.status_text,
                    });
                }
            }
        }
        lines
    }

    fn rate_status(&self) -> RateStatus {
        let budget = self.client.budget();
        RateStatus {
            limit_per_minute: budget.per_minute.into(),
            available: budget.available.into(),
            waiting: budget.waiting.into(),
            taken: budget.taken,
            paused_secs: budget.paused.map_or(0, |paused| paused.as_secs()),
        }
    }

    fn orphans_at_hand(&self) -> Vec<OrphanStatus> {
        let known = self.known();
        let orphans = known.orphans.as_ref();
        orphans.map_or_else(Vec::new, |orphans| orphans.found.clone())
    }

    /// Looks for orphans, unless that was done lately; waits for them a little.
    pub(super) async fn refresh_orphans(self: &Arc<Self>) {
        let starts = self.outbox.lost_start_numbers();
        let is_young = self.known().orphans.as_ref().is_some_and(|orphans| {
            orphans.starts == starts && orphans.told.elapsed() < ORPHANS_HOLD
        });
        if is_young {
            return;
        }
        let shared = Arc::clone(self);
        let landing = self.flights.join(FlightKey::Orphans, || async move {
            let orphans = shared.outbox.orphans().await.map_err(DriveError::from)?;
            let found = orphans.into_iter().map(|orphan| OrphanStatus {
                id: orphan.id.0,
                name: orphan.name,
                since: orphan
                    .created
                    .map(|created| crate::wire::Timestamp::from(created).iso_offset()),
            });
            shared.known().orphans = Some(Orphans {
                found: found.collect(),
                told: Instant::now(),
                starts,
            });
            Ok(())
        });
        if let Ok(Err(error)) = tokio::time::timeout(ORPHANS_PATIENCE, landing).await {
            tracing::debug!(error = %error, "orphans could not be looked for");
        }
    }
}
