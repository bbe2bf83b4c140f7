//! The order of the steps of a job, and the logs that every job writes, whether it succeeds or not.

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use glam::Mat4;
use serde_json::Value;

use super::super::analyse::{Logs, Metrics, counts, rpd_info};
use super::super::clean;
use super::super::error::EngineError;
use super::super::import::{ImportOptions, Imported, import_as};
use super::super::manipulate::{NothingLeft, manipulate};
use super::super::number_text::{counted, counted_were, grouped};
use super::super::pictures::{ICON_NAME, ModelPictures, icon};
use super::super::printable::printable;
use super::super::scene::Scene;
use super::super::settings::{ExportSettings, MeshCompression, Settings, TextureFormat};
use super::super::textures::{TexturePlan, fit};
use super::automatic;
use super::compare::{HiddenParts, compare_exports, draw_source};
use super::context::JobContext;
use super::export::export_all;
use super::memory;
use super::rebaked::DrawnSource;
use super::reduce::{bakes, reduce};
use super::target_size::settings_for_size;
use super::{
    AnalyseTask, DrawTask, ExportedFile, ModelFile, OptimizeTask, Phase, Pictures, Progress,
    Report, Task,
};

pub(super) fn run(
    task: &Task,
    pictures: Pictures,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, EngineError> {
    let output_dir = task.output_dir().to_owned();
    fs::create_dir_all(&output_dir).map_err(|source| EngineError::Io {
        path: output_dir.clone(),
        source,
    })?;
    let mut job = JobContext {
        output_dir,
        logs: Logs::default(),
        metrics: Metrics::start(),
        written: Vec::new(),
        progress,
        percent: 0,
        phase: None,
        memory_bytes: 0,
        pictures,
    };
    // A panic must be written to error.log like any other failure.
    let outcome = catch_unwind(AssertUnwindSafe(|| match task {
        Task::Analyse(task) => analyse(task, &mut job),
        Task::Optimize(task) => optimize(task, &mut job),
        Task::Draw(task) => draw(task, &mut job),
    }));
    let outcome = outcome.unwrap_or_else(|panic| Err(failure_of(text_of(&*panic))));
    if let Err(error) = &outcome {
        job.logs.errors.push(error.to_string());
    }
    // Several exports may cause the same warning.
    let mut said = HashSet::new();
    job.logs.warnings.retain(|line| said.insert(line.clone()));
    let logged = write_logs(&mut job, outcome.is_ok());
    let mut report = outcome?;
    logged?;
    job.step(100, "done");
    report.files = job.written;
    let warnings = job.logs.warnings.iter();
    report.warnings = warnings.map(|line| printable(line).into_owned()).collect();
    Ok(report)
}

/// Some libraries panic when memory runs out; this is reported as lack of memory, not as a bug.
fn failure_of(panic: String) -> EngineError {
    if panic.contains("AllocError") || panic.contains("memory allocation") {
        EngineError::OutOfMemory
    } else {
        EngineError::Internal(panic)
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}

fn write_logs(job: &mut JobContext<'_>, succeeded: bool) -> Result<(), EngineError> {
    for (name, text) in [
        ("info.log", Logs::text(&job.logs.info)),
        ("warning.log", Logs::text(&job.logs.warnings)),
        ("error.log", Logs::text(&job.logs.errors)),
        ("metrics.json", pretty(&job.metrics.json(succeeded))),
    ] {
        job.write(name, text.as_bytes())?;
    }
    Ok(())
}

fn pretty(json: &Value) -> String {
    serde_json::to_string_pretty(json).expect("a JSON value can be written to memory")
}

fn read_model(
    dir: &Path,
    files: &[String],
    options: ImportOptions,
    writes_ktx2: bool,
    job: &mut JobContext<'_>,
) -> Result<Imported, EngineError> {
    let process = memory::of_process();
    job.memory_bytes = memory::of_files(dir, files, process);
    job.step(2, "reading the model");
    let mut imported = import_as(dir, files, options)?;
    job.memory_bytes = memory::of_scene(&imported.scene, job.pictures, writes_ktx2, process);
    job.step(3, "reading the model");
    job.logs.warnings.append(&mut imported.warnings);
    let found = counts(&imported.scene, imported.size_bytes);
    job.info(format!(
        "read {} ({}): {}, {}, {}, {}, {}",
        imported.model.display(),
        imported.format,
        counted(found.triangles, "triangle"),
        counted(found.vertices, "vertex"),
        counted(found.materials, "material"),
        counted(found.textures, "texture"),
        counted(found.bytes, "byte"),
    ));
    job.metrics.lap("import");
    Ok(imported)
}

fn describe(
    scene: &Scene,
    name: &str,
    format: &str,
    bytes: u64,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    let info = rpd_info(scene, name, format, bytes);
    job.write("rpd_info.json", pretty(&info).as_bytes())
}

fn analyse(task: &AnalyseTask, job: &mut JobContext<'_>) -> Result<Report, EngineError> {
    job.phase = Some(Phase::Reading);
    let imported = read_model(
        &task.input_dir,
        &task.files,
        ImportOptions::default(),
        false,
        job,
    )?;
    job.phase = Some(Phase::Preparing);
    job.step(50, "counting");
    let source = counts(&imported.scene, imported.size_bytes);
    let name = imported.model.display().to_string();
    describe(
        &imported.scene,
        &name,
        imported.format,
        imported.size_bytes,
        job,
    )?;
    job.metrics.lap("analyse");
    let converted = automatic::convert(&imported, job)?;
    if job.pictures != Pictures::Skipped {
        job.phase = Some(Phase::Drawing);
        job.step(60, "drawing pictures");
        let pictures = draw_source(&imported.scene, imported.format, job)?;
        if let Some(glb) = converted {
            automatic::compare(&pictures, &glb, job)?;
        }
    }
    Ok(Report {
        source,
        result: source,
        model: Some(model_file(&imported)),
        ..Report::default()
    })
}

fn draw(task: &DrawTask, job: &mut JobContext<'_>) -> Result<Report, EngineError> {
    let imported = read_model(
        &task.input_dir,
        &task.files,
        ImportOptions::default(),
        false,
        job,
    )?;
    let source = counts(&imported.scene, imported.size_bytes);
    if source.triangles == 0 {
        return Err(EngineError::NothingToDraw(
            imported.model.display().to_string(),
        ));
    }
    let picture = icon(&imported.scene, task.size);
    picture.write_png(&job.output_dir.join(ICON_NAME))?;
    job.written.push(ICON_NAME.to_owned());
    Ok(Report {
        source,
        result: source,
        model: Some(model_file(&imported)),
        ..Report::default()
    })
}

/// The settings of a task; those that have no effect are warnings.
fn read_settings(task: &OptimizeTask, job: &mut JobContext<'_>) -> Result<Settings, EngineError> {
    let mut settings = Settings::read(&task.config)?;
    for export in &mut settings.exports {
        export.scale *= task.scale;
    }
    for key in &settings.not_done {
        job.warn(format!("setting not done: {key}"));
    }
    for key in &settings.unknown {
        job.warn(format!("setting not done: {key}"));
    }
    Ok(settings)
}

fn optimize(task: &OptimizeTask, job: &mut JobContext<'_>) -> Result<Report, EngineError> {
    let mut settings = read_settings(task, job)?;
    let options = ImportOptions {
        tessellation: settings.tessellation,
        purpose: settings.usd_purpose,
    };
    let writes_ktx2 = settings
        .exports
        .iter()
        .any(|export| export.textures.all().contains(&TextureFormat::Ktx2));
    let imported = read_model(&task.input_dir, &task.files, options, writes_ktx2, job)?;
    let source = counts(&imported.scene, imported.size_bytes);
    let model = model_file(&imported);
    let like_source =
        |export: &&mut ExportSettings| export.compression == MeshCompression::LikeSource;
    for export in settings.exports.iter_mut().filter(like_source) {
        export.compression = imported.packing;
    }
    let mut scene = imported.scene;
    let pictures = (job.pictures != Pictures::Skipped).then(|| {
        job.step(8, "drawing the source");
        ModelPictures::draw(&scene)
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
        pictures: pictures.as_ref(),
        moved,
    };
    let (settings, known) = match settings.target_bytes {
        Some(target_bytes) => settings_for_size(&scene, settings, target_bytes, drawn, job)?,
        None => (settings, None),
    };
    reduce(&mut scene, &settings, drawn, known, job);
    job.step(50, "arranging vertices");
    clean::finish(&mut scene);
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
    for file in exports.iter().filter(|file| file.size_bytes > source.bytes) {
        let line = larger_than_source(file, source.bytes, imported.packing, &settings);
        job.warn(line);
    }
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

fn model_file(imported: &Imported) -> ModelFile {
    ModelFile {
        path: imported.model.display().to_string(),
        format: imported.format.to_owned(),
    }
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
    let advice = match (packing.name(), export.format.as_str()) {
        (Some(name), "glb" | "gltf") if !is_packed => format!(
            ": the source packs its geometry; ask for it with meshCompressionMethod \"{name}\""
        ),
        (Some(_), "obj" | "usdz" | "stl" | "ply") => {
            format!(
                ": the source packs its geometry, and {} cannot",
                export.format
            )
        }
        _ => String::new(),
    };
    format!(
        "{} has {} bytes, more than the source with {}{advice}",
        export.name,
        grouped(export.size_bytes),
        grouped(source_bytes)
    )
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
        for warning in fit(scene, &plan).warnings {
            job.warn(warning);
        }
        settings.flip_normal_maps = false;
    }
}

/// Changes and cleans the scene; returns the transform that was applied to the whole model.
fn prepare(
    scene: &mut Scene,
    settings: &Settings,
    job: &mut JobContext<'_>,
) -> Result<Mat4, EngineError> {
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
        job.warn(format!(
            "{} removed, because corners of it are not numbers",
            counted_were(cleaned.broken_triangles as u64, "triangle")
        ));
    }
    job.metrics.lap("clean");
    Ok(done.moved)
}
