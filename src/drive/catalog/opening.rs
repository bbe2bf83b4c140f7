//! Creates the catalog.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::cache::BlockCache;
use crate::client::Client;
use crate::drive::background::Background;
use crate::drive::catalog::archives::fetch_members;
use crate::drive::catalog::data::archives::Archives;
use crate::drive::catalog::data::blobs::Blobs;
use crate::drive::catalog::data::file_maps::FileMaps;
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::reach::Reach;
use crate::drive::catalog::data::staged_zips::StagedZips;
use crate::drive::catalog::flight::Flights;
use crate::drive::catalog::parts::{Catalog, OnChange};
use crate::drive::catalog::points::keep_known_points;
use crate::drive::config::DriveConfig;
use crate::drive::failures::Failures;
use crate::drive::reading::{Reading, ReadingLimits};
use crate::drive::values::sizes::ContentTable;
use crate::durable::MetaStore;
use crate::outbox::Outbox;

impl Catalog {
    /// Creates the catalog with what an earlier mount knew.
    pub fn new(
        config: &DriveConfig,
        (client, cache): (&Client, &BlockCache),
        outbox: &Outbox,
        meta: &MetaStore,
        background: &Background,
        failures: &Arc<Failures>,
        on_change: OnChange,
    ) -> Catalog {
        let runtime = Handle::current();
        let made: HashMap<_, _> = outbox
            .uploads()
            .sent_records()
            .iter()
            .map(|record| (record.draft, record.asset))
            .collect();
        let limits = ReadingLimits::default();
        let known = Known::restore(meta);
        keep_known_points(meta, &known);
        Catalog {
            config: config.clone(),
            client: client.clone(),
            cache: cache.clone(),
            reading: Reading::new(client.clone(), cache.clone(), runtime.clone(), limits),
            outbox: outbox.clone(),
            meta: meta.clone(),
            runtime,
            background: background.clone(),
            failures: Arc::clone(failures),
            contents: ContentTable::new(meta),
            maps: FileMaps::default(),
            archives: Archives::default(),
            staged_zips: StagedZips::default(),
            blobs: Blobs::default(),
            flights: Flights::new(background.clone()),
            watched: Arc::default(),
            pages_arrived: watch::Sender::default(),
            known: Mutex::new(known),
            preset_saves: Mutex::default(),
            stale_count: Mutex::default(),
            shown: Mutex::new(made.keys().copied().collect()),
            made: Mutex::new(made),
            reach: Reach::default(),
            fetch_members: |catalog, asset| {
                async move { fetch_members(&catalog, asset).await }.boxed()
            },
            on_change,
        }
    }
}
