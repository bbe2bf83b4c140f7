//! The executor of one draft's upload: asks the planner, does one step, asks again. Each request that changes
//! something is recorded in the journal before it is sent, and its outcome after.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::client::ClientError;
use crate::outbox::drafts::activity::{LiveUpload, Trouble};
use crate::outbox::drafts::draft::{AssetOrigin, Attempt};
use crate::outbox::drafts::parts::DraftParts;
use crate::outbox::drafts::upload::import::SentAsset;
use crate::outbox::drafts::upload::link::{DraftLink, Flow};
use crate::outbox::drafts::upload::plan::{ServiceView, Step, Urls, View, next_step};
use crate::outbox::drafts::upload::put::{ObjectSender, Sent};
use crate::outbox::drafts::upload::room::{self, RoomRefusal};
use crate::outbox::drafts::upload::start::{Joining, Starter};
use crate::outbox::drafts::upload::urls::ObjectUrls;
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::DraftId;

/// The longest pause before another attempt: each sends all files again, or may leave an orphan.
const MAX_RESTART_PAUSE: Duration = Duration::from_secs(3600);

pub(super) struct Upload {
    link: DraftLink,
    urls: ObjectUrls,
    asset: SentAsset,
    joining: Joining,
    /// Back-off before another attempt, after one that was given up.
    starts: Backoff,
}

impl Upload {
    pub(super) fn new(parts: Arc<DraftParts>, draft: DraftId, live: LiveUpload) -> Upload {
        let first = parts.config.first_poll;
        Upload {
            link: DraftLink::new(parts, draft, live),
            urls: ObjectUrls::default(),
            asset: SentAsset::new(first),
            joining: Joining::Allowed,
            starts: Backoff::doubling(first * 4, MAX_RESTART_PAUSE),
        }
    }

    /// Runs until the upload ends, the draft changes, or the outbox closes. It begins after the pause.
    pub(super) async fn run(mut self, pause: Duration) {
        if !pause.is_zero() {
            self.link.rest(pause, self.link.pokes()).await;
        }
        while !self.link.is_stopped() {
            let pokes = self.link.pokes();
            let flow = match self.step().await {
                Ok(flow) => flow,
                // The journal could not be written, so nothing may be sent.
                Err(error) => self.link.retry_after(Trouble::Local(error.to_string())),
            };
            match flow {
                Flow::Again => {}
                Flow::End => break,
                Flow::Pause(time) => self.link.rest(time, pokes).await,
            }
        }
        self.link.leave();
    }

    async fn step(&mut self) -> OutboxResult<Flow> {
        let draft = self.link.draft();
        let attempt = match self.link.parts().memory().state.drafts.get(&draft) {
            None => return Ok(Flow::End),
            Some(draft) => draft.attempt.clone(),
        };
        if let Some(attempt) = &attempt {
            self.urls.recall(attempt, &self.link.parts().own.seal);
        }
        let step = next_step(&self.view(attempt.as_ref()));
        tracing::debug!(draft = draft.0, ?step, "upload");
        match attempt {
            Some(attempt) => self.execute(step, &attempt).await,
            // Without an attempt the only step is `Start`.
            None => {
                let starter = Starter {
                    link: &mut self.link,
                    urls: &mut self.urls,
                    joining: &mut self.joining,
                    starts: &mut self.starts,
                };
                { starter }.start().await
            }
        }
    }

    async fn execute(&mut self, step: Step, attempt: &Attempt) -> OutboxResult<Flow> {
        let (link, sent) = (&mut self.link, &mut self.asset);
        match step {
            Step::Start | Step::Rest => Ok(Flow::End),
            Step::StartOver => self.start_over(attempt).await,
            Step::Put(objects) => self.put(attempt, objects).await,
            Step::Complete(asset) => sent.complete(link, attempt, asset).await,
            Step::Ask(asset) => Ok(sent.ask(link, asset).await),
            Step::AskLater(_) => Ok(sent.ask_later()),
            Step::Accept => sent.accept(link, attempt).await,
            Step::Imported => sent.finish_import(link).await,
            Step::ImportFailed => sent.handle_failed_import(link).await,
            Step::Lost => sent.handle_lost_import(link, attempt).await,
            Step::Verify(asset) => sent.verify(link, attempt, asset).await,
        }
    }

    fn view(&self, attempt: Option<&Attempt>) -> View {
        let is_missing = |attempt: &Attempt| {
            let objects = 0..attempt.manifest.object_names().len();
            objects.filter(|n| !attempt.put.contains(n)).collect()
        };
        View {
            stage: attempt.map(|attempt| attempt.stage),
            origin: attempt.map(|attempt| attempt.origin).unwrap_or_default(),
            missing: attempt.map(is_missing).unwrap_or_default(),
            urls: self.urls.state(),
            service: self.asset.view().clone(),
            completion_age: self.asset.completion_age(),
            completion_pause: self.asset.completion_pause(self.link.is_troubled()),
        }
    }

    async fn start_over(&mut self, attempt: &Attempt) -> OutboxResult<Flow> {
        self.link.drop_attempt(attempt.number).await?;
        // Back off: the next attempt may end in the same way.
        let again = self.urls.state() == Urls::Expired
            || *self.asset.view() != ServiceView::Unknown
            || attempt.origin == AssetOrigin::Joined;
        self.forget_attempt();
        Ok(if again {
            Flow::Pause(self.starts.next_pause())
        } else {
            Flow::Again
        })
    }

    fn forget_attempt(&mut self) {
        self.urls = ObjectUrls::default();
        self.asset.forget();
        self.link.live().sent.store(0, Ordering::Relaxed);
    }

    /// Sends the missing objects.
    async fn put(&mut self, attempt: &Attempt, objects: Vec<usize>) -> OutboxResult<Flow> {
        let sender = ObjectSender::new(&self.link, &self.urls, attempt);
        match sender.send(objects).await? {
            Sent::All => {
                failpoint::hit(Failpoint::AfterPuts);
                self.link.is_answered();
                Ok(Flow::Again)
            }
            Sent::Stopped => Ok(Flow::End),
            // The URLs of a deleted asset do not work either.
            Sent::Failed(error @ (ClientError::Expired { .. } | ClientError::NotFound { .. })) => {
                self.link.set_trouble(Some(Trouble::Service(error)));
                self.urls.expire();
                self.asset.ask_again();
                Ok(Flow::Again)
            }
            Sent::Completed => {
                self.urls.expire();
                self.asset.ask_again();
                Ok(Flow::Again)
            }
            Sent::Failed(error) => {
                let needed = attempt.manifest.total_size();
                match room::why_refused(&mut self.link, &error, needed).await {
                    RoomRefusal::Other => self.link.failed_or_again(error, "the upload").await,
                    RoomRefusal::Again(flow) => Ok(flow),
                    RoomRefusal::Full(flow) => {
                        self.link.drop_attempt(attempt.number).await?;
                        self.forget_attempt();
                        Ok(flow)
                    }
                }
            }
        }
    }
}
