//! Applies changes of a listing: reports them and forgets what depends on them.

use crate::drive::catalog::blob_sizes::forget_blobs;
use crate::drive::catalog::change::Change;
use crate::drive::catalog::maps::store::{rapid_ended, rapid_is_final};
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::stored_reasons::forget_reason;
use crate::drive::values::listing::Changes;
use crate::drive::values::node::{Model, RemoteFolder};
use crate::wire::{AssetId, ModelId, RapidId};

pub(super) fn forget_files(catalog: &Catalog, prefix: &str) {
    catalog.maps.forget(&catalog.meta, prefix);
    forget_blobs(catalog, prefix);
    catalog.contents.forget(&format!("{prefix}/"));
    catalog.cache.forget(prefix);
}

pub(super) fn assets_changed(catalog: &Catalog, changes: &Changes) {
    report_renamed(catalog, changes);
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
    report_appeared(catalog, changes);
}

pub(super) fn rapids_changed(catalog: &Catalog, changes: &Changes) {
    if !changes.gone.is_empty() {
        catalog.report(Change::Listing);
    }
    report_renamed(catalog, changes);
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
    report_appeared(catalog, changes);
}

fn report_renamed(catalog: &Catalog, changes: &Changes) {
    if !changes.renamed.is_empty() {
        catalog.report(Change::Listing);
    }
}

fn report_appeared(catalog: &Catalog, changes: &Changes) {
    if !changes.appeared.is_empty() {
        catalog.report(Change::Listing);
    }
}
