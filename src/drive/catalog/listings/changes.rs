//! Applies changes of a listing: reports them and forgets what depends on them.

use crate::drive::catalog::blob_sizes::forget_blobs;
use crate::drive::catalog::change::{Change, Listed};
use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::maps::store::{rapid_ended, rapid_is_final};
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::stored_reasons::forget_reason;
use crate::drive::values::listing::Changes;
use crate::drive::values::node::{ListingKind, Model, RemoteFolder};
use crate::wire::{AssetId, ModelId, RapidId};

/// With more new names than this, the kernel is not notified: it has never looked them up.
pub(super) const MAX_REPORTED: usize = 64;

pub(super) fn forget_files(catalog: &Catalog, prefix: &str) {
    catalog.maps.forget(&catalog.meta, prefix);
    forget_blobs(catalog, prefix);
    catalog.contents.forget(&format!("{prefix}/"));
    catalog.cache.forget(prefix);
}

pub(super) fn assets_changed(catalog: &Catalog, changes: &Changes) {
    report_renamed(catalog, changes, ListingKind::Assets, |known, id| {
        known.assets.name(id).map(str::to_owned)
    });
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
    report_appeared(catalog, changes, ListingKind::Assets, |known, id| {
        known.assets.name(id).map(str::to_owned)
    });
}

pub(super) fn rapids_changed(catalog: &Catalog, changes: &Changes) {
    for (id, name) in &changes.gone {
        let model = Model::Rapid(RapidId(*id));
        catalog.report(Change::Gone(Listed::Model(model), name.clone()));
    }
    report_renamed(catalog, changes, ListingKind::Rapids, |known, id| {
        known.rapids.name(id).map(str::to_owned)
    });
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
    report_appeared(catalog, changes, ListingKind::Rapids, |known, id| {
        known.rapids.name(id).map(str::to_owned)
    });
}

/// Both names of what was renamed mean something else now. The model itself is still there, so the kernel must not
/// take its folder for a removed one.
fn report_renamed(
    catalog: &Catalog,
    changes: &Changes,
    which: ListingKind,
    name: impl Fn(&Known, u64) -> Option<String>,
) {
    let new: Vec<String> = {
        let known = catalog.known();
        let renamed = changes.renamed.iter().take(MAX_REPORTED);
        renamed.filter_map(|(id, _)| name(&known, *id)).collect()
    };
    let old = changes.renamed.iter().map(|(_, name)| name.clone());
    for name in old.chain(new) {
        catalog.report(Change::Named(which, name));
    }
}

fn report_appeared(
    catalog: &Catalog,
    changes: &Changes,
    which: ListingKind,
    name: impl Fn(&Known, u64) -> Option<String>,
) {
    if changes.appeared.len() > MAX_REPORTED {
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
