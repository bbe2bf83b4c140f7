//! Which texts of presets have a result in the account. A text that another machine sent is known by its result, although
//! this machine does not list it in `optimize/`.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::super::files;
use super::super::models_of_folder::ModelPreset;
use super::super::mounted::{self, MountedDrive};

/// For each result, the id of its source model and the checksum of its text.
#[derive(Default)]
pub(super) struct KnownTexts(BTreeSet<(u64, String)>);

/// What is read of a line of the list of results.
#[derive(Deserialize)]
struct ResultLine {
    source_id: Option<u64>,
    text_hash: Option<String>,
}

impl KnownTexts {
    /// Reads the list of results; without it, no text is known.
    pub(super) fn of(drive: &MountedDrive) -> KnownTexts {
        let path = drive.root().join("rapidmodels/.assetfs/results.jsonl");
        let lines = files::lines_from_drive::<ResultLine>(&path).unwrap_or_default();
        let noted = lines
            .into_iter()
            .filter_map(|line| Some((line.source_id?, line.text_hash?)));
        KnownTexts(noted.collect())
    }

    /// Whether the model has a result of the text of a preset.
    pub(super) fn has(&self, model: &Path, preset: &ModelPreset) -> bool {
        let id = mounted::item_id(model).ok().flatten();
        let id = id.and_then(|id| id.parse().ok());
        id.zip(preset.text_hash().ok())
            .is_some_and(|key| self.0.contains(&key))
    }
}
