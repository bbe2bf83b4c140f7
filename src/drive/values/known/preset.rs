//! Stored presets.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::drive::values::listing::Record;
use crate::outbox::SavedPreset;
use crate::wire::{FactoryPreset, Preset, PresetId, Timestamp};

/// A preset, the user's own or one of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownPreset {
    pub id: PresetId,
    /// Its name on the service.
    pub name: String,
    /// Its config as it was written, or rendered.
    pub text: String,
    /// Its description.
    pub description: Option<String>,
    /// Version of its format.
    pub rpdx_version: Option<String>,
    /// Modification time.
    pub updated: Option<Timestamp>,
}

impl KnownPreset {
    /// From the record of an own preset. One of the `written` texts with the same value is its text.
    pub fn from_record(record: &Preset, written: &[SavedPreset]) -> KnownPreset {
        let mut written = written.iter();
        let written =
            written.find(|it| it.preset == record.id && it.config.meaning_eq(&record.config));
        KnownPreset {
            id: record.id,
            name: record.name.clone(),
            text: written.map_or_else(|| record.config.to_pretty_text(), |it| it.text.clone()),
            description: record.description.clone(),
            rpdx_version: record.rpdx_version.clone(),
            updated: written
                .map(|it| Timestamp::from(it.mtime))
                .or(record.updated_at)
                .or(record.created_at),
        }
    }

    /// From a preset that the outbox saved, and what was known of it `before`.
    pub fn saved(saved: &SavedPreset, before: Option<&KnownPreset>) -> KnownPreset {
        let name = saved.name.rsplit_once('.').map_or(&*saved.name, |it| it.0);
        let described = before.and_then(|before| before.description.clone());
        KnownPreset {
            id: saved.preset,
            name: name.to_owned(),
            text: saved.text.clone(),
            description: described.or_else(|| saved.description.clone()),
            rpdx_version: before.and_then(|before| before.rpdx_version.clone()),
            updated: Some(Timestamp::from(saved.mtime)),
        }
    }

    /// From the record of a factory preset.
    pub fn from_factory_record(record: &FactoryPreset) -> KnownPreset {
        KnownPreset {
            id: record.id,
            name: record.name.clone(),
            text: record.config.to_pretty_text(),
            description: record.description().map(str::to_owned),
            rpdx_version: None,
            updated: None,
        }
    }

    /// A checksum of the text: other text is another inode.
    pub fn text_checksum(&self) -> u64 {
        xxh3_64(self.text.as_bytes())
    }
}

impl Record for KnownPreset {
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
}
