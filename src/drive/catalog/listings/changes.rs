//! Applies changes of a listing: reports them and forgets what depends on them.

use crate::drive::catalog::blob_sizes::forget_blobs;
use crate::drive::catalog::change::Change;
use crate::drive::catalog::maps::store::{rapid_ended, rapid_is_final};
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::stored_reasons::forget_reason;
use crate::drive::values::listing::Changes;
use crate::drive::values::node::{ListingKind, Model, RemoteFolder};
use crate::wire::{AssetId, ModelId, RapidId};

pub(super) fn forget_files(catalog: &Catalog, prefix: &str) {
    catalog.maps.forget(&catalog.meta, prefix);
    forget_blobs(catalog, prefix);
    catalog.contents.forget(&format!("{prefix}/"));
    catalog.cache.forget(prefix);
}

/// Reports what became of a listing, and forgets what depended on it.
pub(super) fn report(catalog: &Catalog, which: ListingKind, changes: &Changes) {
    match which {
        ListingKind::Assets => assets_changed(catalog, changes),
        ListingKind::Rapids => rapids_changed(catalog, changes),
        _ if !changes.is_empty() => catalog.report(Change::Listing),
        _ => {}
    }
}

fn assets_changed(catalog: &Catalog, changes: &Changes) {
    for id in &changes.state_changed {
        let asset = AssetId(*id);
        let folders = [
            RemoteFolder::AssetFiles(asset),
            RemoteFolder::AssetAnalysis(asset),
        ];
        forget_state(catalog, ModelId::Asset(asset), folders);
    }
    for id in &changes.changed {
        let home = catalog.home_of(AssetId(*id));
        catalog.report(Change::Model(Model::Raw(home)));
    }
    report_names(catalog, changes);
}

fn rapids_changed(catalog: &Catalog, changes: &Changes) {
    for (id, _) in &changes.gone {
        forget_files(catalog, &format!("rapid/{id}"));
    }
    for id in &changes.state_changed {
        let rapid = RapidId(*id);
        if rapid_is_final(catalog, rapid) {
            rapid_ended(catalog, rapid);
        }
        let folders = [
            RemoteFolder::RapidFiles(rapid),
            RemoteFolder::RapidAnalysis(rapid),
        ];
        forget_state(catalog, ModelId::Rapid(rapid), folders);
    }
    for id in &changes.changed {
        catalog.report(Change::Model(Model::Rapid(RapidId(*id))));
    }
    report_names(catalog, changes);
}

/// Files depend on the state: they are requested again.
fn forget_state(catalog: &Catalog, subject: ModelId, folders: [RemoteFolder; 2]) {
    for folder in folders {
        catalog.maps.mark_stale(&catalog.meta, folder);
    }
    forget_reason(catalog, subject);
}

fn report_names(catalog: &Catalog, changes: &Changes) {
    let Changes { appeared, gone, .. } = changes;
    if !(appeared.is_empty() && gone.is_empty() && changes.renamed.is_empty()) {
        catalog.report(Change::Listing);
    }
}
