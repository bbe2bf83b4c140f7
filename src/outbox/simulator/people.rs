//! The steps of the users in a simulation. A step without an answer before the process was killed is repeated in the
//! next process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::outbox::drafts::{OpenMode, Place};
use crate::outbox::ids::{DraftId, EntryId, JobFolder, OwnerFolder};
use crate::outbox::presets::PresetState;
use crate::outbox::simulator::goals::{
    DraftGoal, Edit, Files, Finale, JobGoal, JobKind, ME, PresetGoal,
};
use crate::outbox::simulator::hook;
use crate::outbox::simulator::hook::below;
use crate::outbox::{Outbox, OutboxError, OutboxResult};
use crate::wire::AssetId;

pub async fn rest(longest_ms: u64) {
    tokio::time::sleep(Duration::from_millis(10 + below(longest_ms))).await;
}

/// Copies a model in and does the last step of the goal.
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
        // It may have been sent by an earlier process, and cannot change any more.
        Err(OutboxError::Frozen(_)) => goal.step += 1,
        Err(error) => hook::note(format!("{} step {step}: {error}", goal.name)),
    }
}

/// The draft of a goal; `None` when it has become an asset.
fn draft_of(outbox: &Outbox, goal: &DraftGoal) -> OutboxResult<Option<DraftId>> {
    if let Some(found) = outbox.drafts().find(&goal.name) {
        return Ok(Some(found.id));
    }
    let sent = outbox.uploads().sent_records();
    if goal.step > 0 || sent.iter().any(|record| record.name == goal.name) {
        return Ok(None);
    }
    match goal.loose {
        true => Ok(None),
        false => outbox
            .drafts()
            .create(&goal.name, 0o755, &ME)
            .map(|draft| Some(draft.id)),
    }
}

fn put(outbox: &Outbox, goal: &Mutex<DraftGoal>, path: &str, bytes: &[u8]) -> OutboxResult<()> {
    let goal = goal.lock().unwrap();
    if goal.loose && outbox.drafts().find(&goal.name).is_none() {
        if outbox
            .uploads()
            .sent_records()
            .iter()
            .any(|it| it.name == goal.name)
        {
            return Ok(());
        }
        let (_, _, file) = outbox.drafts().create_loose_file(&goal.name, 0o644, &ME)?;
        file.write_at(bytes, 0)?;
        return file.flush();
    }
    let Some(draft) = draft_of(outbox, &goal)? else {
        return Ok(());
    };
    write(outbox, draft, path, bytes)
}

pub fn write(outbox: &Outbox, draft: DraftId, path: &str, bytes: &[u8]) -> OutboxResult<()> {
    let (parent, name) = match path.split_once('/') {
        None => (EntryId::ROOT, path),
        Some((folder, name)) => match outbox.entries().child(draft, EntryId::ROOT, folder) {
            Some(found) => (found.id, name),
            None => {
                let made = outbox
                    .entries()
                    .make_dir(draft, EntryId::ROOT, folder, 0o755, &ME)?;
                (made.id, name)
            }
        },
    };
    let file = match outbox.entries().child(draft, parent, name) {
        Some(found) => outbox
            .entries()
            .open(draft, found.id, OpenMode::Truncate, &ME)?,
        None => {
            outbox
                .entries()
                .create_file(draft, parent, name, 0o644, &ME)?
                .1
        }
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
                    .drafts()
                    .get(draft)
                    .is_some_and(|info| info.failure.is_some())
                {
                    outbox.uploads().retry(draft).await?;
                }
                outbox.uploads().commit(draft, false).await.map(|_| true)
            }
        },
        Finale::Cancel => {
            rest(20_000).await;
            let Some(draft) = draft else {
                // An earlier try may have succeeded, or it was too late.
                let mut goal = goal.lock().unwrap();
                if goal.tried {
                    goal.allowed.push(Files::new());
                }
                return Ok(true);
            };
            goal.lock().unwrap().tried = true;
            outbox.uploads().cancel(draft).await?;
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
    let renamed = outbox.drafts().find(&to).is_some()
        || outbox
            .uploads()
            .sent_records()
            .iter()
            .any(|record| record.name == to);
    if renamed {
        goal.name = to;
        return Ok(true);
    }
    if draft.is_none() {
        return Ok(true);
    }
    let from = Place::Top(goal.name.clone());
    match outbox
        .drafts()
        .rename(&from, &Place::Top(to.clone()), true, &ME)
    {
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

/// Drops a text into a drop folder; gives up if the models do not appear.
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
            outbox.jobs().write(&folder, &name, &text)?;
            if folder == JobFolder::Multi {
                let models = goal.lock().unwrap().models.clone();
                let owners = models.iter().filter_map(|model| {
                    let asset = asset_named(outbox, model)?;
                    Some((model.clone(), OwnerFolder::Asset(asset)))
                });
                outbox.jobs().set_paths(&name, owners.collect())?;
            }
            Ok(true)
        }
        1 => outbox.jobs().submit(&folder, &name).await.map(|_| true),
        _ => {
            if goal.lock().unwrap().run_again {
                rest(60_000).await;
                goal.lock().unwrap().runs += 1;
                outbox.jobs().run(&folder, &name).await?;
            }
            Ok(true)
        }
    }
}

fn asset_named(outbox: &Outbox, name: &str) -> Option<AssetId> {
    let sent = outbox.uploads().sent_records();
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
            // Until it is acknowledged, both texts are allowed.
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
        Edit::Save(text) => saved(outbox.presets().save(name, text.as_bytes()).await?),
        Edit::Detour(text) => {
            let backup = format!("{name}~");
            match outbox.presets().rename(name, &backup).await {
                Ok(_) | Err(OutboxError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
            saved(outbox.presets().save(name, text.as_bytes()).await?)?;
            match outbox.presets().remove(&backup).await {
                Ok(_) | Err(OutboxError::NotFound(_)) => Ok(()),
                Err(error) => Err(error),
            }
        }
        Edit::Remove => match outbox.presets().remove(name).await {
            Ok(_) | Err(OutboxError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        },
    }
}
