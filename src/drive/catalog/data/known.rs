//! What is known of the service.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::Instant;

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
pub struct Known {
    pub assets: Listing<KnownAsset>,
    pub rapids: Listing<KnownRapid>,
    pub presets: Listing<KnownPreset>,
    pub factory: Listing<KnownPreset>,
    pub embeds: Listing<KnownEmbed>,
    pub tokens: Listing<KnownRecord>,
    pub webhooks: Listing<KnownRecord>,
    /// Optimizations that are running or have failed lately.
    pub jobs: Vec<RapidId>,
    pub jobs_belief: Freshness,
    /// Search results with their time.
    pub searches: HashMap<(Family, Arc<str>), (Vec<u64>, Instant)>,
    /// Modification times of the top folders.
    pub changed: HashMap<ListingKind, SystemTime>,
    /// Values of `account/` with the time of the response.
    pub account: HashMap<AccountFile, (u64, Option<Instant>)>,
    /// Texts of records, such as `detail.json`.
    pub details: HashMap<FlightKey, (Arc<str>, Instant)>,
    pub orphans: Option<Orphans>,
    /// The optimized models of an asset with the time when they were known; `None` once there may be others.
    pub rapids_of: HashMap<AssetId, (Vec<RapidId>, Option<Instant>)>,
}

/// Uploads whose start the service never answered.
pub struct Orphans {
    pub found: Vec<OrphanStatus>,
    pub received: Instant,
    /// The unanswered starts that the search was for.
    pub starts: Vec<u64>,
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
        }
    }

    /// The freshness of a listing.
    pub fn belief(&mut self, which: ListingKind) -> &mut Freshness {
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
