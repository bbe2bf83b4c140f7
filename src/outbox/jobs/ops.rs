//! What the drive does to the files of drop folders.

use crate::outbox::Outbox;
use crate::outbox::core::Core;
use crate::outbox::draft::names;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::failpoint::{self, Failpoint};
use crate::outbox::journal::record::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::types::{JobFolder, JobInfo, JobState, OwnerFolder};

use super::book::{JobFile, JobKey, JobRecord, SubmissionStage, Wanted};
use super::{send, text};

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
        let (ticket, job) = {
            let mut core = self.shared.core();
            let job = key_of(&core, folder, name);
            if !core.state.jobs.files.contains_key(&job) {
                return Err(OutboxError::NotFound(name.to_owned()));
            }
            (core.record(JobRecord::Removed { job: job.clone() })?, job)
        };
        self.shared.journal.settle(ticket)?;
        send::tell(&self.shared, &job);
        Ok(())
    }

    /// Tells that something happened to an optimization (a webhook came).
    pub fn jobs_changed(&self) {
        self.shared.progress_news.notify_one();
        self.shared.job_news.notify_one();
    }

    async fn want(&self, folder: &JobFolder, name: &str, again: bool) -> OutboxResult<JobState> {
        let (job, text) = {
            let core = self.shared.core();
            let job = key_of(&core, folder, name);
            let file = core.state.jobs.files.get(&job);
            let file = file.ok_or_else(|| OutboxError::NotFound(name.to_owned()))?;
            if !text::is_sendable(name, &file.text.0) && !again {
                return Ok(state(&core, &job, file));
            }
            let went = file.submission.is_some() || file.wanted != Wanted::No;
            if went && !again {
                return Ok(state(&core, &job, file));
            }
            (job, file.text.0.clone())
        };
        if let Err(reason) = text::parse(name, &text) {
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
        let asked = file
            .submission
            .as_ref()
            .and_then(|tag| core.state.jobs.submissions.get(tag));
        let answered = asked.is_some_and(|it| it.stage != SubmissionStage::Sent);
        let waits = task.is_some_and(|task| task.waits_for_asset);
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

/// A folder by its asset where the draft has become one.
fn canonical(core: &Core, folder: JobFolder) -> JobFolder {
    let JobFolder::Optimize(owner) = folder;
    let OwnerFolder::Draft(draft) = owner else {
        return folder;
    };
    let present = core
        .state
        .drafts
        .get(&draft)
        .and_then(|draft| draft.accepted_asset());
    let sent = || {
        let mut records = core.state.sent.values();
        records
            .find(|record| record.draft == draft)
            .map(|record| record.asset)
    };
    match present.or_else(sent) {
        Some(asset) => JobFolder::Optimize(OwnerFolder::Asset(asset)),
        None => folder,
    }
}

fn key_of(core: &Core, folder: &JobFolder, name: &str) -> JobKey {
    JobKey {
        folder: canonical(core, *folder),
        name: name.to_owned(),
    }
}

fn state(core: &Core, key: &JobKey, file: &JobFile) -> JobState {
    if let Some(reason) = &file.failure {
        return JobState::Failed {
            reason: reason.clone(),
        };
    }
    if file.wanted != Wanted::No {
        let waits = core
            .job_tasks
            .get(key)
            .is_some_and(|task| task.waits_for_asset);
        return if waits {
            JobState::Waiting
        } else {
            JobState::Queued
        };
    }
    let Some(tag) = &file.submission else {
        return JobState::Editing;
    };
    match core
        .state
        .jobs
        .submissions
        .get(tag)
        .map(|submission| &submission.stage)
    {
        None | Some(SubmissionStage::Unknown) => JobState::Unknown,
        Some(SubmissionStage::Sent) => JobState::Queued,
        Some(SubmissionStage::Taken { .. }) => match core.job_progress.get(tag) {
            None | Some(0) => JobState::Queued,
            Some(percent) => JobState::Running { percent: *percent },
        },
        Some(SubmissionStage::Done { rapid }) => JobState::Done { rapid: *rapid },
        Some(SubmissionStage::Failed { reason, .. }) => JobState::Failed {
            reason: reason.clone(),
        },
    }
}

fn info(core: &Core, key: &JobKey, file: &JobFile) -> JobInfo {
    let state = state(core, key, file);
    let task = core.job_tasks.get(key);
    let trouble = task.and_then(|task| task.trouble.as_ref());
    let status_text = match (&state, trouble) {
        (JobState::Waiting, _) => "waiting for the asset to be complete".to_owned(),
        (JobState::Queued, Some(error)) => format!("queued ({error}; it is tried again by itself)"),
        (JobState::Unknown, _) => {
            "unknown: nobody can tell whether the service has it; `assetfs run` sends it again and pays again".to_owned()
        }
        (state, _) => state.status_text(),
    };
    let submission = file
        .submission
        .as_ref()
        .and_then(|tag| core.state.jobs.submissions.get(tag));
    let failure = match &state {
        JobState::Failed { reason } => Some(reason.clone()),
        JobState::Unknown => Some(status_text.clone()),
        _ => trouble.map(ToString::to_string),
    };
    JobInfo {
        name: key.name.clone(),
        text: file.text.0.clone(),
        rapid: submission.and_then(|submission| submission.stage.rapid()),
        mtime: file.at.into(),
        state,
        status_text,
        failure,
    }
}
