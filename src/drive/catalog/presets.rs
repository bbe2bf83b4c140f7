//! Presets that were changed through this drive. After `close`, every read returns what was written: first from
//! the outbox, then from the listing, which takes the saved text without waiting for the service to list it.

use std::time::Instant;

use crate::drive::catalog::data::listing_refs::PRESETS;
use crate::drive::catalog::listings::freshness::doubt;
use crate::drive::catalog::listings::records::{removed, store_changes};
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::KnownPreset;
use crate::drive::values::node::ListingKind;
use crate::outbox::{PresetOverlay, SavedPreset};
use crate::wire::PresetId;

/// The presets in the outbox. Presets that it has saved since the last call are written into the listing.
pub(in crate::drive) fn preset_overlay(catalog: &Catalog) -> PresetOverlay {
    let overlay = catalog.outbox.presets().overlay();
    let mut known = catalog.known();
    if known.preset_saves == Some(overlay.saves) {
        return overlay;
    }
    known.preset_saves = Some(overlay.saves);
    drop(known);
    for saved in catalog.outbox.presets().saved() {
        if !saved.is_listed {
            write_preset(catalog, &saved);
        }
    }
    doubt(catalog, ListingKind::Presets);
    overlay
}

fn write_preset(catalog: &Catalog, saved: &SavedPreset) {
    let mut known = catalog.known();
    let row = KnownPreset::saved(saved, known.presets.row(saved.preset.0));
    let changes = known
        .presets
        .write(row, Instant::now(), &Default::default());
    store_changes(catalog, &PRESETS, known, &changes);
}

/// Removes a preset that was deleted on the service.
pub(in crate::drive) fn preset_gone(catalog: &Catalog, preset: PresetId) {
    removed(catalog, &PRESETS, preset.0);
}
