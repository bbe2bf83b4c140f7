//! The last failure of each path, as a sentence: what `user.assetfs.why` shows.
//!
//! Bounded: the oldest sentences go first. Kept for as long as the mount lives; what has to outlive
//! it is kept by the outbox.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use super::tree::node::Node;

/// How many sentences are kept.
const MAX_KEPT: usize = 2000;

/// A path: a thing, or a name in a folder that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    pub(super) node: Node,
    pub(super) name: Option<String>,
}

/// One failure.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) path: String,
    pub(super) why: String,
}

/// The failures of a mount.
#[derive(Default)]
pub(super) struct Failures {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_subject: HashMap<Subject, (u64, Failure)>,
    order: VecDeque<(u64, Subject)>,
    next: u64,
}

impl Failures {
    /// Keeps a sentence for a subject in place of an older one.
    pub(super) fn note(&self, subject: Subject, failure: Failure) {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.order.push_back((number, subject.clone()));
        state.by_subject.insert(subject, (number, failure));
        while state.by_subject.len() > MAX_KEPT || state.order.len() > 2 * MAX_KEPT {
            let Some((number, subject)) = state.order.pop_front() else {
                break;
            };
            if state
                .by_subject
                .get(&subject)
                .is_some_and(|(last, _)| *last == number)
            {
                state.by_subject.remove(&subject);
            }
        }
    }

    /// What failed for the thing itself.
    pub(super) fn of(&self, node: &Node) -> Option<String> {
        let subject = Subject {
            node: node.clone(),
            name: None,
        };
        self.lock()
            .by_subject
            .get(&subject)
            .map(|(_, failure)| failure.why.clone())
    }

    /// What failed for a name in a folder.
    pub(super) fn of_name(&self, folder: &Node, name: &str) -> Option<String> {
        let subject = Subject {
            node: folder.clone(),
            name: Some(name.to_owned()),
        };
        self.lock()
            .by_subject
            .get(&subject)
            .map(|(_, failure)| failure.why.clone())
    }

    /// What failed last for any name in a folder.
    pub(super) fn last_in(&self, folder: &Node) -> Option<String> {
        let state = self.lock();
        state.order.iter().rev().find_map(|(number, subject)| {
            let name = subject.name.as_ref().filter(|_| subject.node == *folder)?;
            let (last, failure) = state.by_subject.get(subject)?;
            (last == number).then(|| format!("{name}: {}", failure.why))
        })
    }

    /// It works now.
    pub(super) fn clear(&self, subject: &Subject) {
        self.lock().by_subject.remove(subject);
    }

    /// The latest ones, newest first.
    pub(super) fn latest(&self, count: usize) -> Vec<Failure> {
        let state = self.lock();
        let is_last = |number: &u64, subject: &Subject| {
            state
                .by_subject
                .get(subject)
                .filter(|(last, _)| last == number)
                .map(|(_, failure)| failure.clone())
        };
        state
            .order
            .iter()
            .rev()
            .filter_map(|(number, subject)| is_last(number, subject))
            .take(count)
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no panic while failures are held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(failures: &Failures, name: Option<&str>, why: &str) {
        let subject = Subject {
            node: Node::Root,
            name: name.map(str::to_owned),
        };
        failures.note(
            subject,
            Failure {
                path: "/".to_owned(),
                why: why.to_owned(),
            },
        );
    }

    #[test]
    fn the_last_sentence_of_each_path_is_kept() {
        let failures = Failures::default();
        fail(&failures, None, "first");
        fail(&failures, None, "second");
        fail(&failures, Some("chair"), "taken");
        assert_eq!(failures.of(&Node::Root).as_deref(), Some("second"));
        assert_eq!(
            failures.of_name(&Node::Root, "chair").as_deref(),
            Some("taken")
        );
        assert_eq!(
            failures.last_in(&Node::Root).as_deref(),
            Some("chair: taken")
        );
        assert_eq!(failures.latest(9).len(), 2);
    }

    #[test]
    fn the_oldest_sentences_go_first() {
        let failures = Failures::default();
        for number in 0..MAX_KEPT + 10 {
            fail(&failures, Some(&number.to_string()), "no");
        }
        assert_eq!(failures.of_name(&Node::Root, "3"), None);
        assert!(failures.of_name(&Node::Root, "11").is_some());
        assert_eq!(failures.lock().by_subject.len(), MAX_KEPT);
    }
}
