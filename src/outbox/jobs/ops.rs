//! What the drive does to the files of drop folders.

use std::collections::BTreeMap;

use crate::outbox::Outbox;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::events::OutboxEvent;
use crate::outbox::failpoint;
use crate::outbox::failpoint::Failpoint;
use crate::outbox::ids::{JobFolder, OwnerFolder};
use crate::outbox::jobs::info::{JobInfo, JobState};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::wire::RapidId;

use crate::outbox::jobs::book::{JobKey, JobRecord, Wanted};
use crate::outbox::jobs::request::models_of;
use crate::outbox::jobs::show::{canonical, info, is_answered, key_of, state};
use crate::outbox::jobs::text::many::ModelRef;
use crate::outbox::jobs::{send, text};

/// The longest text of a job or preset that is kept.
pub const TEXT_MAX_BYTES: usize = 8 << 20;

/// How a job that somebody waits for stands.
enum Standing {
    Settled(JobState),
    Going(JobState),
    Failed(OutboxError),
}

impl Outbox {
    /// The files of a drop folder, by name.
    pub fn job_entries(&self, folder: &JobFolder) -> Vec<JobInfo> {
        let core = self.shared.core();
        let folder = canonical(&core, *folder);
        let files = core.state.jobs.files.iter();
        files
            .filter(|(key, _)| key.folder == folder)
            .map(|(key, file)| info(&core, key, file))
            .collect()
    }

    /// One file of a drop folder.
    pub fn job(&self, folder: &JobFolder, name: &str) -> Option<JobInfo> {
        let core = self.shared.core();
        let key = key_of(&core, folder, name);
        let file = core.state.jobs.files.get(&key)?;
        Some(info(&core, &key, file))
    }

    /// All drop folders that hold something.
    pub fn job_folders(&self) -> Vec<JobFolder> {
        let core = self.shared.core();
        let mut folders: Vec<JobFolder> =
            core.state.jobs.files.keys().map(|key| key.folder).collect();
        folders.dedup();
        folders
    }

    /// Keeps the text of a job file. Local, durable on return, sends nothing.
    pub fn write_job_text(&self, folder: &JobFolder, name: &str, text: &[u8]) -> OutboxResult<()> {
        names::check_new(name)?;
        check_length(name, text)?;
        let (ticket, job) = {
            let mut core = self.shared.core();
            let job = key_of(&core, folder, name);
            let record = JobRecord::TextKept {
                job: job.clone(),
                text: Blob(text.to_vec()),
                at: Moment::now(),
            };
            (core.record(record)?, job)
        };
        self.shared.journal.settle(ticket)?;
        failpoint::hit(Failpoint::AfterJobText);
        send::tell(&self.shared, &job);
        Ok(())
    }

    /// Checks the text and sends it, unless it is empty, has a temporary name or was sent before.
    /// Answers within ten seconds: later answers come as events. Dropping the future stops nothing.
    pub async fn submit_job(&self, folder: &JobFolder, name: &str) -> OutboxResult<JobState> {
        self.want(folder, name, false).await
    }

    /// Sends a job again, whether or not its text was sent before: this pays again.
    pub async fn run_job(&self, folder: &JobFolder, name: &str) -> OutboxResult<JobState> {
        self.want(folder, name, true).await
    }

    /// Renames a job file, replacing another. Local, durable on return, sends nothing.
    pub fn rename_job(&self, folder: &JobFolder, from: &str, to: &str) -> OutboxResult<()> {
        names::check_new(to)?;
        let (ticket, old, new) = {
            let mut core = self.shared.core();
            let old = key_of(&core, folder, from);
            let new = key_of(&core, folder, to);
            if !core.state.jobs.files.contains_key(&old) {
                return Err(OutboxError::NotFound(from.to_owned()));
            }
            let record = JobRecord::Renamed {
                job: old.clone(),
                to: to.to_owned(),
            };
            (core.record(record)?, old, new)
        };
        self.shared.journal.settle(ticket)?;
        send::tell(&self.shared, &old);
        send::tell(&self.shared, &new);
        self.shared.job_news.notify_one();
        Ok(())
    }

    /// Removes a job file; what was not sent yet is cancelled.
    pub fn remove_job(&self, folder: &JobFolder, name: &str) -> OutboxResult<()> {
        let (ticket, job, there) = {
            let mut core = self.shared.core();
            let job = key_of(&core, folder, name);
            let there = core.state.jobs.files.contains_key(&job);
            let ticket = match there {
                true => core.record(JobRecord::Removed { job: job.clone() })?,
                // An earlier removal may not be durable yet: "not there" has to be true tomorrow, too.
                false => self.shared.journal.last(),
            };
            (ticket, job, there)
        };
        self.shared.journal.settle(ticket)?;
        if !there {
            return Err(OutboxError::NotFound(name.to_owned()));
        }
        send::tell(&self.shared, &job);
        Ok(())
    }

    /// The paths that a text for several assets names. Whoever knows paths answers with
    /// [`Outbox::set_job_paths`] before the job is submitted.
    pub fn paths_in_job(name: &str, text: &[u8]) -> OutboxResult<Vec<String>> {
        let items = text::many::parse(name, text).map_err(OutboxError::Invalid)?;
        let paths = items.into_iter().filter_map(|item| match item.model {
            ModelRef::Path(path) => Some(path),
            ModelRef::Id(_) => None,
        });
        Ok(paths.collect())
    }

    /// Says whose the paths in the text of a job for several assets are, as the job is submitted; they
    /// stay what they are when things are renamed later. Local, durable on return.
    pub fn set_job_paths(
        &self,
        name: &str,
        paths: BTreeMap<String, OwnerFolder>,
    ) -> OutboxResult<()> {
        let ticket = {
            let mut core = self.shared.core();
            let job = key_of(&core, &JobFolder::Multi, name);
            if !core.state.jobs.files.contains_key(&job) {
                return Err(OutboxError::NotFound(name.to_owned()));
            }
            core.record(JobRecord::PathsFound { job, paths })?
        };
        self.shared.journal.settle(ticket)
    }

    /// Tells that a rapid model is gone from the service: its drop folder goes with it.
    pub fn rapid_gone(&self, rapid: RapidId) {
        let recorded = {
            let mut core = self.shared.core();
            let folder = JobFolder::RapidEmbeds(rapid);
            let book = &core.state.jobs;
            if !book.files.keys().any(|key| key.folder == folder) {
                return;
            }
            // The journal is synced by whoever comes next: losing this means asking once more.
            core.record(JobRecord::RapidGone { rapid })
        };
        if recorded.is_ok() {
            self.shared.something_changed();
        }
    }

    /// Tells that an embed was made, changed or deleted elsewhere, for whoever shows them.
    pub fn embeds_changed(&self) {
        self.shared.events.tell(OutboxEvent::EmbedsChanged);
        self.shared.job_news.notify_one();
    }

    /// Tells that something happened to an optimization (a webhook came).
    pub fn jobs_changed(&self) {
        self.shared.progress_news.notify_one();
        self.shared.job_news.notify_one();
    }

    async fn want(&self, folder: &JobFolder, name: &str, again: bool) -> OutboxResult<JobState> {
        let (job, text, went) = {
            let core = self.shared.core();
            let job = key_of(&core, folder, name);
            let file = core.state.jobs.files.get(&job);
            let file = file.ok_or_else(|| OutboxError::NotFound(name.to_owned()))?;
            if !text::is_sendable(name, &file.text.0) && !again {
                return Ok(state(&core, &job, file));
            }
            let went = file.submission.is_some() || file.wanted != Wanted::No;
            let state = state(&core, &job, file);
            (job, file.text.0.clone(), went.then_some(state))
        };
        if let Some(state) = went.filter(|_| !again) {
            // Whoever wanted it first may have heard that the disk is full: it is durable now, or not
            // promised.
            self.shared.settle(self.shared.journal.last()).await?;
            return Ok(state);
        }
        if let Err(reason) = self.check_job(&job, &text) {
            let held = JobRecord::Held {
                job: job.clone(),
                reason: reason.clone(),
            };
            self.shared.record(held).await?;
            send::tell(&self.shared, &job);
            return Err(OutboxError::Invalid(reason));
        }
        let wanted = JobRecord::Wanted {
            job: job.clone(),
            again,
        };
        self.shared.record(wanted).await?;
        self.shared.job_news.notify_one();
        send::tell(&self.shared, &job);
        self.wait_for_answer(&job).await
    }

    /// Why a text is no job that could ever go out.
    fn check_job(&self, job: &JobKey, text: &[u8]) -> Result<(), String> {
        let request = text::read(job.folder, &job.name, text)?;
        models_of(&self.shared.core(), job, &request).map(|_| ())
    }

    async fn wait_for_answer(&self, job: &JobKey) -> OutboxResult<JobState> {
        let mut changes = self.shared.changes.subscribe();
        let wait = async {
            loop {
                match self.job_standing(job) {
                    Standing::Settled(state) => return Ok(state),
                    Standing::Failed(error) => return Err(error),
                    Standing::Going(_) => {}
                }
                if self.shared.is_closing() || changes.changed().await.is_err() {
                    return Err(OutboxError::ShutDown);
                }
            }
        };
        match tokio::time::timeout(self.shared.config.answer_within, wait).await {
            Ok(answer) => answer,
            Err(_elapsed) => match self.job_standing(job) {
                Standing::Settled(state) | Standing::Going(state) => Ok(state),
                Standing::Failed(error) => Err(error),
            },
        }
    }

    fn job_standing(&self, job: &JobKey) -> Standing {
        let core = self.shared.core();
        // The draft may have become an asset meanwhile, and the file gone with it.
        let key = key_of(&core, &job.folder, &job.name);
        let Some(file) = core.state.jobs.files.get(&key) else {
            return Standing::Failed(OutboxError::Cancelled(job.name.clone()));
        };
        if let Some(reason) = &file.failure {
            return Standing::Failed(OutboxError::Invalid(reason.clone()));
        }
        let state = state(&core, &key, file);
        let task = core.job_tasks.get(&key);
        if let Some(error) = task.and_then(|task| task.trouble.as_ref())
            && error.is_about_token()
        {
            return Standing::Failed(OutboxError::Service {
                what: format!("sending {}", job.name),
                source: error.clone(),
            });
        }
        let asked = file.submission.as_ref();
        let answered = asked.is_some_and(|request| is_answered(&core, request));
        let waits = task.is_some_and(|task| task.waits_for_model);
        if answered || waits || file.wanted == Wanted::No && file.submission.is_none() {
            Standing::Settled(state)
        } else {
            Standing::Going(state)
        }
    }
}

/// Refuses a text that is no text of a person.
pub fn check_length(name: &str, text: &[u8]) -> OutboxResult<()> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(OutboxError::Invalid(format!(
            "{name} has {} bytes; a job or preset has at most {TEXT_MAX_BYTES}",
            text.len()
        )));
    }
    Ok(())
}
