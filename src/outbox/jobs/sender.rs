//! The executor of one file of a drop folder: asks the planner, does one step, asks again.
//!
//! Invariant: a request is sent only after it is durable in the journal, and after the service was asked whether it has a result
//! of the same text, some seconds ago at most. A request with an unknown outcome is left to the search for lost requests.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::outbox::effect::Effect;
use crate::outbox::error::OutboxResult;
use crate::outbox::jobs::book::{JobKey, JobRecord, Wanted};
use crate::outbox::jobs::deps::ImportState;
use crate::outbox::jobs::memory::JobTask;
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::plan::{JobStep, JobView, Models, next_job_step};
use crate::outbox::jobs::preparation::prepare;
use crate::outbox::jobs::request::{Made, Outgoing, models_of, sent_before};
use crate::outbox::jobs::resolve::Unresolved;
use crate::outbox::jobs::search::record_result;
use crate::outbox::jobs::text;
use crate::outbox::jobs::text::Request;
use crate::wire::{ModelId, PresetId, UploadStatus};

/// The longest pause between two polls of an incomplete asset.
const MAX_POLL_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause between two retries while the service cannot be reached.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// Sends one job.
pub(super) struct Sender {
    parts: Arc<JobParts>,
    key: JobKey,
    /// The state of the models, in this run.
    models: Models,
    /// The service was asked for it.
    has_asked: bool,
    /// Its models at the last step.
    seen: Found,
    looks: Backoff,
    retries: Backoff,
}

/// The models of a job, as [`models_of`] gives them.
type Found = Result<Option<Vec<ModelId>>, String>;

/// The present state of a job.
struct Job {
    view: JobView,
    request: Option<Request>,
    found: Found,
}

impl Job {
    fn models(&self) -> &[ModelId] {
        match &self.found {
            Ok(Some(models)) => models,
            Ok(None) | Err(_) => &[],
        }
    }
}

/// Whether a request may be sent.
enum Intent {
    /// It is recorded and is to be sent now; `again` if it pays again.
    Recorded { again: bool },
    /// The file or its earlier requests changed meanwhile.
    Changed,
    /// The outcome of a request that its own could be mistaken for is not known yet.
    Later,
}

/// The action after a step of a sender.
enum Next {
    Again,
    Pause(Duration),
    End,
}

impl Sender {
    pub(super) fn new(parts: &Arc<JobParts>, key: JobKey) -> Sender {
        let first = parts.config.first_poll;
        Sender {
            parts: Arc::clone(parts),
            key,
            models: Models::Unknown,
            has_asked: false,
            seen: Ok(None),
            looks: Backoff::polling(first, MAX_POLL_PAUSE),
            retries: Backoff::doubling(first * 2, MAX_RETRY_PAUSE),
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            let seen = self.parts.events.assets.count();
            let next = match self.step().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(name = self.key.name, %error, "the state of a job could not be recorded");
                    Next::Pause(self.retries.next_pause())
                }
            };
            match next {
                Next::Again => {}
                Next::End => break,
                Next::Pause(time) => {
                    let until = Instant::now() + time;
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(until) => {}
                        () = self.wait_for_file_change() => {}
                        () = self.parts.events.assets.after(seen) => {}
                        () = self.parts.tasks.closed() => break,
                    }
                }
            }
            if self.parts.tasks.is_closing() {
                break;
            }
        }
        self.parts.memory().tasks.remove(&self.key);
        self.report();
        // A command may have asked for it again just before the task was removed.
        self.parts.own.jobs_wake.notify_one();
    }

    /// Returns when the file is not to be sent any more, or when its models changed because a draft was accepted or
    /// removed.
    async fn wait_for_file_change(&self) {
        // An error means that the outbox closes, which ends the wait too.
        let _ = self
            .parts
            .until(|| (!self.is_as_seen()).then_some(()))
            .await;
    }

    fn is_as_seen(&self) -> bool {
        match self.look() {
            Some((_, job)) => {
                let wanted = job.view.wanted.is_some_and(|wanted| wanted != Wanted::No);
                wanted && job.found == self.seen
            }
            None => false,
        }
    }

    async fn step(&mut self) -> OutboxResult<Next> {
        let Some((text, job)) = self.look() else {
            return Ok(Next::End);
        };
        self.seen.clone_from(&job.found);
        match next_job_step(&job.view) {
            JobStep::Rest => Ok(Next::End),
            JobStep::Hold(reason) => self.hold(&text, reason).await,
            JobStep::WaitForModels => {
                self.wait_for_models();
                Ok(Next::Pause(MAX_POLL_PAUSE))
            }
            JobStep::AskLater => {
                self.models = Models::Unknown;
                self.wait_for_models();
                Ok(Next::Pause(self.looks.next_pause()))
            }
            JobStep::Ask => self.ask(job.models()).await,
            JobStep::Join(request) => self.join(&text, request).await,
            JobStep::Send => {
                self.note(|task| *task = JobTask::default());
                self.models = Models::Unknown;
                self.send(&text, job).await
            }
        }
    }

    /// The state for the planner, and the text.
    fn look(&self) -> Option<(Vec<u8>, Job)> {
        let memory = self.parts.memory();
        let file = memory.book.files.get(&self.key)?;
        let text = file.text.0.clone();
        let request = text::read(self.key.folder, &self.key.name, &text);
        let found = match &request {
            Ok(request) => models_of(&*self.parts.own.deps, &memory, &self.key, request),
            Err(_) => Ok(None),
        };
        let models = match &found {
            Err(reason) => Models::Unusable(reason.clone()),
            Ok(None) => Models::NotThere,
            Ok(Some(_)) => self.models.clone(),
        };
        let mut job = Job {
            view: JobView {
                wanted: Some(file.wanted),
                wrong: request.as_ref().err().cloned(),
                sent_before: None,
                models,
            },
            request: request.ok(),
            found,
        };
        job.view.sent_before = sent_before(&memory, &self.key, job.models(), &text);
        Some((text, job))
    }

    /// Requests the state of the models.
    async fn ask(&mut self, models: &[ModelId]) -> OutboxResult<Next> {
        for model in models {
            let asked = self.ask_one(*model);
            let Some(reply) = self.parts.tasks.until_closed(asked).await else {
                return Ok(Next::End);
            };
            self.has_asked = true;
            match reply {
                Ok(Models::Ready) => {}
                Ok(other) => {
                    self.models = other;
                    return Ok(Next::Again);
                }
                Err(error) => return Ok(self.trouble(error)),
            }
        }
        self.models = Models::Ready;
        Ok(Next::Again)
    }

    async fn ask_one(&self, model: ModelId) -> Result<Models, ClientError> {
        let client = &self.parts.client;
        let gone = |what: &str| {
            Ok(Models::Unusable(format!(
                "the {what} does not exist any more"
            )))
        };
        match model {
            ModelId::Asset(asset) => {
                let complete = &self.parts.own.recent.complete;
                match self.parts.own.deps.import_of(asset) {
                    // The upload asks for it, too, but not as soon as a job is wanted.
                    ImportState::Importing if self.has_asked => return Ok(Models::NotReady),
                    ImportState::Imported => return Ok(Models::Ready),
                    _ if complete.get(&asset).is_some() => return Ok(Models::Ready),
                    ImportState::Importing | ImportState::Unknown => {}
                }
                match client.assets().get(asset, Priority::Interactive).await {
                    Ok(record) if record.upload_status == UploadStatus::Complete => {
                        complete.keep(asset, ());
                        Ok(Models::Ready)
                    }
                    Ok(_) => Ok(Models::NotReady),
                    Err(ClientError::NotFound { .. }) => gone("asset"),
                    Err(error) => Err(error),
                }
            }
            ModelId::Rapid(rapid) => {
                match client.rapids().get(rapid, Priority::Interactive).await {
                    Ok(record) if record.optimization_status.is_failure() => Ok(Models::Unusable(
                        "the rapid model could not be made".to_owned(),
                    )),
                    Ok(record) if record.optimization_status.is_final() => Ok(Models::Ready),
                    Ok(_) => Ok(Models::NotReady),
                    Err(ClientError::NotFound { .. }) => gone("rapid model"),
                    Err(error) => Err(error),
                }
            }
        }
    }

    fn wait_for_models(&self) {
        self.note(|task| {
            task.waits_for_model = true;
            task.trouble = None;
        });
    }

    async fn join(&self, text: &[u8], tag: String) -> OutboxResult<Next> {
        let job = self.key.clone();
        let next = self.decide(text, JobRecord::Joined { job, tag }).await?;
        self.parts.own.poll_wake.notify_one();
        Ok(next)
    }

    async fn send(&mut self, text: &[u8], job: Job) -> OutboxResult<Next> {
        let Some(request) = &job.request else {
            return Ok(Next::Again);
        };
        let models = job.models();
        let wanted = job.view.wanted.unwrap_or_default();
        let prepared = prepare(
            &self.parts,
            &self.key,
            text,
            request.clone(),
            models,
            wanted,
        );
        let mut outgoing = match prepared.await {
            Ok(outgoing) => outgoing,
            Err(Unresolved::Wrong(reason)) => return self.hold(text, reason).await,
            Err(Unresolved::Trouble(error)) => return Ok(self.trouble(error)),
            Err(Unresolved::Closed) => return Ok(Next::End),
        };
        let again = match self.intend(text, models, wanted, &outgoing).await? {
            Intent::Recorded { again } => again,
            Intent::Changed => return Ok(Next::Again),
            Intent::Later => return Ok(Next::Pause(self.looks.next_pause())),
        };
        let next = self.send_rest(&mut outgoing, again).await;
        self.release(&outgoing.request);
        self.report();
        next
    }

    /// Takes what the service has already, and sends the rest.
    async fn send_rest(&mut self, outgoing: &mut Outgoing, again: bool) -> OutboxResult<Next> {
        if !outgoing.made_before.is_empty() && !outgoing.are_named {
            // It may have been made of the same text under another name.
            let (job, is_named) = (self.key.clone(), false);
            self.parts
                .record(JobRecord::Named { job, is_named })
                .await?;
        }
        for (tag, rapid) in &outgoing.made_before {
            record_result(&self.parts, tag, Made::Rapid(*rapid)).await?;
        }
        if outgoing.leave_out_made() {
            return Ok(Next::End);
        }
        let reply = outgoing.send(&self.parts).await;
        self.conclude(outgoing, again, reply).await
    }

    /// Leaves a request without an outcome to the search.
    fn release(&self, request: &str) {
        self.parts.memory().calls.remove(request);
        self.parts.own.jobs_wake.notify_one();
    }

    /// Records that the request is about to be sent, unless it must not be sent now.
    async fn intend(
        &self,
        text: &[u8],
        models: &[ModelId],
        wanted: Wanted,
        outgoing: &Outgoing,
    ) -> OutboxResult<Intent> {
        let (ticket, again) = {
            let mut memory = self.parts.memory();
            let Some(file) = memory.book.files.get(&self.key) else {
                return Ok(Intent::Changed);
            };
            let again = file.wanted == Wanted::Again;
            // The request still fits if it is wanted as when it was prepared: only a request that is wanted once takes
            // known results.
            let stands = file.wanted == wanted && wanted != Wanted::No && file.text.0 == text;
            let sent = sent_before(&memory, &self.key, models, text);
            if !stands || (!again && sent.is_some()) {
                return Ok(Intent::Changed);
            }
            if outgoing
                .embed()
                .is_some_and(|it| memory.book.is_like_a_lost_one(it))
            {
                return Ok(Intent::Later);
            }
            let ticket = memory.record(outgoing.intent.clone())?;
            memory.calls.insert(outgoing.request.clone());
            (ticket, again)
        };
        match self.parts.journal.settle_async(ticket).await {
            Ok(()) => Ok(Intent::Recorded { again }),
            Err(error) => {
                // It was not sent, and must not count as sent.
                let tag = outgoing.request.clone();
                self.parts.memory().calls.remove(&tag);
                self.parts
                    .memory()
                    .record(JobRecord::NotSent { tag, again })?;
                Err(error)
            }
        }
    }

    async fn conclude(
        &mut self,
        outgoing: &Outgoing,
        again: bool,
        reply: Option<Result<Made, ClientError>>,
    ) -> OutboxResult<Next> {
        let tag = outgoing.request.clone();
        let error = match reply {
            // The next run searches for it.
            None => return Ok(Next::End),
            Some(Ok(made)) => {
                record_result(&self.parts, &tag, made).await?;
                return Ok(Next::End);
            }
            Some(Err(error)) => error,
        };
        match Effect::of(&error) {
            // The search for lost requests takes over.
            Effect::Unknown => Ok(Next::End),
            Effect::NotYet => {
                self.parts.record(JobRecord::NotSent { tag, again }).await?;
                Ok(self.trouble(error))
            }
            Effect::Refused | Effect::Gone => {
                let refused = JobRecord::Refused {
                    tag,
                    reason: refusal(&error, outgoing.named_preset),
                    account_full: error.is_account_full(),
                };
                self.parts.record(refused).await?;
                Ok(Next::End)
            }
        }
    }

    async fn hold(&self, text: &[u8], reason: String) -> OutboxResult<Next> {
        let job = self.key.clone();
        self.decide(text, JobRecord::Held { job, reason }).await
    }

    /// Writes `record` to the journal, unless the file was removed or has another text by now.
    async fn decide(&self, text: &[u8], record: JobRecord) -> OutboxResult<Next> {
        let ticket = {
            let mut memory = self.parts.memory();
            let file = memory.book.files.get(&self.key);
            if file.is_none_or(|file| file.text.0 != text) {
                return Ok(Next::Again);
            }
            memory.record(record)?
        };
        self.parts.journal.settle_async(ticket).await?;
        self.report();
        Ok(Next::End)
    }

    fn trouble(&mut self, error: ClientError) -> Next {
        let asked = error.retry_after().unwrap_or_default();
        let pause = asked.max(self.retries.next_pause());
        self.note(|task| {
            task.waits_for_model = false;
            task.trouble = Some(error);
        });
        Next::Pause(pause)
    }

    fn note(&self, change: impl FnOnce(&mut JobTask)) {
        if let Some(task) = self.parts.memory().tasks.get_mut(&self.key) {
            change(task);
        }
        self.report();
    }

    fn report(&self) {
        self.parts.changed(&self.key);
    }
}

fn refusal(error: &ClientError, asked: Option<PresetId>) -> String {
    let said = match error {
        ClientError::Rejected { message, .. } | ClientError::NotFound { message, .. }
            if !message.is_empty() =>
        {
            message.clone()
        }
        error => error.to_string(),
    };
    // Other refusals have other reasons, such as a lack of points.
    let may_be_the_preset = match error {
        ClientError::Rejected { status, .. } => matches!(status, 400 | 422),
        error => matches!(error, ClientError::NotFound { .. }),
    };
    match asked.filter(|_| may_be_the_preset) {
        Some(id) => format!(
            "the service refused \"preset_id\": {id}: {said} Write {{\"preset\": \"NAME\"}} with the name of a file in \
             presets/ or presets/factory/"
        ),
        None => said,
    }
}
