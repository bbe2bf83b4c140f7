//! The operations of a history as system calls, with or without a kernel.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::calls::{Calls, Position};
use crate::content::Content;
use crate::history::Op;
use crate::model::Outcome;

/// How long a service that has nothing else to do may take.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const TAGS: &str = "user.xdg.tags";

pub fn act(calls: &dyn Calls, op: &Op) -> Outcome {
    let raw = |path: &str| format!("rawmodels/{path}");
    match op {
        Op::MakeDir(path) => calls.mkdir(&raw(path)),
        Op::Write(path, content) => calls.write(&raw(path), &content.bytes()),
        Op::Append(path, content) => calls.write_at(&raw(path), Position::End, &content.bytes()),
        Op::Overwrite(path, at, content) => {
            calls.write_at(&raw(path), Position::At(*at), &content.bytes())
        }
        Op::Truncate(path, len) => calls.truncate(&raw(path), *len),
        Op::Rename(from, to) => calls.rename(&raw(from), &raw(to)),
        Op::RemoveFile(path) => calls.unlink(&raw(path)),
        Op::RemoveDir(path) => calls.rmdir(&raw(path)),
        Op::RemoveAll(name) => remove_all(calls, &raw(name)),
        Op::Upload(name, files) => {
            calls.mkdir(&raw(name))?;
            for (file, content) in files {
                calls.write(&raw(&format!("{name}/{file}")), &content.bytes())?;
            }
            calls.write(&raw(&format!("{name}/.assetfs/ctl")), b"commit")
        }
        Op::Commit(name) => calls.write(&raw(&format!("{name}/.assetfs/ctl")), b"commit"),
        Op::CommitAndRemove(name) => {
            calls.write(&raw(&format!("{name}/.assetfs/ctl")), b"commit")?;
            calls.remove_all(&raw(name))
        }
        Op::Optimize(model, name, text) => {
            let path = raw(&format!("{model}/optimize/{name}"));
            // One that is overwritten before it is sent costs nothing, and when it is sent is open.
            if calls.len(&format!("{path}.json")).is_ok() {
                until_ended(calls, &format!("{path}.status"))?;
            }
            calls.write(&format!("{path}.json"), &text.bytes())
        }
        Op::RemoveText(model, name) => {
            let path = raw(&format!("{model}/optimize/{name}"));
            until_ended(calls, &format!("{path}.status"))?;
            calls.unlink(&format!("{path}.json"))
        }
        Op::DismissErrors(model) => {
            let folder = raw(&format!("{model}/optimize"));
            until_all_ended(calls, &folder)?;
            calls.unlink(&format!("{folder}/ERROR.txt"))
        }
        Op::Embed(model, text, name) => {
            let result = result_of(calls, model, text)?;
            calls.write(&format!("{result}/embeds/{name}.json"), b"{}")
        }
        Op::Tag(model, tags) => {
            until_complete(calls, &raw(model))?;
            calls.set_xattr(&raw(model), TAGS, &joined(tags))
        }
        Op::TagResult(model, text, tags) => {
            let result = result_of(calls, model, text)?;
            // Names stay between the next two calls, because what goes before the result is known now.
            calls.rows("rapidmodels")?;
            let target = calls.read_link(&result)?;
            let name = target.rsplit('/').next().unwrap_or_default();
            calls.set_xattr(&format!("rapidmodels/{name}"), TAGS, &joined(tags))
        }
        Op::Replace(name, content) => replace(calls, name, content),
        Op::WritePreset(name, content) => {
            calls.write(&format!("presets/{name}.json"), &content.bytes())
        }
        Op::RemovePreset(name) => calls.unlink(&format!("presets/{name}.json")),
        Op::RenamePreset(from, to) => calls.rename(
            &format!("presets/{from}.json"),
            &format!("presets/{to}.json"),
        ),
        Op::Order(..) => unreachable!("a call of the API"),
        Op::Faulty(_, op) | Op::Stopped(_, op) | Op::Full(op) => act(calls, op),
        Op::Remount | Op::Kill | Op::KillService => Ok(()),
    }
}

/// A comma separates tags.
fn joined(tags: &BTreeSet<String>) -> String {
    let tags: Vec<String> = tags.iter().map(|tag| tag.replace(',', "%2C")).collect();
    tags.join(",")
}

/// `rm -r`, once the jobs of the model have ended: whether one that runs is paid is a matter of luck.
fn remove_all(calls: &dyn Calls, path: &str) -> Outcome {
    until_all_ended(calls, &format!("{path}/optimize"))?;
    calls.remove_all(path)
}

/// Waits until all jobs of a folder have ended.
fn until_all_ended(calls: &dyn Calls, folder: &str) -> Outcome {
    for (name, _) in calls.rows(folder).unwrap_or_default() {
        if name.ends_with(".status") {
            until_ended(calls, &format!("{folder}/{name}"))?;
        }
    }
    Ok(())
}

fn until_ended(calls: &dyn Calls, path: &str) -> Outcome {
    wait_for(calls, path, |said| {
        said == "done" || said.starts_with("failed: ")
    })
}

fn until_complete(calls: &dyn Calls, model: &str) -> Outcome {
    wait_for(calls, &format!("{model}/.assetfs/state"), |said| {
        said == "complete"
    })
}

/// Waits until a file says this.
fn wait_for(calls: &dyn Calls, path: &str, is_wanted: fn(&str) -> bool) -> Outcome {
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(4);
    loop {
        let said = calls.read_text(path)?;
        if is_wanted(&said) {
            return Ok(());
        }
        if Instant::now() > end {
            eprintln!("{path} says {said}");
            return Err(Errno::TIMEDOUT);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(64));
    }
}

pub fn result_of(calls: &dyn Calls, model: &str, text: &str) -> Result<String, Errno> {
    let path = format!("rawmodels/{model}/optimize/{text}");
    until_ended(calls, &format!("{path}.status"))?;
    Ok(path)
}

fn replace(calls: &dyn Calls, name: &str, content: &Content) -> Outcome {
    let path = format!("rawmodels/{name}");
    until_complete(calls, &path)?;
    let new = format!("{path}~new");
    calls.mkdir(&new)?;
    calls.write(
        &format!("{path}/.assetfs/ctl"),
        format!("replace {name}~new\n").as_bytes(),
    )?;
    calls.write(&format!("{new}/model.gltf"), &content.bytes())?;
    calls.write(&format!("{new}/.assetfs/ctl"), b"commit")?;
    let end = Instant::now() + PATIENCE;
    while calls.len(&new).is_ok() {
        if Instant::now() > end {
            return Err(Errno::TIMEDOUT);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
