//! Presets that were changed through this drive. After `close`, every read returns what was written: first from
//! the outbox, then from the listing, which takes the saved text without waiting for the service to list it.

use crate::drive::catalog::data::listing_refs::PRESETS;
use crate::drive::catalog::listings::freshness::mark_stale;
use crate::drive::catalog::listings::records::{removed, write};
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::KnownPreset;
use crate::drive::values::node::ListingKind;
use crate::locks::Locked;
use crate::outbox::PresetOverlay;
use crate::wire::PresetId;

/// The presets in the outbox. Presets that it has saved since the last call are written into the listing.
pub fn preset_overlay(catalog: &Catalog) -> PresetOverlay {
    // Held until the rows are written: a caller that finds nothing new in the outbox reads the listing next.
    let mut written = catalog.preset_saves.locked();
    let overlay = catalog.outbox.presets().overlay();
    if *written == Some(overlay.saves) {
        return overlay;
    }
    for saved in catalog.outbox.presets().saved() {
        if !saved.is_listed {
            let before = catalog.known().presets.row(saved.preset.0).cloned();
            let row = KnownPreset::saved(&saved, before.as_ref());
            write(catalog, &PRESETS, row);
        }
    }
    *written = Some(overlay.saves);
    drop(written);
    mark_stale(catalog, ListingKind::Presets);
    overlay
}

/// Removes a preset that was deleted on the service.
pub fn preset_gone(catalog: &Catalog, preset: PresetId) {
    removed(catalog, &PRESETS, preset.0);
}
