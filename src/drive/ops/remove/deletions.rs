//! Deletions under way and lately: what is hidden until a model is deleted as a whole, how many went
//! within a minute, and what a removed job leaves behind for whoever listed it before. Pure but for
//! the clock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::drive::tree::node::{Node, Place};

/// The time over which deletions are counted.
const LIMIT_WINDOW: Duration = Duration::from_secs(60);

/// Deletions under way, and how many there were lately.
#[derive(Debug, Default)]
pub(in crate::drive) struct Deletions {
    pub(super) hiding: HashMap<Place, Hiding>,
    recent: VecDeque<Instant>,
    allowed_until: Option<Instant>,
    /// What went together with a job's text, for a while: whoever listed the folder before will
    /// remove it next, and must find it.
    pub(super) ghosts: HashMap<Node, Instant>,
}

/// What was removed of one model so far.
#[derive(Debug)]
pub(super) struct Hiding {
    nodes: HashSet<Node>,
    processes: HashSet<u32>,
    last: Instant,
}

impl Deletions {
    /// One more is deleted.
    pub(super) fn count(&mut self) {
        self.recent.push_back(Instant::now());
    }

    /// Lifts the limit for a while.
    pub(in crate::drive) fn allow(&mut self, lasts: Duration) {
        self.allowed_until = Some(Instant::now() + lasts);
        self.recent.clear();
    }

    pub(super) fn is_hidden(&self, place: Place, node: &Node, restore_after: Duration) -> bool {
        self.hiding.get(&place).is_some_and(|hiding| {
            hiding.last.elapsed() < restore_after && hiding.nodes.contains(node)
        })
    }

    pub(super) fn hide(&mut self, place: Place, node: Node, process: u32, restore_after: Duration) {
        self.hiding
            .retain(|_, hiding| hiding.last.elapsed() < restore_after);
        let hiding = self.hiding.entry(place).or_insert_with(|| Hiding {
            nodes: HashSet::new(),
            processes: HashSet::new(),
            last: Instant::now(),
        });
        hiding.nodes.insert(node);
        hiding.processes.insert(process);
        hiding.last = Instant::now();
    }

    /// Shows again what was removed.
    pub(super) fn bring_back(&mut self, place: Place, node: &Node) {
        if let Some(hiding) = self.hiding.get_mut(&place) {
            hiding.nodes.remove(node);
        }
    }

    /// True when the process may end what was begun: it removed the entries, or there were none.
    pub(super) fn may_end(&self, place: Place, process: u32) -> bool {
        self.hiding
            .get(&place)
            .is_none_or(|hiding| hiding.processes.contains(&process))
    }

    pub(super) fn leave_ghost(&mut self, node: Node, lasts: Duration) {
        self.ghosts.retain(|_, left| left.elapsed() < lasts);
        self.ghosts.insert(node, Instant::now());
    }

    pub(super) fn is_ghost(&self, node: &Node, lasts: Duration) -> bool {
        self.ghosts
            .get(node)
            .is_some_and(|left| left.elapsed() < lasts)
    }

    pub(super) fn is_over_limit(&mut self, limit: u32) -> bool {
        self.would_be_over_limit(limit, 1)
    }

    pub(super) fn would_be_over_limit(&mut self, limit: u32, more: usize) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::RapidId;

    const PLACE: Place = Place::Rapid(RapidId(7));

    #[test]
    fn what_was_removed_is_back_when_the_rmdir_does_not_come() {
        let mut deletions = Deletions::default();
        let node = Node::Rapid(RapidId(1));
        deletions.hide(PLACE, node.clone(), 42, Duration::from_secs(10));
        assert!(deletions.is_hidden(PLACE, &node, Duration::from_secs(10)));
        assert!(!deletions.is_hidden(PLACE, &node, Duration::ZERO));
    }

    #[test]
    fn what_is_made_again_is_back_at_once() {
        const HOLD: Duration = Duration::from_secs(10);
        let mut deletions = Deletions::default();
        let (node, other) = (Node::Rapid(RapidId(1)), Node::Rapid(RapidId(2)));
        deletions.hide(PLACE, node.clone(), 42, HOLD);
        deletions.hide(PLACE, other.clone(), 42, HOLD);
        deletions.bring_back(PLACE, &node);
        assert!(!deletions.is_hidden(PLACE, &node, HOLD));
        assert!(deletions.is_hidden(PLACE, &other, HOLD));
    }

    #[test]
    fn only_the_process_that_removed_the_entries_ends_the_deletion() {
        let mut deletions = Deletions::default();
        assert!(deletions.may_end(PLACE, 43), "there was nothing to remove");
        deletions.hide(PLACE, Node::Root, 42, Duration::from_secs(10));
        assert!(deletions.may_end(PLACE, 42));
        assert!(!deletions.may_end(PLACE, 43));
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
