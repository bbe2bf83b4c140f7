//! Presets that were changed through this drive. From the `close` on, every read gives what was
//! written: first out of the outbox, then out of the listing, into which the saved text is written
//! without waiting for the service to list it.

use std::time::Instant;

use super::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::known::KnownPreset;
use crate::outbox::{PresetOverlay, SavedPreset};
use crate::wire::PresetId;

impl Shared {
    /// What the outbox holds of the presets folder. What it has saved on the service since the last
    /// look is written into the listing.
    pub(in crate::drive) fn preset_overlay(&self) -> PresetOverlay {
        let overlay = self.outbox.preset_overlay();
        let mut known = self.known();
        if known.preset_saves == Some(overlay.saves) {
            return overlay;
        }
        known.preset_saves = Some(overlay.saves);
        drop(known);
        for saved in &overlay.saved {
            self.write_preset(saved);
        }
        self.doubt(Which::Presets);
        overlay
    }

    fn write_preset(&self, saved: &SavedPreset) {
        let mut known = self.known();
        let Some(row) = KnownPreset::saved(saved, known.presets.row(saved.preset.0)) else {
            return;
        };
        let changes = known
            .presets
            .write(row, Instant::now(), &Default::default());
        self.told_changes(Which::Presets, |known| &mut known.presets, known, &changes);
    }

    /// A preset is gone from the service.
    pub(in crate::drive) fn preset_gone(&self, preset: PresetId) {
        self.removed(Which::Presets, |known| &mut known.presets, preset.0);
    }
}
