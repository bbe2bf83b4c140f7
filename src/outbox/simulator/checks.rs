//! Checks at the end of a run, after a long time without faults.

use std::collections::{BTreeMap, BTreeSet};

use crate::outbox::Outbox;
use crate::outbox::drafts::{DraftPhase, Stage};
use crate::outbox::jobs::{EmbedStage, JobState, SubmissionStage, Wanted};
use crate::outbox::presets::PresetState;
use crate::outbox::simulator::goals::{
    DraftGoal, Files, Goals, JobGoal, JobKind, PresetGoal, asset_names,
};
use crate::outbox::simulator::network::SimulatedService;
use crate::outbox::simulator::service::{Asset, Holdings};

/// What is unfinished, if anything.
pub fn unfinished(outbox: &Outbox) -> Option<String> {
    let going = outbox
        .drafts()
        .all()
        .into_iter()
        .find(|draft| draft.phase != DraftPhase::ImportFailed);
    if let Some(draft) = going {
        return Some(format!("{}: {}", draft.name, draft.status));
    }
    let machines = &outbox.owner.machines;
    if let Some(asset) = machines.drafts.memory().state.discards.first() {
        return Some(format!("asset {asset} is to be deleted"));
    }
    let wanted = {
        let memory = machines.presets.memory();
        memory.book.held.values().any(|it| it.wanted)
    };
    let memory = machines.jobs.memory();
    let book = &memory.book;
    let open = |stage: &SubmissionStage| {
        matches!(stage, SubmissionStage::Sent | SubmissionStage::Taken { .. })
    };
    if book.submissions.values().any(|it| open(&it.stage)) {
        return Some("a job runs".to_owned());
    }
    let going_out = book.files.iter().find(|(key, file)| {
        let task = memory.tasks.get(*key);
        let waits = task.is_some_and(|task| task.waits_for_model);
        file.wanted != Wanted::No && !waits
    });
    if let Some((key, _)) = going_out {
        return Some(format!("{} is to go out", key.name));
    }
    let tagged = |it: &crate::outbox::jobs::Submission| it.tagged && it.stage.rapid().is_some();
    if book.submissions.values().any(tagged) {
        return Some("a tag is to be removed".to_owned());
    }
    if book.embeds.values().any(|it| it.stage == EmbedStage::Sent) {
        return Some("an embed is looked for".to_owned());
    }
    wanted.then(|| "a preset is to be saved".to_owned())
}

/// A start reply that was not recorded before the process was killed counts as lost: its asset may not be deleted.
pub fn forget_lost_starts(outbox: &Outbox, service: &SimulatedService) {
    let memory = outbox.owner.machines.drafts.memory();
    let drafts = memory.state.drafts.values();
    let known: BTreeSet<u64> = drafts
        .filter_map(|draft| draft.stage()?.asset())
        .chain(memory.state.discards.iter().copied())
        .chain(memory.state.sent.keys().copied())
        .map(|asset| asset.0)
        .collect();
    let mut holdings = service.holdings();
    for (id, asset) in &mut holdings.assets {
        asset.answered &= known.contains(id);
    }
}

/// What was given up here stays if another machine has started or joined it: it is that machine's then.
pub fn leave_to_others(outbox: &Outbox, service: &SimulatedService) {
    let memory = outbox.owner.machines.drafts.memory();
    let drafts = memory.state.drafts.values();
    let known: BTreeSet<u64> = drafts
        .filter_map(|draft| draft.stage()?.asset())
        .chain(memory.state.sent.keys().copied())
        .map(|asset| asset.0)
        .collect();
    for (id, asset) in &mut service.holdings().assets {
        asset.foreign |= asset.has_partner() && !known.contains(id);
    }
}

/// Does what a user would do about failures.
pub async fn retry_failures(outbox: &Outbox) {
    for draft in outbox.drafts().all() {
        let failed = draft.failure.is_some() && draft.phase != DraftPhase::ImportFailed;
        if failed {
            // If it still fails, it reports that again.
            let _ = outbox.uploads().retry(draft.id).await;
        }
    }
}

/// All problems at the end.
pub fn all(outbox: &Outbox, service: &SimulatedService, goals: &Goals) -> Vec<String> {
    let holdings = service.holdings();
    let mut problems = Vec::new();
    for goal in &goals.drafts {
        problems.extend(check_draft(outbox, &holdings, &goal.lock().unwrap()));
    }
    for goal in &goals.jobs {
        problems.extend(check_job(outbox, &holdings, &goal.lock().unwrap()));
    }
    for goal in &goals.presets {
        problems.extend(check_preset(outbox, &holdings, &goal.lock().unwrap()));
    }
    problems.extend(check_leftovers(&holdings));
    problems
}

/// Only a start with a lost reply may leave an incomplete asset.
fn check_leftovers(holdings: &Holdings) -> Vec<String> {
    let assets = holdings.assets.iter();
    let left = assets.filter(|(_, it)| it.answered && !it.foreign && it.status == "incomplete");
    left.map(|(id, it)| format!("{} ({id}) was begun and left", it.name))
        .collect()
}

fn check_draft(outbox: &Outbox, holdings: &Holdings, goal: &DraftGoal) -> Vec<String> {
    let names = asset_names(goal);
    let ours = |asset: &&Asset| {
        !asset.foreign && names.contains(&asset.name) && asset.status != "incomplete"
    };
    let whole: Vec<&Asset> = holdings.assets.values().filter(ours).collect();
    let deleted_elsewhere = outbox.uploads().sent_records().iter().any(|record| {
        names.contains(record.name.trim_end_matches(".glb"))
            && holdings.deleted.contains(&record.asset.0)
    });
    let name = &goal.name;
    match &whole[..] {
        [] if goal.allowed.iter().any(Files::is_empty) => Vec::new(),
        // Another machine deleted it when it was complete and nothing was kept here.
        [] if deleted_elsewhere || !holdings.deleted.is_empty() => Vec::new(),
        [] => vec![format!("{name} is nowhere")],
        [asset] => {
            let files = files_of(asset);
            if goal.allowed.contains(&files) {
                return kept_when_failed(outbox, asset, goal);
            }
            let paths: Vec<&String> = files.keys().collect();
            vec![format!(
                "{name} has other files than were copied in: {paths:?}"
            )]
        }
        many => vec![format!("{name} is there {} times", many.len())],
    }
}

fn kept_when_failed(outbox: &Outbox, asset: &Asset, goal: &DraftGoal) -> Vec<String> {
    let memory = outbox.owner.machines.drafts.memory();
    let names = asset_names(goal);
    let mut drafts = memory.state.drafts.values();
    let kept = drafts.any(|draft| {
        names.contains(draft.name.trim_end_matches(".glb"))
            && matches!(draft.stage(), Some(Stage::ImportFailed { .. }))
    });
    match asset.status == "importing_failed" && !kept {
        true => vec![format!(
            "{}: the import failed and nothing is kept",
            goal.name
        )],
        false => Vec::new(),
    }
}

/// The files of an asset; a zip is unpacked.
pub fn files_of(asset: &Asset) -> Files {
    let there = asset.files.iter();
    let there: Files = there
        .filter_map(|(name, bytes)| Some((name.clone(), bytes.clone()?)))
        .collect();
    match there.iter().next() {
        Some((name, bytes)) if there.len() == 1 && name.ends_with(".zip") => unpacked(bytes),
        _ => there,
    }
}

/// The members of a zip that are stored as they are.
fn unpacked(zip: &[u8]) -> Files {
    let mut files = BTreeMap::new();
    let mut at = 0;
    let number = |at: usize, len: usize| {
        let bytes = zip[at..at + len].iter().rev();
        bytes.fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    while zip[at..].starts_with(b"PK\x03\x04") {
        let (size, name, extra) = (number(at + 18, 4), number(at + 26, 2), number(at + 28, 2));
        let start = at + 30 + name + extra;
        let path = String::from_utf8_lossy(&zip[at + 30..at + 30 + name]).into_owned();
        files.insert(path, zip[start..start + size].to_vec());
        at = start + size;
    }
    files
}

fn check_job(outbox: &Outbox, holdings: &Holdings, goal: &JobGoal) -> Vec<String> {
    let Some(folder) = goal.folder else {
        return Vec::new();
    };
    let per_run = match goal.kind {
        JobKind::Many => goal.models.len(),
        JobKind::Optimize | JobKind::Embed => 1,
    };
    let made = match goal.kind {
        JobKind::Embed => {
            let mut embeds = 0;
            for embed in holdings.embeds.values() {
                embeds += usize::from(!embed.foreign && embed.config.contains(&goal.marker));
            }
            embeds
        }
        JobKind::Optimize | JobKind::Many => {
            holdings.paid.get(&goal.marker).copied().unwrap_or_default()
        }
    };
    let name = &goal.name;
    let mut problems = Vec::new();
    if made > per_run * (1 + goal.runs as usize) {
        problems.push(format!(
            "{name} was paid {made} times with {} runs",
            goal.runs
        ));
    }
    let Some(job) = outbox.jobs().get(&folder, name) else {
        return problems;
    };
    let over = matches!(
        job.state,
        JobState::Done | JobState::Failed { .. } | JobState::Unknown
    );
    let waits = goal
        .models
        .iter()
        .any(|model| !is_complete(holdings, model));
    if !over && goal.step > 1 && !waits {
        problems.push(format!("{name} never ended: {}", job.status));
    }
    if job.state == JobState::Unknown && made > 0 && goal.runs == 0 {
        let gone = !holdings.deleted.is_empty();
        if !gone {
            problems.push(format!("{name} is unknown and there"));
        }
    }
    // A lost embed cannot be distinguished from one that another machine made under the same name.
    let may_be_theirs =
        goal.kind == JobKind::Embed && holdings.embeds.values().any(|embed| embed.foreign);
    if job.state == JobState::Done && made == 0 && !may_be_theirs {
        problems.push(format!("{name} is done and was never paid"));
    }
    let tagged = holdings
        .rapids
        .values()
        .filter(|it| it.settings.contains(&goal.marker));
    for rapid in tagged {
        let left = rapid.tags.values().any(|tag| tag.starts_with("assetfs-"));
        if left && job.state == JobState::Done {
            problems.push(format!("{name} is done and its one-off tag is left"));
        }
    }
    problems
}

/// True when the outbox's asset of that name is there and complete.
fn is_complete(holdings: &Holdings, model: &str) -> bool {
    let stem = model.trim_end_matches(".glb");
    let named = |asset: &&Asset| asset.name.trim_end_matches('r') == stem;
    let mut assets = holdings.assets.values().filter(named);
    assets.any(|asset| !asset.foreign && asset.status == "complete")
}

fn check_preset(outbox: &Outbox, holdings: &Holdings, goal: &PresetGoal) -> Vec<String> {
    let stem = goal.name.trim_end_matches(".json");
    let named: Vec<_> = holdings
        .presets
        .values()
        .filter(|it| it.name == stem)
        .collect();
    let name = &goal.name;
    let mut problems = Vec::new();
    if named.len() > 1 {
        problems.push(format!("there are {} presets {name}", named.len()));
    }
    let ids = holdings.preset_ids.get(stem).map_or(0, |ids| ids.len());
    // An interrupted removal may be repeated after the preset was made again.
    if ids > 1 && !goal.is_removed() {
        problems.push(format!("the preset {name} had {ids} ids"));
    }
    let overlay = outbox.presets().overlay();
    let refused = overlay
        .files
        .iter()
        .any(|file| file.name == *name && matches!(file.state, PresetState::Failed { .. }));
    let text = named
        .first()
        .map(|it| it.config.to_string())
        .unwrap_or_default();
    let started = goal.step > 0;
    if started && !refused && !goal.allowed.contains(&text) {
        problems.push(format!(
            "the preset {name} says {text:?}, not {:?}",
            goal.allowed
        ));
    }
    problems
}
