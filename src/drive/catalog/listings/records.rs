//! Stores records from responses in the listings, here and across mounts, and removes those that are gone.

use std::collections::HashSet;
use std::time::SystemTime;

use serde::Serialize;
use tokio::time::Instant;

use crate::drive::catalog::asking::run_blocking;
use crate::drive::catalog::change::Change;
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::data::listing_refs::{ASSETS, EMBEDS, ListingRef, RAPIDS};
use crate::drive::catalog::data::stored_listings::{keep_jobs, keep_rows};
use crate::drive::catalog::listings::changes::{forget_files, report};
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::points::keep_points;
use crate::drive::catalog::versions::{noted_old, pass_names_on};
use crate::drive::error::DriveResult;
use crate::drive::values::known::{KnownAsset, KnownRapid, KnownTag};
use crate::drive::values::listing::{Changes, Listing, Record};
use crate::drive::values::names::split_extension;
use crate::drive::values::node::ListingKind;
use crate::wire::{AssetId, BaseAsset, EmbedId, ModelId, RapidId, RapidModel};

/// Stores one record of a source model from a request that began at `asked`.
pub fn store_asset(catalog: &Catalog, record: &BaseAsset, asked: Instant) {
    store_some(
        catalog,
        &ASSETS,
        vec![KnownAsset::from_record(record)],
        asked,
    );
}

/// The row of an optimized model. A new one gets the name of the text that it was made with, which its name may need.
pub fn rapid_row(catalog: &Catalog, record: &RapidModel) -> KnownRapid {
    let row = KnownRapid::from_record(record);
    if row.made_with.is_some() || catalog.rapid_name(record.id).is_some() {
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
pub fn store_rapid(catalog: &Catalog, record: &RapidModel, asked: Instant) {
    store_some(catalog, &RAPIDS, vec![rapid_row(catalog, record)], asked);
}

/// Stores tags that were changed through this drive.
pub fn write_tags(catalog: &Catalog, subject: ModelId, tags: Vec<KnownTag>) {
    match subject {
        ModelId::Asset(asset) => {
            if let Some(row) = catalog.asset(asset) {
                write(catalog, &ASSETS, KnownAsset { tags, ..row });
            }
        }
        ModelId::Rapid(rapid) => {
            if let Some(row) = catalog.rapid(rapid) {
                write(catalog, &RAPIDS, KnownRapid { tags, ..row });
            }
        }
    }
}

/// Stores a record that was changed through this drive.
pub fn write<R: Record + Serialize>(catalog: &Catalog, listing: &ListingRef<R>, row: R) {
    learn(catalog, listing, vec![row], |listing, rows, taken| {
        let row = rows.into_iter().next()?;
        Some(listing.write(row, Instant::now(), taken))
    });
}

/// Removes a source model that is gone from the service.
pub fn asset_gone(catalog: &Catalog, asset: AssetId) {
    let changes = removed(catalog, &ASSETS, asset.0);
    catalog.outbox.asset_gone(asset);
    forget_files(catalog, &format!("raw/{asset}"));
    if !changes.gone.is_empty() {
        catalog.report(Change::Listing);
    }
}

/// Removes an embed that is gone from the service.
pub fn embed_gone(catalog: &Catalog, embed: EmbedId) {
    let changes = removed(catalog, &EMBEDS, embed.0);
    if !changes.gone.is_empty() {
        catalog.report(Change::Listing);
    }
}

/// Removes an optimized model that is gone from the service.
pub fn rapid_gone(catalog: &Catalog, rapid: RapidId) {
    let changes = removed(catalog, &RAPIDS, rapid.0);
    catalog.outbox.jobs().rapid_gone(rapid);
    report(catalog, ListingKind::Rapids, &changes);
}

/// Removes a record from its listing.
pub fn removed<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    id: u64,
) -> Changes {
    let mut known = catalog.known();
    let changes = (listing.rows)(&mut known).remove(id, Instant::now());
    keep(catalog, listing, &mut known, &changes);
    changes
}

/// Stores rows of a listing as `apply` says, and reports what changed; false if it could not use them.
pub(super) fn learn<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    rows: Vec<R>,
    apply: impl FnOnce(&mut Listing<R>, Vec<R>, &HashSet<String>) -> Option<Changes>,
) -> bool {
    let changes = learned(catalog, listing, rows, apply);
    if let Some(changes) = &changes {
        report(catalog, listing.kind, changes);
    }
    changes.is_some()
}

/// The same without a report. The last argument of `apply` has the names that drafts take.
pub(super) fn learned<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    rows: Vec<R>,
    apply: impl FnOnce(&mut Listing<R>, Vec<R>, &HashSet<String>) -> Option<Changes>,
) -> Option<Changes> {
    let are_assets = listing.kind == ListingKind::Assets;
    let taken = match are_assets {
        true => catalog.draft_names(),
        false => HashSet::new(),
    };
    let mut known = catalog.known();
    if are_assets {
        // A model that was replaced on another machine has passed its name on.
        let old = noted_old(&known);
        let named = rows
            .iter()
            .filter(|row| !old.contains(&AssetId(row.number())));
        named.for_each(|row| keep_draft_name(catalog, &mut known, row));
    }
    let mut changes = apply((listing.rows)(&mut known), rows, &taken)?;
    let later = pass_names_on(catalog, &mut known, listing.kind, &mut changes);
    keep(catalog, &RAPIDS, &mut known, &later);
    keep(catalog, listing, &mut known, &changes);
    if listing.kind == ListingKind::Rapids {
        keep_points(&catalog.meta, &known, &changes);
    }
    drop(known);
    if !later.is_empty() {
        catalog.report(Change::Listing);
    }
    Some(changes)
}

/// Stores some rows from a request that began at `asked`; others are not affected.
pub(super) fn store_some<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    rows: Vec<R>,
    asked: Instant,
) {
    learn(catalog, listing, rows, |listing, rows, taken| {
        Some(listing.put_all(rows, asked, Instant::now(), taken))
    });
}

/// Gives known assets the names that the outbox records for them.
pub fn apply_names(catalog: &Catalog, assets: &[AssetId]) {
    let rows = assets.iter().filter_map(|asset| catalog.asset(*asset));
    store_some(catalog, &ASSETS, rows.collect(), Instant::now());
}

/// Names an asset as one that has just appeared. While it was not shown, a draft may have had its name.
pub fn name_anew(catalog: &Catalog, asset: AssetId) {
    let rows: Vec<_> = catalog.asset(asset).into_iter().collect();
    learn(catalog, &ASSETS, rows, |listing, rows, taken| {
        listing.forget_name(asset.0);
        let now = Instant::now();
        let mut changes = listing.put_all(rows, now, now, taken);
        let is_other = |(id, old): &(u64, String)| listing.name(*id) != Some(old);
        changes.renamed.retain(is_other);
        Some(changes)
    });
}

/// Drafts may have given up their names: models that are called by their ids only because of them get these names.
pub fn take_over_names(catalog: &Catalog) {
    let passed_on: HashSet<u64> = {
        let known = catalog.known();
        if known.assets.yielding().is_empty() {
            return;
        }
        noted_old(&known).iter().map(|asset| asset.0).collect()
    };
    learn(catalog, &ASSETS, Vec::new(), |listing, _, taken| {
        Some(listing.take_over(taken, &passed_on))
    });
}

/// An asset that was copied in here keeps the name of its draft, or that of the version before it.
fn keep_draft_name(catalog: &Catalog, known: &mut Known, row: &impl Record) {
    let asset = AssetId(row.number());
    if let Some(record) = catalog.outbox.uploads().sent_record(asset)
        && let Some(name) = record.folder_name()
    {
        known.assets.claim(asset.0, name, row.service_name());
    }
}

/// Stores which optimizations are running or have failed lately.
pub fn store_jobs(catalog: &Catalog, mut rapids: Vec<RapidId>, asked: Instant) {
    rapids.sort_unstable();
    let (before, is_new) = {
        let mut known = catalog.known();
        let is_new = !known.jobs_belief.is_known();
        known.jobs_belief.confirmed(asked, Instant::now());
        let before = std::mem::replace(&mut known.jobs, rapids.clone());
        if before != rapids {
            known.changed.insert(ListingKind::Jobs, SystemTime::now());
        }
        (before, is_new)
    };
    if is_new || before != rapids {
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
    learn(catalog, listing, rows, |listing, rows, taken| {
        Some(listing.replace(rows, began, Instant::now(), taken))
    });
}

/// Stores changes of a listing and sets the time of its folder.
fn keep<R: Record + Serialize>(
    catalog: &Catalog,
    listing: &ListingRef<R>,
    known: &mut Known,
    changes: &Changes,
) {
    keep_rows(&catalog.meta, listing.kind, (listing.rows)(known), changes);
    if !changes.is_empty() {
        known.changed.insert(listing.kind, SystemTime::now());
    }
}

/// Makes all stored listings durable. A change through the drive is answered after this, so that no later mount
/// shows the previous state.
pub async fn keep_for_good(catalog: &Catalog) -> DriveResult<()> {
    let meta = catalog.meta.clone();
    run_blocking(catalog, move || {
        if let Err(error) = meta.flush() {
            // The store is only a copy: the change itself was made.
            tracing::warn!(error = %error, "could not store a change");
        }
        Ok(())
    })
    .await
}
