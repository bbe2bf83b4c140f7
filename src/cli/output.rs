//! What commands print with `--json`: one object a line, results and failures alike.
//!
//! Every line has `schema`, the number of its form. The words mean the same in all commands: `path` is what the line is
//! about, `state` a word of the table of states in `docs/semantics.md`, `reason` says why something failed, and `exit` the
//! exit code that the line stands for. `docs/schemas` describes the lines of each command. Text for people goes to
//! standard error then, so standard output has nothing else.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::exit::{Exit, sentence};
use super::printing;
pub(super) use super::printing::{choose_json, is_json};
use crate::fuse::shell_quoted;

/// The form of the lines. Fields are added without a new number; a field that is renamed or removed is a new one.
pub(super) const SCHEMA: u64 = 1;

static HAS_LINE: AtomicBool = AtomicBool::new(false);

/// Prints an object as a line. What is no object becomes the field `value`.
pub(super) fn line(fields: impl Serialize) {
    let mut whole = Map::from_iter([("schema".to_owned(), SCHEMA.into())]);
    match serde_json::to_value(fields) {
        Ok(Value::Object(fields)) => whole.extend(fields),
        Ok(value) => drop(whole.insert("value".to_owned(), value)),
        Err(error) => drop(whole.insert("reason".to_owned(), error.to_string().into())),
    }
    printed(&Value::Object(whole).to_string());
}

/// The same for a line that is an object already.
pub(super) fn raw_line(object: &str) {
    match object.trim().strip_prefix('{') {
        Some("}") | None => line(json!({ "value": object })),
        Some(rest) => printed(&format!("{{\"schema\":{SCHEMA},{rest}")),
    }
}

/// Says that the lines of the command are a list: none is an empty list.
pub(super) fn is_list() {
    HAS_LINE.store(true, Ordering::Relaxed);
}

fn printed(text: &str) {
    HAS_LINE.store(true, Ordering::Relaxed);
    printing::write(format!("{text}\n").as_bytes());
}

/// With `--json`, the line for a path about which a command did what it was to do.
pub(super) fn done(path: &Path) {
    if is_json() {
        line(json!({ "path": path.to_string_lossy(), "state": "done", "exit": 0 }));
    }
}

/// A line of a dry run: a path on which the command would act.
pub(super) fn would_do(path: &Path) {
    match is_json() {
        true => line(
            json!({ "path": path.to_string_lossy(), "state": "not_sent", "dry_run": true, "exit": 0 }),
        ),
        false => println!("{}", shell_quoted(path)),
    }
}

/// Reports a failure on standard error; with `--json` also as a line.
pub(super) fn failed(path: Option<&Path>, error: &anyhow::Error) -> Exit {
    let exit = Exit::of(error);
    let reason = sentence(error);
    eprintln!("assetfs: {reason}");
    failure_line(path, &reason, exit);
    exit
}

/// The end of a command about `path`: a failure is reported with it.
pub(super) fn about(path: Option<&Path>, ended: Result<Exit>) -> Result<Exit> {
    match ended {
        Err(error) if path.is_some() => Ok(failed(path, &error)),
        ended => ended,
    }
}

/// The path of a command that was given one. `-` is none: it stands for standard input.
pub(super) fn only(paths: &[PathBuf]) -> Option<&Path> {
    match paths {
        [path] if path.as_os_str() != "-" => Some(path),
        _ => None,
    }
}

/// With `--json`, the line of a failure that standard error has already.
pub(super) fn failure_line(path: Option<&Path>, reason: &str, exit: Exit) {
    if !is_json() {
        return;
    }
    let mut fields = Map::new();
    if let Some(path) = path {
        fields.insert("path".to_owned(), json!(path.to_string_lossy()));
    }
    fields.insert("state".to_owned(), state_after(exit).into());
    fields.insert("reason".to_owned(), reason.into());
    fields.insert("exit".to_owned(), exit.code().into());
    line(fields);
}

/// With `--json`, the line of a command that has printed none.
pub(super) fn conclude(exit: Exit) {
    if is_json() && !HAS_LINE.load(Ordering::Relaxed) {
        line(json!({ "state": state_after(exit), "exit": exit.code() }));
    }
}

/// The state of what a command was about, if nothing better is known: after a timeout the work goes on.
pub(super) fn state_after(exit: Exit) -> &'static str {
    match exit {
        Exit::Done => "done",
        Exit::TimedOut => "running",
        Exit::Failed | Exit::WrongUse => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::StatusWord;

    #[test]
    fn the_states_of_lines_are_words_of_the_table() {
        for exit in Exit::ALL {
            assert!(StatusWord::KNOWN.contains(&state_after(exit)));
        }
    }
}
