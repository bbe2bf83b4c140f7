//! The steps that all jobs have: reading the model, describing it, and the logs, whether the job succeeds or not.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::analyse::{Logs, Metrics, counts, rpd_info};
use super::super::caught::caught;
use super::super::error::EngineError;
use super::super::import::{ImportOptions, Imported, import_as};
use super::super::scene::Scene;
use super::context::{DrawnSources, JobContext};
use super::memory;
use super::report::{ModelFile, Progress, Report};
use super::task::Pictures;
use assetfs_formats::number_text::counted;
use assetfs_formats::printable::printable;

/// Runs the steps of a job that writes into `output_dir`.
pub(super) fn run_steps(
    output_dir: &Path,
    pictures: Pictures,
    drawn: &mut DrawnSources,
    progress: &mut dyn FnMut(Progress),
    steps: impl FnOnce(&mut JobContext<'_>) -> Result<Report, EngineError>,
) -> Result<Report, EngineError> {
    let output_dir = output_dir.to_owned();
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
        drawn,
    };
    // A panic must be written to error.log like any other failure.
    let outcome = caught(|| steps(&mut job));
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

pub(super) fn read_model(
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

pub(super) fn describe(
    scene: &Scene,
    name: &str,
    format: &str,
    bytes: u64,
    job: &mut JobContext<'_>,
) -> Result<(), EngineError> {
    let info = rpd_info(scene, name, format, bytes);
    job.write("rpd_info.json", pretty(&info).as_bytes())
}

pub(super) fn model_file(imported: &Imported) -> ModelFile {
    ModelFile {
        path: imported.model.display().to_string(),
        format: imported.format.to_owned(),
    }
}
