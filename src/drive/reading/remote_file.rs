//! One open handle to a remote content: reads from the cache, waits for what has to be fetched, and
//! keeps a window of fetches ahead of where it reads.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};

use super::flight::{Flight, Landed};
use super::object::{Cover, RemoteObject};
use super::window::{Plan, Planner, PositionId};
use super::{ReadError, ReadingLimits};
use crate::cache::{BLOCK_LEN_BYTES, ObjectKey};

/// How often a read whose blocks are evicted while it waits for others starts anew.
const ATTEMPTS: u32 = 8;
/// The window of a file that the cache does not take, whose blocks are kept in memory.
const UNCACHED_WINDOW_BYTES: u64 = 4 << 20;

/// An open remote file. Dropping it stops what was fetched for it alone.
#[derive(Debug)]
pub struct RemoteFile {
    object: Arc<RemoteObject>,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    planner: Planner,
    /// The flights ahead of each position.
    flights: Vec<(PositionId, Arc<Flight>)>,
}

impl RemoteFile {
    pub(super) fn new(object: Arc<RemoteObject>, limits: ReadingLimits) -> RemoteFile {
        let planner = Planner::new(object.key().size, limits.window_bytes, limits.request_bytes);
        RemoteFile {
            object,
            window: Mutex::new(Window {
                planner,
                flights: Vec::new(),
            }),
        }
    }

    /// The content that is open.
    pub fn key(&self) -> &ObjectKey {
        self.object.key()
    }

    /// The content's length.
    pub fn size(&self) -> u64 {
        self.object.key().size
    }

    /// A local file with the whole content, when the cache has it verified; cheap. Keep this
    /// handle for as long as the file is read.
    pub fn file(&self) -> Option<Arc<File>> {
        self.object.cached()?.file()
    }

    /// Whether every block is in the cache.
    pub fn is_complete(&self) -> bool {
        self.object.cached().is_some_and(|it| it.is_complete())
    }

    /// Reads; shorter than asked only at the end of the content.
    ///
    /// Completes at its first poll when everything is cached, on any thread.
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
        self.fetch(range).await
    }

    /// After a read from the cache: goes on fetching ahead where there is something to fetch.
    fn look_ahead(&self, range: &Range<u64>) {
        if self.is_complete() {
            return;
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = window.planner.read(range);
        window.drop_behind(&plan, range);
        if !plan.ahead.is_empty() {
            let end = blocks_of(range).end;
            let cover = self
                .object
                .cover(end..end, blocks_of(&plan.ahead), request_blocks(&plan));
            window.hold(&plan, cover.started);
        }
    }

    async fn fetch(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let mut cover = self.start(&range);
        for _ in 0..ATTEMPTS {
            let mut held = HashMap::new();
            for (block, flight) in &cover.waits {
                if let Landed::Held(bytes) = flight.course.wait_for(*block).await? {
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

    /// Plans and starts what the read needs and what shall follow.
    fn start(&self, range: &Range<u64>) -> Cover {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.object.keeps_blocks() {
            window.planner.limit_window(UNCACHED_WINDOW_BYTES);
        }
        let plan = window.planner.read(range);
        window.drop_behind(&plan, range);
        let wanted = blocks_of(range);
        let ahead = match plan.ahead.is_empty() {
            true => wanted.end..wanted.end,
            false => blocks_of(&plan.ahead),
        };
        let cover = self.object.cover(wanted, ahead, request_blocks(&plan));
        window.hold(&plan, cover.started.clone());
        cover
    }

    /// Puts the read together; `None` when a block that was cached is gone again.
    fn assemble(&self, range: &Range<u64>, held: &HashMap<u64, Bytes>) -> Option<Bytes> {
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
    /// Lets go of flights that this handle has no use for: those of a position that was given up,
    /// and those that lie behind the reader, unless requests may still come out of order.
    fn drop_behind(&mut self, plan: &Plan, range: &Range<u64>) {
        const OUT_OF_ORDER_BLOCKS: u64 = 16;
        let behind = (range.start / BLOCK_LEN_BYTES).saturating_sub(OUT_OF_ORDER_BLOCKS);
        self.flights.retain(|(position, flight)| {
            Some(*position) != plan.given_up
                && (*position != plan.position || flight.course.blocks.end > behind)
        });
    }

    fn hold(&mut self, plan: &Plan, flights: Vec<Arc<Flight>>) {
        let flights = flights.into_iter().map(|flight| (plan.position, flight));
        self.flights.extend(flights);
    }
}

fn blocks_of(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK_LEN_BYTES..range.end.div_ceil(BLOCK_LEN_BYTES)
}

fn request_blocks(plan: &Plan) -> u64 {
    (plan.request_bytes / BLOCK_LEN_BYTES).max(1)
}
