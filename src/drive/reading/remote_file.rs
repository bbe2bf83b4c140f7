//! An open handle to a remote content: reads from the cache, waits for fetches, and keeps a window of
//! read-ahead.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::error::ReadError;
use super::flight::{DeliveredBlock, Flight};
use super::limits::ReadingLimits;
use super::object::{Cover, RemoteObject};
use super::tuner::ConnectionTuner;
use super::window::{Plan, Planner, PositionId};
use crate::cache::{BLOCK_LEN_BYTES, ObjectKey};
use crate::locks::Locked;

/// How often a read is restarted if its blocks are evicted while it waits for others.
const ATTEMPTS: u32 = 8;
/// If a read failed after such a wait, callers that retry within 1 s fail immediately.
const LONG_WAIT: Duration = Duration::from_secs(5);
const AT_ONCE: Duration = Duration::from_secs(1);
/// The window of a file that the cache does not accept, whose blocks stay in memory.
const UNCACHED_WINDOW_BYTES: u64 = 4 << 20;

/// An open remote file. Dropping it aborts fetches that only it needs.
#[derive(Debug)]
pub struct RemoteFile {
    object: Arc<RemoteObject>,
    window: Mutex<Window>,
    is_begun: AtomicBool,
    /// The last read that failed after a long wait.
    last_failure: Mutex<Option<LastFailure>>,
}

#[derive(Debug)]
struct LastFailure {
    at: Instant,
    error: ReadError,
}

#[derive(Debug)]
struct Window {
    planner: Planner,
    tuner: ConnectionTuner,
    /// The flights ahead of each position.
    flights: Vec<(PositionId, Arc<Flight>)>,
}

impl RemoteFile {
    pub(super) fn new(object: Arc<RemoteObject>, limits: ReadingLimits) -> RemoteFile {
        let planner = Planner::new(object.key().size, limits.window_bytes, limits.request_bytes);
        RemoteFile {
            object,
            is_begun: AtomicBool::new(false),
            last_failure: Mutex::default(),
            window: Mutex::new(Window {
                planner,
                tuner: ConnectionTuner::new(Instant::now()),
                flights: Vec::new(),
            }),
        }
    }

    pub fn key(&self) -> &ObjectKey {
        self.object.key()
    }

    /// The content's length.
    pub fn size(&self) -> u64 {
        self.object.key().size
    }

    /// The local file, if the cache has the whole content verified. Keep this handle while the file is used.
    pub fn file(&self) -> Option<Arc<File>> {
        self.object.cached()?.file()
    }

    /// True if every block is in the cache.
    pub fn is_complete(&self) -> bool {
        self.object.cached().is_some_and(|it| it.is_complete())
    }

    /// Reads; shorter than asked only at the end of the content.
    ///
    /// Completes at its first poll if everything is cached, on any thread.
    pub async fn read(&self, offset: u64, len: u64) -> Result<Bytes, ReadError> {
        let size = self.size();
        let range = offset.min(size)..offset.saturating_add(len).min(size);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if !self.object.is_fresh() {
            return Err(ReadError::Stale {
                name: self.key().name.clone(),
            });
        }
        if let Some(bytes) = self.object.read_cached(&range) {
            self.look_ahead(&range);
            return Ok(bytes);
        }
        if let Some(error) = self.recent_failure() {
            return Err(error);
        }
        let asked = Instant::now();
        let bytes = self
            .fetch(range)
            .await
            .inspect_err(|error| self.note_failure(asked, error))?;
        self.window
            .locked()
            .note(bytes.len() as u64, asked.elapsed());
        Ok(bytes)
    }

    fn note_failure(&self, asked: Instant, error: &ReadError) {
        if asked.elapsed() >= LONG_WAIT {
            *self.last_failure.locked() = Some(LastFailure {
                at: Instant::now(),
                error: error.clone(),
            });
        }
    }

    /// The kernel retries a failed read page by page; these retries must not wait again.
    fn recent_failure(&self) -> Option<ReadError> {
        let last_failure = self.last_failure.locked();
        let failed = last_failure.as_ref()?;
        (failed.at.elapsed() < AT_ONCE).then(|| failed.error.clone())
    }

    /// True once, for the first read.
    pub fn begins(&self) -> bool {
        !self.is_begun.swap(true, Ordering::Relaxed)
    }

    /// Fetches the first `len` bytes into the cache.
    pub async fn fetch_first(&self, len: u64) -> Result<(), ReadError> {
        const STEP_BYTES: u64 = 1 << 20;
        for offset in (0..len).step_by(STEP_BYTES as usize) {
            self.read(offset, STEP_BYTES.min(len - offset)).await?;
        }
        Ok(())
    }

    /// Verifies unverified blocks on disk, so that a complete file can be passed to the kernel. Blocking.
    pub fn verify(&self) {
        if let Some(cached) = self.object.cached()
            && let Err(error) = cached.verify()
        {
            tracing::debug!(name = self.key().name, error = %error, "cannot verify a cached file");
        }
    }

    /// After a read from the cache: continues read-ahead.
    fn look_ahead(&self, range: &Range<u64>) {
        if self.is_complete() {
            return;
        }
        let mut window = self.window.locked();
        window.note(range.end - range.start, Duration::ZERO);
        let plan = window.plan(range);
        if !plan.ahead.is_empty() {
            let end = blocks_of(range).end;
            let cover = self
                .object
                .cover(end..end, blocks_of(&plan.ahead), request_blocks(&plan));
            window.hold(&plan, &cover);
        }
    }

    async fn fetch(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let mut cover = self.start(&range);
        for _ in 0..ATTEMPTS {
            let mut held = HashMap::new();
            for (block, flight) in &cover.waits {
                if let DeliveredBlock::Held(bytes) = flight.fetch_state.wait_for(*block).await? {
                    held.insert(*block, bytes);
                }
            }
            if let Some(bytes) = self.assemble(&range, &held) {
                return Ok(bytes);
            }
            let blocks = blocks_of(&range);
            let end = blocks.end;
            cover = self.object.cover(blocks, end..end, end);
        }
        Err(ReadError::TimedOut {
            name: self.key().name.clone(),
            after: super::fetch::DEADLINE,
        })
    }

    /// Plans and starts the fetches for a read and its read-ahead.
    fn start(&self, range: &Range<u64>) -> Cover {
        let mut window = self.window.locked();
        if !self.object.keeps_blocks() {
            window.planner.limit_window(UNCACHED_WINDOW_BYTES);
        }
        let plan = window.plan(range);
        let wanted = blocks_of(range);
        let ahead = match plan.ahead.is_empty() {
            true => wanted.end..wanted.end,
            false => blocks_of(&plan.ahead),
        };
        let cover = self.object.cover(wanted, ahead, request_blocks(&plan));
        window.hold(&plan, &cover);
        cover
    }

    /// Assembles the read; `None` if a cached block was evicted.
    fn assemble(&self, range: &Range<u64>, held: &HashMap<u64, Bytes>) -> Option<Bytes> {
        if held.is_empty() {
            return self.object.read_cached(range);
        }
        let blocks = blocks_of(range);
        if blocks.end - blocks.start == 1 {
            return self.part(blocks.start, range, held);
        }
        let len = usize::try_from(range.end - range.start).ok()?;
        let mut whole = BytesMut::with_capacity(len);
        for block in blocks {
            whole.extend_from_slice(&self.part(block, range, held)?);
        }
        Some(whole.freeze())
    }

    /// The part of a block that lies in the range.
    fn part(&self, block: u64, range: &Range<u64>, held: &HashMap<u64, Bytes>) -> Option<Bytes> {
        let start = block * BLOCK_LEN_BYTES;
        let part = range.start.max(start)..range.end.min(start + BLOCK_LEN_BYTES);
        match held.get(&block) {
            Some(bytes) => {
                let at = |offset: u64| usize::try_from(offset - start).expect("within a block");
                Some(bytes.slice(at(part.start)..at(part.end)))
            }
            None => self.object.read_cached(&part),
        }
    }
}

impl Window {
    fn plan(&mut self, range: &Range<u64>) -> Plan {
        self.planner.set_requests(self.tuner.connections());
        let plan = self.planner.read(range);
        if plan.given_up.is_some() {
            self.tuner.restart_measurement(Instant::now());
        }
        self.drop_behind(&plan, range);
        plan
    }

    /// Records how long a read waited.
    fn note(&mut self, bytes: u64, waited: Duration) {
        let request = self.planner.largest_request();
        self.tuner.read(bytes, waited, request, Instant::now());
    }

    /// Drops flights that this handle does not need: those of an abandoned position, and those behind the
    /// reader, unless requests may still arrive out of order.
    fn drop_behind(&mut self, plan: &Plan, range: &Range<u64>) {
        const OUT_OF_ORDER_BLOCKS: u64 = 16;
        let behind = (range.start / BLOCK_LEN_BYTES).saturating_sub(OUT_OF_ORDER_BLOCKS);
        self.flights.retain(|(position, flight)| {
            Some(*position) != plan.given_up
                && (*position != plan.position || flight.fetch_state.blocks.end > behind)
        });
    }

    fn hold(&mut self, plan: &Plan, cover: &Cover) {
        let started = cover.started.iter().cloned();
        self.flights
            .extend(started.map(|flight| (plan.position, flight)));
        if let Some(block) = cover.left_out {
            self.planner
                .left_out(plan.position, block * BLOCK_LEN_BYTES);
        }
    }
}

fn blocks_of(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK_LEN_BYTES..range.end.div_ceil(BLOCK_LEN_BYTES)
}

fn request_blocks(plan: &Plan) -> u64 {
    (plan.request_bytes / BLOCK_LEN_BYTES).max(1)
}
