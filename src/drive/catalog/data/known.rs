//! What is known of the service.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::data::stored_listings::{restore, restore_jobs};
use crate::drive::status::OrphanStatus;
use crate::drive::values::belief::Freshness;
use crate::drive::values::known::{KnownAsset, KnownEmbed, KnownPreset, KnownRapid, KnownRecord};
use crate::drive::values::listing::Listing;
use crate::drive::values::node::{AccountFile, Family, ListingKind};
use crate::durable::MetaStore;
use crate::wire::{AssetId, RapidId};

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
    pub(in crate::drive) received: Instant,
    /// The unanswered starts that the search was for.
    pub(in crate::drive) starts: Vec<u64>,
}

impl Known {
    /// The data that an earlier mount stored.
    pub(in crate::drive::catalog) fn restore(meta: &MetaStore) -> Known {
        let (jobs, jobs_belief) = restore_jobs(meta);
        Known {
            assets: restore(meta, ListingKind::Assets, ""),
            rapids: restore(meta, ListingKind::Rapids, ""),
            presets: restore(meta, ListingKind::Presets, ".json"),
            factory: restore(meta, ListingKind::Factory, ".json"),
            embeds: restore(meta, ListingKind::Embeds, ".html"),
            tokens: restore(meta, ListingKind::Tokens, ".json"),
            webhooks: restore(meta, ListingKind::Webhooks, ".json"),
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

    /// The freshness of a listing.
    pub(in crate::drive) fn belief(&mut self, which: ListingKind) -> &mut Freshness {
        match which {
            ListingKind::Assets => &mut self.assets.belief,
            ListingKind::Rapids => &mut self.rapids.belief,
            ListingKind::Presets => &mut self.presets.belief,
            ListingKind::Factory => &mut self.factory.belief,
            ListingKind::Embeds => &mut self.embeds.belief,
            ListingKind::Tokens => &mut self.tokens.belief,
            ListingKind::Webhooks => &mut self.webhooks.belief,
            ListingKind::Jobs => &mut self.jobs_belief,
        }
    }
}
