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
use super::text::{self, JobText, Settings};
use crate::client::{ClientError, Priority};
use crate::outbox::core::JobTask;
use crate::outbox::error::OutboxResult;
use crate::outbox::failpoint::{self, Failpoint};
use crate::outbox::moment::Moment;
use crate::outbox::pauses::Pauses;
use crate::outbox::shared::Shared;
use crate::outbox::staging::ContentHash;
use crate::outbox::types::{JobFolder, OutboxEvent, OwnerFolder};
use crate::wire::{AssetId, OptimizeRequest, OptimizeSettings, RapidId, RapidModel, UploadStatus};

/// The longest pause between two looks at an asset that is not complete.
const LONGEST_LOOK: Duration = Duration::from_secs(10);
/// The longest pause between two tries while the service cannot be reached.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The longest pause between two looks for a lost request.
const LONGEST_SEARCH: Duration = Duration::from_secs(5);
/// Rapid models without tags in the list that are asked for one by one.
const ASKED_ONE_BY_ONE: usize = 20;
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
        let settings = match self.resolve(&ready.job.settings).await {
            Ok(settings) => settings,
            Err(Resolve::Wrong(reason)) => return self.hold(reason).await,
            Err(Resolve::Trouble(error)) => return Ok(self.trouble(error)),
            Err(Resolve::Closed) => return Ok(Next::End),
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

    /// What the request names: a known preset where the configuration says the same.
    async fn resolve(&self, settings: &Settings) -> Result<OptimizeSettings, Resolve> {
        if let Settings::PresetId(id) = settings {
            return Ok(OptimizeSettings::Preset(*id));
        }
        let client = &self.shared.client;
        let lists = async {
            let own = client.presets(Priority::Interactive).await?;
            let factory = client.factory_presets(Priority::Interactive).await?;
            Ok::<_, ClientError>((own, factory))
        };
        let (own, factory) = match self.shared.until_closed(lists).await {
            None => return Err(Resolve::Closed),
            Some(lists) => lists.map_err(Resolve::Trouble)?,
        };
        let own = own.iter().map(|it| (it.id, &it.name, &it.config));
        let mut known = own.chain(factory.iter().map(|it| (it.id, &it.name, &it.config)));
        match settings {
            Settings::PresetId(id) => Ok(OptimizeSettings::Preset(*id)),
            Settings::Config(config) => Ok(match known.find(|it| it.2.meaning_eq(config)) {
                Some((id, ..)) => OptimizeSettings::Preset(id),
                None => OptimizeSettings::Config(config.clone()),
            }),
            Settings::PresetName(name) => {
                let all: Vec<_> = known.collect();
                let found = all.iter().find(|it| it.1 == name);
                let found = found.map(|it| OptimizeSettings::Preset(it.0));
                found.ok_or_else(|| {
                    let names: Vec<&str> = all.iter().map(|it| it.1.as_str()).collect();
                    Resolve::Wrong(format!(
                        "there is no preset {name:?}; there are: {}",
                        names.join(", ")
                    ))
                })
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

/// Why a job's settings cannot be used yet.
enum Resolve {
    Wrong(String),
    Trouble(ClientError),
    Closed,
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

async fn taken(shared: &Arc<Shared>, tag: &str, rapid: RapidId) -> OutboxResult<()> {
    let tag = tag.to_owned();
    shared
        .record(JobRecord::Taken {
            tag: tag.clone(),
            rapid,
        })
        .await?;
    failpoint::hit(Failpoint::BeforeTagRemoval);
    tell_all(shared, &tag);
    shared.events.tell(OutboxEvent::RapidFound(rapid));
    shared.progress_news.notify_one();
    Ok(())
}

/// Looks for a request whose reply was lost. What is not found within the time is unknown.
async fn look_for(shared: &Arc<Shared>, tag: &str) {
    let asset = match shared.core().state.jobs.submissions.get(tag) {
        Some(submission) if submission.stage == SubmissionStage::Sent => submission.asset,
        _ => return,
    };
    let until = Instant::now() + shared.config.look_for_lost;
    let mut pauses = Pauses::new(shared.config.first_poll, LONGEST_SEARCH);
    loop {
        let last_look = Instant::now() >= until;
        let Some(found) = shared.until_closed(find(shared, asset, tag)).await else {
            return;
        };
        let recorded = match found {
            Ok(Some(rapid)) => Some(taken(shared, tag, rapid).await),
            // Only an answer from after the time counts as "not there".
            Ok(None) if last_look => {
                let tag = tag.to_owned();
                Some(shared.record(JobRecord::Lost { tag }).await)
            }
            Err(ClientError::NotFound { .. }) => {
                let (tag, reason) = (
                    tag.to_owned(),
                    "the asset does not exist any more".to_owned(),
                );
                Some(shared.record(JobRecord::Refused { tag, reason }).await)
            }
            Ok(None) | Err(_) => None,
        };
        match recorded {
            Some(Ok(())) => break,
            Some(Err(error)) => tracing::warn!(tag, %error, "an outcome could not be written down"),
            None => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        let pause = pauses.next_pause();
        let pause = if left.is_zero() {
            pause
        } else {
            pause.min(left)
        };
        if !shared.pause(pause).await {
            return;
        }
    }
    tell_all(shared, tag);
}

async fn find(shared: &Shared, asset: AssetId, tag: &str) -> Result<Option<RapidId>, ClientError> {
    let models = shared
        .client
        .asset_rapid_models(asset, Priority::Background)
        .await?;
    let carries = |model: &RapidModel| model.tags.iter().any(|it| it.name == tag);
    if let Some(model) = models.iter().find(|model| carries(model)) {
        return Ok(Some(model.id));
    }
    // A list may leave the tags out; the record on its own has them.
    let mut untagged: Vec<RapidId> = models
        .iter()
        .filter(|model| model.tags.is_empty())
        .map(|model| model.id)
        .collect();
    untagged.sort_by(|a, b| b.cmp(a));
    for id in untagged.into_iter().take(ASKED_ONE_BY_ONE) {
        match shared.client.rapid_model(id, Priority::Background).await {
            Ok(model) if carries(&model) => return Ok(Some(id)),
            Ok(_) | Err(ClientError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}
