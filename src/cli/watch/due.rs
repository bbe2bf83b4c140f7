//! What is left to do for a model and a preset, as the records of earlier runs say. It changes nothing, so it is for dry runs.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::super::models_of_folder::{ModelPreset, Source};
use super::record::{KnownRecords, Record, RecordState, peek};

/// Why a result would be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum Due {
    New,
    ModelChanged,
    PresetChanged,
    FilesChanged,
    FailedBefore,
    Unfinished,
}

impl Due {
    pub(in crate::cli) fn words(self) -> &'static str {
        match self {
            Due::New => "it was not made before",
            Due::ModelChanged => "the model has changed",
            Due::PresetChanged => "the preset or the name of the result has changed",
            Due::FilesChanged => "a file of it is missing or was changed",
            Due::FailedBefore => "it failed in the last run",
            Due::Unfinished => "an earlier run did not finish it",
        }
    }
}

/// What earlier runs have recorded in a folder of results.
pub(in crate::cli) struct DoneBefore {
    out: PathBuf,
    known: KnownRecords,
}

impl DoneBefore {
    /// # Errors
    /// When a record cannot be read.
    pub(in crate::cli) fn read(out: &Path) -> Result<DoneBefore> {
        Ok(DoneBefore {
            known: peek(out)?,
            out: out.to_owned(),
        })
    }

    /// Why a result would be made; `None` if it is there. Reads a model whose times or sizes have changed.
    ///
    /// # Errors
    /// When the model cannot be read.
    pub(in crate::cli) fn due(&self, source: &Source, preset: &ModelPreset) -> Result<Option<Due>> {
        let Some(record) = self.record(source, preset) else {
            return Ok(Some(Due::New));
        };
        if record.config != preset.hash {
            return Ok(Some(Due::PresetChanged));
        }
        if record.stamp != source.stamp && record.content != source.content()? {
            return Ok(Some(Due::ModelChanged));
        }
        Ok(match record.state {
            RecordState::Done => None,
            RecordState::Failed => Some(Due::FailedBefore),
            RecordState::Working | RecordState::Moving { .. } => Some(Due::Unfinished),
        })
    }

    /// The folder of a result.
    pub(in crate::cli) fn results_of(
        &self,
        source: &Source,
        preset: &ModelPreset,
    ) -> Option<PathBuf> {
        let record = self.record(source, preset)?;
        Some(self.out.join(&record.results))
    }

    fn record(&self, source: &Source, preset: &ModelPreset) -> Option<&Record> {
        self.known.get(&source.entry)?.get(&preset.label)
    }
}
