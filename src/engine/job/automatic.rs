//! The conversions that an upload gets without a request: a CAD file as glb and usdz, which every viewer shows.

use super::super::error::EngineError;
use super::super::export::{Names, safe};
use super::super::import::Imported;
use super::super::number_text::grouped;
use super::super::settings::{ExportSettings, FileFormat};
use super::context::JobContext;
use super::export::encode;
use crate::formats::{self, Kind};

/// Writes `converted/<file>` for each automatic conversion of a model. A conversion that is impossible is a warning.
pub(super) fn convert(imported: &Imported, job: &mut JobContext<'_>) -> Result<(), EngineError> {
    let format = formats::of_extension(imported.format);
    if format.is_none_or(|format| format.kind != Kind::Cad) {
        return Ok(());
    }
    job.step(55, "converting to glb and usdz");
    let stem = imported.model.file_stem().unwrap_or_default();
    let stem = safe(&stem.to_string_lossy());
    let mut names = Names::default();
    for format in [FileFormat::Glb, FileFormat::Usdz] {
        match encode(
            &imported.scene,
            &ExportSettings::new(format),
            &stem,
            &mut names,
        ) {
            Ok(files) => {
                for file in files {
                    job.write(&format!("converted/{}", file.name), &file.bytes)?;
                    let bytes = grouped(file.bytes.len() as u64);
                    job.info(format!("converted to {} ({bytes} bytes)", file.name));
                }
            }
            Err(error) => job.warn(format!("there is no automatic {}: {error}", format.name())),
        }
    }
    job.metrics.lap("convert");
    Ok(())
}
