//! What the files of drop folders show: how far each is, and in which words. Reads the core and changes
//! nothing.

use crate::outbox::core::Core;
use crate::outbox::ids::{JobFolder, OwnerFolder};
use crate::outbox::jobs::book::{EmbedStage, JobFile, JobKey, Submission, SubmissionStage, Wanted};
use crate::outbox::jobs::info::{JobInfo, JobState};
use crate::outbox::status::ItemStatus;
use crate::wire::{AssetId, EmbedId, RapidId};

/// The asset that a draft has become, as soon as the service has accepted it.
pub fn asset_of(core: &Core, owner: OwnerFolder) -> Option<AssetId> {
    let draft = match owner {
        OwnerFolder::Asset(asset) => return Some(asset),
        OwnerFolder::Draft(draft) => draft,
    };
    let present = core.state.drafts.get(&draft);
    let present = present.and_then(|draft| draft.accepted_asset());
    let sent = || {
        let mut records = core.state.sent.values();
        let record = records.find(|record| record.draft == draft);
        record.map(|record| record.asset)
    };
    present.or_else(sent)
}

/// A file by its asset's folder where the draft has become one.
pub fn key_of(core: &Core, folder: &JobFolder, name: &str) -> JobKey {
    JobKey {
        folder: canonical(core, *folder),
        name: name.to_owned(),
    }
}

/// A folder by its asset where the draft has become one.
pub fn canonical(core: &Core, folder: JobFolder) -> JobFolder {
    let asset = folder.owner().and_then(|owner| asset_of(core, owner));
    asset.map_or(folder, |asset| folder.of_owner(OwnerFolder::Asset(asset)))
}

/// True when the service has answered to a request, or nobody knows of it any more.
pub fn is_answered(core: &Core, request: &str) -> bool {
    let book = &core.state.jobs;
    let embed = book.embeds.get(request);
    let optimizations = book.optimizations_of(request);
    let waits = optimizations
        .iter()
        .any(|(_, it)| it.stage == SubmissionStage::Sent && it.group.is_none());
    !waits && embed.is_none_or(|it| it.stage != EmbedStage::Sent)
}

/// How far a file is.
pub fn state(core: &Core, key: &JobKey, file: &JobFile) -> JobState {
    if let Some(reason) = &file.failure {
        let reason = reason.clone();
        return JobState::Failed { reason };
    }
    if file.wanted != Wanted::No {
        let task = core.job_tasks.get(key);
        let waits = task.is_some_and(|task| task.waits_for_model);
        return match waits {
            true => JobState::Waiting,
            false => JobState::Queued,
        };
    }
    let Some(request) = &file.submission else {
        return JobState::Editing;
    };
    if let Some(embed) = core.state.jobs.embeds.get(request) {
        return match embed.stage {
            EmbedStage::Sent => JobState::Queued,
            EmbedStage::Made { .. } => JobState::Done,
            EmbedStage::Unknown => JobState::Unknown,
        };
    }
    let submissions = core.state.jobs.optimizations_of(request);
    match submissions[..] {
        [] => JobState::Unknown,
        [(tag, only)] => state_of(core, tag, only),
        _ => state_of_all(core, &submissions),
    }
}

fn state_of(core: &Core, tag: &str, submission: &Submission) -> JobState {
    match &submission.stage {
        SubmissionStage::Unknown => JobState::Unknown,
        SubmissionStage::Sent => JobState::Queued,
        SubmissionStage::Taken { .. } => match core.job_progress.get(tag) {
            None | Some(0) => JobState::Queued,
            Some(percent) => JobState::Running { percent: *percent },
        },
        SubmissionStage::Done { .. } => JobState::Done,
        SubmissionStage::Failed { reason, .. } => JobState::Failed {
            reason: reason.clone(),
        },
    }
}

/// How far several are as one: what still runs counts before what has ended, and what failed or is
/// unknown before what is done.
fn state_of_all(core: &Core, submissions: &[(&String, &Submission)]) -> JobState {
    let states: Vec<JobState> = submissions
        .iter()
        .map(|(tag, submission)| state_of(core, tag, submission))
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

/// What a file shows.
pub fn info(core: &Core, key: &JobKey, file: &JobFile) -> JobInfo {
    let state = state(core, key, file);
    let task = core.job_tasks.get(key);
    let trouble = task.and_then(|task| task.trouble.as_ref());
    let status = match (&state, trouble) {
        (JobState::Editing, _) => ItemStatus::NotSent,
        (JobState::Waiting, _) => ItemStatus::WaitingForModel { folder: key.folder },
        (JobState::Queued, trouble) => ItemStatus::Queued {
            obstacle: trouble.map(ToString::to_string),
        },
        (JobState::Running { percent }, _) => ItemStatus::Running { percent: *percent },
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
    let rapids = rapids_of(core, file);
    JobInfo {
        name: key.name.clone(),
        text: file.text.0.clone(),
        rapid: (key.folder != JobFolder::Multi)
            .then(|| rapids.first().copied())
            .flatten(),
        rapids,
        embed: embed_of(core, file),
        mtime: file.at.into(),
        state,
        status,
        failure,
    }
}

fn rapids_of(core: &Core, file: &JobFile) -> Vec<RapidId> {
    let Some(request) = &file.submission else {
        return Vec::new();
    };
    let submissions = core.state.jobs.optimizations_of(request);
    let rapids = submissions.iter().filter_map(|(_, it)| it.stage.rapid());
    let mut rapids: Vec<RapidId> = rapids.collect();
    // The order of their tags means nothing.
    rapids.sort();
    rapids
}

fn embed_of(core: &Core, file: &JobFile) -> Option<EmbedId> {
    let request = file.submission.as_ref()?;
    match core.state.jobs.embeds.get(request)?.stage {
        EmbedStage::Made { embed } => Some(embed),
        EmbedStage::Sent | EmbedStage::Unknown => None,
    }
}
