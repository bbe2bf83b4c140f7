//! Operations on the files of drop folders.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::{Caller, JobFolder, Maker, OwnerFolder};
use crate::outbox::jobs::book::{JobKey, JobRecord, Wanted};
use crate::outbox::jobs::info::{JobInfo, JobState};
use crate::outbox::jobs::parts::JobParts;
use crate::outbox::jobs::request::models_of;
use crate::outbox::jobs::show::{canonical, info, is_answered, key_of, state};
use crate::outbox::jobs::tagged::TaggedModels;
use crate::outbox::jobs::text::many::ModelRef;
use crate::outbox::jobs::used_preset::used_config;
use crate::outbox::jobs::{follow, send, text};
use crate::outbox::journal::Ticket;
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::texts::{check_length, is_sendable, text_stem};
use crate::outbox::{failpoint, names};
use crate::wire::{AssetId, OptimizerConfig, RapidId, RapidModel};

/// Whether a text that was sent before is sent again, which pays again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunAgain {
    Never,
    /// To make this result again, if that was not asked for before and its last request has an outcome.
    After(RapidId),
    Always,
}

/// The state of a job that a caller waits for.
enum JobStanding {
    Settled(JobState),
    Going(JobState),
    Failed(OutboxError),
}

/// The files of drop folders.
#[derive(Clone)]
pub struct Jobs {
    pub(in crate::outbox) parts: Arc<JobParts>,
}

/// Starts the tasks that run until the outbox closes.
pub fn start(parts: &Arc<JobParts>) {
    parts.tasks.spawn(send::run(Arc::clone(parts)));
    parts.tasks.spawn(follow::run(Arc::clone(parts)));
    parts.own.jobs_wake.notify_one();
}

impl Jobs {
    /// True if the asset was optimized from here.
    pub fn knows_asset(&self, asset: AssetId) -> bool {
        let memory = self.parts.memory();
        let mut submissions = memory.book.submissions.values();
        submissions.any(|it| it.asset == asset)
    }

    /// True if a text of this machine with this name (without extension) was made into the optimized model, and the name has
    /// been removed here since.
    pub fn has_removed_name(&self, rapid: RapidId, name: &str) -> bool {
        let memory = self.parts.memory();
        let mut submissions = memory.book.submissions.values();
        submissions.any(|it| it.stage.rapid() == Some(rapid) && it.former_names.contains(name))
    }

    /// The results of an asset that do not have the names of their texts yet, each with that name (without extension).
    pub fn unnamed(&self, asset: AssetId) -> Vec<(String, RapidId)> {
        let unnamed = self.parts.memory().book.unnamed().into_iter();
        unnamed
            .filter(|(_, of, _)| *of == asset)
            .map(|(job, _, rapid)| (text_stem(&job.name).to_owned(), rapid))
            .collect()
    }

    /// The configuration that the service says a rapid model was made with; `None` if it does not tell.
    pub async fn used_config(&self, rapid: RapidId) -> OutboxResult<Option<OptimizerConfig>> {
        let used = used_config(&self.parts, rapid).await;
        used.map_err(|source| OutboxError::Service {
            what: "asking which preset a result was made with".to_owned(),
            source,
        })
    }

    /// The files of a drop folder, by name.
    pub fn in_folder(&self, folder: &JobFolder) -> Vec<JobInfo> {
        let memory = self.parts.memory();
        let folder = canonical(&*self.parts.own.deps, *folder);
        let files = memory.book.files.iter();
        files
            .filter(|(key, _)| key.folder == folder)
            .map(|(key, file)| info(&memory, key, file))
            .collect()
    }

    /// One file of a drop folder.
    pub fn get(&self, folder: &JobFolder, name: &str) -> Option<JobInfo> {
        let memory = self.parts.memory();
        let key = key_of(&*self.parts.own.deps, folder, name);
        let file = memory.book.files.get(&key)?;
        Some(info(&memory, &key, file))
    }

    /// The file of a drop folder that a rapid model was made with, if it was sent from here. `tags` are the tags in its
    /// record: it carries that of its request until the answer is recorded.
    pub fn text_of<'a>(
        &self,
        rapid: RapidId,
        tags: impl Iterator<Item = &'a str>,
    ) -> Option<String> {
        let memory = self.parts.memory();
        let key = memory.book.key_of_rapid(rapid, tags)?;
        Some(key.name)
    }

    /// All drop folders with files.
    pub fn folders(&self) -> Vec<JobFolder> {
        let memory = self.parts.memory();
        let mut folders: Vec<JobFolder> = memory.book.files.keys().map(|key| key.folder).collect();
        folders.dedup();
        folders
    }

    /// Makes an empty job file, which belongs to the caller. Local; durable on return; sends nothing.
    pub fn create(&self, folder: &JobFolder, name: &str, caller: &Caller) -> OutboxResult<()> {
        let maker = Maker::of(caller, self.parts.config.owner);
        self.keep(folder, name, b"", maker)
    }

    /// Jobs that are sent soon need not ask whether this asset is complete.
    pub fn asset_is_complete(&self, asset: AssetId) {
        self.parts.own.recent.complete.keep(asset, ());
    }

    /// The same for the results of an asset, as the service has just listed them.
    pub fn results_are(&self, asset: AssetId, results: &[RapidModel]) {
        // A list may omit the tags.
        if results.iter().any(|model| model.tags.is_empty()) {
            return;
        }
        let models = Arc::new(TaggedModels::newest_first(results.to_vec()));
        self.parts.own.recent.results.keep(asset, models);
    }

    /// Stores the text of a job file. Local; durable on return; sends nothing.
    pub fn write(&self, folder: &JobFolder, name: &str, text: &[u8]) -> OutboxResult<()> {
        self.keep(folder, name, text, None)
    }

    fn keep(
        &self,
        folder: &JobFolder,
        name: &str,
        text: &[u8],
        maker: Option<Maker>,
    ) -> OutboxResult<()> {
        names::check_new(name)?;
        check_length(name, text)?;
        let (ticket, job) = {
            let mut memory = self.parts.memory();
            let job = key_of(&*self.parts.own.deps, folder, name);
            let record = JobRecord::TextKept {
                job: job.clone(),
                text: Blob(text.to_vec()),
                at: Moment::now(),
                maker,
            };
            (memory.record(record)?, job)
        };
        self.parts.journal.settle(ticket)?;
        failpoint::hit(Failpoint::AfterJobText);
        self.parts.changed(&job);
        Ok(())
    }

    /// Checks the text and sends it, unless it is empty, has a temporary name or was sent before. Returns within ten
    /// seconds; later answers are events. Dropping the future stops nothing.
    pub async fn submit(&self, folder: &JobFolder, name: &str) -> OutboxResult<JobState> {
        self.want(folder, name, RunAgain::Never).await
    }

    /// Sends a job, also if its text was sent before: this pays again.
    pub async fn run(&self, folder: &JobFolder, name: &str) -> OutboxResult<JobState> {
        self.want(folder, name, RunAgain::Always).await
    }

    /// Sends a job whose result `after` is to be made again, unless a request of it is wanted or has no outcome yet. Several
    /// callers at once pay once, also on several machines if the service knows idempotency keys.
    pub async fn run_after(
        &self,
        folder: &JobFolder,
        name: &str,
        after: RapidId,
    ) -> OutboxResult<JobState> {
        self.want(folder, name, RunAgain::After(after)).await
    }

    /// Renames a job file; replaces another. Local; durable on return; sends nothing.
    pub fn rename(&self, folder: &JobFolder, from: &str, to: &str) -> OutboxResult<()> {
        names::check_new(to)?;
        let (ticket, old, new) = {
            let mut memory = self.parts.memory();
            let old = key_of(&*self.parts.own.deps, folder, from);
            let new = key_of(&*self.parts.own.deps, folder, to);
            if !memory.book.files.contains_key(&old) {
                return Err(OutboxError::NotFound(from.to_owned()));
            }
            let record = JobRecord::Renamed {
                job: old.clone(),
                to: to.to_owned(),
            };
            (memory.record(record)?, old, new)
        };
        self.parts.journal.settle(ticket)?;
        self.parts.changed(&old);
        self.parts.changed(&new);
        self.parts.own.jobs_wake.notify_one();
        Ok(())
    }

    /// Removes a job file; cancels it if it was not sent yet.
    pub fn remove(&self, folder: &JobFolder, name: &str) -> OutboxResult<()> {
        let (ticket, job, there) = {
            let mut memory = self.parts.memory();
            let job = key_of(&*self.parts.own.deps, folder, name);
            let there = memory.book.files.contains_key(&job);
            let ticket = match there {
                true => memory.record(JobRecord::Removed { job: job.clone() })?,
                // An earlier removal may not be durable yet. "Not found" is answered once it is.
                false => self.parts.journal.last(),
            };
            (ticket, job, there)
        };
        self.parts.journal.settle(ticket)?;
        if !there {
            return Err(OutboxError::NotFound(name.to_owned()));
        }
        self.parts.changed(&job);
        Ok(())
    }

    /// The paths in a text for several assets. The drive resolves them with [`Jobs::set_paths`] before it submits the
    /// job.
    pub fn paths_in(name: &str, text: &[u8]) -> OutboxResult<Vec<String>> {
        let items = text::many::parse(name, text).map_err(OutboxError::Invalid)?;
        let paths = items.into_iter().filter_map(|item| match item.model {
            ModelRef::Path(path) => Some(path),
            ModelRef::Id(_) => None,
        });
        Ok(paths.collect())
    }

    /// Stores the owners of the paths in a job for several assets. Later renames do not change them. Local; durable
    /// on return.
    pub fn set_paths(&self, name: &str, paths: BTreeMap<String, OwnerFolder>) -> OutboxResult<()> {
        let ticket = {
            let mut memory = self.parts.memory();
            let job = key_of(&*self.parts.own.deps, &JobFolder::Multi, name);
            if !memory.book.files.contains_key(&job) {
                return Err(OutboxError::NotFound(name.to_owned()));
            }
            memory.record(JobRecord::PathsFound { job, paths })?
        };
        self.parts.journal.settle(ticket)
    }

    /// Handles that a rapid model is gone from the service: removes its drop folder.
    pub fn rapid_gone(&self, rapid: RapidId) {
        let has_it = |models: &Arc<TaggedModels>| models.0.iter().any(|model| model.id == rapid);
        self.parts.own.recent.results.forget_if(has_it);
        let mut memory = self.parts.memory();
        let folder = JobFolder::RapidEmbeds(rapid);
        if !memory.book.files.keys().any(|key| key.folder == folder) {
            return;
        }
        // The next sync makes it durable. If it is lost, the model is requested once more.
        if let Err(error) = memory.record(JobRecord::RapidGone { rapid }) {
            tracing::debug!(%rapid, %error, "the files of a rapid model that is gone are removed later");
        }
    }

    /// Handles that an embed was made, changed or deleted elsewhere.
    pub fn embeds_changed(&self) {
        self.parts.events.send(OutboxEvent::EmbedsChanged);
        self.parts.own.jobs_wake.notify_one();
    }

    /// Handles a webhook about an optimization: running jobs are polled now.
    pub fn changed(&self) {
        self.parts.own.poll_wake.notify_one();
        self.parts.own.jobs_wake.notify_one();
    }

    async fn want(
        &self,
        folder: &JobFolder,
        name: &str,
        repeat: RunAgain,
    ) -> OutboxResult<JobState> {
        let (job, text, went) = {
            let memory = self.parts.memory();
            let job = key_of(&*self.parts.own.deps, folder, name);
            let file = memory.book.files.get(&job);
            let file = file.ok_or_else(|| OutboxError::NotFound(name.to_owned()))?;
            if !is_sendable(name, &file.text.0) && repeat == RunAgain::Never {
                return Ok(state(&memory, &job, file));
            }
            let went = file.submission.is_some() || file.wanted != Wanted::No;
            let state = state(&memory, &job, file);
            (job, file.text.0.clone(), went.then_some(state))
        };
        if let Some(state) = went.filter(|_| repeat == RunAgain::Never) {
            // An earlier caller may have got the error of a full disk. So the record must be durable before this
            // returns.
            self.parts
                .journal
                .settle_async(self.parts.journal.last())
                .await?;
            return Ok(state);
        }
        if let Err(reason) = self.check_job(&job, &text) {
            let held = JobRecord::Held {
                job: job.clone(),
                reason: reason.clone(),
            };
            self.parts.record(held).await?;
            self.parts.changed(&job);
            return Err(OutboxError::Invalid(reason));
        }
        let ticket = self.record_wanted(&job, repeat)?;
        self.parts.journal.settle_async(ticket).await?;
        self.parts.own.jobs_wake.notify_one();
        self.parts.changed(&job);
        self.wait_for_answer(&job).await
    }

    /// Records that a job is to be sent; with [`RunAgain::After`] not while it is under way. Both under one lock, so that of
    /// several callers one makes the record.
    fn record_wanted(&self, job: &JobKey, repeat: RunAgain) -> OutboxResult<Ticket> {
        let mut memory = self.parts.memory();
        let after = match repeat {
            RunAgain::After(after) => Some(after),
            RunAgain::Never | RunAgain::Always => None,
        };
        if after.is_some()
            && let Some(file) = memory.book.files.get(job)
            && (state(&memory, job, file).is_under_way()
                || file.after == after && file.submission.is_some())
        {
            return Ok(self.parts.journal.last());
        }
        memory.record(JobRecord::Wanted {
            job: job.clone(),
            again: repeat != RunAgain::Never,
            after,
        })
    }

    /// Checks that the text is a valid job.
    fn check_job(&self, job: &JobKey, text: &[u8]) -> Result<(), String> {
        let request = text::read(job.folder, &job.name, text)?;
        models_of(&*self.parts.own.deps, &self.parts.memory(), job, &request).map(|_| ())
    }

    async fn wait_for_answer(&self, job: &JobKey) -> OutboxResult<JobState> {
        let answer = self.parts.until(|| match self.job_standing(job) {
            JobStanding::Settled(state) => Some(Ok(state)),
            JobStanding::Failed(error) => Some(Err(error)),
            JobStanding::Going(_) => None,
        });
        match tokio::time::timeout(self.parts.config.answer_within, answer).await {
            Ok(answer) => answer?,
            Err(_elapsed) => match self.job_standing(job) {
                JobStanding::Settled(state) | JobStanding::Going(state) => Ok(state),
                JobStanding::Failed(error) => Err(error),
            },
        }
    }

    fn job_standing(&self, job: &JobKey) -> JobStanding {
        let memory = self.parts.memory();
        // The draft may have become an asset meanwhile, or was removed with the file.
        let key = key_of(&*self.parts.own.deps, &job.folder, &job.name);
        let Some(file) = memory.book.files.get(&key) else {
            return JobStanding::Failed(OutboxError::Cancelled(job.name.clone()));
        };
        if let Some(reason) = &file.failure {
            let reason = reason.clone();
            return JobStanding::Failed(match file.account_full {
                true => OutboxError::AccountFull(reason),
                false => OutboxError::Invalid(reason),
            });
        }
        let state = state(&memory, &key, file);
        let task = memory.tasks.get(&key);
        if let Some(error) = task.and_then(|task| task.trouble.as_ref())
            && error.is_about_token()
        {
            return JobStanding::Failed(OutboxError::Service {
                what: format!("sending {}", job.name),
                source: error.clone(),
            });
        }
        let asked = file.submission.as_ref();
        // A request for several assets counts as sent as soon as its record is written, so the call has to have ended, too.
        let answered = asked.is_some_and(|request| {
            !memory.calls.contains(request) && is_answered(&memory, request)
        });
        let waits = task.is_some_and(|task| task.waits_for_model);
        if answered || waits || file.wanted == Wanted::No && file.submission.is_none() {
            JobStanding::Settled(state)
        } else {
            JobStanding::Going(state)
        }
    }
}
