//! Stores records from responses in the listings, and removes those that are gone.

use std::collections::HashSet;
use std::sync::MutexGuard;
use std::time::{Instant, SystemTime};

use serde::Serialize;

use crate::drive::catalog::change::Change;
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::listing_refs::{ASSETS, EMBEDS, ListingRef, RAPIDS};
use crate::drive::catalog::data::stored_listings::keep_jobs;
use crate::drive::catalog::listings::changes::{assets_changed, forget_files, rapids_changed};
use crate::drive::catalog::listings::store::keep;
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::{KnownAsset, KnownRapid, KnownTag};
use crate::drive::values::listing::{Changes, Listing, Record};
use crate::drive::values::names::split_extension;
use crate::drive::values::node::ListingKind;
use crate::wire::{AssetId, BaseAsset, EmbedId, ModelId, RapidId, RapidModel};

/// Stores one record of a source model from a request that began at `asked`.
pub(in crate::drive) fn store_asset(catalog: &Catalog, record: &BaseAsset, asked: Instant) {
    store_assets(catalog, vec![record.clone()], |listing, rows, taken| {
        rows.into_iter()
            .next()
            .map(|row| listing.put(row, asked, Instant::now(), taken))
    });
}

/// The row of an optimized model. A new one gets the name of the text that it was made with, which its name may need.
pub(in crate::drive) fn rapid_row(catalog: &Catalog, record: &RapidModel) -> KnownRapid {
    let row = KnownRapid::from_record(record);
    if catalog.rapid_name(record.id).is_some() {
        return row;
    }
    let tags = record.tags.iter().map(|tag| tag.name.as_str());
    let text = catalog.outbox.jobs().text_of(record.id, tags);
    KnownRapid {
        made_with: text.map(|name| split_extension(&name).0.to_owned()),
        ..row
    }
}

/// Stores one record of an optimized model.
pub(in crate::drive) fn store_rapid(catalog: &Catalog, record: &RapidModel, asked: Instant) {
    let row = rapid_row(catalog, record);
    let mut known = catalog.known();
    let changes = known
        .rapids
        .put(row, asked, Instant::now(), &Default::default());
    store_rapids(catalog, known, &changes);
}

/// Stores tags that were changed through this drive.
pub(in crate::drive) fn write_tags(catalog: &Catalog, subject: ModelId, tags: Vec<KnownTag>) {
    let now = Instant::now();
    match subject {
        ModelId::Asset(asset) => {
            let row = catalog.asset(asset);
            let rows = row.map(|row| KnownAsset { tags, ..row }).into_iter();
            let changes = learned_rows(catalog, rows.collect(), |listing, rows, taken| {
                rows.into_iter()
                    .next()
                    .map(|row| listing.write(row, now, taken))
            });
            assets_changed(catalog, &changes.unwrap_or_default());
        }
        ModelId::Rapid(rapid) => {
            let mut known = catalog.known();
            let Some(row) = known.rapids.row(rapid.0).cloned() else {
                return;
            };
            let row = KnownRapid { tags, ..row };
            let changes = known.rapids.write(row, now, &Default::default());
            store_rapids(catalog, known, &changes);
        }
    }
}

/// Removes a source model that is gone from the service.
pub(in crate::drive) fn asset_gone(catalog: &Catalog, asset: AssetId) {
    let changes = removed(catalog, &ASSETS, asset.0);
    catalog.outbox.asset_gone(asset);
    forget_files(catalog, &format!("raw/{asset}"));
    if !changes.gone.is_empty() {
        catalog.report(Change::Listing);
    }
}

/// Removes an embed that is gone from the service.
pub(in crate::drive) fn embed_gone(catalog: &Catalog, embed: EmbedId) {
    let changes = removed(catalog, &EMBEDS, embed.0);
    if !changes.gone.is_empty() {
        catalog.report(Change::Listing);
    }
}

/// Removes an optimized model that is gone from the service.
pub(in crate::drive) fn rapid_gone(catalog: &Catalog, rapid: RapidId) {
    let changes = removed(catalog, &RAPIDS, rapid.0);
    catalog.outbox.jobs().rapid_gone(rapid);
    rapids_changed(catalog, &changes);
}

/// Removes a record from its listing.
pub(in crate::drive) fn removed<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    id: u64,
) -> Changes {
    let mut known = catalog.known();
    let changes = (listing.rows)(&mut known).remove(id, Instant::now());
    keep(catalog, listing, &mut known, &changes);
    changes
}

/// Applies records with `learn`; false if it could not use them.
pub(super) fn store_assets(
    catalog: &Catalog,
    records: Vec<BaseAsset>,
    learn: impl FnOnce(&mut Listing<KnownAsset>, Vec<KnownAsset>, &HashSet<String>) -> Option<Changes>,
) -> bool {
    let rows = records.iter().map(KnownAsset::from_record).collect();
    drop(records);
    let changes = learned_rows(catalog, rows, learn);
    if let Some(changes) = &changes {
        assets_changed(catalog, changes);
    }
    changes.is_some()
}

/// The same with rows, without reporting changes.
pub(super) fn learned_rows(
    catalog: &Catalog,
    rows: Vec<KnownAsset>,
    learn: impl FnOnce(&mut Listing<KnownAsset>, Vec<KnownAsset>, &HashSet<String>) -> Option<Changes>,
) -> Option<Changes> {
    let taken = catalog.draft_names();
    let mut known = catalog.known();
    for row in &rows {
        claim_made(catalog, &mut known, row);
    }
    let changes = learn(&mut known.assets, rows, &taken)?;
    keep(catalog, &ASSETS, &mut known, &changes);
    Some(changes)
}

/// Stores and reports changes of assets.
pub(super) fn store_asset_changes(
    catalog: &Catalog,
    mut known: MutexGuard<'_, Known>,
    changes: &Changes,
) {
    keep(catalog, &ASSETS, &mut known, changes);
    drop(known);
    assets_changed(catalog, changes);
}

/// Gives known assets the names that the outbox records for them.
pub(in crate::drive) fn apply_names(catalog: &Catalog, assets: &[AssetId]) {
    let rows = assets.iter().filter_map(|asset| catalog.asset(*asset));
    let now = Instant::now();
    let changes = learned_rows(catalog, rows.collect(), |listing, rows, taken| {
        Some(listing.put_all(rows, now, now, taken))
    });
    assets_changed(catalog, &changes.unwrap_or_default());
}

/// An asset that was copied in here keeps the name of its draft, or that of the version before it.
fn claim_made(catalog: &Catalog, known: &mut Known, row: &KnownAsset) {
    if let Some(record) = catalog.outbox.uploads().sent_record(row.id)
        && let Some(name) = record.folder_name()
    {
        known.assets.claim(row.id.0, name, &row.name);
    }
}

pub(super) fn store_rapids(catalog: &Catalog, mut known: MutexGuard<'_, Known>, changes: &Changes) {
    keep(catalog, &RAPIDS, &mut known, changes);
    drop(known);
    rapids_changed(catalog, changes);
}

/// Stores which optimizations are running or have failed lately.
pub(in crate::drive) fn store_jobs(catalog: &Catalog, mut rapids: Vec<RapidId>, asked: Instant) {
    rapids.sort_unstable();
    let (before, is_news) = {
        let mut known = catalog.known();
        let is_news = !known.jobs_belief.is_known();
        known.jobs_belief.confirmed(asked, Instant::now());
        let before = std::mem::replace(&mut known.jobs, rapids.clone());
        if before != rapids {
            known.changed.insert(ListingKind::Jobs, SystemTime::now());
        }
        (before, is_news)
    };
    if is_news || before != rapids {
        keep_jobs(&catalog.meta, &rapids);
    }
    if before.iter().any(|rapid| !rapids.contains(rapid)) {
        catalog.report(Change::Listing);
    }
}

/// Stores a complete listing.
pub(super) fn store_all<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    rows: Vec<R>,
    began: Instant,
) {
    let mut known = catalog.known();
    let changes = (listing.rows)(&mut known).replace(rows, began, Instant::now(), &HashSet::new());
    store_changes(catalog, listing, known, &changes);
}

pub(in crate::drive) fn store_changes<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    mut known: MutexGuard<'_, Known>,
    changes: &Changes,
) {
    keep(catalog, listing, &mut known, changes);
    drop(known);
    if !changes.is_empty() {
        catalog.report(Change::Listing);
    }
}
