//! The states and statuses of the files of drop folders. Read-only.

use crate::outbox::ids::{JobFolder, OwnerFolder};
use crate::outbox::jobs::book::{EmbedStage, JobFile, JobKey, Submission, SubmissionStage, Wanted};
use crate::outbox::jobs::deps::{DraftModel, JobDeps};
use crate::outbox::jobs::info::{JobInfo, JobState};
use crate::outbox::jobs::memory::JobsMemory;
use crate::outbox::status::ItemStatus;
use crate::wire::{AssetId, EmbedId, RapidId};

/// The asset of a folder's owner, once the service has accepted it.
pub fn asset_of(deps: &dyn JobDeps, owner: OwnerFolder) -> Option<AssetId> {
    match owner {
        OwnerFolder::Asset(asset) => Some(asset),
        OwnerFolder::Draft(draft) => match deps.model_of(draft) {
            DraftModel::Asset(asset) => Some(asset),
            DraftModel::Expected | DraftModel::Removed => None,
        },
    }
}

/// The key of a file: in its asset's folder if the draft became an asset.
pub fn key_of(deps: &dyn JobDeps, folder: &JobFolder, name: &str) -> JobKey {
    JobKey {
        folder: canonical(deps, *folder),
        name: name.to_owned(),
    }
}

/// The asset's folder if the draft became an asset.
pub fn canonical(deps: &dyn JobDeps, folder: JobFolder) -> JobFolder {
    let asset = folder.owner().and_then(|owner| asset_of(deps, owner));
    asset.map_or(folder, |asset| folder.of_owner(OwnerFolder::Asset(asset)))
}

/// True if the service has answered a request, or the request is no longer in the book.
pub fn is_answered(memory: &JobsMemory, request: &str) -> bool {
    let book = &memory.book;
    let embed = book.embeds.get(request);
    let optimizations = book.optimizations_of(request);
    let waits = optimizations
        .iter()
        .any(|(_, it)| it.stage == SubmissionStage::Sent && it.group.is_none());
    !waits && embed.is_none_or(|it| it.stage != EmbedStage::Sent)
}

/// The state of a file.
pub fn state(memory: &JobsMemory, key: &JobKey, file: &JobFile) -> JobState {
    if let Some(reason) = &file.failure {
        let reason = reason.clone();
        return JobState::Failed { reason };
    }
    if file.wanted != Wanted::No {
        let task = memory.tasks.get(key);
        let waits = task.is_some_and(|task| task.waits_for_model);
        return match waits {
            true => JobState::Waiting,
            false => JobState::Queued,
        };
    }
    let Some(request) = &file.submission else {
        return JobState::Editing;
    };
    if let Some(embed) = memory.book.embeds.get(request) {
        return match embed.stage {
            EmbedStage::Sent => JobState::Queued,
            EmbedStage::Made { .. } => JobState::Done,
            EmbedStage::Unknown => JobState::Unknown,
        };
    }
    let submissions = memory.book.optimizations_of(request);
    match submissions[..] {
        [] => JobState::Unknown,
        [(tag, only)] => state_of(memory, tag, only),
        _ => state_of_all(memory, &submissions),
    }
}

fn state_of(memory: &JobsMemory, tag: &str, submission: &Submission) -> JobState {
    match &submission.stage {
        SubmissionStage::Unknown => JobState::Unknown,
        SubmissionStage::Sent => JobState::Queued,
        SubmissionStage::Taken { .. } => match memory.progress.get(tag) {
            None | Some(0) => JobState::Queued,
            Some(percent) => JobState::Running { percent: *percent },
        },
        SubmissionStage::Done { .. } => JobState::Done,
        SubmissionStage::Failed { reason, .. } => JobState::Failed {
            reason: reason.clone(),
        },
    }
}

/// The state of several optimizations as one. Running counts before ended, and failed or unknown before done.
fn state_of_all(memory: &JobsMemory, submissions: &[(&String, &Submission)]) -> JobState {
    let states: Vec<JobState> = submissions
        .iter()
        .map(|(tag, submission)| state_of(memory, tag, submission))
        .collect();
    let mut percent = 0;
    let mut running = false;
    let mut failures = Vec::new();
    for state in &states {
        match state {
            JobState::Running { percent: own } => {
                running = true;
                percent += usize::from(*own);
            }
            JobState::Queued => running = true,
            JobState::Failed { reason } => failures.push(reason.as_str()),
            JobState::Done => percent += 100,
            JobState::Editing | JobState::Waiting | JobState::Unknown => {}
        }
    }
    let total = states.len();
    match failures.first() {
        _ if running && percent == 0 => JobState::Queued,
        _ if running => JobState::Running {
            percent: (percent / total).min(99) as u8,
        },
        Some(first) => JobState::Failed {
            reason: format!("{} of {total} failed: {first}", failures.len()),
        },
        None if states.contains(&JobState::Unknown) => JobState::Unknown,
        None => JobState::Done,
    }
}

/// Why the service has not begun with an optimization of the file.
fn obstacle_of(memory: &JobsMemory, file: &JobFile) -> Option<String> {
    let submissions = memory.book.optimizations_of(file.submission.as_ref()?);
    let mut obstacles = submissions
        .iter()
        .filter_map(|(tag, _)| memory.obstacles.get(*tag));
    obstacles.next().cloned()
}

pub fn info(memory: &JobsMemory, key: &JobKey, file: &JobFile) -> JobInfo {
    let state = state(memory, key, file);
    let task = memory.tasks.get(key);
    let trouble = task.and_then(|task| task.trouble.as_ref());
    let status = match (&state, trouble) {
        (JobState::Editing, _) => ItemStatus::NotSent,
        (JobState::Waiting, _) => ItemStatus::WaitingForModel { folder: key.folder },
        (JobState::Queued, trouble) => ItemStatus::Queued {
            obstacle: trouble
                .map(ToString::to_string)
                .or_else(|| obstacle_of(memory, file)),
        },
        (JobState::Running { percent }, _) => ItemStatus::Running {
            percent: *percent,
            seconds_left: None,
        },
        (JobState::Done, _) => ItemStatus::Done,
        (JobState::Failed { reason }, _) => ItemStatus::Failed {
            reason: reason.clone(),
        },
        (JobState::Unknown, _) => ItemStatus::Unknown { folder: key.folder },
    };
    let failure = match &state {
        JobState::Failed { reason } => Some(reason.clone()),
        JobState::Unknown => Some(status.to_string()),
        _ => trouble.map(ToString::to_string),
    };
    let rapids = rapids_of(memory, file);
    JobInfo {
        name: key.name.clone(),
        text: file.text.0.clone(),
        rapid: (key.folder != JobFolder::Multi)
            .then(|| rapids.first().copied())
            .flatten(),
        rapids,
        embed: embed_of(memory, file),
        mtime: file.at.into(),
        maker: file.maker,
        state,
        status,
        failure,
    }
}

fn rapids_of(memory: &JobsMemory, file: &JobFile) -> Vec<RapidId> {
    let Some(request) = &file.submission else {
        return Vec::new();
    };
    let submissions = memory.book.optimizations_of(request);
    let rapids = submissions.iter().filter_map(|(_, it)| it.stage.rapid());
    let mut rapids: Vec<RapidId> = rapids.collect();
    // Their tags are random.
    rapids.sort();
    rapids
}

fn embed_of(memory: &JobsMemory, file: &JobFile) -> Option<EmbedId> {
    let request = file.submission.as_ref()?;
    match memory.book.embeds.get(request)?.stage {
        EmbedStage::Made { embed } => Some(embed),
        EmbedStage::Sent | EmbedStage::Unknown => None,
    }
}
