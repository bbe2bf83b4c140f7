//! What the people of a simulation want, step by step. A step that was not acknowledged before the process
//! died is done again in the next life, as somebody would who got no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::hook::{self, below, chance};
use crate::outbox::types::{
    Caller, DraftId, EntryId, JobFolder, OpenMode, OwnerFolder, Place, PresetState,
};
use crate::outbox::{Outbox, OutboxError, OutboxResult};
use crate::wire::AssetId;

/// Nobody that could be looked for.
pub const ME: Caller = Caller {
    pid: 0,
    uid: 1000,
    gid: 1000,
};

/// The files of a model, by path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// How a copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finale {
    Settle,
    Commit,
    Cancel,
    Modify,
    Rename,
}

/// Somebody copies a model in.
#[derive(Debug)]
pub struct DraftGoal {
    pub name: String,
    pub loose: bool,
    pub finale: Finale,
    pub step: usize,
    /// What may be on the service in the end; empty for nothing.
    pub allowed: Vec<Files>,
    files: Vec<(String, Vec<u8>)>,
    tried: bool,
}

/// What somebody drops into a drop folder.
#[derive(Debug)]
pub struct JobGoal {
    pub kind: JobKind,
    /// The names of the models it is about.
    pub models: Vec<String>,
    /// Found in the settings of all that it makes.
    pub marker: String,
    pub name: String,
    pub text: Vec<u8>,
    pub folder: Option<JobFolder>,
    pub step: usize,
    /// How often it may have been asked to pay again.
    pub runs: u32,
    run_again: bool,
}

/// Which drop folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    Optimize,
    Many,
    Embed,
}

/// Somebody edits a preset.
#[derive(Debug)]
pub struct PresetGoal {
    pub name: String,
    pub step: usize,
    /// What it may say in the end; empty for nothing.
    pub allowed: Vec<String>,
    edits: Vec<Edit>,
    tried: bool,
}

impl PresetGoal {
    /// True when it is removed in the end.
    pub fn is_removed(&self) -> bool {
        matches!(self.edits.last(), Some(Edit::Remove))
    }
}

#[derive(Debug, Clone)]
enum Edit {
    Save(String),
    /// As an editor does: the old file becomes a backup, the new one takes its name.
    Detour(String),
    Remove,
}

/// Everything that is wanted in a run.
#[derive(Debug, Clone)]
pub struct Goals {
    pub drafts: Vec<Arc<Mutex<DraftGoal>>>,
    pub jobs: Vec<Arc<Mutex<JobGoal>>>,
    pub presets: Vec<Arc<Mutex<PresetGoal>>>,
}

impl Goals {
    pub fn new() -> Goals {
        let drafts: Vec<DraftGoal> = (0..1 + below(4)).map(draft_goal).collect();
        let names: Vec<String> = drafts.iter().map(|goal| goal.name.clone()).collect();
        let jobs = (0..below(4)).map(|number| job_goal(number, &names));
        let presets = (0..below(3)).map(preset_goal);
        let shared_jobs = jobs.map(|goal| Arc::new(Mutex::new(goal))).collect();
        Goals {
            presets: presets.map(|goal| Arc::new(Mutex::new(goal))).collect(),
            drafts: drafts
                .into_iter()
                .map(|goal| Arc::new(Mutex::new(goal)))
                .collect(),
            jobs: shared_jobs,
        }
    }
}

impl Goals {
    /// What nobody got in the end.
    pub fn unreached(&self) -> Vec<String> {
        let mut left = Vec::new();
        for goal in &self.drafts {
            let goal = goal.lock().unwrap();
            if goal.step <= goal.files.len() {
                left.push(format!("{} never got beyond step {}", goal.name, goal.step));
            }
        }
        for goal in &self.presets {
            let goal = goal.lock().unwrap();
            if goal.step < goal.edits.len() {
                left.push(format!("{} never got beyond step {}", goal.name, goal.step));
            }
        }
        left
    }
}

fn bytes(len: u64) -> Vec<u8> {
    (0..len).map(|_| below(256) as u8).collect()
}

fn glb(len: u32) -> Vec<u8> {
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend(len.to_le_bytes());
    glb.extend(2u32.to_le_bytes());
    glb.extend(b"JSON{}");
    glb.extend(bytes(u64::from(len) - glb.len() as u64));
    glb
}

fn draft_goal(number: u64) -> DraftGoal {
    let loose = chance(20);
    let name = format!("d{number}");
    let finale = match below(10) {
        0..=3 => Finale::Settle,
        4..=5 => Finale::Commit,
        6 => Finale::Cancel,
        7..=8 => Finale::Modify,
        _ => Finale::Rename,
    };
    let mut files = Vec::new();
    if loose {
        files.push((format!("{name}.glb"), glb(60 + below(400) as u32)));
    } else if chance(30) {
        files.push(("a.glb".to_owned(), glb(60 + below(400) as u32)));
    } else {
        let folder = if chance(40) { "textures/" } else { "" };
        let len = 1 + below(600);
        let gltf = format!(
            r#"{{"asset":{{"version":"2.0"}},"buffers":[{{"uri":"a.bin","byteLength":{len}}}],"images":[{{"uri":"{folder}b.dat"}}]}}"#
        );
        files.push(("a.gltf".to_owned(), gltf.into_bytes()));
        files.push(("a.bin".to_owned(), bytes(len)));
        files.push((format!("{folder}b.dat"), bytes(1 + below(300))));
        let at = below(3) as usize;
        files.swap(0, at);
    }
    DraftGoal {
        name: if loose { format!("{name}.glb") } else { name },
        loose,
        finale: if loose && finale == Finale::Rename {
            Finale::Settle
        } else {
            finale
        },
        step: 0,
        allowed: vec![files.iter().cloned().collect()],
        files,
        tried: false,
    }
}

fn job_goal(number: u64, names: &[String]) -> JobGoal {
    let marker = format!("{}", 7_000 + number);
    let model = names[below(names.len() as u64) as usize].clone();
    let (kind, models, text) = match below(4) {
        0 => {
            let items = names.iter().map(|name| {
                format!(
                    r#"{{"model":"{name}","config":{{"limits":{{"faces":{{"count":{marker}}}}}}}}}"#
                )
            });
            let items: Vec<String> = items.collect();
            let text = format!(r#"{{"optimizations":[{}]}}"#, items.join(","));
            (JobKind::Many, names.to_vec(), text)
        }
        1 => {
            let text = format!(r#"{{"name":"e","config":{{"marker":"{marker}"}}}}"#);
            (JobKind::Embed, vec![model], text)
        }
        _ => {
            let text = format!(r#"{{"limits":{{"faces":{{"count":{marker}}}}}}}"#);
            (JobKind::Optimize, vec![model], text)
        }
    };
    JobGoal {
        kind,
        models,
        marker,
        name: format!("j{number}.json"),
        text: text.into_bytes(),
        folder: None,
        step: 0,
        runs: 0,
        run_again: chance(10),
    }
}

fn preset_goal(number: u64) -> PresetGoal {
    let text = |version: u64| format!(r#"{{"limits":{{"faces":{{"count":{version}}}}}}}"#);
    let mut edits = vec![Edit::Save(text(1))];
    for version in 2..2 + below(3) {
        edits.push(match chance(50) {
            true => Edit::Save(text(version)),
            false => Edit::Detour(text(version)),
        });
    }
    if chance(20) {
        edits.push(Edit::Remove);
    }
    PresetGoal {
        name: format!("p{number}.json"),
        step: 0,
        allowed: Vec::new(),
        edits,
        tried: false,
    }
}

async fn rest(longest_ms: u64) {
    tokio::time::sleep(Duration::from_millis(10 + below(longest_ms))).await;
}

/// Copies a model in and does what the finale says.
pub async fn pursue_draft(outbox: Outbox, goal: Arc<Mutex<DraftGoal>>) {
    loop {
        let (step, files, finale) = {
            let goal = goal.lock().unwrap();
            (goal.step, goal.files.clone(), goal.finale)
        };
        let done = match files.get(step) {
            Some((path, bytes)) => put(&outbox, &goal, path, bytes).map(|()| true),
            None if step == files.len() => finish(&outbox, &goal, finale).await,
            None => return,
        };
        if hook::is_dead() {
            return;
        }
        conclude(&goal, step, done);
        rest(3000).await;
    }
}

fn conclude(goal: &Mutex<DraftGoal>, step: usize, done: OutboxResult<bool>) {
    let mut goal = goal.lock().unwrap();
    match done {
        Ok(true) => {
            hook::note(format!("{} step {step} done", goal.name));
            goal.step += 1;
            goal.tried = false;
        }
        Ok(false) => {}
        // What was sent in an earlier life, unheard, cannot change any more.
        Err(OutboxError::Frozen(_)) => goal.step += 1,
        Err(error) => hook::note(format!("{} step {step}: {error}", goal.name)),
    }
}

/// The draft of a goal; `None` when it has become an asset.
fn draft_of(outbox: &Outbox, goal: &DraftGoal) -> OutboxResult<Option<DraftId>> {
    if let Some(found) = outbox.find_draft(&goal.name) {
        return Ok(Some(found.id));
    }
    let sent = outbox.sent_records();
    if goal.step > 0 || sent.iter().any(|record| record.name == goal.name) {
        return Ok(None);
    }
    match goal.loose {
        true => Ok(None),
        false => outbox
            .create_draft(&goal.name, 0o755, &ME)
            .map(|draft| Some(draft.id)),
    }
}

fn put(outbox: &Outbox, goal: &Mutex<DraftGoal>, path: &str, bytes: &[u8]) -> OutboxResult<()> {
    let goal = goal.lock().unwrap();
    if goal.loose && outbox.find_draft(&goal.name).is_none() {
        if outbox.sent_records().iter().any(|it| it.name == goal.name) {
            return Ok(());
        }
        let (_, _, file) = outbox.create_loose_file(&goal.name, 0o644, &ME)?;
        file.write_at(bytes, 0)?;
        return file.flush();
    }
    let Some(draft) = draft_of(outbox, &goal)? else {
        return Ok(());
    };
    write(outbox, draft, path, bytes)
}

fn write(outbox: &Outbox, draft: DraftId, path: &str, bytes: &[u8]) -> OutboxResult<()> {
    let (parent, name) = match path.split_once('/') {
        None => (EntryId::ROOT, path),
        Some((folder, name)) => match outbox.child(draft, EntryId::ROOT, folder) {
            Some(found) => (found.id, name),
            None => {
                let made = outbox.make_dir(draft, EntryId::ROOT, folder, 0o755, &ME)?;
                (made.id, name)
            }
        },
    };
    let file = match outbox.child(draft, parent, name) {
        Some(found) => outbox.open_staged(draft, found.id, OpenMode::Truncate, &ME)?,
        None => outbox.create_file(draft, parent, name, 0o644, &ME)?.1,
    };
    let half = bytes.len() / 2;
    file.write_at(&bytes[..half], 0)?;
    file.write_at(&bytes[half..], half as u64)?;
    file.flush()
}

async fn finish(outbox: &Outbox, goal: &Mutex<DraftGoal>, finale: Finale) -> OutboxResult<bool> {
    let draft = draft_of(outbox, &goal.lock().unwrap())?;
    match finale {
        Finale::Settle => Ok(true),
        Finale::Commit => match draft {
            None => Ok(true),
            Some(draft) => {
                if outbox
                    .draft(draft)
                    .is_some_and(|info| info.failure.is_some())
                {
                    outbox.retry(draft).await?;
                }
                outbox.commit(draft, false).await.map(|_| true)
            }
        },
        Finale::Cancel => {
            rest(20_000).await;
            let Some(draft) = draft else {
                // An earlier try may have worked, or it was too late.
                let mut goal = goal.lock().unwrap();
                if goal.tried {
                    goal.allowed.push(Files::new());
                }
                return Ok(true);
            };
            goal.lock().unwrap().tried = true;
            outbox.cancel(draft).await?;
            if !hook::is_dead() {
                goal.lock().unwrap().allowed = vec![Files::new()];
            }
            Ok(true)
        }
        Finale::Modify => {
            rest(15_000).await;
            modify(outbox, goal, draft)
        }
        Finale::Rename => {
            rest(8_000).await;
            rename(outbox, goal, draft)
        }
    }
}

fn modify(outbox: &Outbox, goal: &Mutex<DraftGoal>, draft: Option<DraftId>) -> OutboxResult<bool> {
    let mut goal = goal.lock().unwrap();
    let mut files = goal.allowed[0].clone();
    let (path, content) = files.iter_mut().next_back().expect("a model has files");
    for byte in content.iter_mut().rev().take(3) {
        *byte = byte.wrapping_add(1);
    }
    let (path, content) = (path.clone(), content.clone());
    let Some(draft) = draft else {
        if goal.tried {
            goal.allowed.push(files);
        }
        return Ok(true);
    };
    let before = goal.tried;
    goal.tried = true;
    match write(outbox, draft, &path, &content) {
        Ok(()) if hook::is_dead() => Ok(false),
        Ok(()) => {
            goal.allowed = vec![files];
            Ok(true)
        }
        Err(OutboxError::Frozen(_)) => {
            if before {
                goal.allowed.push(files);
            }
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

fn rename(outbox: &Outbox, goal: &Mutex<DraftGoal>, draft: Option<DraftId>) -> OutboxResult<bool> {
    let mut goal = goal.lock().unwrap();
    let to = format!("{}r", goal.name);
    let renamed = outbox.find_draft(&to).is_some()
        || outbox.sent_records().iter().any(|record| record.name == to);
    if renamed {
        goal.name = to;
        return Ok(true);
    }
    if draft.is_none() {
        return Ok(true);
    }
    let from = Place::Top(goal.name.clone());
    match outbox.rename(&from, &Place::Top(to.clone()), true, &ME) {
        Ok(_) => {
            if !hook::is_dead() {
                goal.name = to;
            }
            Ok(true)
        }
        Err(OutboxError::Frozen(_) | OutboxError::NotPermitted(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Drops a text into a drop folder; gives up when the models do not come for long.
pub async fn pursue_job(outbox: Outbox, goal: Arc<Mutex<JobGoal>>) {
    for _ in 0..200 {
        if goal.lock().unwrap().step > 2 || hook::is_dead() {
            return;
        }
        rest(4000).await;
        let done = job_step(&outbox, &goal).await;
        if hook::is_dead() {
            return;
        }
        let mut goal = goal.lock().unwrap();
        match done {
            Ok(true) => {
                hook::note(format!("{} step {} done", goal.name, goal.step));
                goal.step += 1;
            }
            Ok(false) => {}
            Err(error) => hook::note(format!("{} step {}: {error}", goal.name, goal.step)),
        }
    }
}

async fn job_step(outbox: &Outbox, goal: &Mutex<JobGoal>) -> OutboxResult<bool> {
    let (step, name, text, folder) = {
        let mut goal = goal.lock().unwrap();
        if goal.folder.is_none() {
            goal.folder = folder_of(outbox, &goal);
        }
        let Some(folder) = goal.folder else {
            return Ok(false);
        };
        (goal.step, goal.name.clone(), goal.text.clone(), folder)
    };
    match step {
        0 => {
            outbox.write_job_text(&folder, &name, &text)?;
            if folder == JobFolder::Multi {
                let models = goal.lock().unwrap().models.clone();
                let owners = models.iter().filter_map(|model| {
                    let asset = asset_named(outbox, model)?;
                    Some((model.clone(), OwnerFolder::Asset(asset)))
                });
                outbox.set_job_paths(&name, owners.collect())?;
            }
            Ok(true)
        }
        1 => outbox.submit_job(&folder, &name).await.map(|_| true),
        _ => {
            if goal.lock().unwrap().run_again {
                rest(60_000).await;
                goal.lock().unwrap().runs += 1;
                outbox.run_job(&folder, &name).await?;
            }
            Ok(true)
        }
    }
}

fn asset_named(outbox: &Outbox, name: &str) -> Option<AssetId> {
    let sent = outbox.sent_records();
    let found = sent
        .iter()
        .find(|record| record.name == name || record.name == format!("{name}r"));
    found.map(|record| record.asset)
}

fn folder_of(outbox: &Outbox, goal: &JobGoal) -> Option<JobFolder> {
    let mut assets = Vec::new();
    for model in &goal.models {
        assets.push(asset_named(outbox, model)?);
    }
    let owner = OwnerFolder::Asset(*assets.first()?);
    Some(match goal.kind {
        JobKind::Optimize => JobFolder::Optimize(owner),
        JobKind::Embed => JobFolder::Embeds(owner),
        JobKind::Many => JobFolder::Multi,
    })
}

/// Edits a preset.
pub async fn pursue_preset(outbox: Outbox, goal: Arc<Mutex<PresetGoal>>) {
    loop {
        rest(6000).await;
        let (name, edit) = {
            let goal = goal.lock().unwrap();
            match goal.edits.get(goal.step) {
                Some(edit) => (goal.name.clone(), edit.clone()),
                None => return,
            }
        };
        {
            // Until it is acknowledged, both may be there.
            let mut goal = goal.lock().unwrap();
            if !goal.tried {
                goal.tried = true;
                match &edit {
                    Edit::Save(text) | Edit::Detour(text) => goal.allowed.push(text.clone()),
                    Edit::Remove => goal.allowed.push(String::new()),
                }
            }
        }
        let done = edit_preset(&outbox, &name, &edit).await;
        if hook::is_dead() {
            return;
        }
        let mut goal = goal.lock().unwrap();
        match done {
            Ok(()) => {
                let last = goal.allowed.pop();
                goal.allowed = last.into_iter().collect();
                hook::note(format!("{name}: {edit:?} done"));
                goal.step += 1;
                goal.tried = false;
            }
            Err(error) => hook::note(format!("{name}: {error}")),
        }
    }
}

async fn edit_preset(outbox: &Outbox, name: &str, edit: &Edit) -> OutboxResult<()> {
    let saved = |state: PresetState| match state {
        PresetState::Failed { reason } => Err(OutboxError::Invalid(reason)),
        _ => Ok(()),
    };
    match edit {
        Edit::Save(text) => saved(outbox.save_preset(name, text.as_bytes()).await?),
        Edit::Detour(text) => {
            let backup = format!("{name}~");
            match outbox.rename_preset(name, &backup).await {
                Ok(()) | Err(OutboxError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
            saved(outbox.save_preset(name, text.as_bytes()).await?)?;
            match outbox.remove_preset(&backup).await {
                Ok(()) | Err(OutboxError::NotFound(_)) => Ok(()),
                Err(error) => Err(error),
            }
        }
        Edit::Remove => match outbox.remove_preset(name).await {
            Ok(()) | Err(OutboxError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        },
    }
}

/// The names that a goal's model may have on the service.
pub fn asset_names(goal: &DraftGoal) -> BTreeSet<String> {
    let stem = goal.name.trim_end_matches(".glb");
    let stem = stem.trim_end_matches('r');
    BTreeSet::from([stem.to_owned(), format!("{stem}r")])
}
