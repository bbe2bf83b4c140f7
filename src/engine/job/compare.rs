//! Looking at what a job did: pictures of source and result, and a score for each export.
//!
//! An export is compared by importing its file again, so a mistake of the exporter shows as well.

use std::path::Path;

use glam::Mat4;

use super::super::error::EngineError;
use super::super::import::{Imported, import};
use super::super::pictures::ModelPictures;
use super::super::scene::Scene;
use super::super::words::grouped;
use super::run::Bench;
use super::{ExportedFile, QualityScore};

/// Draws the source and writes the pictures of an analysis.
pub(super) fn draw_source(
    scene: &Scene,
    format: &str,
    bench: &mut Bench<'_>,
) -> Result<(), EngineError> {
    let pictures = ModelPictures::draw(scene);
    bench
        .logs
        .warnings
        .extend(pictures.warnings.iter().cloned());
    let output_dir = bench.output_dir.clone();
    let thumbnail = pictures.write_thumbnail(&output_dir)?;
    bench.written.push(thumbnail);
    let views = pictures.write_views(&output_dir, format)?;
    bench.written.extend(views);
    bench.metrics.lap("render");
    Ok(())
}

/// Compares every export with the source and writes the pictures of both.
///
/// `moved` takes a place in the source to the same place in each export.
pub(super) fn compare_exports(
    source: &ModelPictures,
    exports: &mut [(ExportedFile, Mat4)],
    bench: &mut Bench<'_>,
) -> Result<(), EngineError> {
    let output_dir = bench.output_dir.clone();
    let mut has_thumbnail = false;
    for (export, moved) in exports.iter_mut() {
        let Some(imported) = imported_again(&output_dir, export, bench) else {
            continue;
        };
        let result = source.draw_result(&imported.scene, *moved);
        let comparison = source.compare(&result);
        if !has_thumbnail {
            let thumbnail = result.write_thumbnail(&output_dir)?;
            bench.written.push(thumbnail);
            has_thumbnail = true;
        }
        let views = result.write_views(&output_dir, &export.format)?;
        bench.written.extend(views);
        let maps = comparison.write_heat_maps(&output_dir, &export.format)?;
        bench.written.extend(maps);
        for warning in comparison.warnings() {
            bench.warn(format!("{}: {warning}", export.name));
        }
        export.quality = Some(QualityScore {
            max_score: comparison.best_score(),
            avg_score: comparison.average_score(),
        });
        bench.info(format!(
            "{}: {:.1} of 100 like the source (mean of six views), {} triangles counted in the file",
            export.name,
            comparison.average_score(),
            grouped(imported.scene.drawn_triangles()),
        ));
    }
    let originals = source.write_views(&output_dir, "original")?;
    bench.written.extend(originals);
    bench.metrics.lap("compare");
    Ok(())
}

/// The export as our own importer reads it; `None`, with a warning, for a format that we only write.
fn imported_again(
    output_dir: &Path,
    export: &ExportedFile,
    bench: &mut Bench<'_>,
) -> Option<Imported> {
    if export.format == "usdz" {
        bench.info(format!(
            "{} is not compared: USD is only written here",
            export.name
        ));
        return None;
    }
    match import(&output_dir.join("exports"), &[export.name.clone()]) {
        Ok(imported) => Some(imported),
        Err(error) => {
            bench.warn(format!("{} cannot be read again: {error}", export.name));
            None
        }
    }
}
