//! Which texts of presets the account has results of, whoever sent them: a text that another machine sent is not new here,
//! although `optimize/` does not have it.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::super::files;
use super::super::models_of_folder::ModelPreset;
use super::super::mounted::{self, MountedDrive};

/// The texts, by the id of their model and their checksum.
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
        let mut text = Vec::new();
        let read = files::read_from_drive(&path, |part| {
            text.extend_from_slice(part);
            true
        });
        if read.is_err() {
            return KnownTexts::default();
        }
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<ResultLine>(line).ok());
        KnownTexts(
            lines
                .filter_map(|line| Some((line.source_id?, line.text_hash?)))
                .collect(),
        )
    }

    /// Whether the model has a result of the text of a preset.
    pub(super) fn has(&self, model: &Path, preset: &ModelPreset) -> bool {
        let id = mounted::item_id(model).ok().flatten();
        let id = id.and_then(|id| id.parse().ok());
        id.zip(preset.text_hash().ok())
            .is_some_and(|key| self.0.contains(&key))
    }
}
