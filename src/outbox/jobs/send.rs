//! Sends jobs, each once.
//!
//! Invariant: a request goes out only after its one-off tag is durable in the journal, and a request
//! whose outcome is not known is never sent again: it is looked for by its tag, and what is not
//! found within the time stays unknown. A text that was sent for an asset is not sent again for it
//! unless somebody runs it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::book::{JobKey, JobRecord, SubmissionStage, Wanted};
use super::resolve::{Unresolved, resolve};
use super::search::{look_for, taken};
use super::text::{self, JobText};
use crate::client::{ClientError, Priority};
use crate::outbox::activity::JobTask;
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint::{self, Failpoint};
use crate::outbox::moment::Moment;
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::outbox::staging::ContentHash;
use crate::outbox::types::{JobFolder, OutboxEvent, OwnerFolder};
use crate::wire::{AssetId, OptimizeRequest, RapidModel, UploadStatus};

/// The longest pause between two looks at an asset that is not complete.
const LONGEST_LOOK: Duration = Duration::from_secs(10);
/// The longest pause between two tries while the service cannot be reached.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How the one-off tags begin.
const TAG_PREFIX: &str = "assetfs-";

/// Starts a task for every job that wants to go out and every request that was lost. Runs until the
/// outbox closes.
pub async fn run(shared: Arc<Shared>) {
    loop {
        if !shared.config.paused {
            start_tasks(&shared);
        }
        tokio::select! {
            () = shared.job_news.notified() => {}
            () = shared.closed() => return,
        }
    }
}

fn start_tasks(shared: &Arc<Shared>) {
    let (wanted, lost) = {
        let mut core = shared.core();
        let files = core.state.jobs.files.iter();
        let wanted: Vec<JobKey> = files
            .filter(|(key, file)| file.wanted != Wanted::No && !core.job_tasks.contains_key(*key))
            .map(|(key, _)| key.clone())
            .collect();
        let submissions = core.state.jobs.submissions.iter();
        let lost: Vec<String> = submissions
            .filter(|(tag, it)| it.stage == SubmissionStage::Sent && !core.job_calls.contains(*tag))
            .map(|(tag, _)| tag.clone())
            .collect();
        for key in &wanted {
            core.job_tasks.insert(key.clone(), JobTask::default());
        }
        core.job_calls.extend(lost.iter().cloned());
        (wanted, lost)
    };
    for key in wanted {
        let sender = Sender::new(shared, key);
        shared.spawn(sender.run());
    }
    for tag in lost {
        let shared_too = Arc::clone(shared);
        shared.spawn(async move {
            look_for(&shared_too, &tag).await;
            shared_too.core().job_calls.remove(&tag);
        });
    }
}

/// Sends one job.
struct Sender {
    shared: Arc<Shared>,
    key: JobKey,
    looks: Pauses,
    retries: Pauses,
}

/// A job that is ready to go out.
struct Ready {
    asset: AssetId,
    text: Vec<u8>,
    job: JobText,
}

/// What comes after a step of a sender.
enum Next {
    Again,
    Pause(Duration),
    End,
}

impl Sender {
    fn new(shared: &Arc<Shared>, key: JobKey) -> Sender {
        let first = shared.config.first_poll;
        Sender {
            shared: Arc::clone(shared),
            key,
            looks: Pauses::new(first, LONGEST_LOOK),
            retries: Pauses::new(first * 2, LONGEST_RETRY),
        }
    }

    async fn run(mut self) {
        let mut changes = self.shared.changes.subscribe();
        let mut asset_news = self.shared.asset_news.subscribe();
        loop {
            let next = match self.step().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(name = self.key.name, %error, "a job could not be written down");
                    Next::Pause(self.retries.next_pause())
                }
            };
            match next {
                Next::Again => {}
                Next::End => break,
                Next::Pause(time) => {
                    let until = Instant::now() + time;
                    tokio::select! {
                        () = tokio::time::sleep_until(until) => {}
                        () = self.file_changed(&mut changes) => {}
                        _ = asset_news.changed() => {}
                        () = self.shared.closed() => break,
                    }
                }
            }
            if self.shared.is_closing() {
                break;
            }
        }
        self.shared.core().job_tasks.remove(&self.key);
        self.tell();
        // Somebody may have wanted it again just before the task left the list.
        self.shared.job_news.notify_one();
    }

    /// Returns when the file is not wanted any more.
    async fn file_changed(&self, changes: &mut tokio::sync::watch::Receiver<u64>) {
        while self.is_wanted() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn is_wanted(&self) -> bool {
        let core = self.shared.core();
        let file = core.state.jobs.files.get(&self.key);
        file.is_some_and(|file| file.wanted != Wanted::No)
    }

    async fn step(&mut self) -> OutboxResult<Next> {
        let (text, owner) = {
            let core = self.shared.core();
            match core.state.jobs.files.get(&self.key) {
                Some(file) if file.wanted != Wanted::No => (file.text.0.clone(), self.owner(&core)),
                _ => return Ok(Next::End),
            }
        };
        let job = match text::parse(&self.key.name, &text) {
            Ok(job) => job,
            Err(reason) => return self.hold(reason).await,
        };
        let Some(asset) = owner else {
            self.note(|task| task.waits_for_asset = true);
            return Ok(Next::Pause(LONGEST_LOOK));
        };
        if let Some(next) = self.wait_for_asset(asset).await? {
            return Ok(next);
        }
        if self.join_earlier(asset, &text).await? {
            return Ok(Next::End);
        }
        self.send(Ready { asset, text, job }).await
    }

    fn owner(&self, core: &crate::outbox::core::Core) -> Option<AssetId> {
        let JobFolder::Optimize(owner) = self.key.folder;
        match owner {
            OwnerFolder::Asset(asset) => Some(asset),
            OwnerFolder::Draft(draft) => core.state.drafts.get(&draft)?.accepted_asset(),
        }
    }

    /// `None` when the asset is complete.
    async fn wait_for_asset(&mut self, asset: AssetId) -> OutboxResult<Option<Next>> {
        let call = self.shared.client.asset(asset, Priority::Interactive);
        let reply = match self.shared.until_closed(call).await {
            None => return Ok(Some(Next::End)),
            Some(reply) => reply,
        };
        let status = match reply {
            Ok(record) => record.upload_status,
            Err(ClientError::NotFound { .. }) => {
                return self
                    .hold("the asset does not exist any more".to_owned())
                    .await
                    .map(Some);
            }
            Err(error) => return Ok(Some(self.trouble(error))),
        };
        if status == UploadStatus::Complete {
            self.note(|task| *task = JobTask::default());
            return Ok(None);
        }
        if status.is_failure() {
            let reason =
                format!("the asset was not imported ({status}), so nothing can be made of it");
            return self.hold(reason).await.map(Some);
        }
        self.note(|task| {
            task.waits_for_asset = true;
            task.trouble = None;
        });
        Ok(Some(Next::Pause(self.looks.next_pause())))
    }

    /// True when the text was sent for this asset before, and nobody asked to pay again.
    async fn join_earlier(&self, asset: AssetId, text: &[u8]) -> OutboxResult<bool> {
        let ticket = {
            let mut core = self.shared.core();
            let book = &core.state.jobs;
            let again = book
                .files
                .get(&self.key)
                .is_some_and(|file| file.wanted == Wanted::Again);
            let earlier = book.sent_before(asset, ContentHash::of(text));
            let Some((tag, _)) = earlier.filter(|_| !again) else {
                return Ok(false);
            };
            let (job, tag) = (self.key.clone(), tag.clone());
            core.record(JobRecord::Joined { job, tag })?
        };
        self.shared.settle(ticket).await?;
        self.tell();
        Ok(true)
    }

    async fn send(&mut self, ready: Ready) -> OutboxResult<Next> {
        let settings = match resolve(&self.shared, &ready.job.settings).await {
            Ok(settings) => settings,
            Err(Unresolved::Wrong(reason)) => return self.hold(reason).await,
            Err(Unresolved::Trouble(error)) => return Ok(self.trouble(error)),
            Err(Unresolved::Closed) => return Ok(Next::End),
        };
        let tag = format!("{TAG_PREFIX}{:032x}", rand::random::<u128>());
        let Some(again) = self.intend(&ready, &tag).await? else {
            return Ok(Next::Again);
        };
        failpoint::hit(Failpoint::BeforeOptimize);
        let mut tags = ready.job.tags;
        tags.push(tag.clone());
        let request = OptimizeRequest { settings, tags };
        let call = self.shared.client.optimize(ready.asset, &request);
        let reply = self.shared.last_words(call).await;
        failpoint::hit(Failpoint::AfterOptimize);
        let next = self.conclude(&tag, again, reply).await;
        self.shared.core().job_calls.remove(&tag);
        self.tell();
        next
    }

    /// Writes down that the request is about to go out, and with which tag; gives whether it pays
    /// again. `None` when the file or what was sent before has changed meanwhile.
    async fn intend(&self, ready: &Ready, tag: &str) -> OutboxResult<Option<bool>> {
        let text_hash = ContentHash::of(&ready.text);
        let (ticket, again) = {
            let mut core = self.shared.core();
            let book = &core.state.jobs;
            let Some(file) = book.files.get(&self.key) else {
                return Ok(None);
            };
            let again = file.wanted == Wanted::Again;
            let stands = file.wanted != Wanted::No && file.text.0 == ready.text;
            if !stands || (!again && book.sent_before(ready.asset, text_hash).is_some()) {
                return Ok(None);
            }
            core.job_calls.insert(tag.to_owned());
            let record = JobRecord::Sent {
                job: self.key.clone(),
                asset: ready.asset,
                tag: tag.to_owned(),
                text_hash,
                at: Moment::now(),
            };
            (core.record(record)?, again)
        };
        match self.shared.settle(ticket).await {
            Ok(()) => Ok(Some(again)),
            Err(error) => {
                // It did not go out, and must not count as if it had.
                let tag = tag.to_owned();
                self.shared.core().job_calls.remove(&tag);
                self.shared
                    .core()
                    .record(JobRecord::NotSent { tag, again })?;
                Err(error)
            }
        }
    }

    async fn conclude(
        &mut self,
        tag: &str,
        again: bool,
        reply: Option<Result<RapidModel, ClientError>>,
    ) -> OutboxResult<Next> {
        let tag = tag.to_owned();
        match reply {
            // The next run looks for it.
            None => Ok(Next::End),
            Some(Ok(model)) => {
                taken(&self.shared, &tag, model.id).await?;
                Ok(Next::End)
            }
            Some(Err(
                ClientError::LostReply { .. }
                | ClientError::Protocol { .. }
                | ClientError::TooLarge { .. },
            )) => {
                self.tell();
                look_for(&self.shared, &tag).await;
                Ok(Next::End)
            }
            Some(Err(error)) if error.is_transient() || error.is_about_token() => {
                self.shared
                    .record(JobRecord::NotSent { tag, again })
                    .await?;
                Ok(self.trouble(error))
            }
            Some(Err(error)) => {
                let reason = refusal(&error);
                self.shared
                    .record(JobRecord::Refused { tag, reason })
                    .await?;
                Ok(Next::End)
            }
        }
    }

    async fn hold(&self, reason: String) -> OutboxResult<Next> {
        let job = self.key.clone();
        self.shared.record(JobRecord::Held { job, reason }).await?;
        self.tell();
        Ok(Next::End)
    }

    fn trouble(&mut self, error: ClientError) -> Next {
        let pause = error
            .retry_after()
            .unwrap_or_else(|| self.retries.next_pause());
        self.note(|task| {
            task.waits_for_asset = false;
            task.trouble = Some(error);
        });
        Next::Pause(pause)
    }

    fn note(&self, change: impl FnOnce(&mut JobTask)) {
        if let Some(task) = self.shared.core().job_tasks.get_mut(&self.key) {
            change(task);
        }
        self.tell();
    }

    fn tell(&self) {
        tell(&self.shared, &self.key);
    }
}

fn refusal(error: &ClientError) -> String {
    match error {
        ClientError::Rejected { message, .. } if !message.is_empty() => message.clone(),
        error => error.to_string(),
    }
}

/// Tells that a job has another state.
pub fn tell(shared: &Shared, key: &JobKey) {
    let event = OutboxEvent::JobChanged(key.folder, key.name.clone());
    shared.events.tell(event);
    shared.something_changed();
}

/// Tells it for every file of a submission.
pub fn tell_all(shared: &Shared, tag: &str) {
    let keys = shared.core().state.jobs.keys_of(tag);
    for key in keys {
        tell(shared, &key);
    }
}
