//! One fetch in flight: a run of blocks, delivered in order, and its waiters.
//!
//! A flight lives as long as a waiting reader or the window of a handle holds it; dropping the last reference
//! aborts its task. Blocks that a reader waits for, and blocks that the cache did not accept, stay in memory
//! until then.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::budget::Share;
use super::error::ReadError;
use crate::locks::Locked;

/// The holders' side of a flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) fetch_state: Arc<FetchState>,
    task: AbortHandle,
}

/// The state of a flight, held by its task.
#[derive(Debug)]
pub(super) struct FetchState {
    /// Numbers of the blocks.
    pub(super) blocks: Range<u64>,
    /// Blocks that a reader waits for.
    pub(super) wanted: Range<u64>,
    state: Mutex<State>,
    changed: Notify,
    /// Number of readers that wait for a block.
    waiting: AtomicU32,
    /// Notifies the task that a reader waits.
    asked: Notify,
    pub(super) share: Share,
}

#[derive(Debug)]
struct State {
    /// Blocks below this number are delivered.
    delivered_below: u64,
    held: BTreeMap<u64, Bytes>,
    /// Set when nothing more will be delivered.
    over: Option<Result<(), ReadError>>,
}

/// A delivered block.
#[derive(Debug, Clone)]
pub(super) enum DeliveredBlock {
    Held(Bytes),
    /// It is in the cache.
    Cached,
}

impl Flight {
    pub(super) fn new(fetch_state: Arc<FetchState>, task: AbortHandle) -> Flight {
        Flight { fetch_state, task }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FetchState {
    pub(super) fn new(blocks: Range<u64>, wanted: Range<u64>, share: Share) -> FetchState {
        FetchState {
            state: Mutex::new(State {
                delivered_below: blocks.start,
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

    /// Waits until the block is delivered or never will be. Needs no runtime: the flight has its own deadline.
    pub(super) async fn wait_for(&self, block: u64) -> Result<DeliveredBlock, ReadError> {
        if let Some(outcome) = self.outcome(block) {
            return outcome;
        }
        let _waits = Waits::new(&self.waiting);
        self.asked.notify_one();
        loop {
            // Registered before checking, so that no change is missed.
            let changed = self.changed.notified();
            if let Some(outcome) = self.outcome(block) {
                return outcome;
            }
            changed.await;
        }
    }

    /// The future's value, or `None` if a reader starts to wait first.
    pub(super) async fn until_awaited<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = self.asked.notified() => None,
        }
    }

    /// True if a reader waits, so that data should be delivered at once.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// True if a reader that needs the block can use this flight.
    pub(super) fn will_have(&self, block: u64) -> bool {
        let state = self.state.locked();
        self.blocks.contains(&block)
            && match &state.over {
                None => block >= state.delivered_below || state.held.contains_key(&block),
                Some(_) => state.held.contains_key(&block),
            }
    }

    /// Delivers a block in memory.
    pub(super) fn deliver_in_memory(&self, block: u64, bytes: Bytes) {
        let mut state = self.state.locked();
        state.held.insert(block, bytes);
        state.delivered_below = block + 1;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Delivers all blocks below this number through the cache.
    pub(super) fn deliver_cached(&self, end: u64) {
        self.state.locked().delivered_below = end;
        self.changed.notify_waiters();
    }

    /// Ends the flight.
    pub(super) fn finish(&self, outcome: Result<(), ReadError>) {
        self.state.locked().over.get_or_insert(outcome);
        self.changed.notify_waiters();
    }

    /// True if nothing more will be delivered.
    pub(super) fn is_over(&self) -> bool {
        self.state.locked().over.is_some()
    }

    fn outcome(&self, block: u64) -> Option<Result<DeliveredBlock, ReadError>> {
        let state = self.state.locked();
        if block < state.delivered_below {
            let held = state.held.get(&block).cloned();
            return Some(Ok(held.map_or(DeliveredBlock::Cached, DeliveredBlock::Held)));
        }
        match &state.over {
            None => None,
            Some(Err(error)) => Some(Err(error.clone())),
            Some(Ok(())) => unreachable!("a fetch that ends well has delivered every block"),
        }
    }
}

/// Counts one waiter while it exists.
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
