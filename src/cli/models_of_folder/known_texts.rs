//! Which texts of presets have a result in the account. A text that another machine sent is known by its result, although
//! this machine does not list it in `optimize/`. As in the drive, a result counts if it was made with the same text, or with
//! the same configuration and without an export name. A text that names a preset and one with its configuration have a result
//! each, because the first means what the preset is at the time.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::presets::ModelPreset;
use crate::cli::files;
use crate::cli::mounted::{self, MountedDrive};
use crate::drive::StatusWord;
use crate::outbox::config_hash;
use crate::wire::{OptimizerConfig, PresetText};

/// What the results of the account were made with. Each entry has the id of the source model.
#[derive(Debug, Default)]
pub(in crate::cli) struct KnownTexts {
    /// The checksums of the texts, of all results.
    texts: BTreeSet<(u64, String)>,
    /// The configurations of the results that did not fail and have no export name.
    configs: BTreeSet<(u64, KnownConfig)>,
    /// The folder with the presets of the account, which a text can name.
    presets: PathBuf,
}

/// The checksum of a configuration, and the preset that the text names, as JSON.
type KnownConfig = (String, Option<String>);

/// What is read of a line of the list of results.
#[derive(Deserialize)]
struct ResultLine {
    state: StatusWord,
    source_id: Option<u64>,
    text_hash: Option<String>,
    config_hash: Option<String>,
    named_preset: Option<Value>,
    export_name: Option<String>,
}

impl KnownTexts {
    /// Reads the list of results; without it, no text is known.
    pub(in crate::cli) fn of(drive: &MountedDrive) -> KnownTexts {
        let path = drive.root().join("rapidmodels/.assetfs/results.jsonl");
        let mut known = KnownTexts {
            presets: drive.root().join("presets"),
            ..KnownTexts::default()
        };
        for line in files::lines_from_drive::<ResultLine>(&path).unwrap_or_default() {
            let Some(source) = line.source_id else {
                continue;
            };
            known
                .texts
                .extend(line.text_hash.map(|hash| (source, hash)));
            if line.state != StatusWord::Failed && line.export_name.is_none() {
                let named = line.named_preset.map(|it| it.to_string());
                known
                    .configs
                    .extend(line.config_hash.map(|hash| (source, (hash, named))));
            }
        }
        known
    }

    /// Whether the model has a result of the text of a preset, or of its configuration.
    pub(in crate::cli) fn has(&self, model: &Path, preset: &ModelPreset) -> bool {
        let id = mounted::item_id(model).ok().flatten();
        let Some(id) = id.and_then(|id| id.parse().ok()) else {
            return false;
        };
        let text = preset.text_hash().ok();
        let config = self.config_hash(preset);
        let named = || preset.preset_in_text().map(Value::to_string);
        text.is_some_and(|hash| self.texts.contains(&(id, hash)))
            || config.is_some_and(|hash| self.configs.contains(&(id, (hash, named()))))
    }

    /// The checksum of the configuration that a preset means now; `None` if the account has no such preset.
    fn config_hash(&self, preset: &ModelPreset) -> Option<String> {
        let config = match preset.named() {
            Some(name) => {
                let text = fs::read(self.presets.join(format!("{name}.json"))).ok()?;
                PresetText::from_value(serde_json::from_slice(&text).ok()?)
                    .ok()?
                    .config
            }
            None => OptimizerConfig(preset.config.clone()),
        };
        Some(config_hash(&config).to_string())
    }

    /// Whether the model has neither the text of a preset nor a result of it, so that dropping the text is paid.
    pub(in crate::cli) fn lacks(&self, model: &Path, preset: &ModelPreset) -> bool {
        !preset.is_in(model) && !self.has(model, preset)
    }
}
