//! Deletions in progress and recent ones: parts hidden until a model is deleted as a whole, what a process has seen
//! of a folder before it removed it, how many models were deleted within a minute, and what a removed job leaves for
//! a process that listed it before. Pure except for the clock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::inodes::Numbered;
use super::posix::{Fh, FileKind, Ino};
use super::values::local::{DropFolder, JobEntry};
use super::values::node::Model;
use crate::locks::Locked;

/// The period over which deletions are counted.
const LIMIT_WINDOW: Duration = Duration::from_secs(60);
/// Rows of listed folders that are remembered; the oldest listings are dropped first.
const MAX_LISTED_ROWS: usize = 1 << 18;
/// Listed folders that are remembered.
const MAX_LISTED: usize = 1024;
/// Lookups of loose files that are remembered.
const MAX_LOOKED_FOR: usize = 4096;
/// How long after a loose file became a model lookups of it tell nothing: a file manager that shows the folder looks what
/// became of it.
const NEW_MODEL: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct Deletions {
    hiding: HashMap<Model, Hiding>,
    listed: VecDeque<FolderRead>,
    recent: VecDeque<Instant>,
    allowed_until: Option<Instant>,
    /// Parts that were removed with a job's text, for a while: a tool that listed the folder before will remove
    /// them next, and must find them.
    removed_parts: HashMap<JobEntry, Instant>,
    /// Folders of loose files that were removed with their last file: `rm -r` removes the folder next, and must find it.
    emptied: VecDeque<EmptiedFolder>,
    looked_for: VecDeque<LookedFor>,
    /// Loose files that became models lately.
    became_models: VecDeque<(Box<str>, Instant)>,
}

/// What a lookup of a name of a loose file found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LooseLookup {
    /// The file, beside the folder of its model.
    Beside,
    Missing,
}

/// A process looked for a loose file.
#[derive(Debug)]
struct LookedFor {
    name: Box<str>,
    found: LooseLookup,
    /// As in [`FolderRead`].
    thread: u32,
    at: Instant,
}

/// A deletion of one model that has begun.
#[derive(Debug)]
struct Hiding {
    /// The identities of the removed nodes.
    nodes: HashSet<String>,
    processes: HashSet<u32>,
    first: Instant,
    last: Instant,
    /// Calls of these processes that wait for an answer.
    waiting: u32,
}

impl Hiding {
    /// True until `restore_after` has passed since the last removal. Time in which the processes wait for the drive does not count.
    fn lasts(&self, restore_after: Duration) -> bool {
        self.waiting > 0 || self.last.elapsed() < restore_after
    }
}

/// A call that is being answered. What its process removed stays hidden meanwhile: a service that is slow must not end an `rm -r`.
pub(super) struct RemoverWaits<'d> {
    deletions: &'d Mutex<Deletions>,
    models: Vec<Model>,
}

impl RemoverWaits<'_> {
    /// To be called when the call arrives, and dropped when it is answered.
    pub(super) fn begin(
        of: &Mutex<Deletions>,
        process: impl FnOnce() -> u32,
        restore_after: Duration,
    ) -> RemoverWaits<'_> {
        let mut deletions = of.locked();
        let models = match deletions.hides_nothing() {
            true => Vec::new(),
            false => deletions.waits(process(), restore_after),
        };
        drop(deletions);
        RemoverWaits {
            deletions: of,
            models,
        }
    }
}

impl Drop for RemoverWaits<'_> {
    fn drop(&mut self) {
        if !self.models.is_empty() {
            self.deletions.locked().answered(&self.models);
        }
    }
}

/// The rows that a process saw when it opened a folder of a model.
#[derive(Debug)]
struct FolderRead {
    /// The thread that opened it: the process of a thread is looked up only when a folder is removed.
    thread: u32,
    folder: Ino,
    handle: Fh,
    rows: Vec<ListedRow>,
    at: Instant,
    is_open: bool,
    /// When the process last removed one of the rows.
    removed_at: Option<Instant>,
}

/// A folder in `rawmodels/` that a draft showed and that is gone with it.
#[derive(Debug)]
struct EmptiedFolder {
    name: String,
    process: u32,
    at: Instant,
}

/// A row that a process was shown.
#[derive(Debug)]
pub(super) struct ListedRow {
    pub(super) ino: Ino,
    pub(super) name: Box<str>,
    pub(super) kind: FileKind,
    /// True if it can go without a user's action: everything but the user's own files.
    pub(super) can_vanish: bool,
    /// The process removed it.
    is_removed: bool,
}

impl ListedRow {
    pub(super) fn new(ino: Ino, name: &str, kind: FileKind, can_vanish: bool) -> ListedRow {
        ListedRow {
            ino,
            name: name.into(),
            kind,
            can_vanish,
            is_removed: false,
        }
    }
}

impl Deletions {
    /// A process opened a folder of a model and is shown these rows.
    pub(super) fn was_listed(
        &mut self,
        thread: u32,
        (folder, handle): (Ino, Fh),
        rows: Vec<ListedRow>,
    ) {
        self.listed
            .retain(|listed| (listed.thread, listed.folder) != (thread, folder));
        self.listed.push_back(FolderRead {
            thread,
            folder,
            handle,
            rows,
            at: Instant::now(),
            is_open: true,
            removed_at: None,
        });
        let mut held: usize = self.listed.iter().map(|listed| listed.rows.len()).sum();
        while held > MAX_LISTED_ROWS || self.listed.len() > MAX_LISTED {
            let dropped = self.listed.pop_front();
            held -= dropped.map_or(0, |listed| listed.rows.len());
        }
    }

    /// True when none of the rows that are left in a folder was there when the process listed it to
    /// remove it. A process that did not list the folder, or removed nothing, has to empty it.
    pub(super) fn has_only_new_rows(
        &self,
        rows: &[Ino],
        (model, folder): (Model, Ino),
        process: u32,
        process_of: impl Fn(u32) -> u32,
        restore_after: Duration,
    ) -> bool {
        let began = self.hiding.get(&model).and_then(|hiding| {
            let removes = hiding.processes.contains(&process);
            (removes && hiding.lasts(restore_after)).then_some(hiding.first)
        });
        let Some(began) = began else {
            return false;
        };
        let mut newest_first = self.listed.iter().rev();
        newest_first
            .find(|listed| listed.folder == folder && process_of(listed.thread) == process)
            .is_some_and(|listed| {
                let is_recent = listed.at + restore_after >= began;
                let was_shown = |ino: &Ino| listed.rows.iter().any(|row| row.ino == *ino);
                is_recent && !rows.iter().any(was_shown)
            })
    }

    /// A loose file became a model.
    pub(super) fn became_model(&mut self, name: &str) {
        self.became_models
            .retain(|(_, at)| at.elapsed() < NEW_MODEL);
        self.became_models.push_back((name.into(), Instant::now()));
    }

    /// A process looked for a loose file.
    pub(super) fn was_looked_for(&mut self, name: &str, found: LooseLookup, thread: u32) {
        let is_new = |(new, at): &(Box<str>, Instant)| **new == *name && at.elapsed() < NEW_MODEL;
        if self.became_models.iter().any(is_new) {
            return;
        }
        if self.looked_for.len() == MAX_LOOKED_FOR {
            self.looked_for.pop_front();
        }
        self.looked_for.push_back(LookedFor {
            name: name.into(),
            found,
            thread,
            at: Instant::now(),
        });
    }

    /// The loose files that a process looked for lately.
    pub(super) fn looked_for(
        &mut self,
        process: u32,
        process_of: impl Fn(u32) -> u32,
        lately: Duration,
    ) -> HashSet<(String, LooseLookup)> {
        self.looked_for
            .retain(|looked| looked.at.elapsed() < lately);
        let mut threads: HashMap<u32, bool> = HashMap::new();
        let own = self.looked_for.iter().filter(|looked| {
            *threads
                .entry(looked.thread)
                .or_insert_with(|| process_of(looked.thread) == process)
        });
        own.map(|looked| (looked.name.to_string(), looked.found))
            .collect()
    }

    /// A folder that was listed was closed.
    pub(super) fn was_closed(&mut self, handle: Fh) {
        let mut newest_first = self.listed.iter_mut().rev();
        if let Some(listed) = newest_first.find(|listed| listed.handle == handle) {
            listed.is_open = false;
        }
    }

    /// A process removed or renamed a name in a folder. What it removed from models before stays hidden for `restore_after` from
    /// now on: a program that deletes a model and follows its links deletes the files of a result between two files of the model.
    pub(super) fn was_removed(
        &mut self,
        (folder, name): (Ino, &str),
        process: u32,
        process_of: impl Fn(u32) -> u32,
        restore_after: Duration,
    ) {
        for hiding in self.hiding.values_mut() {
            if hiding.processes.contains(&process) && hiding.lasts(restore_after) {
                hiding.last = Instant::now();
            }
        }
        let mut newest_first = self.listed.iter_mut().rev();
        let listed = newest_first
            .find(|listed| listed.folder == folder && process_of(listed.thread) == process);
        let Some(listed) = listed else { return };
        listed.removed_at = Some(Instant::now());
        if let Some(row) = listed.rows.iter_mut().find(|row| *row.name == *name) {
            row.is_removed = true;
        }
    }

    /// The kind of a name that a process listed in the folder that it is removing, and that another process removed.
    /// The folder is a part of `model`.
    pub(super) fn find_vanished(
        &self,
        (model, folder, name): (Model, Ino, &str),
        process_of: impl Fn(u32) -> u32,
        thread: u32,
        hold: Duration,
    ) -> Option<FileKind> {
        let shows_it = |listed: &&FolderRead| {
            listed.folder == folder && listed.rows.iter().any(|row| *row.name == *name)
        };
        if !self.listed.iter().any(|listed| shows_it(&listed)) {
            return None;
        }
        let process = process_of(thread);
        let mut newest_first = self.listed.iter().rev();
        let listed = newest_first
            .find(|listed| listed.folder == folder && process_of(listed.thread) == process)?;
        let is_recent = |at: Instant| at.elapsed() < hold;
        let removes_model = self
            .hiding
            .get(&model)
            .is_some_and(|hiding| hiding.processes.contains(&process) && hiding.lasts(hold));
        let is_being_removed = listed.is_open && is_recent(listed.at)
            || listed.removed_at.is_some_and(is_recent)
            || removes_model;
        let row = listed.rows.iter().find(|row| *row.name == *name)?;
        (is_being_removed && row.can_vanish && !row.is_removed).then_some(row.kind)
    }

    /// Counts deletions that are about to happen; false if they are more than the limit allows, and none is counted.
    pub(super) fn count(&mut self, limit: u32, number: usize) -> bool {
        if self.would_be_over_limit(limit, number) {
            return false;
        }
        let now = Instant::now();
        self.recent.extend(std::iter::repeat_n(now, number));
        true
    }

    /// Takes back the newest counted deletions, which did not happen.
    pub(super) fn uncount(&mut self, number: usize) {
        let left = self.recent.len().saturating_sub(number);
        self.recent.truncate(left);
    }

    /// Suspends the limit for a while.
    pub(super) fn allow(&mut self, lasts: Duration) {
        self.allowed_until = Some(Instant::now() + lasts);
        self.recent.clear();
    }

    /// True while nothing is hidden.
    pub(super) fn hides_nothing(&self) -> bool {
        self.hiding.is_empty()
    }

    /// True when something of the model was removed.
    pub(super) fn hides_parts_of(&self, model: Model) -> bool {
        self.hiding.contains_key(&model)
    }

    /// True for what was removed, until `restore_after` has passed since the last removal, anywhere, by a process that removed a
    /// part of this model.
    pub(super) fn is_hidden(
        &self,
        model: Model,
        node: &impl Numbered,
        restore_after: Duration,
    ) -> bool {
        self.hiding.get(&model).is_some_and(|hiding| {
            hiding.lasts(restore_after) && hiding.nodes.contains(&node.identity())
        })
    }

    pub(super) fn hide(
        &mut self,
        model: Model,
        node: &impl Numbered,
        process: u32,
        restore_after: Duration,
    ) {
        self.hiding.retain(|_, hiding| hiding.lasts(restore_after));
        let hiding = self.hiding.entry(model).or_insert_with(|| Hiding {
            nodes: HashSet::new(),
            processes: HashSet::new(),
            first: Instant::now(),
            last: Instant::now(),
            waiting: 0,
        });
        hiding.nodes.insert(node.identity());
        hiding.processes.insert(process);
        hiding.last = Instant::now();
    }

    /// Shows a hidden node again.
    pub(super) fn unhide(&mut self, model: Model, node: &impl Numbered) {
        if let Some(hiding) = self.hiding.get_mut(&model) {
            hiding.nodes.remove(&node.identity());
        }
    }

    /// Notes that a process waits for the answer to a call. Returns the models from which it has removed something.
    fn waits(&mut self, process: u32, restore_after: Duration) -> Vec<Model> {
        let mut models = Vec::new();
        for (model, hiding) in &mut self.hiding {
            if hiding.processes.contains(&process) && hiding.lasts(restore_after) {
                hiding.waiting += 1;
                models.push(*model);
            }
        }
        models
    }

    /// Notes that this call is answered. `models` are those that [`Deletions::waits`] returned.
    fn answered(&mut self, models: &[Model]) {
        for model in models {
            if let Some(hiding) = self.hiding.get_mut(model) {
                hiding.waiting = hiding.waiting.saturating_sub(1);
                hiding.last = Instant::now();
            }
        }
    }

    /// The deletion of a model has ended, with or without success.
    pub(super) fn end(&mut self, model: Model) {
        self.hiding.remove(&model);
    }

    /// A part that a job left was removed too.
    pub(super) fn forget_removed_part(&mut self, entry: &JobEntry) {
        self.removed_parts.remove(entry);
    }

    /// True if the process may delete the model: it removed the entries, or there were none.
    pub(super) fn may_end(&self, model: Model, process: u32) -> bool {
        self.hiding
            .get(&model)
            .is_none_or(|hiding| hiding.processes.contains(&process))
    }

    pub(super) fn keep_removed_part(&mut self, entry: JobEntry, lasts: Duration) {
        self.removed_parts.retain(|_, left| left.elapsed() < lasts);
        self.removed_parts.insert(entry, Instant::now());
    }

    /// The removed job whose entry had this name in this folder.
    pub(super) fn find_removed_part(&self, folder: DropFolder, name: &str) -> Option<JobEntry> {
        let is_named = |entry: &&JobEntry| entry.folder == folder && entry.name() == name;
        self.removed_parts.keys().find(is_named).cloned()
    }

    /// A process removed the last file of a draft, and the folder of that name with it. Only a process that listed the
    /// folder is about to remove it.
    pub(super) fn was_emptied(
        &mut self,
        (folder, name): (Ino, &str),
        process: u32,
        process_of: impl Fn(u32) -> u32,
        hold: Duration,
    ) {
        self.emptied.retain(|emptied| emptied.at.elapsed() < hold);
        self.remove_emptied(name);
        let mut newest_first = self.listed.iter().rev();
        let has_listed = newest_first
            .any(|listed| listed.folder == folder && process_of(listed.thread) == process);
        if !has_listed {
            return;
        }
        if self.emptied.len() == MAX_LISTED {
            self.emptied.pop_front();
        }
        self.emptied.push_back(EmptiedFolder {
            name: name.to_owned(),
            process,
            at: Instant::now(),
        });
    }

    /// The emptied folder was removed too.
    pub(super) fn remove_emptied(&mut self, name: &str) {
        self.emptied.retain(|emptied| emptied.name != name);
    }

    /// True if the process emptied the folder of that name lately.
    pub(super) fn is_emptied(&self, name: &str, process: u32, hold: Duration) -> bool {
        self.emptied.iter().any(|emptied| {
            emptied.name == name && emptied.process == process && emptied.at.elapsed() < hold
        })
    }

    pub(super) fn is_removed_part(&self, entry: &JobEntry, lasts: Duration) -> bool {
        self.removed_parts
            .get(entry)
            .is_some_and(|left| left.elapsed() < lasts)
    }

    pub(super) fn is_over_limit(&mut self, limit: u32) -> bool {
        self.would_be_over_limit(limit, 1)
    }

    fn would_be_over_limit(&mut self, limit: u32, more: usize) -> bool {
        self.left(limit).is_some_and(|left| more > left)
    }

    /// How many more models may be deleted now; `None` while `allow-delete` lifts the limit.
    pub(super) fn left(&mut self, limit: u32) -> Option<usize> {
        if self
            .allowed_until
            .is_some_and(|until| Instant::now() < until)
        {
            return None;
        }
        while self
            .recent
            .front()
            .is_some_and(|at| at.elapsed() >= LIMIT_WINDOW)
        {
            self.recent.pop_front();
        }
        Some((limit as usize).saturating_sub(self.recent.len()))
    }
}

#[cfg(test)]
mod tests;
