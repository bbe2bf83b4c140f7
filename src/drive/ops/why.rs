//! Failure messages by path: why the last operation failed, or what a draft waits for.

use std::ffi::OsStr;
use std::time::Instant;

use crate::client::without_error_numbers;
use crate::drive::catalog::is_listed;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::failures::{OperationKind, Outcome};
use crate::drive::mount::Mount;
use crate::drive::places::{
    Node, forget_gone, job_folder_path, model_of_folder, note_failure_time, source_size,
};
use crate::drive::posix::{Caller, Fh, Ino};
use crate::drive::refusal::{Refusal, RefusedUser};
use crate::drive::tree::Tree;
use crate::drive::values::local::DropFolder;
use crate::drive::values::names::{HIDDEN_FOLDER, shown_name};
use crate::drive::values::node::{Home, Model};
use crate::outbox::{JobState, OutboxEvent, is_junk_path};

/// The name of the program of the commands.
const PROGRAM: &str = env!("CARGO_PKG_NAME");

/// The last failure of a node: of an operation, or of work in the background.
pub fn why(tree: &Tree, node: &Node) -> Option<String> {
    let path = node.path(tree);
    forget_gone(tree, &path);
    let at_other_path = || {
        let path = node.other_path(tree)?;
        forget_gone(tree, &path);
        tree.failures().of(&path)
    };
    let of_operation = tree.failures().of(&path).or_else(at_other_path);
    let own = of_operation.or_else(|| node.failure(tree));
    let own = own.or_else(|| tree.failures().warning_of(&path));
    let inside = own.or_else(|| tree.failures().last_in(&path));
    inside.or_else(|| waits_for(tree, node))
}

/// What a model was sent without.
pub(in crate::drive) fn warning(tree: &Tree, node: &Node) -> Option<String> {
    let noted = tree.failures().warning_of(&node.path(tree));
    noted.or_else(|| {
        let Model::Raw(home) = node.shown_model(tree)? else {
            return None;
        };
        tree.catalog().model(home)?.draft?.warning
    })
}

fn waits_for(tree: &Tree, node: &Node) -> Option<String> {
    let Model::Raw(home) = node.shown_model(tree)? else {
        return None;
    };
    let view = tree.catalog().model(home)?;
    let draft = view.draft.filter(|_| view.asset.is_none())?;
    Some(draft.missing_files.unwrap_or_else(|| {
        let status = &draft.status;
        match status.word().advice() {
            Some(advice) => format!("{status}; {advice}"),
            None => status.to_string(),
        }
    }))
}

/// The last failure of a name that may not exist.
pub fn why_name(tree: &Tree, folder: &Node, name: &str) -> Option<String> {
    let parent = folder.path(tree);
    let path = format!("{}/{name}", parent.trim_end_matches('/'));
    let failures = tree.failures();
    // KDE copies a file under this name, and renames it when it is whole.
    let noted = failures.of(&path);
    let noted = noted.or_else(|| failures.of(&format!("{path}.part")));
    noted.or_else(|| {
        let unknown = !is_listed(tree.catalog(), folder.listing()?);
        let reason = tree.catalog().offline_reason().filter(|_| unknown)?;
        Some(format!("it is not known whether it exists: {reason}"))
    })
}

/// Stores the failure of an operation for its path, or ends an earlier one; returns the result.
pub fn noted<T>(
    mount: &Mount,
    ino: Ino,
    name: Option<&OsStr>,
    kind: OperationKind,
    result: DriveResult<T>,
) -> DriveResult<T> {
    noted_since(mount, (ino, name), kind, None, result)
}

/// The same for an open file.
pub fn noted_at<T>(
    mount: &Mount,
    ino: Ino,
    fh: Fh,
    kind: OperationKind,
    result: DriveResult<T>,
) -> DriveResult<T> {
    let opened = match mount.failures().is_empty() {
        true => None,
        false => mount.handles().file(fh).ok().map(|open| open.opened_at),
    };
    noted_since(mount, (ino, None), kind, opened, result)
}

/// The same for what belongs to a file that was opened then, if it belongs to one.
fn noted_since<T>(
    mount: &Mount,
    (ino, name): (Ino, Option<&OsStr>),
    kind: OperationKind,
    opened: Option<Instant>,
    result: DriveResult<T>,
) -> DriveResult<T> {
    match &result {
        Err(error) if error.has_user_message() => {
            if let Ok(node) = mount.node(ino) {
                note_failure(mount, &node, name, kind, error);
            }
        }
        Ok(_) if !mount.failures().is_empty() => {
            if let Ok(node) = mount.node(ino) {
                let path = path_at(mount, &node, name);
                mount.failures().succeeded(&path, kind, opened);
            }
        }
        _ => {}
    }
    result
}

/// Stores the failure of background work for a node, or ends an earlier one; returns the result.
pub fn noted_node<T>(tree: &Tree, node: &Node, result: DriveResult<T>) -> DriveResult<T> {
    match &result {
        Err(error) if error.has_user_message() => {
            note_failure(tree, node, None, OperationKind::BackgroundWork, error)
        }
        Err(_) => {}
        Ok(_) => {
            tree.failures().clear(&node.path(tree));
        }
    }
    result
}

/// Ends the failures that an outcome answers: those of a draft that the service has accepted, and of a job that was
/// sent. What a draft was sent without is noted, and that a loose file is a model now.
pub fn note_outcome(tree: &Tree, event: &OutboxEvent) {
    match event {
        OutboxEvent::AssetCreated { draft, .. } => {
            let Some(info) = tree.outbox().drafts().get(*draft) else {
                return;
            };
            tree.deletions().became_model(&info.name);
            let path = tree.catalog().home_path(Home::Made(*draft));
            tree.failures().answered(&path);
            tree.failures()
                .answered(&format!("/rawmodels/{}", info.name));
            if let Some(warning) = &info.warning {
                let at = (path.as_str(), Some(Model::Raw(Home::Made(*draft))));
                tree.failures()
                    .note(at, OperationKind::Warning, Outcome::Failed, warning);
            }
        }
        OutboxEvent::JobChanged(folder, name) => {
            if let Some(folder) = DropFolder::of_outbox(folder) {
                note_failure_time(tree, folder);
            }
            let job = tree.outbox().jobs().get(folder, name);
            if let Some(job) = &job {
                let size = source_size(tree, model_of_folder(tree, folder));
                tree.estimates().note(job, size, Instant::now());
            }
            let was_sent = job.is_some_and(|job| {
                let is_sent = matches!(job.state, JobState::Running { .. } | JobState::Done);
                is_sent && job.failure.is_none()
            });
            if was_sent {
                let folder = job_folder_path(tree, folder);
                tree.failures().answered(&format!("{folder}/{name}"));
            }
        }
        _ => {}
    }
}

/// Tells the mount that a change was refused, for the desktop of who tried it. The path is that of a node, or of a name in it.
/// Left out is what no person did: files that file managers and systems make for themselves, and the commands of assetfs,
/// which print the reason.
pub fn tell_refused<T>(
    mount: &Mount,
    (ino, name): (Ino, Option<&OsStr>),
    caller: &Caller,
    result: &DriveResult<T>,
) {
    let (Some(to), Err(error)) = (&mount.config().refusals, result) else {
        return;
    };
    // First, because most errors only say that there is no such name.
    if !error.has_user_message() {
        return;
    }
    let Ok(node) = mount.node(ino) else { return };
    let path = path_at(mount, &node, name);
    let is_hidden = path.contains(&format!("/{HIDDEN_FOLDER}/"));
    if is_hidden || is_junk_path(&path) || caller.program() == PROGRAM {
        return;
    }
    let _ = to.try_send(Refusal {
        path,
        why: without_error_numbers(&error.to_string()),
        user: RefusedUser {
            uid: caller.uid,
            gid: caller.gid,
        },
    });
}

/// Notes the outcome of a change, and tells the mount if it was refused.
pub fn told<T>(
    mount: &Mount,
    (ino, name): (Ino, Option<&OsStr>),
    caller: &Caller,
    kind: OperationKind,
    result: DriveResult<T>,
) -> DriveResult<T> {
    tell_refused(mount, (ino, name), caller, &result);
    noted(mount, ino, name, kind, result)
}

/// The same for an open file. The kernel does not say who writes, so it is who opened it.
pub fn told_at<T>(
    mount: &Mount,
    ino: Ino,
    fh: Fh,
    kind: OperationKind,
    result: DriveResult<T>,
) -> DriveResult<T> {
    if result.is_err()
        && let Ok(open) = mount.handles().file(fh)
    {
        tell_refused(mount, (ino, None), &open.opened_by, &result);
    }
    noted_at(mount, ino, fh, kind, result)
}

fn note_failure(
    tree: &Tree,
    node: &Node,
    name: Option<&OsStr>,
    kind: OperationKind,
    error: &DriveError,
) {
    let path = path_at(tree, node, name);
    let (why, outcome) = (error.to_string(), error.outcome());
    tracing::debug!(path, why, "an operation failed");
    let model = node.model_folder().or_else(|| node.owner(tree));
    tree.failures().note((&path, model), kind, outcome, &why);
}

/// The path of a node, or of a name in it.
fn path_at(tree: &Tree, node: &Node, name: Option<&OsStr>) -> String {
    let path = node.path(tree);
    match name {
        Some(name) => format!("{}/{}", path.trim_end_matches('/'), shown_name(name)),
        None => path,
    }
}
