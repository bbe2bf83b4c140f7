//! An open remote content, shared by its readers: cached blocks, signed URL, and fetches in flight, so that no
//! block is fetched twice at once.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use tokio::runtime::Handle;
use tracing::debug;

use super::budget::{Budget, Share};
use super::fetch::{FetchGuard, run_fetch};
use super::flight::{FetchState, Flight};
use super::urls::{SignedUrls, UrlKeeper};
use crate::cache::{BLOCK_LEN_BYTES, CachedObject, ObjectKey, SharedObject};
use crate::client::Client;
use crate::locks::Locked;

/// A content that is being fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Its name in the cache.
    pub name: String,
    pub cached_bytes: u64,
    pub total_bytes: u64,
}

/// The kernel requests at most 1 MiB at once.
const MAX_READ_BLOCKS: u64 = 17;

/// An open remote content.
#[derive(Debug)]
pub(super) struct RemoteObject {
    client: Client,
    runtime: Handle,
    budget: Arc<Budget>,
    key: ObjectKey,
    cached: Option<CachedObject>,
    /// Its chunks in the shared cache, if there is one. Then only whole chunks are fetched.
    shared: Option<SharedObject>,
    urls: UrlKeeper,
    flights: Mutex<Vec<Weak<Flight>>>,
    stale: AtomicBool,
    /// The cache accepted no block lately.
    uncached: AtomicBool,
}

/// The flights that a read needs, and those that it started.
#[derive(Debug, Default)]
pub(super) struct Cover {
    /// For each block that is not cached, its flight.
    pub(super) waits: Vec<(u64, Arc<Flight>)>,
    /// Started flights, which the reader's window holds.
    pub(super) started: Vec<Arc<Flight>>,
    /// The first read-ahead block that did not fit the budget.
    pub(super) left_out: Option<u64>,
}

impl RemoteObject {
    /// Counts received bytes.
    pub(super) fn note_fetched(&self, bytes: u64) {
        self.budget.note_fetched(bytes);
    }

    pub(super) fn new(
        client: Client,
        runtime: Handle,
        budget: Arc<Budget>,
        key: ObjectKey,
        cached: Option<CachedObject>,
        shared: Option<SharedObject>,
        urls: Arc<dyn SignedUrls>,
    ) -> RemoteObject {
        RemoteObject {
            client,
            runtime,
            budget,
            key,
            uncached: AtomicBool::new(cached.is_none()),
            cached,
            shared,
            urls: UrlKeeper::new(urls),
            flights: Mutex::default(),
            stale: AtomicBool::new(false),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn key(&self) -> &ObjectKey {
        &self.key
    }

    pub(super) fn urls(&self) -> &UrlKeeper {
        &self.urls
    }

    pub(super) fn shared(&self) -> Option<&SharedObject> {
        self.shared.as_ref()
    }

    pub(super) fn cached(&self) -> Option<&CachedObject> {
        self.cached.as_ref()
    }

    /// False if the service has another content, as far as known.
    pub(super) fn is_fresh(&self) -> bool {
        !self.stale.load(Ordering::Acquire)
    }

    pub(super) fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// True if read-ahead will be kept.
    pub(super) fn keeps_blocks(&self) -> bool {
        !self.uncached.load(Ordering::Relaxed)
    }

    pub(super) fn block_len(&self, block: u64) -> usize {
        let start = block * BLOCK_LEN_BYTES;
        usize::try_from(BLOCK_LEN_BYTES.min(self.key.size - start)).expect("a block is short")
    }

    pub(super) fn read_cached(&self, range: &Range<u64>) -> Option<Bytes> {
        let cached = self.cached.as_ref()?;
        cached
            .read(range.start, range.end - range.start)
            .unwrap_or_else(|error| {
                debug!(name = self.key.name, error = %error, "reading past the cache");
                None
            })
    }

    /// Writes complete blocks from `first` on to the cache; true if they are there now.
    pub(super) fn store(&self, first: u64, pieces: &[Bytes]) -> bool {
        let Some(cached) = &self.cached else {
            return false;
        };
        let stored = cached.write_run(first, pieces);
        if let Err(error) = &stored {
            debug!(name = self.key.name, first, error = %error, "blocks are not cached");
        }
        self.uncached.store(stored.is_err(), Ordering::Relaxed);
        stored.is_ok()
    }

    /// The cached part of the file; `None` if no fetch is in flight.
    pub(super) fn download(&self) -> Option<Download> {
        let flights = self.flights.locked();
        let flights: Vec<Arc<Flight>> = flights.iter().filter_map(Weak::upgrade).collect();
        let is_fetched = flights.iter().any(|flight| !flight.fetch_state.is_over());
        let cached = self.cached.as_ref().filter(|_| is_fetched)?;
        let missing = cached.missing(0..self.key.size);
        let missing: u64 = missing.iter().map(|range| range.end - range.start).sum();
        Some(Download {
            name: self.key.name.clone(),
            cached_bytes: self.key.size.saturating_sub(missing),
            total_bytes: self.key.size,
        })
    }

    /// Finds or starts flights for uncached blocks: for all of `wanted`, and for as much of `ahead`, which
    /// follows it, as the budget allows, in requests of at most `request_blocks`.
    pub(super) fn cover(
        self: &Arc<Self>,
        wanted: Range<u64>,
        ahead: Range<u64>,
        request_blocks: u64,
    ) -> Cover {
        let mut cover = Cover::default();
        let mut flights = self.flights.locked();
        flights.retain(|flight| flight.strong_count() > 0);
        let under_way: Vec<Arc<Flight>> = flights.iter().filter_map(Weak::upgrade).collect();
        let mut run: Option<Range<u64>> = None;
        let mut runs = Vec::new();
        for block in wanted.clone().chain(ahead.start.max(wanted.end)..ahead.end) {
            let carried = under_way.iter().find(|it| it.fetch_state.will_have(block));
            if let (Some(flight), true) = (carried, wanted.contains(&block)) {
                cover.waits.push((block, flight.clone()));
            }
            if carried.is_some() || self.is_cached(block) {
                runs.extend(run.take());
                continue;
            }
            match &mut run {
                Some(run) if run.end == block => run.end = block + 1,
                _ => {
                    runs.extend(run.take());
                    run = Some(block..block + 1);
                }
            }
        }
        runs.extend(run);
        let mut launched = Vec::new();
        for run in self.whole_runs(runs) {
            if cover.left_out.is_some() && run.start >= wanted.end {
                break;
            }
            let end = self.launch_run(run.clone(), &wanted, request_blocks, &mut launched);
            if end < run.end {
                cover.left_out = Some(end);
            }
        }
        for flight in launched {
            flights.push(Arc::downgrade(&flight));
            let carries = flight.fetch_state.blocks.clone();
            let awaited = carries.start.max(wanted.start)..carries.end.min(wanted.end);
            cover
                .waits
                .extend(awaited.map(|block| (block, flight.clone())));
            cover.started.push(flight);
        }
        cover
    }

    /// The runs, enlarged to whole chunks of the shared cache.
    fn whole_runs(&self, runs: Vec<Range<u64>>) -> Vec<Range<u64>> {
        let mut whole: Vec<Range<u64>> = Vec::with_capacity(runs.len());
        for run in runs {
            let run = self.whole(&run);
            match whole.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => whole.push(run),
            }
        }
        whole
    }

    fn whole(&self, blocks: &Range<u64>) -> Range<u64> {
        match &self.shared {
            Some(shared) => shared.whole_chunks(blocks, self.key.size.div_ceil(BLOCK_LEN_BYTES)),
            None => blocks.clone(),
        }
    }

    fn is_cached(&self, block: u64) -> bool {
        let start = block * BLOCK_LEN_BYTES;
        self.cached
            .as_ref()
            .is_some_and(|cached| cached.missing(start..start + 1).is_empty())
    }

    /// Starts the requests for one run of blocks; returns the end of what the budget allowed.
    fn launch_run(
        self: &Arc<Self>,
        run: Range<u64>,
        wanted: &Range<u64>,
        request_blocks: u64,
        launched: &mut Vec<Arc<Flight>>,
    ) -> u64 {
        let mut start = run.start;
        while start < run.end {
            // A reader gets whole chunks, too.
            let must = self.whole(&(start..wanted.end.max(start))).end.min(run.end);
            // The blocks that a read waits for are one request, unless they are many.
            let asked = request_blocks
                .max((must - start).min(MAX_READ_BLOCKS))
                .max(1);
            let end = run.end.min(self.whole(&(start..start + asked)).end);
            let (blocks, share) = match self.budget.try_take(self.bytes(&(start..end))) {
                Some(share) => (start..end, share),
                None if must > start => {
                    let blocks = start..must.min(end);
                    let share = self.budget.take(self.bytes(&blocks));
                    (blocks, share)
                }
                None => break,
            };
            start = blocks.end;
            launched.push(self.launch(blocks, wanted, share));
        }
        start
    }

    fn launch(
        self: &Arc<Self>,
        blocks: Range<u64>,
        wanted: &Range<u64>,
        share: Share,
    ) -> Arc<Flight> {
        let fetch_state = Arc::new(FetchState::new(blocks, wanted.clone(), share));
        let guard = FetchGuard::new(fetch_state.clone(), &self.key.name);
        let task = self.runtime.spawn(run_fetch(self.clone(), guard));
        Arc::new(Flight::new(fetch_state, task.abort_handle()))
    }

    fn bytes(&self, blocks: &Range<u64>) -> u64 {
        (blocks.end * BLOCK_LEN_BYTES).min(self.key.size) - blocks.start * BLOCK_LEN_BYTES
    }
}
