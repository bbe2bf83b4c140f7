//! What all parts of the outbox share: settings, client, journal, staged bytes, the core behind its
//! lock, and the tasks with the signal that stops them.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::Client;
use crate::outbox::config::OutboxConfig;
use crate::outbox::core::Core;
use crate::outbox::drafts::settle::readiness::human_size;
use crate::outbox::drafts::settle::rule::SettleTimes;
use crate::outbox::drafts::upload::seal::Seal;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::EventQueue;
use crate::outbox::events::OutboxEvent;
use crate::outbox::ids::DraftId;
use crate::outbox::journal::{Journal, Ticket};
use crate::outbox::off_thread::off_thread;
use crate::outbox::recovery::{Recovered, recovered_in};
use crate::outbox::staging::{ContentId, Staging};
use crate::outbox::state::record::Record;

/// How long a call that must not be cut off may go on after the outbox is told to stop.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How much larger than what the account has left a file may be: room may be made until it is sent.
const MORE_THAN_IS_LEFT_BYTES: u64 = 64 << 30;
/// The largest file while nobody knows what the account has left.
const LARGEST_WITHOUT_SERVICE_BYTES: u64 = 1 << 40;
/// Stands for a number of bytes that is not known.
const UNKNOWN: u64 = u64::MAX;

/// What all parts share.
#[derive(Debug)]
pub struct Shared {
    /// The settings.
    pub config: OutboxConfig,
    /// The waiting times of the settle rule.
    pub times: SettleTimes,
    /// The service.
    pub client: Client,
    /// The journal.
    pub journal: Arc<Journal>,
    /// The staged bytes.
    pub staging: Staging,
    /// Keeps signed URLs out of clear view.
    pub seal: Seal,
    /// Events for whoever shows them.
    pub events: EventQueue,
    /// Wakes the settle rule.
    pub draft_news: Notify,
    /// Wakes the deletion of unwanted assets.
    pub discard_news: Notify,
    /// Wakes whoever sends jobs.
    pub job_news: Notify,
    /// Wakes whoever follows running jobs.
    pub progress_news: Notify,
    /// Wakes whoever sends presets.
    pub preset_news: Notify,
    /// Raised when an asset may have another state.
    pub asset_news: watch::Sender<u64>,
    /// Raised whenever anything changes that somebody may wait for.
    pub changes: watch::Sender<u64>,
    /// Files that may be sent at once.
    pub puts: Semaphore,
    /// One request about presets at a time: they are found by name.
    pub presets: tokio::sync::Mutex<()>,
    core: Mutex<Core>,
    /// What the account has left, as far as anybody was told.
    storage_left: AtomicU64,
    /// As they were found last.
    recovered: Mutex<Arc<[Recovered]>>,
    closing: watch::Sender<bool>,
    pub(super) tasks: Mutex<JoinSet<()>>,
    runtime: Handle,
    epoch: Instant,
}

impl Shared {
    /// Joins the parts.
    pub fn new(
        config: OutboxConfig,
        client: Client,
        journal: Arc<Journal>,
        staging: Staging,
        core: Core,
        epoch: Instant,
    ) -> Shared {
        Shared {
            seal: Seal::open(&config.dir.join("seal.key")),
            times: SettleTimes::scaled(config.settle),
            puts: Semaphore::new(config.parallel_puts.max(1)),
            config,
            client,
            journal,
            staging,
            events: EventQueue::default(),
            draft_news: Notify::new(),
            discard_news: Notify::new(),
            job_news: Notify::new(),
            progress_news: Notify::new(),
            preset_news: Notify::new(),
            asset_news: watch::Sender::new(0),
            changes: watch::Sender::new(0),
            presets: tokio::sync::Mutex::new(()),
            core: Mutex::new(core),
            storage_left: AtomicU64::new(UNKNOWN),
            recovered: Mutex::new(Arc::new([])),
            closing: watch::Sender::new(false),
            tasks: Mutex::new(JoinSet::new()),
            runtime: Handle::current(),
            epoch,
        }
    }

    /// The core, for short work.
    pub fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Files that the journal did not know of, as they were found last.
    pub fn recovered(&self) -> Arc<[Recovered]> {
        let recovered = self.recovered.lock();
        Arc::clone(&recovered.unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for folders of recovered files. Blocks on local disk.
    pub fn look_for_recovered(&self) {
        match recovered_in(&self.config.dir) {
            Ok(found) => {
                let mut recovered = self
                    .recovered
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *recovered = found.into();
            }
            Err(error) => tracing::warn!(%error, "recovered files cannot be listed"),
        }
    }

    /// Notes what the account has left.
    pub fn storage_is_left(&self, bytes: u64) {
        self.storage_left.store(bytes, Ordering::Relaxed);
    }

    /// Refuses a length that can never be sent, before anything of it is on the disk.
    pub fn check_len(&self, len: u64) -> OutboxResult<()> {
        let limit = match self.storage_left.load(Ordering::Relaxed) {
            UNKNOWN => LARGEST_WITHOUT_SERVICE_BYTES,
            left => left.saturating_add(MORE_THAN_IS_LEFT_BYTES),
        };
        if len > limit {
            return Err(OutboxError::TooLarge {
                asked: human_size(len),
                limit: human_size(limit),
            });
        }
        Ok(())
    }

    /// The outbox's monotonic clock.
    pub fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Something about a draft changed: tells who shows it, who waits for it, and the settle rule.
    pub fn draft_changed(&self, draft: DraftId) {
        self.events.tell(OutboxEvent::DraftChanged(draft));
        self.draft_news.notify_one();
        self.something_changed();
    }

    /// Wakes those who wait for anything at all.
    pub fn something_changed(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    /// Makes a change, and returns when its record is durable. For async code.
    pub async fn record(self: &Arc<Shared>, record: impl Into<Record>) -> OutboxResult<()> {
        let ticket = self.core().record(record)?;
        self.settle(ticket).await
    }

    /// Returns when everything up to the ticket is durable. For async code.
    pub async fn settle(self: &Arc<Shared>, ticket: Ticket) -> OutboxResult<()> {
        let shared = Arc::clone(self);
        self.blocking(move || shared.journal.settle(ticket)).await?
    }

    /// Removes, at once, what is only waiting to be removed from disk; false where that is nothing.
    /// Blocks on local disk.
    pub fn make_room(&self) -> bool {
        let doomed = std::mem::take(&mut self.core().doomed);
        if doomed.is_empty() {
            return false;
        }
        if let Err(error) = self.remove_contents(doomed) {
            tracing::warn!(%error, "no room can be made on the full disk");
            return false;
        }
        true
    }

    fn remove_contents(&self, doomed: Vec<(Ticket, ContentId)>) -> OutboxResult<()> {
        if let Err(error) = self.journal.settle_all() {
            self.core().doomed.extend(doomed);
            return Err(error);
        }
        for (_, content) in doomed {
            self.staging.remove(content);
        }
        Ok(())
    }

    /// Removes from disk the contents that the journal, durably, does not refer to any more.
    pub async fn remove_doomed(self: &Arc<Shared>) -> OutboxResult<()> {
        let doomed = std::mem::take(&mut self.core().doomed);
        if doomed.is_empty() {
            return Ok(());
        }
        let shared = Arc::clone(self);
        self.blocking(move || shared.remove_contents(doomed))
            .await?
    }

    /// Runs work that blocks on local disk off the async threads.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> OutboxResult<T> {
        off_thread(work).await.map_err(|_| {
            // The work panicked, or the runtime is going down with us.
            OutboxError::ShutDown
        })
    }

    /// Starts a task that [`Shared::join`] waits for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        if !self.is_closing() {
            tasks.spawn_on(task, &self.runtime);
        }
    }

    /// True once everything is to stop.
    pub fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Returns when everything is to stop.
    pub async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // An error means that the sender is gone, and with it the outbox.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// Tells everything to stop.
    pub fn close(&self) {
        self.closing.send_replace(true);
        self.something_changed();
    }

    /// Waits until all tasks have ended.
    pub async fn join(&self) {
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        while tasks.join_next().await.is_some() {}
    }

    /// Waits, unless everything is to stop first; tells whether to go on.
    pub async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            biased;
            () = tokio::time::sleep(time) => true,
            () = self.closed() => false,
        }
    }

    /// The outcome of work that may be cut off at any moment; `None` when everything is to stop.
    pub async fn until_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            outcome = work => Some(outcome),
            () = self.closed() => None,
        }
    }

    /// The outcome of a call that has an effect: it is left some time to end even when everything is
    /// to stop, because its reply is worth more than the seconds.
    pub async fn last_words<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        let too_late = async {
            self.closed().await;
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            biased;
            outcome = call => Some(outcome),
            () = too_late => None,
        }
    }
}
