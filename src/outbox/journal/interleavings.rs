//! The journal and its parts under a scheduler that tries orders of threads at random: `scripts/check/interleavings`.

#![cfg(shuttle)]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use shuttle::thread;

use super::*;
use crate::outbox::events::Events;

/// Orders that are tried of each test.
const ORDERS: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
struct ThreadStep {
    thread: u8,
    number: u8,
}

impl Journaled for ThreadStep {
    const KIND: &'static str = "step";
}

#[derive(Debug, serde::Deserialize)]
struct Read {
    step: ThreadStep,
}

fn open(dir: &Path) -> (Arc<Journal>, Vec<ThreadStep>) {
    match Journal::open::<Read>(dir).unwrap() {
        FoundJournal::Whole(journal, found) => (
            Arc::from(journal),
            found.into_iter().map(|read| read.step).collect(),
        ),
        found => panic!("{found:?}"),
    }
}

fn on_disk(dir: &Path) -> Vec<ThreadStep> {
    Journal::read::<Read>(dir)
        .unwrap()
        .into_iter()
        .map(|read| read.step)
        .collect()
}

/// Runs `work` in three threads and waits for all; a thread that waits for ever is found by the scheduler.
fn in_threads(work: impl Fn(u8) + Send + Sync + 'static) {
    let work = Arc::new(work);
    let threads: Vec<_> = (0..3)
        .map(|thread| {
            let work = Arc::clone(&work);
            thread::spawn(move || work(thread))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn in_every_order_a_settled_record_is_on_the_disk_and_each_thread_keeps_its_order() {
    let dirs = tempfile::tempdir().unwrap();
    let root = dirs.path().to_owned();
    shuttle::check_random(
        move || {
            let dir = tempfile::tempdir_in(&root).unwrap();
            let (journal, none) = open(dir.path());
            assert!(none.is_empty());
            let path = dir.path().to_owned();
            in_threads(move |thread| {
                for number in 0..3 {
                    let step = ThreadStep { thread, number };
                    let ticket = journal.push(&step);
                    journal.settle(ticket).unwrap();
                    assert!(on_disk(&path).contains(&step), "{step:?}");
                }
            });
            let found = on_disk(dir.path());
            assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 9, "{found:?}");
            for thread in 0..3 {
                let own = found.iter().filter(|step| step.thread == thread);
                assert!(own.map(|step| step.number).eq(0..3), "{found:?}");
            }
        },
        ORDERS,
    );
}

#[test]
fn in_every_order_records_have_the_order_of_the_changes_over_all_parts() {
    let dirs = tempfile::tempdir().unwrap();
    let root = dirs.path().to_owned();
    shuttle::check_random(
        move || {
            let dir = tempfile::tempdir_in(&root).unwrap();
            let (journal, _) = open(dir.path());
            let events = Arc::new(Events::default());
            let (one, other) = (
                Part::new(&journal, &events, Vec::new()),
                Part::new(&journal, &events, Vec::new()),
            );
            let changes = Arc::new(std::sync::Mutex::new(Vec::new()));
            let seen = Arc::clone(&changes);
            let path = dir.path().to_owned();
            in_threads(move |thread| {
                for number in 0..2 {
                    let step = ThreadStep { thread, number };
                    let (own, peeked) = match thread {
                        0 => (&one, &other),
                        _ => (&other, &one),
                    };
                    let ticket = {
                        let mut own = own.lock();
                        own.push(step.clone());
                        assert!(!peeked.peek().contains(&step));
                        changes.lock().unwrap().push(step.clone());
                        journal.push(&step)
                    };
                    journal.settle(ticket).unwrap();
                }
            });
            assert_eq!(on_disk(&path), *seen.lock().unwrap());
        },
        ORDERS,
    );
}
