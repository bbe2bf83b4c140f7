//! The warnings about results that are hardly smaller than their source, or larger: why, and what to try.

use super::super::settings::{MeshCompression, Settings, TextureLimits};
use super::report::ExportedFile;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};
use assetfs_formats::{FileFormat, GeometryPacking};

/// A result that saves less than this part of the source, in percent, has gained nothing that anybody notices.
const MIN_GAIN_PERCENT: f64 = 2.0;
/// What makes results smaller. Presets of these names come with the service and the commands.
const SMALLER: &str = "lower limits make it smaller, as those of the preset \"Web Viewer Light\" \
                       (25,000 triangles, 1,024 pixels)";
/// The same for exports whose geometry could be packed.
const PACKED: &str = "packing makes it smaller, as the preset \"Web Viewer\" does (meshopt, WebP), and so do lower limits, as \
                      those of \"Web Viewer Light\" (25,000 triangles, 1,024 pixels)";

/// What to try for an export of this format.
fn advice_for(format: &str, settings: &Settings) -> &'static str {
    let mut exports = settings.exports.iter();
    let is_unpacked = exports.any(|export| {
        export.format.name() == format
            && export.format.takes_compression()
            && export.compression == MeshCompression::None
    });
    if is_unpacked { PACKED } else { SMALLER }
}

/// A warning for each export that has more bytes than its source, and for each that has hardly fewer although the settings ask
/// for less. `said` are the warnings before: one of them may say that a limit could not be met.
pub(super) fn warnings(
    exports: &[ExportedFile],
    source_bytes: u64,
    packing: MeshCompression,
    settings: &Settings,
    said: &[Warning],
) -> Vec<Warning> {
    let mut said = said.iter();
    let why = match said.any(|warning| warning.kind == WarningKind::LimitMissed) {
        true => "a limit could not be met",
        false => "the source is within the limits already",
    };
    let exports = exports.iter();
    let texts = exports.filter_map(|export| {
        if export.size_bytes > source_bytes {
            return Some(larger_than_source(export, source_bytes, packing, settings));
        }
        let saved = source_bytes - export.size_bytes;
        let percent = saved as f64 * 100.0 / source_bytes as f64;
        let is_little = percent < MIN_GAIN_PERCENT && asks_for_less(settings);
        is_little.then(|| {
            format!(
                "{} has {} bytes, only {percent:.1} % fewer than the source: {why}; {}",
                export.name,
                grouped(export.size_bytes),
                advice_for(&export.format, settings),
            )
        })
    });
    texts
        .map(|text| Warning::new(WarningKind::NoGain, text))
        .collect()
}

/// True if the settings limit triangles, textures or bytes. Others tidy or convert, and promise no smaller file.
fn asks_for_less(settings: &Settings) -> bool {
    settings.face_count.is_some()
        || settings.face_percentage.is_some()
        || settings.target_bytes.is_some()
        || settings.texture_limits != TextureLimits::default()
}

/// The warning about an export that has more bytes than its source, with the most likely reason.
fn larger_than_source(
    export: &ExportedFile,
    source_bytes: u64,
    packing: MeshCompression,
    settings: &Settings,
) -> String {
    let is_packed = settings.exports.iter().any(|known| {
        known.format.name() == export.format && known.compression != MeshCompression::None
    });
    let format = FileFormat::from_name(&export.format);
    let advice = match (packing.name(), format.map(|format| format.row().packing)) {
        (Some(name), Some(GeometryPacking::Chosen)) if !is_packed => format!(
            ": the source packs its geometry; ask for it with meshCompressionMethod \"{name}\""
        ),
        (Some(_), Some(GeometryPacking::Never)) => {
            format!(
                ": the source packs its geometry, and {} cannot",
                export.format
            )
        }
        _ if asks_for_less(settings) => format!("; {}", advice_for(&export.format, settings)),
        _ => String::new(),
    };
    format!(
        "{} has {} bytes, more than the source with {}{advice}",
        export.name,
        grouped(export.size_bytes),
        grouped(source_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::ExportSettings;
    use super::*;

    fn said(bytes: u64, settings: &Settings) -> Vec<Warning> {
        let export = ExportedFile {
            format: "glb".to_owned(),
            name: "chair.glb".to_owned(),
            parts: Vec::new(),
            size_bytes: bytes,
            images: None,
            triangles: None,
            quality: None,
        };
        warnings(&[export], 10_000, MeshCompression::None, settings, &[])
    }

    #[test]
    fn a_result_that_is_hardly_smaller_says_what_to_try() {
        let limits = Settings {
            face_count: Some(100_000),
            ..Settings::default()
        };
        for (bytes, part) in [
            (9_990, "only 0.1 % fewer than the source"),
            (10_000, "only 0.0 % fewer than the source"),
            (10_001, "more than the source with 10,000"),
        ] {
            let lines = said(bytes, &limits);
            assert!(lines[0].text.contains(part), "{lines:?}");
            assert!(lines[0].text.contains("Web Viewer Light"), "{lines:?}");
        }
        assert!(said(9_800, &limits).is_empty());
        let packed = |compression| ExportSettings {
            compression,
            ..ExportSettings::new(FileFormat::Glb)
        };
        for (compression, advice) in [
            (MeshCompression::None, "as the preset \"Web Viewer\" does"),
            (MeshCompression::Meshopt, "; lower limits make it smaller"),
        ] {
            let settings = Settings {
                exports: vec![packed(compression)],
                ..limits.clone()
            };
            let lines = said(9_990, &settings);
            assert!(lines[0].text.contains(advice), "{lines:?}");
        }
        // Who only tidies a model asks for no smaller one.
        assert!(said(9_990, &Settings::default()).is_empty());
    }
}
