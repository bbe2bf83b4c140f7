//! The top folders, kept as fresh as the refresh time asks.
//!
//! A listing that is fresh is answered at once. One that is not is confirmed by one request where
//! its order allows, else by a full pass; meanwhile those who ask wait a little, and get what was
//! known when the service is slow or away. Only where nothing was ever known does a failure show.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::TryStreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::FlightKey;
use crate::client::{ListQuery, Priority};
use crate::drive::error::DriveResult;
use crate::drive::shared::{Known, Shared};
use crate::drive::tree::known::{KnownAsset, KnownPreset, KnownRapid};
use crate::drive::tree::listing::{Changes, Confirmation, Listing, Row};
use crate::drive::tree::node::{HiddenFile, Node, Place, RemoteFolder, Top};
use crate::durable::MetaStore;
use crate::outbox::DraftKind;
use crate::wire::{AssetId, BaseAsset, RapidId};

/// Records on a page.
const PER_PAGE: usize = 50;
/// More new names than this at once are not told to the kernel one by one: it has never asked for
/// them.
const MAX_TOLD: usize = 64;

/// A listing of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum Which {
    Assets,
    Rapids,
    Presets,
    Factory,
}

impl Which {
    fn flight(self) -> FlightKey {
        match self {
            Which::Assets => FlightKey::Assets,
            Which::Rapids => FlightKey::Rapids,
            Which::Presets => FlightKey::Presets,
            Which::Factory => FlightKey::FactoryPresets,
        }
    }

    /// The folder that shows it.
    pub(in crate::drive) fn top(self) -> Top {
        match self {
            Which::Assets => Top::RawModels,
            Which::Rapids => Top::RapidModels,
            Which::Presets => Top::Presets,
            Which::Factory => Top::FactoryPresets,
        }
    }
}

/// How far a listing can be believed at this moment.
struct Standing {
    is_fresh: bool,
    is_known: bool,
    was_confirmed: bool,
    failed_lately: bool,
}

impl Standing {
    fn of<R: Row>(listing: &Listing<R>, refresh: Duration) -> Standing {
        let now = Instant::now();
        Standing {
            is_fresh: listing.is_fresh(now, refresh),
            is_known: listing.is_known(),
            was_confirmed: listing.was_confirmed(),
            failed_lately: listing.failed_lately(now, refresh),
        }
    }
}

impl Shared {
    /// Makes sure that a listing can be shown.
    pub(in crate::drive) async fn refreshed(self: &Arc<Self>, which: Which) -> DriveResult<()> {
        let standing = self.standing(which);
        if standing.is_fresh || (standing.is_known && standing.failed_lately) {
            return Ok(());
        }
        let shared = Arc::clone(self);
        let landing = self
            .flights
            .join(which.flight(), || async move { shared.fetch(which).await });
        if !standing.is_known {
            return landing.await;
        }
        // What an earlier mount knew is shown at once while it is confirmed.
        if standing.was_confirmed {
            match landing.within(self.patience()).await {
                Some(Err(error)) => {
                    tracing::debug!(error = %error, "a listing could not be refreshed");
                }
                None => tracing::debug!("a listing is slow; what is known is shown"),
                Some(Ok(())) => {}
            }
        }
        Ok(())
    }

    /// Makes sure that a listing can say that a name is free: what an earlier mount knew cannot. True
    /// when it was confirmed just now.
    pub(in crate::drive) async fn confirmed(self: &Arc<Self>, which: Which) -> bool {
        let standing = self.standing(which);
        if standing.was_confirmed || standing.failed_lately {
            return false;
        }
        let shared = Arc::clone(self);
        let landing = self
            .flights
            .join(which.flight(), || async move { shared.fetch(which).await });
        matches!(landing.within(self.patience()).await, Some(Ok(())))
    }

    /// True while a listing cannot be relied upon to delete by it.
    pub(in crate::drive) fn is_stale(&self, which: Which) -> bool {
        let known = self.known();
        match which {
            Which::Assets => known.assets.is_stale(),
            Which::Rapids => known.rapids.is_stale(),
            Which::Presets => known.presets.is_stale(),
            Which::Factory => known.factory.is_stale(),
        }
    }

    /// The next look at a listing asks the service.
    pub(in crate::drive) fn doubt(&self, which: Which) {
        let mut known = self.known();
        match which {
            Which::Assets => known.assets.doubt(),
            Which::Rapids => known.rapids.doubt(),
            Which::Presets => known.presets.doubt(),
            Which::Factory => known.factory.doubt(),
        }
    }

    fn standing(&self, which: Which) -> Standing {
        let refresh = self.config.refresh;
        let known = self.known();
        match which {
            Which::Assets => Standing::of(&known.assets, refresh),
            Which::Rapids => Standing::of(&known.rapids, refresh),
            Which::Presets => Standing::of(&known.presets, refresh),
            Which::Factory => Standing::of(&known.factory, refresh),
        }
    }

    async fn fetch(self: Arc<Self>, which: Which) -> DriveResult<()> {
        let result = match which {
            Which::Assets => self.fetch_assets().await,
            Which::Rapids => self.fetch_rapids().await,
            Which::Presets => self.fetch_presets().await,
            Which::Factory => self.fetch_factory().await,
        };
        if result.is_err() {
            let now = Instant::now();
            let mut known = self.known();
            match which {
                Which::Assets => known.assets.failed(now),
                Which::Rapids => known.rapids.failed(now),
                Which::Presets => known.presets.failed(now),
                Which::Factory => known.factory.failed(now),
            }
        }
        result
    }

    async fn fetch_assets(&self) -> DriveResult<()> {
        let began = Instant::now();
        let page = self.known().assets.confirming_page(began, PER_PAGE);
        if let Some(page) = page {
            let query = ListQuery::all().at_page(page.into());
            let reply = self
                .asked(self.client.list_assets(query, Priority::Interactive))
                .await?;
            if reply.unreadable == 0 {
                let confirmed = self.told_assets(reply.data, |listing, rows, taken| match listing
                    .confirm(reply.meta.total, rows, began, Instant::now(), taken)
                {
                    Confirmation::Holds(changes) => Some(changes),
                    Confirmation::NeedsFullPass => None,
                });
                if confirmed {
                    return Ok(());
                }
            }
        }
        let mut pages = self.client.asset_pages(None, Priority::Interactive);
        let mut records = Vec::new();
        while let Some(page) = self.asked(pages.try_next()).await? {
            records.extend(page.data);
        }
        self.told_assets(records, |listing, rows, taken| {
            Some(listing.replace(rows, began, Instant::now(), taken))
        });
        Ok(())
    }

    /// Takes records in by `learn`; false when it could not use them.
    fn told_assets(
        &self,
        records: Vec<BaseAsset>,
        learn: impl FnOnce(
            &mut Listing<KnownAsset>,
            Vec<KnownAsset>,
            &std::collections::HashSet<String>,
        ) -> Option<Changes>,
    ) -> bool {
        let rows: Vec<KnownAsset> = records.iter().map(KnownAsset::from_record).collect();
        let taken = self.draft_names();
        let mut known = self.known();
        for row in &rows {
            self.claim_made(&mut known, row);
        }
        let Some(changes) = learn(&mut known.assets, rows, &taken) else {
            return false;
        };
        self.keep_rows("assets", &known.assets, &changes);
        touch(&mut known, Top::RawModels, &changes);
        drop(known);
        self.assets_changed(&changes);
        true
    }

    /// An asset that was copied in here keeps the name of its draft.
    fn claim_made(&self, known: &mut Known, row: &KnownAsset) {
        if let Some(record) = self.outbox.sent_record(row.id)
            && record.kind == DraftKind::Folder
        {
            known.assets.claim(row.id.0, &record.name, &row.name);
        }
    }

    async fn fetch_rapids(&self) -> DriveResult<()> {
        let began = Instant::now();
        let page = self.known().rapids.confirming_page(began, PER_PAGE);
        if let Some(page) = page {
            let query = ListQuery::all().at_page(page.into());
            let reply = self
                .asked(self.client.list_rapid_models(query, Priority::Interactive))
                .await?;
            let rows = reply.data.iter().map(KnownRapid::from_record).collect();
            let mut known = self.known();
            let now = Instant::now();
            let confirmation =
                known
                    .rapids
                    .confirm(reply.meta.total, rows, began, now, &Default::default());
            if let Confirmation::Holds(changes) = confirmation {
                self.told_rapids(known, &changes);
                return Ok(());
            }
        }
        let mut pages = self.client.rapid_pages(None, Priority::Interactive);
        let mut rows = Vec::new();
        while let Some(page) = self.asked(pages.try_next()).await? {
            rows.extend(page.data.iter().map(KnownRapid::from_record));
        }
        let mut known = self.known();
        let changes = known
            .rapids
            .replace(rows, began, Instant::now(), &Default::default());
        self.told_rapids(known, &changes);
        Ok(())
    }

    fn told_rapids(&self, mut known: std::sync::MutexGuard<'_, Known>, changes: &Changes) {
        self.keep_rows("rapids", &known.rapids, changes);
        touch(&mut known, Top::RapidModels, changes);
        drop(known);
        self.rapids_changed(changes);
    }

    async fn fetch_presets(&self) -> DriveResult<()> {
        let began = Instant::now();
        let records = self
            .asked(self.client.presets(Priority::Interactive))
            .await?;
        let rows = records.iter().map(KnownPreset::from_record).collect();
        self.told_presets(Which::Presets, rows, began);
        Ok(())
    }

    async fn fetch_factory(&self) -> DriveResult<()> {
        let began = Instant::now();
        let records = self
            .asked(self.client.factory_presets(Priority::Interactive))
            .await?;
        let rows = records
            .iter()
            .map(KnownPreset::from_factory_record)
            .collect();
        self.told_presets(Which::Factory, rows, began);
        Ok(())
    }

    fn told_presets(&self, which: Which, rows: Vec<KnownPreset>, began: Instant) {
        let mut known = self.known();
        let Known {
            presets, factory, ..
        } = &mut *known;
        let (listing, table) = match which {
            Which::Factory => (factory, "factory"),
            _ => (presets, "presets"),
        };
        let changes = listing.replace(rows, began, Instant::now(), &Default::default());
        self.keep_rows(table, listing, &changes);
        let mut names: Vec<String> = changes
            .gone
            .iter()
            .chain(&changes.renamed)
            .map(|(_, name)| name.clone())
            .collect();
        names.extend(
            changes
                .changed
                .iter()
                .filter_map(|id| listing.name(*id).map(str::to_owned)),
        );
        touch(&mut known, which.top(), &changes);
        drop(known);
        // Another text is another inode: the name stands for something else now.
        for name in names {
            self.tell_entry(&Node::Top(which.top()), &name);
        }
    }

    /// Takes in one record of a source model.
    pub(in crate::drive) fn told_asset(&self, record: &BaseAsset) {
        self.told_assets(vec![record.clone()], |listing, rows, taken| {
            rows.into_iter()
                .next()
                .map(|row| listing.put(row, Instant::now(), taken))
        });
    }

    /// Takes in one row of an optimized model.
    pub(in crate::drive) fn told_rapid(&self, row: KnownRapid) {
        let mut known = self.known();
        let changes = known.rapids.put(row, Instant::now(), &Default::default());
        self.told_rapids(known, &changes);
    }

    /// A source model is gone from the service.
    pub(in crate::drive) fn asset_gone(&self, asset: AssetId) {
        let home = self.home_of(asset);
        let changes = {
            let mut known = self.known();
            let changes = known.assets.remove(asset.0, Instant::now());
            self.keep_rows("assets", &known.assets, &changes);
            touch(&mut known, Top::RawModels, &changes);
            changes
        };
        self.outbox.asset_gone(asset);
        self.forget_files(&format!("raw/{asset}"));
        for (_, name) in &changes.gone {
            self.tell_removed(&Node::Top(Top::RawModels), &Node::Model(home), name);
        }
    }

    /// An optimized model is gone from the service.
    pub(in crate::drive) fn rapid_gone(&self, rapid: RapidId) {
        let changes = {
            let mut known = self.known();
            let changes = known.rapids.remove(rapid.0, Instant::now());
            self.keep_rows("rapids", &known.rapids, &changes);
            touch(&mut known, Top::RapidModels, &changes);
            changes
        };
        self.rapids_changed(&changes);
    }

    fn forget_files(&self, prefix: &str) {
        self.maps.forget(&self.meta, prefix);
        self.contents.forget(&format!("{prefix}/"));
        self.cache.forget(prefix);
    }

    fn assets_changed(&self, changes: &Changes) {
        for (id, name) in changes.gone.iter().chain(&changes.renamed) {
            self.tell_removed(
                &Node::Top(Top::RawModels),
                &Node::Model(self.home_of(AssetId(*id))),
                name,
            );
        }
        for (id, _) in &changes.gone {
            self.check_gone(AssetId(*id));
        }
        for id in &changes.changed {
            let (asset, home) = (AssetId(*id), self.home_of(AssetId(*id)));
            // Another state has other files: what was known of them is asked for again.
            self.maps.doubt(&self.meta, RemoteFolder::AssetFiles(asset));
            self.maps
                .doubt(&self.meta, RemoteFolder::AssetAnalysis(asset));
            self.tell_attributes(&Node::Model(home));
            self.tell_attributes(&Node::HiddenFile(Place::Model(home), HiddenFile::Status));
        }
        self.tell_appeared(changes, Top::RawModels, |known, id| {
            known.assets.name(id).map(str::to_owned)
        });
    }

    fn rapids_changed(&self, changes: &Changes) {
        for (id, name) in changes.gone.iter().chain(&changes.renamed) {
            self.tell_removed(
                &Node::Top(Top::RapidModels),
                &Node::Rapid(RapidId(*id)),
                name,
            );
        }
        for (id, _) in &changes.gone {
            self.forget_files(&format!("rapid/{id}"));
        }
        for id in &changes.changed {
            let rapid = RapidId(*id);
            if self.rapid_is_final(rapid) {
                self.rapid_ended(rapid);
            }
            self.maps.doubt(&self.meta, RemoteFolder::RapidFiles(rapid));
            self.maps
                .doubt(&self.meta, RemoteFolder::RapidAnalysis(rapid));
            self.tell_attributes(&Node::Rapid(rapid));
            self.tell_attributes(&Node::HiddenFile(Place::Rapid(rapid), HiddenFile::Status));
        }
        self.tell_appeared(changes, Top::RapidModels, |known, id| {
            known.rapids.name(id).map(str::to_owned)
        });
    }

    fn tell_appeared(
        &self,
        changes: &Changes,
        top: Top,
        name: impl Fn(&Known, u64) -> Option<String>,
    ) {
        if changes.appeared.len() > MAX_TOLD {
            return;
        }
        let names: Vec<String> = {
            let known = self.known();
            changes
                .appeared
                .iter()
                .filter_map(|id| name(&known, *id))
                .collect()
        };
        for name in names {
            self.tell_entry(&Node::Top(top), &name);
        }
    }

    /// A model that was copied in here is missing from a listing. Its staged copy and record are
    /// only dropped when the service says of itself that it is gone.
    fn check_gone(&self, asset: AssetId) {
        if self.outbox.sent_record(asset).is_none() {
            self.forget_files(&format!("raw/{asset}"));
            return;
        }
        let (client, outbox) = (self.client.clone(), self.outbox.clone());
        self.background.spawn(async move {
            if let Err(crate::client::ClientError::NotFound { .. }) =
                client.asset(asset, Priority::Background).await
            {
                outbox.asset_gone(asset);
            }
        });
    }

    fn keep_rows<R: Row + Serialize>(&self, table: &str, listing: &Listing<R>, changes: &Changes) {
        if changes.is_empty() && !listing.is_empty() {
            return;
        }
        let kept = self.meta.relaxed().batch(|batch| {
            let renamed = changes.renamed.iter().map(|(id, _)| id);
            for id in changes
                .appeared
                .iter()
                .chain(&changes.changed)
                .chain(renamed)
            {
                if let (Some(row), Some(name)) = (listing.row(*id), listing.name(*id)) {
                    batch.put(table, &row_key(*id), &(row, name))?;
                }
            }
            for (id, _) in &changes.gone {
                batch.remove(table, &row_key(*id));
            }
            batch.put("confirmed", table, &true)
        });
        if let Err(error) = kept {
            tracing::warn!(table, error = %error, "could not keep a listing");
        }
    }
}

/// Takes up what an earlier mount kept in `table`.
pub(in crate::drive) fn restore<R: Row + DeserializeOwned>(
    store: &MetaStore,
    table: &str,
    extension: &'static str,
) -> Listing<R> {
    let mut listing = Listing::new(extension);
    let was_known: Option<bool> = store.get("confirmed", table).unwrap_or_else(|error| {
        tracing::warn!(table, error = %error, "could not read what an earlier mount knew");
        None
    });
    if was_known == Some(true) {
        let kept: Vec<(String, (R, String))> = store.scan(table, "").unwrap_or_default();
        let names: Vec<(u64, String, String)> = kept
            .iter()
            .map(|(_, (row, name))| (row.number(), name.clone(), row.service_name().to_owned()))
            .collect();
        listing.restore(
            kept.into_iter().map(|(_, (row, _))| row),
            names,
            Instant::now(),
        );
    }
    listing
}

fn row_key(id: u64) -> String {
    format!("{id:020}")
}

fn touch(known: &mut Known, top: Top, changes: &Changes) {
    if !changes.is_empty() {
        known.changed.insert(top, SystemTime::now());
    }
}
