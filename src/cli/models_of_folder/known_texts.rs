//! Which texts of presets have a result in the account. A text that another machine sent is known by its result, although
//! this machine does not list it in `optimize/`.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::presets::ModelPreset;
use crate::cli::files;
use crate::cli::mounted::{self, MountedDrive};

/// For each result, the id of its source model and the checksum of its text.
#[derive(Debug, Default)]
pub(in crate::cli) struct KnownTexts(BTreeSet<(u64, String)>);

/// What is read of a line of the list of results.
#[derive(Deserialize)]
struct ResultLine {
    source_id: Option<u64>,
    text_hash: Option<String>,
}

impl KnownTexts {
    /// Reads the list of results; without it, no text is known.
    pub(in crate::cli) fn of(drive: &MountedDrive) -> KnownTexts {
        let path = drive.root().join("rapidmodels/.assetfs/results.jsonl");
        let lines = files::lines_from_drive::<ResultLine>(&path).unwrap_or_default();
        let noted = lines
            .into_iter()
            .filter_map(|line| Some((line.source_id?, line.text_hash?)));
        KnownTexts(noted.collect())
    }

    /// Whether the model has a result of the text of a preset.
    pub(in crate::cli) fn has(&self, model: &Path, preset: &ModelPreset) -> bool {
        let id = mounted::item_id(model).ok().flatten();
        let id = id.and_then(|id| id.parse().ok());
        id.zip(preset.text_hash().ok())
            .is_some_and(|key| self.0.contains(&key))
    }

    /// Whether the model has neither the text of a preset nor a result of it, so that dropping the text is paid.
    pub(in crate::cli) fn lacks(&self, model: &Path, preset: &ModelPreset) -> bool {
        !preset.is_in(model) && !self.has(model, preset)
    }
}
