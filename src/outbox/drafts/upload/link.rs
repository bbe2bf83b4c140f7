//! The link of a running upload to its draft: records its steps in the journal, shows its state, and stops it when the
//! draft changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::ClientError;
use crate::outbox::drafts::activity::{Activity, LiveUpload, Trouble};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::record::UploadRecord;
use crate::outbox::effect::is_retryable;
use crate::outbox::error::OutboxResult;
use crate::outbox::events::OutboxEvent;
use crate::outbox::ids::DraftId;

/// The longest pause between two retries while the service cannot be reached.
pub(super) const MAX_RETRY_PAUSE: Duration = Duration::from_secs(60);

/// How often a waiting call looks whether the service has asked for a pause.
const PAUSE_CHECK: Duration = Duration::from_secs(1);

/// The action of the executor after a step.
pub(super) enum Flow {
    Again,
    /// Ask the planner again after a pause, or when something changed.
    Pause(Duration),
    End,
}

pub(super) struct DraftLink {
    parts: Arc<DraftParts>,
    draft: DraftId,
    live: LiveUpload,
    retries: Backoff,
    /// How often in a row it was refused for lack of room although there was enough.
    pub(super) room_refusals: u32,
}

impl DraftLink {
    pub(super) fn new(parts: Arc<DraftParts>, draft: DraftId, live: LiveUpload) -> DraftLink {
        DraftLink {
            draft,
            live,
            retries: pauses(&parts),
            room_refusals: 0,
            parts,
        }
    }

    /// Pauses before something that failed is tried again.
    pub(super) fn pauses(&self) -> Backoff {
        pauses(&self.parts)
    }

    pub(super) fn parts(&self) -> &Arc<DraftParts> {
        &self.parts
    }

    pub(super) fn draft(&self) -> DraftId {
        self.draft
    }

    pub(super) fn live(&self) -> &LiveUpload {
        &self.live
    }

    /// Whether the draft was changed or removed since the upload began.
    pub(super) fn is_cancelled(&self) -> bool {
        self.live.stop.is_given()
    }

    /// Whether the upload must end: the draft changed, or the outbox closes.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.parts.tasks.is_closing()
    }

    /// How often a pause of the upload was ended.
    pub(super) fn pokes(&self) -> u64 {
        self.live.poke.count()
    }

    /// Waits until the time is over, the upload must end, or something changed after `pokes` were counted.
    pub(super) async fn rest(&self, time: Duration, pokes: u64) {
        self.note_next_try(time);
        let is_away = self.is_without_answer();
        tokio::select! {
            biased;
            () = tokio::time::sleep(time) => {}
            () = self.parts.client.in_reach_again(), if is_away => {}
            () = self.live.poke.after(pokes) => {}
            () = self.live.stopped() => {}
            () = self.parts.tasks.closed() => {}
        }
    }

    /// Awaits a call. While the rate limiter pauses after a 429, the draft's status shows the pause.
    pub(super) async fn in_turn<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = std::pin::pin!(call);
        let mut is_shown = false;
        let outcome = loop {
            if let Some(pause) = self.parts.client.budget().paused {
                is_shown = true;
                self.set_trouble(Some(Trouble::Paused));
                self.note_next_try(pause);
            }
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                () = tokio::time::sleep(PAUSE_CHECK) => {}
            }
        };
        if is_shown {
            self.set_trouble(None);
        }
        outcome
    }

    /// Whether the upload waits for a service that does not answer and that has sent no `Retry-After`.
    fn is_without_answer(&self) -> bool {
        let memory = self.parts.memory();
        let activity = memory.activity_of(self.draft);
        match activity.and_then(|activity| activity.trouble.as_ref()) {
            Some(Trouble::Service(error)) => error.is_no_answer() && error.retry_after().is_none(),
            _ => false,
        }
    }

    /// Stores when the upload is retried, if it is interrupted.
    fn note_next_try(&self, pause: Duration) {
        let mut memory = self.parts.memory();
        if let Some(activity) = self.own_activity(&mut memory) {
            let stuck = activity.trouble.is_some();
            activity.next_try = stuck.then(|| Instant::now() + pause);
        }
    }

    /// The draft's activity; `None` if the draft is gone or was changed. Then another upload may own the activity, and
    /// this one must not write to it.
    fn own_activity<'m>(&self, memory: &'m mut DraftsMemory) -> Option<&'m mut Activity> {
        if !memory.state.drafts.contains_key(&self.draft) {
            return None;
        }
        let activity = memory.activity(self.draft);
        let running = activity.upload.as_ref();
        let is_own = running.is_some_and(|live| live.is(&self.live));
        is_own.then_some(activity)
    }

    /// Ends the upload: removes it from the draft's activity.
    pub(super) fn leave(self) {
        let mut memory = self.parts.memory();
        if let Some(activity) = self.own_activity(&mut memory) {
            activity.upload = None;
        }
        drop(memory);
        self.parts.draft_changed(self.draft);
    }

    /// Records a step durably, unless the draft was changed or removed meanwhile.
    pub(super) async fn write(&self, record: UploadRecord) -> OutboxResult<()> {
        let ticket = {
            let mut memory = self.parts.memory();
            if self.is_cancelled() {
                return Ok(());
            }
            memory.record(record)?
        };
        self.parts.journal.settle_async(ticket).await
    }

    /// Abandons an attempt; its asset is deleted.
    pub(super) async fn drop_attempt(&self, attempt: u64) -> OutboxResult<()> {
        let draft = self.draft;
        {
            let mut memory = self.parts.memory();
            let own = memory.state.drafts.get(&draft);
            let dropped = own.and_then(|it| it.attempt.as_ref());
            if let Some(asset) = dropped.and_then(|it| it.stage.asset()) {
                memory.dropped.insert(asset);
            }
        }
        self.write(UploadRecord::AttemptDropped { draft, attempt })
            .await?;
        self.parts.own.discard_wake.notify_one();
        Ok(())
    }

    /// Records a failure that needs the user.
    pub(super) async fn fail(&self, reason: String) -> OutboxResult<Flow> {
        let draft = self.draft;
        self.write(UploadRecord::Failed { draft, reason }).await?;
        self.set_trouble(None);
        self.parts.draft_changed(draft);
        Ok(Flow::End)
    }

    /// Handles an error of the service: a later retry, or a failure that needs the user.
    pub(super) async fn failed_or_again(
        &mut self,
        error: ClientError,
        what: &str,
    ) -> OutboxResult<Flow> {
        if is_retryable(&error) {
            let mut retries = self.retries;
            let pause = self.interrupted(error, &mut retries);
            self.retries = retries;
            return Ok(Flow::Pause(pause));
        }
        let reason = format!("{what} failed: {error}; `assetfs retry` repeats it");
        self.fail(reason).await
    }

    /// Shows why the upload is interrupted; returns the pause before the next try.
    pub(super) fn interrupted(&self, error: ClientError, pauses: &mut Backoff) -> Duration {
        let asked = error.retry_after().unwrap_or_default();
        self.set_trouble(Some(Trouble::Service(error)));
        asked.max(pauses.next_pause())
    }

    /// Shows why the upload is interrupted, and pauses before the next try.
    pub(super) fn retry_after(&mut self, trouble: Trouble) -> Flow {
        self.set_trouble(Some(trouble));
        Flow::Pause(self.retries.next_pause())
    }

    /// The service answered: the upload is not interrupted, and the pauses start again from the shortest.
    pub(super) fn is_answered(&mut self) {
        self.set_trouble(None);
        self.retries.reset();
        self.room_refusals = 0;
    }

    pub(super) fn is_troubled(&self) -> bool {
        let memory = self.parts.memory();
        let activity = memory.activity_of(self.draft);
        activity.is_some_and(|activity| activity.trouble.is_some())
    }

    pub(super) fn set_trouble(&self, trouble: Option<Trouble>) {
        let mut memory = self.parts.memory();
        let Some(activity) = self.own_activity(&mut memory) else {
            return;
        };
        let changed = activity.trouble.is_some() != trouble.is_some();
        activity.trouble = trouble;
        drop(memory);
        if changed {
            self.parts
                .events
                .send(OutboxEvent::DraftChanged(self.draft));
        }
    }
}

fn pauses(parts: &DraftParts) -> Backoff {
    Backoff::doubling(parts.config.first_poll * 2, MAX_RETRY_PAUSE)
}
