//! The state of the catalog, and what its requests need. Only files of this folder access the fields.
//!
//! Locks are held for short sections, never across an await.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::archives::Archives;
use super::blobs::Blobs;
use super::change::Change;
use super::flight::Flights;
use super::listings;
use super::maps::FileMaps;
use super::watch::Watched;
use crate::cache::BlockCache;
use crate::client::Client;
use crate::drive::background::Background;
use crate::drive::catalog::asking::FlightKey;
use crate::drive::catalog::staged_zips::StagedZips;
use crate::drive::config::DriveConfig;
use crate::drive::failures::Failures;
use crate::drive::reading::{Reading, ReadingLimits};
use crate::drive::status::OrphanStatus;
use crate::drive::values::belief::Freshness;
use crate::drive::values::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRapid, KnownRecord};
use crate::drive::values::listing::Listing;
use crate::drive::values::node::{AccountFile, Family, Home, ListingKind};
use crate::drive::values::sizes::ContentTable;
use crate::durable::MetaStore;
use crate::outbox::{DraftId, DraftInfo, Outbox, SentRecord};
use crate::wire::{AssetId, RapidId};

/// Receives changes that the kernel did not make.
pub(in crate::drive) type OnChange = Box<dyn Fn(Change) + Send + Sync>;

pub(in crate::drive) struct Catalog {
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
    pub(super) watched: Watched,
    /// Incremented with each page of a long listing.
    pub(super) pages_arrived: watch::Sender<u64>,
    known: Mutex<Known>,
    /// The assets of drafts.
    pub(super) made: Mutex<HashMap<DraftId, AssetId>>,
    /// Drafts whose asset was added to the listing.
    pub(super) shown: Mutex<HashSet<DraftId>>,
    /// Why the service is unreachable, while it is.
    pub(super) offline: Mutex<Option<String>>,
    on_change: OnChange,
}

/// What is known of the service.
pub(in crate::drive) struct Known {
    pub(in crate::drive) assets: Listing<KnownAsset>,
    pub(in crate::drive) rapids: Listing<KnownRapid>,
    pub(in crate::drive) presets: Listing<KnownPreset>,
    pub(in crate::drive) factory: Listing<KnownPreset>,
    pub(in crate::drive) embeds: Listing<KnownEmbed>,
    pub(in crate::drive) tokens: Listing<KnownRecord>,
    pub(in crate::drive) webhooks: Listing<KnownRecord>,
    /// Optimizations that are running or have failed lately.
    pub(in crate::drive) jobs: Vec<RapidId>,
    pub(in crate::drive) jobs_belief: Freshness,
    /// Search results with their time.
    pub(in crate::drive) searches: HashMap<(Family, Arc<str>), (Vec<u64>, Instant)>,
    /// Modification times of the top folders.
    pub(in crate::drive) changed: HashMap<ListingKind, SystemTime>,
    /// Values of `account/` with the time of the response.
    pub(in crate::drive) account: HashMap<AccountFile, (u64, Option<Instant>)>,
    /// Texts of records, such as `detail.json`.
    pub(in crate::drive) details: HashMap<FlightKey, (Arc<str>, Instant)>,
    pub(in crate::drive) orphans: Option<Orphans>,
    /// Number of presets that the outbox had saved when they were last written into the listing.
    pub(in crate::drive) preset_saves: Option<u64>,
    /// The optimized models of an asset with the time of the response.
    pub(in crate::drive) rapids_of: HashMap<AssetId, (Vec<RapidId>, Instant)>,
}

/// Uploads whose start the service never answered.
pub(in crate::drive) struct Orphans {
    pub(in crate::drive) found: Vec<OrphanStatus>,
    pub(in crate::drive) told: Instant,
    /// The unanswered starts that the search was for.
    pub(in crate::drive) starts: Vec<u64>,
}

/// The present state of a source model.
pub(in crate::drive) struct ModelView {
    pub(in crate::drive) home: Home,
    /// The draft, while its staged copy is kept.
    pub(in crate::drive) draft: Option<DraftInfo>,
    /// The asset, once the service has accepted it.
    pub(in crate::drive) asset: Option<AssetId>,
    /// The record of what was sent, for a model that was copied in.
    pub(in crate::drive) sent: Option<Arc<SentRecord>>,
    /// The record of the service.
    pub(in crate::drive) known: Option<KnownAsset>,
}

impl ModelView {
    /// True while it can be written to.
    pub(in crate::drive) fn is_open(&self) -> bool {
        self.asset.is_none()
    }

    /// True for a model that was sent as one zip of its owner's.
    pub(in crate::drive) fn is_zip(&self) -> bool {
        self.sent.as_ref().is_some_and(|sent| {
            let files = sent.entries.iter().filter(|entry| entry.sent_as.is_some());
            let mut names = files.map(|file| file.path.to_ascii_lowercase());
            let is_zip = names.next().is_some_and(|name| name.ends_with(".zip"));
            sent.zip_name.is_none() && is_zip && names.next().is_none()
        })
    }
}

impl Catalog {
    /// Bytes downloaded since the mount started.
    pub(in crate::drive) fn fetched_bytes(&self) -> u64 {
        self.reading.fetched_bytes()
    }

    /// Creates the catalog with what an earlier mount knew.
    pub(in crate::drive) fn new(
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
            watched: Watched::default(),
            pages_arrived: watch::Sender::default(),
            known: Mutex::new(Known::restore(meta)),
            shown: Mutex::new(made.keys().copied().collect()),
            made: Mutex::new(made),
            offline: Mutex::default(),
            on_change,
        }
    }

    /// Ends the polling task.
    pub(in crate::drive) fn close(&self) {
        self.watched.close();
    }

    /// Reports a change.
    pub(super) fn report(&self, change: Change) {
        (self.on_change)(change);
    }

    pub(in crate::drive) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no panic while listings are held")
    }

    /// Names of drafts in `rawmodels/`.
    pub(in crate::drive) fn draft_names(&self) -> HashSet<String> {
        self.outbox
            .drafts()
            .all()
            .into_iter()
            .map(|draft| draft.name)
            .collect()
    }

    /// The asset that a draft became.
    pub(in crate::drive) fn asset_of_draft(&self, draft: DraftId) -> Option<AssetId> {
        let mut made = self.made.lock().expect("no panic while models are held");
        match self.outbox.uploads().asset_of_draft(draft) {
            None => made.get(&draft).copied(),
            Some(Some(asset)) => {
                made.insert(draft, asset);
                Some(asset)
            }
            // A failed import that the user completes is a draft again.
            Some(None) => {
                made.remove(&draft);
                None
            }
        }
    }

    /// How the tree identifies an asset.
    pub(in crate::drive) fn home_of(&self, asset: AssetId) -> Home {
        match self.outbox.uploads().sent_record(asset) {
            Some(record) => {
                let mut made = self.made.lock().expect("no panic while models are held");
                made.insert(record.draft, asset);
                Home::Made(record.draft)
            }
            None => Home::Found(asset),
        }
    }

    /// The asset, if there is one.
    pub(in crate::drive) fn asset_of(&self, home: Home) -> Option<AssetId> {
        match home {
            Home::Found(asset) => Some(asset),
            Home::Made(draft) => self.asset_of_draft(draft),
        }
    }

    /// The present state of a source model; `None` if it is gone.
    pub(in crate::drive) fn model(&self, home: Home) -> Option<ModelView> {
        let asset = self.asset_of(home);
        let known = asset.and_then(|asset| self.known().assets.row(asset.0).cloned());
        let draft = match home {
            Home::Made(draft) => self.outbox.drafts().get(draft),
            Home::Found(_) => None,
        };
        let sent = asset.and_then(|asset| self.outbox.uploads().sent_record(asset));
        let is_there = match home {
            Home::Made(_) => draft.is_some() || sent.is_some(),
            Home::Found(_) => known.is_some(),
        };
        is_there.then_some(ModelView {
            home,
            draft,
            asset,
            sent,
            known,
        })
    }

    /// The name a model is shown under.
    pub(in crate::drive) fn model_name(&self, home: Home) -> Option<String> {
        if let Some(asset) = self.asset_of(home)
            && let Some(name) = self.known().assets.name(asset.0)
        {
            return Some(name.to_owned());
        }
        match home {
            Home::Made(draft) => self.outbox.drafts().get(draft).map(|draft| draft.name),
            Home::Found(_) => None,
        }
    }

    /// The name an optimized model is shown under.
    pub(in crate::drive) fn rapid_name(&self, rapid: RapidId) -> Option<String> {
        self.known().rapids.name(rapid.0).map(str::to_owned)
    }

    /// The path of a source model's folder.
    pub(in crate::drive) fn home_path(&self, home: Home) -> String {
        let name = self.model_name(home);
        format!("/rawmodels/{}", name.unwrap_or_else(|| home.to_string()))
    }

    /// The path of an optimized model's folder.
    pub(in crate::drive) fn rapid_path(&self, rapid: RapidId) -> String {
        let name = self.rapid_name(rapid);
        format!("/rapidmodels/{}", name.unwrap_or_else(|| rapid.to_string()))
    }

    /// Why the service is unreachable, while it is.
    pub(in crate::drive) fn offline_reason(&self) -> Option<String> {
        let offline = self.offline.lock();
        let offline = offline.expect("no panic while the state of the line is held");
        offline.clone()
    }
}

impl Known {
    /// What an earlier mount knew.
    fn restore(meta: &MetaStore) -> Known {
        let (jobs, jobs_belief) = listings::restore_jobs(meta);
        Known {
            assets: listings::restore(meta, ListingKind::Assets, ""),
            rapids: listings::restore(meta, ListingKind::Rapids, ""),
            presets: listings::restore(meta, ListingKind::Presets, ".json"),
            factory: listings::restore(meta, ListingKind::Factory, ".json"),
            embeds: listings::restore(meta, ListingKind::Embeds, ".html"),
            tokens: listings::restore(meta, ListingKind::Tokens, ".json"),
            webhooks: listings::restore(meta, ListingKind::Webhooks, ".json"),
            jobs,
            jobs_belief,
            searches: HashMap::new(),
            changed: HashMap::new(),
            account: HashMap::new(),
            details: HashMap::new(),
            rapids_of: HashMap::new(),
            orphans: None,
            preset_saves: None,
        }
    }
}
