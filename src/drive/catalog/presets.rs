//! Presets that were changed through this drive. After `close`, every read returns what was written: first from
//! the outbox, then from the listing, which takes the saved text without waiting for the service to list it.

use crate::drive::catalog::data::listing_refs::PRESETS;
use crate::drive::catalog::listings::freshness::mark_stale;
use crate::drive::catalog::listings::records::{removed, write};
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::KnownPreset;
use crate::drive::values::node::ListingKind;
use crate::outbox::PresetOverlay;
use crate::wire::PresetId;

/// The presets in the outbox. Presets that it has saved since the last call are written into the listing.
pub fn preset_overlay(catalog: &Catalog) -> PresetOverlay {
    let overlay = catalog.outbox.presets().overlay();
    let mut known = catalog.known();
    if known.preset_saves == Some(overlay.saves) {
        return overlay;
    }
    known.preset_saves = Some(overlay.saves);
    drop(known);
    for saved in catalog.outbox.presets().saved() {
        if !saved.is_listed {
            let before = catalog.known().presets.row(saved.preset.0).cloned();
            let row = KnownPreset::saved(&saved, before.as_ref());
            write(catalog, &PRESETS, row);
        }
    }
    mark_stale(catalog, ListingKind::Presets);
    overlay
}

/// Removes a preset that was deleted on the service.
pub fn preset_gone(catalog: &Catalog, preset: PresetId) {
    removed(catalog, &PRESETS, preset.0);
}
