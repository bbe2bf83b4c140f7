//! A user who replaces a model by new versions, and the checks of that: in the end each version is there once, or is
//! deleted if the user asked for it, and the last has the name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::outbox::drafts::{DraftPhase, Replaced};
use crate::outbox::ids::DraftId;
use crate::outbox::simulator::checks::files_of;
use crate::outbox::simulator::goals::{Files, ME, glb};
use crate::outbox::simulator::hook;
use crate::outbox::simulator::hook::{below, chance};
use crate::outbox::simulator::network::SimulatedService;
use crate::outbox::simulator::people::{rest, write};
use crate::outbox::simulator::service::Asset;
use crate::outbox::{Outbox, OutboxError, OutboxResult};
use crate::wire::AssetId;

/// A model with all versions that it is to have.
#[derive(Debug)]
pub struct VersionGoal {
    name: String,
    versions: Vec<Version>,
    /// The version that is being made.
    step: usize,
    /// The asset of each version that was made.
    assets: Vec<AssetId>,
}

#[derive(Debug, Clone)]
struct Version {
    files: Files,
    /// The version before it is deleted.
    remove_old: bool,
    /// It is cancelled once before it is made.
    hesitates: bool,
}

/// The name of the file that only one version has.
fn marker(step: usize) -> String {
    format!("version{step}.glb")
}

pub fn goals() -> Vec<Arc<Mutex<VersionGoal>>> {
    let count = 1 + below(2);
    (0..count)
        .map(|number| Arc::new(Mutex::new(goal(number))))
        .collect()
}

fn goal(number: u64) -> VersionGoal {
    let versions = 2 + below(2) as usize;
    let version = |step| Version {
        files: BTreeMap::from([(marker(step), glb(60 + below(400) as u32))]),
        remove_old: chance(40),
        hesitates: chance(20),
    };
    VersionGoal {
        name: format!("v{number}"),
        versions: (0..versions).map(version).collect(),
        step: 0,
        assets: Vec::new(),
    }
}

pub fn unreached(goals: &[Arc<Mutex<VersionGoal>>]) -> Vec<String> {
    let goals = goals.iter().map(|goal| goal.lock().unwrap());
    goals
        .filter(|goal| goal.step < goal.versions.len())
        .map(|goal| format!("{} never got beyond version {}", goal.name, goal.step))
        .collect()
}

/// Makes one version after the other.
pub async fn pursue_versions(outbox: Outbox, goal: Arc<Mutex<VersionGoal>>) {
    loop {
        rest(8000).await;
        let (step, over) = {
            let goal = goal.lock().unwrap();
            (goal.step, goal.step == goal.versions.len())
        };
        if over {
            return;
        }
        let made = make(&outbox, &goal, step).await;
        if hook::is_dead() {
            return;
        }
        let mut goal = goal.lock().unwrap();
        match made {
            Ok(Some(asset)) => {
                hook::note(format!("{} has version {step}: {asset}", goal.name));
                goal.assets.push(asset);
                goal.step += 1;
            }
            Ok(None) => {}
            Err(error) => hook::note(format!("{} version {step}: {error}", goal.name)),
        }
    }
}

/// Does one step; the asset once the version has the name.
async fn make(
    outbox: &Outbox,
    goal: &Mutex<VersionGoal>,
    step: usize,
) -> OutboxResult<Option<AssetId>> {
    let (name, version, old) = {
        let goal = goal.lock().unwrap();
        let old = goal.assets.last().copied();
        (goal.name.clone(), goal.versions[step].clone(), old)
    };
    if let Some(asset) = asset_with_name(outbox, &name, step) {
        return Ok(Some(asset));
    }
    let draft_name = match old {
        None => name.clone(),
        Some(_) => format!("{name}~new"),
    };
    let found = outbox.drafts().find(&draft_name);
    let draft = match found {
        Some(draft) => draft,
        None => outbox.drafts().create(&draft_name, 0o755, &ME)?,
    };
    if draft.phase == DraftPhase::ImportFailed && old.is_some() {
        outbox.uploads().cancel(draft.id).await?;
        return Ok(None);
    }
    if draft.phase.is_frozen() {
        return Ok(None);
    }
    if let Some(old) = old
        && draft.replaces.is_none()
    {
        let replaced = Replaced {
            asset: old,
            first_version: None,
            name: name.clone(),
            model_name: name,
            remove_old: version.remove_old,
        };
        outbox.uploads().make_version(draft.id, &replaced)?;
    }
    match send(outbox, draft.id, &version.files, draft.failure.is_some()).await {
        // Accepted or stopped by somebody: the next look says it.
        Ok(()) | Err(OutboxError::Frozen(_)) => {}
        Err(error) => return Err(error),
    }
    if version.hesitates && old.is_some() {
        goal.lock().unwrap().versions[step].hesitates = false;
        hook::note(format!("{draft_name} is cancelled once"));
        match outbox.uploads().cancel_version(draft.id).await {
            Ok(()) | Err(OutboxError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

async fn send(outbox: &Outbox, draft: DraftId, files: &Files, failed: bool) -> OutboxResult<()> {
    let is_sending = outbox
        .drafts()
        .get(draft)
        .is_some_and(|draft| matches!(draft.phase, DraftPhase::Uploading { .. }));
    if !is_sending {
        for (path, bytes) in files {
            write(outbox, draft, path, bytes)?;
        }
    }
    if failed {
        outbox.uploads().retry(draft).await?;
    }
    outbox.uploads().commit(draft, false).await.map(drop)
}

/// The asset that has the name, if it is of this version. If another machine deleted the version before it while it was
/// imported, that is a draft with the name again, and the new one has its id behind the name.
fn asset_with_name(outbox: &Outbox, name: &str, step: usize) -> Option<AssetId> {
    let records = outbox.uploads().sent_records();
    let of_version = |path: &str| path == marker(step);
    let mut named = records.iter().filter(|record| {
        let shown = record.folder_name();
        shown == Some(name) || shown == Some(&format!("{name}~{}", record.asset))
    });
    let found = named.find(|record| record.entries.iter().any(|it| of_version(&it.path)));
    found.map(|record| record.asset)
}

/// All problems with versions at the end.
pub fn check_versions(
    outbox: &Outbox,
    service: &SimulatedService,
    goals: &[Arc<Mutex<VersionGoal>>],
) -> Vec<String> {
    let holdings = service.holdings();
    // A version that another machine deletes is sent again, under its own name.
    if !holdings.deleted_elsewhere.is_empty() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for goal in goals {
        let goal = goal.lock().unwrap();
        for step in 0..goal.step {
            let is_it = |(_, asset): &(&u64, &Asset)| {
                !asset.foreign
                    && asset.status != "incomplete"
                    && asset.name == goal.name
                    && files_of(asset) == goal.versions[step].files
            };
            let found: Vec<u64> = holdings
                .assets
                .iter()
                .filter(is_it)
                .map(|it| *it.0)
                .collect();
            let next = goal.versions.get(step + 1).filter(|_| step + 1 < goal.step);
            let is_removed = next.is_some_and(|next| next.remove_old);
            if found.len() != usize::from(!is_removed) {
                problems.push(format!(
                    "version {step} of {} is there {} times",
                    goal.name,
                    found.len()
                ));
            }
            let expected = match next {
                None => goal.name.clone(),
                Some(_) => format!("{}~{}", goal.name, goal.assets[step]),
            };
            let record = outbox.uploads().sent_record(goal.assets[step]);
            let shown = record.as_ref().and_then(|record| record.folder_name());
            if !is_removed && shown != Some(&expected) {
                problems.push(format!(
                    "version {step} is called {shown:?}, not {expected}"
                ));
            }
        }
    }
    problems
}
