//! The executor of one draft's upload: asks the planner, does one step, asks again. Each request that changes
//! something is recorded in the journal before it is sent, and its outcome after.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::ClientError;
use crate::outbox::drafts::activity::{LiveUpload, Trouble};
use crate::outbox::drafts::draft::Attempt;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::drafts::upload::plan::{ServiceView, Step, Urls, View, next_step};
use crate::outbox::effect::{Effect, passes};
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::DraftId;
use crate::outbox::pauses::Pauses;
use crate::wire::{AssetId, BaseAsset, SignedUrl};

/// The longest pause between two polls of an import.
const LONGEST_POLL: Duration = Duration::from_secs(10);
/// The longest pause between two comparisons that found a difference.
const LONGEST_COMPARISON: Duration = Duration::from_secs(3600);
/// The longest pause between two retries while the service cannot be reached.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// The action after a step.
pub(super) enum Flow {
    Again,
    /// Ask the planner again after a pause, or when something changed.
    Pause(Duration),
    End,
}

pub(super) struct Upload {
    pub(super) parts: Arc<DraftParts>,
    pub(super) draft: DraftId,
    pub(super) live: LiveUpload,
    pub(super) urls: BTreeMap<usize, SignedUrl>,
    pub(super) expired: bool,
    pub(super) service: ServiceView,
    pub(super) record: Option<BaseAsset>,
    /// The accepted asset was missing at the last poll.
    pub(super) gone_before: bool,
    completion_sent: Option<Instant>,
    pub(super) retries: Pauses,
    looks: Pauses,
    pub(super) comparisons: Pauses,
    /// Pauses before an attempt that follows one with expired URLs.
    pub(super) starts: Pauses,
}

impl Upload {
    pub(super) fn new(parts: Arc<DraftParts>, draft: DraftId, live: LiveUpload) -> Upload {
        let first = parts.config.first_poll;
        Upload {
            draft,
            live,
            urls: BTreeMap::new(),
            expired: false,
            service: ServiceView::Unknown,
            record: None,
            gone_before: false,
            completion_sent: None,
            retries: Pauses::new(first * 2, LONGEST_RETRY),
            looks: Pauses::new(first, LONGEST_POLL),
            comparisons: Pauses::new(first * 4, LONGEST_COMPARISON),
            starts: Pauses::new(first, LONGEST_RETRY),
            parts,
        }
    }

    /// Runs until the upload ends, the draft changes, or the outbox closes.
    pub(super) async fn run(mut self) {
        loop {
            if self.is_stopped() {
                break;
            }
            let flow = match self.step().await {
                Ok(flow) => flow,
                Err(error) => {
                    // The journal could not be written, so nothing may be sent.
                    self.set_trouble(Some(Trouble::Local(error.to_string())));
                    Flow::Pause(self.retries.next_pause())
                }
            };
            match flow {
                Flow::Again => {}
                Flow::End => break,
                Flow::Pause(time) => {
                    self.note_next_try(time);
                    self.rest(time).await;
                }
            }
        }
        self.leave();
    }

    /// Stores when the upload is retried, if it is interrupted.
    fn note_next_try(&self, pause: Duration) {
        let mut memory = self.parts.memory();
        if memory.state.drafts.contains_key(&self.draft) {
            let activity = memory.activity(self.draft);
            let stuck = activity.trouble.is_some();
            activity.next_try = stuck.then(|| Instant::now() + pause);
        }
    }

    async fn rest(&self, time: Duration) {
        tokio::select! {
            biased;
            () = tokio::time::sleep(time) => {}
            () = self.live.poke.notified() => {}
            () = self.live.stopped() => {}
            () = self.parts.tasks.closed() => {}
        }
    }

    fn leave(self) {
        let mut memory = self.parts.memory();
        if memory.state.drafts.contains_key(&self.draft) {
            let activity = memory.activity(self.draft);
            if activity
                .upload
                .as_ref()
                .is_some_and(|live| live.is(&self.live))
            {
                activity.upload = None;
            }
        }
        drop(memory);
        self.parts.draft_changed(self.draft);
    }

    fn is_stopped(&self) -> bool {
        *self.live.stop.borrow() || self.parts.tasks.is_closing()
    }

    async fn step(&mut self) -> OutboxResult<Flow> {
        let attempt = match self.parts.memory().state.drafts.get(&self.draft) {
            None => return Ok(Flow::End),
            Some(draft) => draft.attempt.clone(),
        };
        if let Some(attempt) = &attempt {
            self.recall_urls(attempt);
        }
        let step = next_step(&self.view(attempt.as_ref()));
        tracing::debug!(draft = self.draft.0, ?step, "upload");
        match attempt {
            Some(attempt) => self.execute(step, &attempt).await,
            // Without an attempt the only step is `Start`.
            None => self.start().await,
        }
    }

    async fn execute(&mut self, step: Step, attempt: &Attempt) -> OutboxResult<Flow> {
        match step {
            Step::Start | Step::Rest => Ok(Flow::End),
            Step::StartOver => self.start_over(attempt).await,
            Step::Put(objects) => self.put(attempt, objects).await,
            Step::Complete(asset) => self.complete(attempt, asset).await,
            Step::Ask(asset) => Ok(self.ask(asset).await),
            Step::AskLater(_) => {
                self.service = ServiceView::Unknown;
                Ok(Flow::Pause(self.looks.next_pause()))
            }
            Step::Accept => self.accept(attempt).await,
            Step::Imported => self.imported().await,
            Step::ImportFailed => self.import_failed().await,
            Step::Lost => self.lost(attempt).await,
            Step::Verify(asset) => self.verify(attempt, asset).await,
        }
    }

    fn view(&self, attempt: Option<&Attempt>) -> View {
        let is_missing = |attempt: &Attempt| {
            let objects = 0..attempt.manifest.object_names().len();
            objects.filter(|n| !attempt.put.contains(n)).collect()
        };
        let urls = match (self.expired, self.urls.is_empty()) {
            (true, _) => Urls::Expired,
            (false, true) => Urls::None,
            (false, false) => Urls::Good,
        };
        View {
            stage: attempt.map(|attempt| attempt.stage),
            missing: attempt.map(is_missing).unwrap_or_default(),
            urls,
            service: self.service.clone(),
            completion_age: self.completion_sent.map(|at| at.elapsed()),
        }
    }

    async fn start_over(&mut self, attempt: &Attempt) -> OutboxResult<Flow> {
        self.drop_attempt(attempt.number).await?;
        let again = self.expired || self.service == ServiceView::Gone;
        self.urls.clear();
        self.expired = false;
        self.service = ServiceView::Unknown;
        self.completion_sent = None;
        self.live.sent.store(0, Ordering::Relaxed);
        // Back off: the next attempt may end in the same way.
        Ok(if again {
            Flow::Pause(self.starts.next_pause())
        } else {
            Flow::Again
        })
    }

    /// Abandons an attempt; its asset is deleted.
    pub(super) async fn drop_attempt(&self, attempt: u64) -> OutboxResult<()> {
        let draft = self.draft;
        self.write(UploadRecord::AttemptDropped { draft, attempt })
            .await?;
        self.parts.own.discard_news.notify_one();
        Ok(())
    }

    async fn complete(&mut self, attempt: &Attempt, asset: AssetId) -> OutboxResult<Flow> {
        let (draft, number) = (self.draft, attempt.number);
        self.write(UploadRecord::CompleteSent {
            draft,
            attempt: number,
        })
        .await?;
        if self.is_stopped() {
            return Ok(Flow::Again);
        }
        failpoint::hit(Failpoint::BeforeComplete);
        self.completion_sent = Some(Instant::now());
        self.service = ServiceView::Unknown;
        let call = self.parts.client.assets().complete_upload(asset);
        let Some(reply) = self.parts.tasks.with_grace(call).await else {
            return Ok(Flow::End);
        };
        failpoint::hit(Failpoint::AfterComplete);
        let error = match reply {
            Ok(record) => {
                self.record = Some(record);
                return self.accept(attempt).await;
            }
            Err(error) => error,
        };
        let effect = Effect::of(&error);
        if effect == Effect::Unknown {
            // It may have taken effect: the asset's state decides.
            tracing::info!(draft = draft.0, asset = asset.0, %error, "the reply to the completion request was lost");
            return Ok(Flow::Again);
        }
        self.write(UploadRecord::CompleteRefused {
            draft,
            attempt: number,
        })
        .await?;
        if effect == Effect::Gone {
            self.service = ServiceView::Gone;
            return Ok(Flow::Again);
        }
        self.failed_or_again(error, "ending the upload").await
    }

    async fn accept(&mut self, attempt: &Attempt) -> OutboxResult<Flow> {
        let draft = self.draft;
        self.write(UploadRecord::Accepted {
            draft,
            attempt: attempt.number,
        })
        .await?;
        failpoint::hit(Failpoint::AfterAccepted);
        self.set_trouble(None);
        self.retries.reset();
        self.looks.reset();
        if let Some(asset) = attempt.stage.asset() {
            self.parts
                .events
                .send(OutboxEvent::AssetCreated { draft, asset });
        }
        // The reply to the completion contains the first state of the import.
        self.service = match self.record.take() {
            Some(record) => self.seen(&record),
            None => ServiceView::Unknown,
        };
        self.parts.draft_changed(draft);
        Ok(Flow::Again)
    }

    /// Handles an error of the service: a later retry, or a failure that needs the user.
    pub(super) async fn failed_or_again(
        &mut self,
        error: ClientError,
        what: &str,
    ) -> OutboxResult<Flow> {
        if passes(&error) {
            let pause = error
                .retry_after()
                .unwrap_or_else(|| self.retries.next_pause());
            self.set_trouble(Some(Trouble::Service(error)));
            return Ok(Flow::Pause(pause));
        }
        let reason = format!("{what} failed: {error}; `assetfs retry` repeats it");
        self.fail(reason).await
    }

    pub(super) async fn fail(&mut self, reason: String) -> OutboxResult<Flow> {
        let draft = self.draft;
        self.write(UploadRecord::Failed { draft, reason }).await?;
        self.set_trouble(None);
        self.parts.draft_changed(draft);
        Ok(Flow::End)
    }

    /// Records a step durably, unless the draft was changed or removed meanwhile.
    pub(super) async fn write(&self, record: UploadRecord) -> OutboxResult<()> {
        let ticket = {
            let mut memory = self.parts.memory();
            if *self.live.stop.borrow() {
                return Ok(());
            }
            memory.record(record)?
        };
        self.parts.journal.settled(ticket).await
    }

    pub(super) fn set_trouble(&self, trouble: Option<Trouble>) {
        let mut memory = self.parts.memory();
        if !memory.state.drafts.contains_key(&self.draft) {
            return;
        }
        let activity = memory.activity(self.draft);
        let changed = activity.trouble.is_some() != trouble.is_some();
        activity.trouble = trouble;
        drop(memory);
        if changed {
            self.parts
                .events
                .send(OutboxEvent::DraftChanged(self.draft));
        }
        self.parts.events.something_changed();
    }
}
