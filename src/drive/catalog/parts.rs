//! The parts of the catalog, and what its requests need. Only files of this folder access the fields.
//!
//! Locks are held for short sections, never across an await.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::cache::BlockCache;
use crate::client::Client;
use crate::drive::background::Background;
use crate::drive::catalog::change::Change;
use crate::drive::catalog::data::archives::Archives;
use crate::drive::catalog::data::blobs::Blobs;
use crate::drive::catalog::data::file_maps::FileMaps;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::reach::Reach;
use crate::drive::catalog::data::staged_zips::StagedZips;
use crate::drive::catalog::data::stale_count::StaleCount;
use crate::drive::catalog::data::watched::Watched;
use crate::drive::catalog::flight::{FlightEnd, Flights};
use crate::drive::config::DriveConfig;
use crate::drive::error::DriveResult;
use crate::drive::failures::Failures;
use crate::drive::reading::{Download, Reading};
use crate::drive::values::sizes::ContentTable;
use crate::durable::MetaStore;
use crate::locks::Locked;
use crate::outbox::{DraftId, Outbox};
use crate::wire::AssetId;

/// Receives changes that the kernel did not make.
pub type OnChange = Box<dyn Fn(Change) + Send + Sync>;

/// Reads the names in an asset's zip and stores them as its file map.
pub(super) type FetchMembers = fn(Arc<Catalog>, AssetId) -> BoxFuture<'static, DriveResult<()>>;

/// The data known of the service, and the tasks that keep it up to date.
pub struct Catalog {
    pub(super) config: DriveConfig,
    pub(super) client: Client,
    pub(super) cache: BlockCache,
    pub(super) reading: Reading,
    pub(super) outbox: Outbox,
    pub(super) meta: MetaStore,
    pub(super) runtime: Handle,
    pub(super) background: Background,
    pub(super) failures: Arc<Failures>,
    pub(super) contents: ContentTable,
    pub(super) maps: FileMaps,
    pub(super) archives: Archives,
    pub(super) staged_zips: StagedZips,
    pub(super) blobs: Blobs,
    pub(super) flights: Flights<FlightKey>,
    pub(super) watched: Arc<Watched>,
    /// Incremented with each page of a long listing.
    pub(super) pages_arrived: watch::Sender<u64>,
    pub(super) known: Mutex<Known>,
    /// Number of presets that the outbox had saved when they were last written into the listing.
    pub(super) preset_saves: Mutex<Option<u64>>,
    pub(super) stale_count: Mutex<StaleCount>,
    /// The assets of drafts.
    pub(super) made: Mutex<HashMap<DraftId, AssetId>>,
    /// Drafts whose asset was added to the listing.
    pub(super) shown: Mutex<HashSet<DraftId>>,
    pub(super) reach: Reach,
    /// A field, because the code that reads zips uses file maps, and so cannot be called by the code that fetches them.
    pub(super) fetch_members: FetchMembers,
    pub(super) on_change: OnChange,
}

impl Catalog {
    /// Bytes downloaded since the mount started.
    pub fn fetched_bytes(&self) -> u64 {
        self.reading.fetched_bytes()
    }

    /// The files that are being downloaded.
    pub fn downloads(&self) -> Vec<Download> {
        self.reading.downloads()
    }

    /// Ends the polling task.
    pub fn close(&self) {
        self.watched.close();
    }

    /// Reports a change.
    pub(super) fn report(&self, change: Change) {
        (self.on_change)(change);
    }

    /// Joins the flight for `key`, or starts `work` as a new one.
    pub(super) fn join_flight<F>(
        self: &Arc<Catalog>,
        key: FlightKey,
        work: impl FnOnce(Arc<Catalog>) -> F,
    ) -> FlightEnd
    where
        F: Future<Output = DriveResult<()>> + Send + 'static,
    {
        self.flights.join(key, || work(Arc::clone(self)))
    }

    /// Starts a background task.
    pub(super) fn spawn<F>(self: &Arc<Catalog>, work: impl FnOnce(Arc<Catalog>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.background.spawn(work(Arc::clone(self)));
    }

    #[track_caller]
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.locked()
    }

    /// Why the service is unreachable, while it is.
    pub fn offline_reason(&self) -> Option<String> {
        self.reach.away().map(|away| away.why().to_owned())
    }
}
