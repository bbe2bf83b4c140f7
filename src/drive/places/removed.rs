//! Deletions under way and lately: what is hidden until a model is deleted as a whole, how many went
//! within a minute, and what a removed job leaves behind for whoever listed it before. Pure but for
//! the clock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use super::node::{Node, Row};
use super::values::{DropFolder, JobEntry, Model};
use crate::drive::parts::Tree;

/// The time over which deletions are counted.
const LIMIT_WINDOW: Duration = Duration::from_secs(60);

/// Deletions under way, and how many there were lately.
#[derive(Debug, Default)]
pub(in crate::drive) struct Deletions {
    hiding: HashMap<Model, Hiding>,
    recent: VecDeque<Instant>,
    allowed_until: Option<Instant>,
    /// What went together with a job's text, for a while: whoever listed the folder before will
    /// remove it next, and must find it.
    ghosts: HashMap<JobEntry, Instant>,
}

/// What was removed of one model so far.
#[derive(Debug)]
struct Hiding {
    nodes: HashSet<Node>,
    processes: HashSet<u32>,
    last: Instant,
}

impl Deletions {
    /// One more is deleted.
    pub(in crate::drive) fn count(&mut self) {
        self.recent.push_back(Instant::now());
    }

    /// Lifts the limit for a while.
    pub(in crate::drive) fn allow(&mut self, lasts: Duration) {
        self.allowed_until = Some(Instant::now() + lasts);
        self.recent.clear();
    }

    pub(in crate::drive) fn is_hidden(
        &self,
        model: Model,
        node: &Node,
        restore_after: Duration,
    ) -> bool {
        self.hiding.get(&model).is_some_and(|hiding| {
            hiding.last.elapsed() < restore_after && hiding.nodes.contains(node)
        })
    }

    pub(in crate::drive) fn hide(
        &mut self,
        model: Model,
        node: Node,
        process: u32,
        restore_after: Duration,
    ) {
        self.hiding
            .retain(|_, hiding| hiding.last.elapsed() < restore_after);
        let hiding = self.hiding.entry(model).or_insert_with(|| Hiding {
            nodes: HashSet::new(),
            processes: HashSet::new(),
            last: Instant::now(),
        });
        hiding.nodes.insert(node);
        hiding.processes.insert(process);
        hiding.last = Instant::now();
    }

    /// Shows again what was removed.
    pub(in crate::drive) fn bring_back(&mut self, model: Model, node: &Node) {
        if let Some(hiding) = self.hiding.get_mut(&model) {
            hiding.nodes.remove(node);
        }
    }

    /// The deletion of a model is over, done or failed: nothing is half removed any more.
    pub(in crate::drive) fn end(&mut self, model: Model) {
        self.hiding.remove(&model);
    }

    /// What a job left is removed, too.
    pub(in crate::drive) fn remove_ghost(&mut self, entry: &JobEntry) {
        self.ghosts.remove(entry);
    }

    /// True when the process may end what was begun: it removed the entries, or there were none.
    pub(in crate::drive) fn may_end(&self, model: Model, process: u32) -> bool {
        self.hiding
            .get(&model)
            .is_none_or(|hiding| hiding.processes.contains(&process))
    }

    pub(in crate::drive) fn leave_ghost(&mut self, entry: JobEntry, lasts: Duration) {
        self.ghosts.retain(|_, left| left.elapsed() < lasts);
        self.ghosts.insert(entry, Instant::now());
    }

    pub(in crate::drive) fn is_ghost(&self, entry: &JobEntry, lasts: Duration) -> bool {
        self.ghosts
            .get(entry)
            .is_some_and(|left| left.elapsed() < lasts)
    }

    pub(in crate::drive) fn is_over_limit(&mut self, limit: u32) -> bool {
        self.would_be_over_limit(limit, 1)
    }

    pub(in crate::drive) fn would_be_over_limit(&mut self, limit: u32, more: usize) -> bool {
        if self
            .allowed_until
            .is_some_and(|until| Instant::now() < until)
        {
            return false;
        }
        while self
            .recent
            .front()
            .is_some_and(|at| at.elapsed() >= LIMIT_WINDOW)
        {
            self.recent.pop_front();
        }
        self.recent.len() + more > limit as usize
    }
}

/// True for what a deletion under way has removed.
pub(in crate::drive) fn is_hidden(tree: &Tree, node: &Node) -> bool {
    if tree.deletions().hiding.is_empty() {
        return false;
    }
    node.owner(tree).is_some_and(|model| {
        tree.deletions()
            .is_hidden(model, node, tree.config.restore_after)
    })
}

/// Leaves out what a deletion under way has removed from a model.
pub(super) fn without_hidden(tree: &Tree, rows: &mut Vec<Row>, model: Model) {
    let deletions = tree.deletions();
    if deletions.hiding.contains_key(&model) {
        rows.retain(|row| !deletions.is_hidden(model, &row.node, tree.config.restore_after));
    }
}

/// The part of a removed job that a name in a drop folder stands for.
pub(super) fn find_ghost(tree: &Tree, folder: DropFolder, name: &str) -> Option<JobEntry> {
    let is_named = |entry: &&JobEntry| entry.folder == folder && entry.name() == name;
    let found = tree.deletions().ghosts.keys().find(is_named).cloned();
    found.filter(|entry| is_ghost(tree, entry))
}

/// True for a part of a job that was removed with its text, and that was not made anew.
pub(in crate::drive) fn is_ghost(tree: &Tree, entry: &JobEntry) -> bool {
    let was_left = tree.deletions().is_ghost(entry, tree.config.restore_after);
    let folder = entry.folder.in_outbox();
    was_left && tree.outbox.job(&folder, &entry.text_name).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::places::rapid::RapidFolder;
    use crate::drive::places::root::Root;
    use crate::wire::RapidId;

    const MODEL: Model = Model::Rapid(RapidId(7));

    #[test]
    fn what_was_removed_is_back_when_the_rmdir_does_not_come() {
        let mut deletions = Deletions::default();
        let node = Node::from(RapidFolder(RapidId(1)));
        deletions.hide(MODEL, node.clone(), 42, Duration::from_secs(10));
        assert!(deletions.is_hidden(MODEL, &node, Duration::from_secs(10)));
        assert!(!deletions.is_hidden(MODEL, &node, Duration::ZERO));
    }

    #[test]
    fn what_is_made_again_is_back_at_once() {
        const HOLD: Duration = Duration::from_secs(10);
        let mut deletions = Deletions::default();
        let (node, other) = (
            Node::from(RapidFolder(RapidId(1))),
            Node::from(RapidFolder(RapidId(2))),
        );
        deletions.hide(MODEL, node.clone(), 42, HOLD);
        deletions.hide(MODEL, other.clone(), 42, HOLD);
        deletions.bring_back(MODEL, &node);
        assert!(!deletions.is_hidden(MODEL, &node, HOLD));
        assert!(deletions.is_hidden(MODEL, &other, HOLD));
    }

    #[test]
    fn only_the_process_that_removed_the_entries_ends_the_deletion() {
        let mut deletions = Deletions::default();
        assert!(deletions.may_end(MODEL, 43), "there was nothing to remove");
        deletions.hide(MODEL, Root.into(), 42, Duration::from_secs(10));
        assert!(deletions.may_end(MODEL, 42));
        assert!(!deletions.may_end(MODEL, 43));
    }

    #[test]
    fn the_limit_counts_a_minute_and_can_be_lifted() {
        let mut deletions = Deletions::default();
        deletions.recent.extend([Instant::now(); 20]);
        assert!(deletions.is_over_limit(20));
        assert!(!deletions.is_over_limit(21));
        deletions.allow(Duration::from_secs(5));
        assert!(!deletions.is_over_limit(20));
    }
}
