//! The steps of an optimization, in their order: read, clean, reduce, export, compare.

use glam::DMat4;

use super::super::analyse::counts;
use super::super::clean;
use super::super::error::EngineError;
use super::super::import::{ImportError, ImportOptions, Imported};
use super::super::manipulate::{NothingLeft, manipulate};
use super::super::scene::Scene;
use super::super::settings::{ExportSettings, MeshCompression, Settings};
use super::super::textures::{TexturePlan, fit};
use super::compare::{HiddenParts, compare_exports};
use super::context::JobContext;
use super::export::export_all;
use super::gain;
use super::judge::DrawnSource;
use super::reduce::{ReducedScene, bakes, reduce};
use super::report::{ExportedFile, Report};
use super::steps::{describe, model_file, read_model};
use super::target_size::{SizeTarget, settings_for_size};
use super::task::{OptimizeTask, Pictures};
use assetfs_formats::TextureFormat;
use assetfs_formats::number_text::counted_were;
use assetfs_formats::warnings::WarningKind;

/// The settings scaled as the task says; those that have no effect are warnings.
fn settings_of(task: &OptimizeTask, mut settings: Settings, job: &mut JobContext<'_>) -> Settings {
    for export in &mut settings.exports {
        export.scale *= task.scale;
    }
    for key in &settings.not_done {
        job.warn(
            WarningKind::SettingIgnored,
            format!("setting {key} is not supported; ignored"),
        );
    }
    for key in &settings.unknown {
        job.warn(
            WarningKind::SettingIgnored,
            format!("setting {key} is not supported; ignored"),
        );
    }
    if let Some(schema) = &settings.unknown_schema {
        job.warn(
            WarningKind::SettingIgnored,
            format!("{schema}, so the keys are read as those of that"),
        );
    }
    settings
}

pub(super) fn optimize(
    task: &OptimizeTask,
    settings: Settings,
    job: &mut JobContext<'_>,
) -> Result<Report, EngineError> {
    let mut settings = settings_of(task, settings, job);
    let imported = read_source(task, &settings, job)?;
    let source = counts(&imported.scene, imported.size_bytes);
    let model = model_file(&imported);
    let like_source =
        |export: &&mut ExportSettings| export.compression == MeshCompression::LikeSource;
    let packs_like_source = settings.exports[0].compression == MeshCompression::LikeSource;
    for export in settings.exports.iter_mut().filter(like_source) {
        export.compression = imported.packing;
    }
    let mut scene = imported.scene;
    let pictures = (job.pictures != Pictures::Skipped).then(|| {
        job.step(8, "drawing the source");
        job.pictures_of(&scene, options_of(&settings))
    });
    job.metrics.lap("render");
    let moved = prepare(&mut scene, &settings, job)?;
    flip_before_baking(&mut scene, &mut settings, job);
    if source.triangles > 0 && scene.drawn_triangles() == 0 {
        return Err(match settings.merge_distance {
            Some(distance) => NothingLeft::Merging { distance },
            None => NothingLeft::NoArea,
        }
        .into());
    }
    let drawn = DrawnSource {
        pictures: pictures.as_deref(),
        moved,
    };
    let may_pack = packs_like_source && imported.packing == MeshCompression::None;
    let (settings, known) = within_size(&scene, settings, may_pack, drawn, job)?;
    reduce(&mut scene, &settings, drawn, known, job);
    job.step(50, "arranging vertices");
    clean::finish(&mut scene);
    order_for_exports(&mut scene, &settings);
    clean::prune(&mut scene);
    job.metrics.lap("finish");
    let mut exports = export_all(&mut scene, &settings, task, job)?;
    for export in &mut exports {
        export.moved *= moved;
    }
    if let Some(pictures) = pictures {
        job.step(85, "comparing with the source");
        let hidden = match settings.remove_invisible {
            true => HiddenParts::Removed,
            false => HiddenParts::Kept,
        };
        compare_exports(&pictures, &scene, &mut exports, hidden, job)?;
    }
    let exports: Vec<ExportedFile> = exports.into_iter().map(|export| export.file).collect();
    let (packing, said) = (imported.packing, &job.logs.warnings);
    let gain = gain::warnings(&exports, source.bytes, packing, &settings, said);
    job.logs.warnings.extend(gain);
    let (name, format, bytes) = main_export(&exports);
    let result = counts(&scene, bytes);
    describe(&scene, &name, &format, bytes, job)?;
    Ok(Report {
        exports,
        source,
        result,
        model: Some(model),
        ..Report::default()
    })
}

/// Exports share their geometry, so triangles are ordered for packing only where every export is packed.
fn order_for_exports(scene: &mut Scene, settings: &Settings) {
    let mut packings = settings.exports.iter().map(|export| export.compression);
    if packings.all(|packing| packing == MeshCompression::Meshopt) {
        clean::order_for_packing(scene);
    }
}

fn options_of(settings: &Settings) -> ImportOptions {
    ImportOptions {
        tessellation: settings.tessellation,
        purpose: settings.usd_purpose,
    }
}

fn read_source(
    task: &OptimizeTask,
    settings: &Settings,
    job: &mut JobContext<'_>,
) -> Result<Imported, EngineError> {
    let options = options_of(settings);
    let writes_ktx2 = settings
        .exports
        .iter()
        .any(|export| export.textures.all().contains(&TextureFormat::Ktx2));
    let imported = read_model(&task.input_dir, &task.files, options, writes_ktx2, job)?;
    match imported.scene.has_geometry() {
        true => Ok(imported),
        false => Err(ImportError::NoGeometry(imported.model.display().to_string()).into()),
    }
}

/// The settings with limits for the target size, if there is one, and the scene that was reduced by them, if it was kept.
/// `may_pack` says whether the first export may be packed if its format allows that.
fn within_size(
    scene: &Scene,
    settings: Settings,
    may_pack: bool,
    drawn: DrawnSource<'_>,
    job: &mut JobContext<'_>,
) -> Result<(Settings, Option<ReducedScene>), EngineError> {
    let Some(bytes) = settings.target_bytes else {
        return Ok((settings, None));
    };
    let target = SizeTarget {
        bytes,
        may_pack: may_pack && settings.exports[0].format.takes_compression(),
    };
    settings_for_size(scene, settings, target, drawn, job)
}

fn main_export(exports: &[ExportedFile]) -> (String, String, u64) {
    exports
        .first()
        .map(|export| {
            (
                export.name.clone(),
                export.format.clone(),
                export.size_bytes,
            )
        })
        .unwrap_or_default()
}

/// Flips normal maps before others are baked, since baked ones are right. Exports flip those of other models.
fn flip_before_baking(scene: &mut Scene, settings: &mut Settings, job: &mut JobContext<'_>) {
    if bakes(settings) && settings.flip_normal_maps {
        let plan = TexturePlan {
            flip_normals: true,
            ..TexturePlan::default()
        };
        job.logs.warnings.extend(fit(scene, &plan).warnings);
        settings.flip_normal_maps = false;
    }
}

/// Changes and cleans the scene; returns the transform that was applied to the whole model.
fn prepare(
    scene: &mut Scene,
    settings: &Settings,
    job: &mut JobContext<'_>,
) -> Result<DMat4, EngineError> {
    job.step(15, "cleaning up");
    let done = manipulate(scene, settings)?;
    job.logs.info.extend(done.lines);
    let cleaned = clean::clean(scene);
    for (count, thing, what) in [
        (
            cleaned.welded_vertices,
            "vertex",
            "joined with an equal one",
        ),
        (
            cleaned.degenerate_triangles,
            "triangle",
            "removed for having no area",
        ),
        (
            cleaned.shared_materials,
            "material",
            "replaced by an equal one",
        ),
    ] {
        if count > 0 {
            job.info(format!("{} {what}", counted_were(count as u64, thing)));
        }
    }
    if cleaned.broken_triangles > 0 {
        job.warn(WarningKind::Damaged, format!(
            "{} removed: vertex positions that are NaN or infinite; check how the model was exported",
            counted_were(cleaned.broken_triangles as u64, "triangle")
        ));
    }
    job.metrics.lap("clean");
    Ok(done.moved)
}
