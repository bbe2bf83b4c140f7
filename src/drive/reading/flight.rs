//! One fetch under way: a run of blocks, landing in order, and those who wait for them.
//!
//! A flight lives as long as somebody holds it, a waiting reader or the window of a handle; when
//! the last one lets go, its task is stopped. Blocks that a reader waits for, and those that the
//! cache could not take, are held in memory until the flight is dropped.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::budget::Share;
use super::error::ReadError;

/// The holders' side of a flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) course: Arc<Course>,
    task: AbortHandle,
}

/// What a flight carries; its task's side.
#[derive(Debug)]
pub(super) struct Course {
    /// Numbers of the blocks.
    pub(super) blocks: Range<u64>,
    /// Those that a reader waits for.
    pub(super) wanted: Range<u64>,
    state: Mutex<State>,
    changed: Notify,
    /// How many wait for a block that has not landed.
    waiting: AtomicU32,
    /// Tells the task that somebody began to wait.
    asked: Notify,
    pub(super) share: Share,
}

#[derive(Debug)]
struct State {
    /// The blocks below this number have landed.
    landed: u64,
    held: BTreeMap<u64, Bytes>,
    /// Set when nothing more will land.
    over: Option<Result<(), ReadError>>,
}

/// A block that has landed.
#[derive(Debug, Clone)]
pub(super) enum Landed {
    /// Here it is.
    Held(Bytes),
    /// It is in the cache.
    Cached,
}

impl Flight {
    pub(super) fn new(course: Arc<Course>, task: AbortHandle) -> Flight {
        Flight { course, task }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Course {
    pub(super) fn new(blocks: Range<u64>, wanted: Range<u64>, share: Share) -> Course {
        Course {
            state: Mutex::new(State {
                landed: blocks.start,
                held: BTreeMap::new(),
                over: None,
            }),
            blocks,
            wanted,
            changed: Notify::new(),
            waiting: AtomicU32::new(0),
            asked: Notify::new(),
            share,
        }
    }

    /// Waits until the block has landed or never will. Needs no runtime: the flight has a deadline
    /// of its own.
    pub(super) async fn wait_for(&self, block: u64) -> Result<Landed, ReadError> {
        if let Some(outcome) = self.outcome(block) {
            return outcome;
        }
        let _waits = Waits::new(&self.waiting);
        self.asked.notify_one();
        loop {
            // Before the look, so that a change after it wakes us.
            let changed = self.changed.notified();
            if let Some(outcome) = self.outcome(block) {
                return outcome;
            }
            changed.await;
        }
    }

    /// The future's value, or nothing when somebody begins to wait before it is there.
    pub(super) async fn unless_asked<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = self.asked.notified() => None,
        }
    }

    /// Whether what has come should land at once, because somebody waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether somebody who needs the block may rely on this flight.
    pub(super) fn will_have(&self, block: u64) -> bool {
        let state = self.state();
        self.blocks.contains(&block)
            && match &state.over {
                None => block >= state.landed || state.held.contains_key(&block),
                Some(_) => state.held.contains_key(&block),
            }
    }

    /// A block has come, and is kept in memory for who waits for it.
    pub(super) fn land_held(&self, block: u64, bytes: Bytes) {
        let mut state = self.state();
        state.held.insert(block, bytes);
        state.landed = block + 1;
        drop(state);
        self.changed.notify_waiters();
    }

    /// All blocks below this number have come, and are in the cache.
    pub(super) fn land_cached(&self, end: u64) {
        self.state().landed = end;
        self.changed.notify_waiters();
    }

    /// Nothing more comes.
    pub(super) fn finish(&self, outcome: Result<(), ReadError>) {
        self.state().over.get_or_insert(outcome);
        self.changed.notify_waiters();
    }

    fn outcome(&self, block: u64) -> Option<Result<Landed, ReadError>> {
        let state = self.state();
        if block < state.landed {
            let held = state.held.get(&block).cloned();
            return Some(Ok(held.map_or(Landed::Cached, Landed::Held)));
        }
        match &state.over {
            None => None,
            Some(Err(error)) => Some(Err(error.clone())),
            Some(Ok(())) => unreachable!("a flight that ends well has landed every block"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one who waits, for as long as the wait goes on.
struct Waits<'a>(&'a AtomicU32);

impl Waits<'_> {
    fn new(waiting: &AtomicU32) -> Waits<'_> {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waits(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
