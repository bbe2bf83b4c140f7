//! `assetfs optimize`: the engine alone, on local files: no service, no mount, no account.
//!
//! Models are not trusted, so a worker process with limits does the work, in a hidden folder inside OUT. Only
//! complete results are moved into OUT. Ctrl-C, a failure or a full disk leave OUT unchanged.

pub(super) mod input;
mod output;
mod summary;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::{Context, Result, bail};
use clap_complete::engine::ArgValueCompleter;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::factory_presets::FACTORY;
use crate::service::{
    MemorySetting, Outcome, WorkerCommand, WorkerError, WorkerLimits, WorkerPriority, Workers,
};
use assetfs_engine::job::{self, OptimizeTask, Report, Task};

use super::budget::Budget;
use super::chosen_preset::{self, Config};
use super::completers;
use super::engine_settings;
use super::exit::{Exit, WrongUse};
use super::interrupts;
use super::output as json_output;
use super::preset_list;
use super::progress::Progress;
use super::result_facts::ResultFacts;
use super::settings::{ByteSize, Span};
use input::Model;
use output::OutputFolder;
use summary::Finished;

/// The program itself needs this much.
const MIN_MEMORY_BYTES: u64 = 256_000_000;

/// How often the work begins again after another process has killed its worker, as the local service does: memory may have
/// been short for a moment only.
pub(super) const REPEATS: u32 = 2;

/// Optimize a model on this machine: no service, no mount
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs optimize chair.glb out --preset 'Web Viewer'\n\
    Example: assetfs optimize scans/chair/ out --preset my-preset.json --renders\n\
    Example: assetfs optimize chair.glb out --preset 'Web Viewer' --max-bytes 2M --deny missing-file\n\
    OUT gets the exported files, before-after.png and the logs in analysis/.\n\
    Exit codes: 0 done, 1 failed (nothing is left in OUT) or the result exceeds its budget (it is in OUT), 2 wrong use"
)]
pub(super) struct OptimizeArgs {
    /// Model file (glb, gltf, fbx, obj, ply, stl, usdz, usdc, usda, usd, step, stp, iges, igs, brep, zip), or the folder of a model
    #[arg(value_name = "IN", required_unless_present = "list_presets")]
    model: Option<PathBuf>,
    /// Folder for the results; created if it is missing
    #[arg(value_name = "OUT", required_unless_present = "list_presets")]
    out: Option<PathBuf>,
    /// Name of a factory preset, or a file (.json, .rpdx) with a configuration or preset
    #[arg(
        long,
        short,
        add = ArgValueCompleter::new(completers::presets),
        value_name = "PRESET",
        required_unless_present = "list_presets"
    )]
    preset: Option<String>,
    /// Replace files of the same name in OUT
    #[arg(long)]
    overwrite: bool,
    /// Keep the pictures of all views in OUT/renders
    #[arg(long)]
    renders: bool,
    /// Render and compare nothing: faster, without a similarity score
    #[arg(long, conflicts_with = "renders")]
    no_pictures: bool,
    /// Memory that the engine may use
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    memory: EngineMemory,
    /// Give up after this time
    #[arg(long, value_name = "TIME", default_value = "30m")]
    timeout: Span,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// List the factory presets with their descriptions
    #[arg(long)]
    list_presets: bool,
    #[command(flatten)]
    budget: Budget,
}

pub(super) fn run(args: &OptimizeArgs) -> Result<Exit> {
    let (Some(input), Some(out), Some(preset), false) =
        (&args.model, &args.out, &args.preset, args.list_presets)
    else {
        list_presets();
        return Ok(Exit::Done);
    };
    let start = Instant::now();
    // Before the signals are caught: a preset may come from a pipe of the shell.
    let config = chosen_preset::choose(preset)?;
    let stop = CancellationToken::new();
    let runtime = runtime()?;
    interrupts::cancel_at_signal(&stop)?;
    let engine = EngineSettings {
        overwrite: args.overwrite,
        renders: args.renders,
        pictures: !args.no_pictures,
        memory: args.memory,
        timeout: args.timeout.0,
    };
    let progress = Progress::new(args.quiet || json_output::is_json());
    let (report, files) = runtime.block_on(engine.run(&config, (input, out), &progress, &stop))?;
    let facts = facts_of(&report);
    let exceeded = args.budget.exceeded_by(&facts);
    let finished = Finished {
        input,
        out,
        preset,
        report: &report,
        files: &files,
        facts: &facts,
        exceeded: &exceeded,
        elapsed: start.elapsed(),
    };
    if json_output::is_json() {
        json_output::line(finished.json());
    } else {
        print!("{}", finished.text());
    }
    for reason in &exceeded {
        eprintln!("assetfs: {}: {reason}", input.display());
    }
    Ok(match exceeded.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// The facts of a result that the engine has made.
pub(super) fn facts_of(report: &Report) -> ResultFacts {
    let scores = report.exports.iter().filter_map(|export| export.quality);
    ResultFacts {
        bytes: report.exports.iter().map(|export| export.size_bytes).sum(),
        triangles: report
            .exports
            .iter()
            .filter_map(|export| export.triangles)
            .max()
            .or(Some(report.result.triangles)),
        similarity: scores.map(|score| score.avg_score).min_by(f64::total_cmp),
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
    }
}

/// The factory presets with their descriptions.
fn list_presets() {
    if json_output::is_json() {
        return preset_list::print(&preset_list::factory());
    }
    let width = FACTORY.iter().map(|preset| preset.name.len()).max();
    let width = width.unwrap_or_default();
    for preset in FACTORY {
        println!("{:width$}  {}", preset.name, preset.description);
    }
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let built = builder.enable_all().build();
    built.context("cannot start the async runtime")
}

/// Memory that the engine may use for one model: enough that the program itself finds room.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineMemory(ByteSize);

impl EngineMemory {
    pub(super) fn bytes(self) -> u64 {
        self.0.0
    }
}

impl FromStr for EngineMemory {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineMemory, String> {
        let size: ByteSize = text.parse()?;
        match size.0 < MIN_MEMORY_BYTES {
            true => Err(format!(
                "the engine needs at least {}M",
                MIN_MEMORY_BYTES / 1_000_000
            )),
            false => Ok(EngineMemory(size)),
        }
    }
}

/// A task with the folders for its results. Dropped before it is finished, it leaves nothing.
#[derive(Debug)]
pub(super) struct PlannedTask {
    model: Model,
    output: OutputFolder,
    pub(super) task: Task,
}

impl PlannedTask {
    /// The model, as the user has named it.
    pub(super) fn shown(&self) -> &str {
        &self.model.shown
    }

    /// The name of the results.
    pub(super) fn name(&self) -> &str {
        &self.model.name
    }

    /// Moves the results to where they belong; returns their names.
    pub(super) fn finish(self, report: &Report, with_renders: bool) -> Result<Vec<String>> {
        self.output.move_results(report, with_renders)
    }
}

/// Options of the engine for each model.
#[derive(Debug, Clone)]
pub(super) struct EngineSettings {
    /// Replace files of the same name.
    pub(super) overwrite: bool,
    /// Keep the pictures of all views.
    pub(super) renders: bool,
    /// Render and compare.
    pub(super) pictures: bool,
    pub(super) memory: EngineMemory,
    pub(super) timeout: Duration,
}

impl EngineSettings {
    /// Optimizes a model with `config` into the folder `out`; returns the report and the names of the files in `out`.
    ///
    /// # Errors
    /// If the input or the configuration is invalid, the engine fails, or `stop` is cancelled. Then `out` is
    /// unchanged.
    pub(super) async fn run(
        &self,
        config: &Config,
        (input, out): (&Path, &Path),
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<(Report, Vec<String>)> {
        let planned = self.plan(config, Model::find(input, out)?, (out, out))?;
        let report = self
            .work(&planned.model, &planned.task, progress, stop)
            .await?;
        let files = planned.finish(&report, self.renders)?;
        Ok((report, files))
    }

    /// The task for a model whose results come to `out`, with a folder in `scratch_in` for what the worker writes.
    ///
    /// # Errors
    /// If the input or the configuration is invalid, or `out` cannot be written.
    pub(super) fn plan(
        &self,
        config: &Config,
        model: Model,
        (out, scratch_in): (&Path, &Path),
    ) -> Result<PlannedTask> {
        let mut config = config.clone();
        let settings = engine_settings::settings_of(&config)
            .map_err(|what| WrongUse(format!("the configuration is not valid: {what}")))?;
        let export_name = config.shift_remove("exportName");
        let export_name = export_name.as_ref().and_then(Value::as_str);
        let output = OutputFolder::prepare(out, scratch_in, self.overwrite)?;
        let mut planned = job::planned_names(&settings, export_name, &model.name);
        planned.extend(output::OWN_FILES.map(str::to_owned));
        output.refuse_taken(&planned)?;
        let task = Task::Optimize(OptimizeTask {
            input_dir: model.dir.clone(),
            files: model.files.clone(),
            output_dir: output.scratch().to_owned(),
            config,
            export_name: export_name.map(str::to_owned),
            base_name: model.name.clone(),
            scale: 1.0,
        });
        Ok(PlannedTask {
            model,
            output,
            task,
        })
    }

    /// Runs the task in a worker process and shows its progress.
    async fn work(
        &self,
        model: &Model,
        task: &Task,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<Report> {
        let mut shown = progress.task(&model.name);
        let workers = Workers::start(worker(self.pictures)?, self.limits())?;
        let cannot = || format!("cannot optimize {}", model.shown);
        let mut pauses = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(10));
        let mut repeats = 0;
        let outcome = loop {
            let working = workers.run(
                task,
                |progress| shown.show(&format!("{}% {}", progress.percent, progress.step)),
                stop,
            );
            match working.await {
                Err(error @ WorkerError::Killed { .. }) if repeats < REPEATS => {
                    repeats += 1;
                    shown.show(&format!("{error}; it begins again"));
                    make_empty(task.output_dir()).with_context(cannot)?;
                    tokio::time::sleep(pauses.next_pause()).await;
                }
                outcome => break outcome,
            }
        };
        match outcome.with_context(cannot)? {
            Outcome::Done(Some(report)) => {
                shown.finish("100% done");
                Ok(*report)
            }
            Outcome::Done(None) => bail!("the worker ended without a report"),
            Outcome::Failed(failure) => bail!("{}: {}", cannot(), failure.reason),
            Outcome::Stopped => bail!("interrupted; nothing was written"),
        }
    }

    pub(super) fn limits(&self) -> WorkerLimits {
        let wall = self.timeout.max(Duration::from_secs(1));
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        WorkerLimits {
            memory_bytes: self.memory.bytes(),
            cpu: wall * cores,
            wall,
            attempts: 1,
            memory_setting: MemorySetting::Optimize,
            priority: WorkerPriority::Job,
        }
    }
}

/// Removes what a killed worker has left in its folder.
fn make_empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

pub(super) fn worker(pictures: bool) -> Result<WorkerCommand> {
    let pictures = if pictures {
        "--before-after"
    } else {
        "--no-pictures"
    };
    Ok(WorkerCommand {
        program: std::env::current_exe().context("cannot find the program itself")?,
        args: vec!["engine-worker".into(), pictures.into()],
    })
}
