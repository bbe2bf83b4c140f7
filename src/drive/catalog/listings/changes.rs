//! Applies changes of a listing: reports them and forgets what depends on them.

use std::time::Instant;

use serde::Serialize;

use super::super::change::{Change, Listed};
use crate::client::Priority;
use crate::drive::catalog::blobs::forget_blobs;
use crate::drive::catalog::listings::fetch::{learned_rows, told_assets, told_rapids};
use crate::drive::catalog::listings::store::keep;
use crate::drive::catalog::maps::rapid_ended;
use crate::drive::catalog::maps::told::rapid_is_final;
use crate::drive::catalog::reasons::forget_reason;
use crate::drive::catalog::state::{Catalog, Known};
use crate::drive::values::known::{KnownAsset, KnownRapid, KnownTag};
use crate::drive::values::listing::{Changes, Listing, Record};
use crate::drive::values::node::{ListingKind, Model, RemoteFolder};
use crate::wire::{AssetId, BaseAsset, EmbedId, ModelId, RapidId};

/// With more new names than this, the kernel is not told: it has never looked them up.
pub(super) const MAX_TOLD: usize = 64;

/// Stores one record of a source model from a request that began at `asked`.
pub(in crate::drive) fn told_asset(catalog: &Catalog, record: &BaseAsset, asked: Instant) {
    told_assets(catalog, vec![record.clone()], |listing, rows, taken| {
        rows.into_iter()
            .next()
            .map(|row| listing.put(row, asked, Instant::now(), taken))
    });
}

/// Stores one row of an optimized model.
pub(in crate::drive) fn told_rapid(catalog: &Catalog, row: KnownRapid, asked: Instant) {
    let mut known = catalog.known();
    let changes = known
        .rapids
        .put(row, asked, Instant::now(), &Default::default());
    told_rapids(catalog, known, &changes);
}

/// Stores tags that were changed through this drive.
pub(in crate::drive) fn write_tags(catalog: &Catalog, subject: ModelId, tags: Vec<KnownTag>) {
    let now = Instant::now();
    match subject {
        ModelId::Asset(asset) => {
            let row = catalog.known().assets.row(asset.0).cloned();
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
            told_rapids(catalog, known, &changes);
        }
    }
}

/// Removes a source model that is gone from the service.
pub(in crate::drive) fn asset_gone(catalog: &Catalog, asset: AssetId) {
    let home = catalog.home_of(asset);
    let changes = removed(
        catalog,
        ListingKind::Assets,
        |known| &mut known.assets,
        asset.0,
    );
    catalog.outbox.asset_gone(asset);
    forget_files(catalog, &format!("raw/{asset}"));
    for (_, name) in &changes.gone {
        catalog.report(Change::Gone(Listed::Model(Model::Raw(home)), name.clone()));
    }
}

/// Removes an embed that is gone from the service.
pub(in crate::drive) fn embed_gone(catalog: &Catalog, embed: EmbedId) {
    let changes = removed(
        catalog,
        ListingKind::Embeds,
        |known| &mut known.embeds,
        embed.0,
    );
    for (_, name) in &changes.gone {
        catalog.report(Change::Gone(Listed::Embed(embed), name.clone()));
    }
}

/// Removes an optimized model that is gone from the service.
pub(in crate::drive) fn rapid_gone(catalog: &Catalog, rapid: RapidId) {
    let changes = removed(
        catalog,
        ListingKind::Rapids,
        |known| &mut known.rapids,
        rapid.0,
    );
    catalog.outbox.jobs().rapid_gone(rapid);
    rapids_changed(catalog, &changes);
}

/// Removes a record from its listing.
pub(in crate::drive) fn removed<R: Record + Serialize>(
    catalog: &Catalog,
    which: ListingKind,
    listing: fn(&mut Known) -> &mut Listing<R>,
    id: u64,
) -> Changes {
    let mut known = catalog.known();
    let changes = listing(&mut known).remove(id, Instant::now());
    keep(catalog, which, &mut known, listing, &changes);
    changes
}

fn forget_files(catalog: &Catalog, prefix: &str) {
    catalog.maps.forget(&catalog.meta, prefix);
    forget_blobs(catalog, prefix);
    catalog.contents.forget(&format!("{prefix}/"));
    catalog.cache.forget(prefix);
}

pub(super) fn assets_changed(catalog: &Catalog, changes: &Changes) {
    for (id, name) in changes.gone.iter().chain(&changes.renamed) {
        let model = Model::Raw(catalog.home_of(AssetId(*id)));
        catalog.report(Change::Gone(Listed::Model(model), name.clone()));
    }
    for (id, _) in &changes.gone {
        check_gone(catalog, AssetId(*id));
    }
    for id in &changes.moved {
        let asset = AssetId(*id);
        // Files depend on the state: they are requested again.
        catalog
            .maps
            .doubt(&catalog.meta, RemoteFolder::AssetFiles(asset));
        catalog
            .maps
            .doubt(&catalog.meta, RemoteFolder::AssetAnalysis(asset));
        forget_reason(catalog, ModelId::Asset(asset));
    }
    for id in &changes.changed {
        let home = catalog.home_of(AssetId(*id));
        catalog.report(Change::Model(Model::Raw(home)));
    }
    tell_appeared(catalog, changes, ListingKind::Assets, |known, id| {
        known.assets.name(id).map(str::to_owned)
    });
}

pub(super) fn rapids_changed(catalog: &Catalog, changes: &Changes) {
    for (id, name) in changes.gone.iter().chain(&changes.renamed) {
        let model = Model::Rapid(RapidId(*id));
        catalog.report(Change::Gone(Listed::Model(model), name.clone()));
    }
    for (id, _) in &changes.gone {
        forget_files(catalog, &format!("rapid/{id}"));
    }
    for id in &changes.moved {
        let rapid = RapidId(*id);
        if rapid_is_final(catalog, rapid) {
            rapid_ended(catalog, rapid);
        }
        catalog
            .maps
            .doubt(&catalog.meta, RemoteFolder::RapidFiles(rapid));
        catalog
            .maps
            .doubt(&catalog.meta, RemoteFolder::RapidAnalysis(rapid));
        forget_reason(catalog, ModelId::Rapid(rapid));
    }
    for id in &changes.changed {
        catalog.report(Change::Model(Model::Rapid(RapidId(*id))));
    }
    tell_appeared(catalog, changes, ListingKind::Rapids, |known, id| {
        known.rapids.name(id).map(str::to_owned)
    });
}

fn tell_appeared(
    catalog: &Catalog,
    changes: &Changes,
    which: ListingKind,
    name: impl Fn(&Known, u64) -> Option<String>,
) {
    if changes.appeared.len() > MAX_TOLD {
        return;
    }
    let names: Vec<String> = {
        let known = catalog.known();
        changes
            .appeared
            .iter()
            .filter_map(|id| name(&known, *id))
            .collect()
    };
    for name in names {
        catalog.report(Change::Named(which, name));
    }
}

/// A model that was copied in here is missing from a listing. Its staged copy and record are deleted only if
/// the service confirms that it is gone.
fn check_gone(catalog: &Catalog, asset: AssetId) {
    if catalog.outbox.uploads().sent_record(asset).is_none() {
        forget_files(catalog, &format!("raw/{asset}"));
        return;
    }
    let (client, outbox) = (catalog.client.clone(), catalog.outbox.clone());
    catalog.background.spawn(async move {
        if let Err(crate::client::ClientError::NotFound { .. }) =
            client.assets().get(asset, Priority::Background).await
        {
            outbox.asset_gone(asset);
        }
    });
}
