//! Runs a task. The steps of an analysis and of a picture are here; those of an optimization have a file of their own.

use super::super::analyse::counts;
use super::super::error::EngineError;
use super::super::import::ImportOptions;
use super::super::pictures::{ICON_NAME, icon};
use super::super::settings::Settings;
use super::automatic;
use super::compare::draw_source;
use super::context::{DrawnSources, JobContext};
use super::optimize::optimize;
use super::report::{Phase, Progress, Report};
use super::steps::{describe, model_file, read_model, run_steps};
use super::task::{AnalyseTask, DrawTask, Pictures, Task};

pub(super) fn run(
    task: &Task,
    pictures: Pictures,
    drawn: &mut DrawnSources,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, EngineError> {
    run_steps(
        task.output_dir(),
        pictures,
        drawn,
        progress,
        |job| match task {
            Task::Analyse(task) => analyse(task, job),
            Task::Optimize(task) => optimize(task, Settings::read(&task.config)?, job),
            Task::Draw(task) => draw(task, job),
        },
    )
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
