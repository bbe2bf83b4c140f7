//! Draws source and result of a job, and scores each export.
//!
//! An export is compared by importing its file again, so that faults of the exporter are found as well.

use std::path::Path;

use glam::DMat4;

use super::super::error::EngineError;
use super::super::import::{Imported, import};
use super::super::pictures::files::write_heat_maps;
use super::super::pictures::{BEFORE_AFTER_NAME, ModelPictures, SurfaceDistances};
use super::super::scene::Scene;
use super::context::JobContext;
use super::export::{Appearance, Exported};
use super::report::{ExportedFile, QualityScore};
use super::task::Pictures;
use assetfs_formats::number_text::counted;
use assetfs_formats::warnings::WarningKind;
use assetfs_render::compare::Comparison;

/// Draws the source and writes the pictures of an analysis.
pub(super) fn draw_source(
    scene: &Scene,
    format: &str,
    job: &mut JobContext<'_>,
) -> Result<ModelPictures, EngineError> {
    let pictures = ModelPictures::undrawn(scene);
    job.logs.warnings.extend(pictures.warnings.iter().cloned());
    let output_dir = job.output_dir.clone();
    let overview = pictures.write_overview_and_thumbnail(&output_dir)?;
    job.written.extend(overview);
    write_views(&pictures, format, job)?;
    job.metrics.lap("render");
    Ok(pictures)
}

/// Compares every export with the source and writes the pictures of both.
///
/// `moved` of each export is its transform relative to the source. `scene` is the scene of the last export; it is drawn
/// as the result if no export can be read again.
pub(super) fn compare_exports(
    source: &ModelPictures,
    scene: &Scene,
    exports: &mut [Exported],
    hidden: HiddenParts,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    let output_dir = job.output_dir.clone();
    let mut seen: Vec<(Appearance, ModelPictures, Comparison)> = Vec::new();
    let mut bare = None;
    let last_moved = exports
        .last()
        .map_or(DMat4::IDENTITY, |export| export.moved);
    for export in exports.iter_mut() {
        let Some(imported) = imported_again(&output_dir, &export.file, job) else {
            continue;
        };
        let written = &imported.scene;
        let known = seen
            .iter()
            .position(|(appearance, ..)| appearance.is_same(&export.appearance));
        let place = known.unwrap_or_else(|| {
            // Formats without materials are compared by shape alone.
            let source = match export.appearance.format.holds_materials() {
                true => source,
                false => bare.get_or_insert_with(|| source.bare()),
            };
            let result = source.draw_result(written, export.moved);
            let comparison = source.compare(&result);
            seen.push((export.appearance, result, comparison));
            seen.len() - 1
        });
        let (_, result, comparison) = &seen[place];
        write_pictures(result, comparison, &export.file.format, job)?;
        if known.is_none() {
            for warning in comparison.warnings() {
                job.warn(
                    WarningKind::LooksDifferent,
                    format!("{}: {warning}", export.file.name),
                );
            }
            if let Some(warning) = source
                .distances(result)
                .and_then(|apart| far(apart, hidden))
            {
                job.warn(
                    WarningKind::LooksDifferent,
                    format!("{}: {warning}", export.file.name),
                );
            }
        }
        record_score(&mut export.file, comparison, written.drawn_triangles(), job);
    }
    let unread;
    let first = match seen.first() {
        Some((_, result, _)) => result,
        None => {
            unread = source.draw_result(scene, last_moved);
            &unread
        }
    };
    write_pictures_of_job(source, first, job)?;
    job.metrics.lap("compare");
    Ok(())
}

/// Whether a job was asked to remove parts that cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenParts {
    Kept,
    Removed,
}

/// A surface that is farther away, in percent of the diagonal, is not the same shape, even if the pictures agree.
const FAR: f64 = 2.0;

/// The warning about surfaces that are far apart. Parts that the job was asked to remove are not missed.
fn far(apart: SurfaceDistances, hidden: HiddenParts) -> Option<String> {
    let sentence = |percent: f64, one: &str, other: &str| {
        format!(
            "1 % of the surface of {one} is at least {percent:.1} % of the model's diagonal away from {other}, which the pictures may not show"
        )
    };
    if hidden == HiddenParts::Kept && apart.of_source > FAR {
        return Some(sentence(apart.of_source, "the source", "the result"));
    }
    (apart.of_result > FAR).then(|| sentence(apart.of_result, "the result", "the source"))
}

/// Writes the views of an export and the heat maps of its differences.
fn write_pictures(
    result: &ModelPictures,
    comparison: &Comparison,
    format: &str,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    write_views(result, format, job)?;
    job.written
        .extend(write_heat_maps(comparison, &job.output_dir, format)?);
    Ok(())
}

/// Writes the six views of a model: large ones for the page of a service.
fn write_views(
    model: &ModelPictures,
    prefix: &str,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    let written = match job.pictures {
        Pictures::Shown => model.write_views(&job.output_dir, prefix)?,
        Pictures::Drawn | Pictures::Skipped => model.write_large_views(&job.output_dir, prefix)?,
    };
    job.written.extend(written);
    Ok(())
}

/// Records the similarity of an export, and the triangles that were counted in the file.
fn record_score(
    file: &mut ExportedFile,
    comparison: &Comparison,
    triangles: u64,
    job: &mut JobContext<'_>,
) {
    file.triangles = Some(triangles);
    let worst_tile = comparison.worst_tile();
    file.quality = Some(QualityScore {
        max_score: comparison.best_score(),
        avg_score: comparison.average_score(),
        min_score: Some(comparison.worst_score()),
        worst_tile: Some(worst_tile.map_or(100.0, |(_, tile)| tile.score)),
    });
    let views = match comparison.inside_views() {
        0 => "mean of six views".to_owned(),
        inside => {
            format!("the lower of the means of six views and of the worst of {inside} from inside")
        }
    };
    job.info(format!(
        "{}: similarity {:.1} of 100 ({views}), {} counted in the file",
        file.name,
        comparison.average_score(),
        counted(triangles, "triangle"),
    ));
}

/// Writes the pictures that a job has only once: the thumbnail and the turntable of the result, or one sheet with
/// source and result, and the views of the source.
fn write_pictures_of_job(
    source: &ModelPictures,
    result: &ModelPictures,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    if job.pictures == Pictures::Shown {
        job.written.push(result.write_thumbnail(&job.output_dir)?);
        let sheet = source.before_and_after(result);
        sheet.write_png(&job.output_dir.join(BEFORE_AFTER_NAME))?;
        job.written.push(BEFORE_AFTER_NAME.to_owned());
    } else {
        let overview = result.write_overview_and_thumbnail(&job.output_dir)?;
        job.written.extend(overview);
        job.written.extend(result.write_turntable(&job.output_dir)?);
    }
    write_views(source, "original", job)
}

/// The export as our own importer reads it; `None`, with a warning, if it cannot be read.
fn imported_again(
    output_dir: &Path,
    export: &ExportedFile,
    job: &mut JobContext<'_>,
) -> Option<Imported> {
    match import(
        &output_dir.join("exports"),
        std::slice::from_ref(&export.name),
    ) {
        Ok(imported) => Some(imported),
        Err(error) => {
            job.warn(
                WarningKind::NotChecked,
                format!("{} cannot be read again: {error}", export.name),
            );
            None
        }
    }
}
