//! The engine of this machine for `assetfs watch`: a few models at a time, each in a worker process.
//!
//! All presets of a model are done by one process, which draws the model once. A small model in a file of its own leaves
//! its process to the next such model: they are in one folder, which the process may read anyway. A task that fails in a
//! process that has done others is done again in a process of its own, so what is reported is never the fault of
//! another model.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use tempfile::TempDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::chosen_preset::Config;
use super::optimize::input::Model;
use super::optimize::{EngineMemory, EngineSettings, PlannedTask, REPEATS, facts_of, worker};
use super::progress::Progress;
use crate::disk_room::check_room;
use crate::locks::Locked;
use crate::service::{
    KeptTask, KeptWorker, Outcome, TaskFolders, WorkerError, WorkerLimits, Workers,
    memory_of_machine,
};
use assetfs_engine::job::{self, Report, Task};

/// Options for the engine on this machine.
#[derive(Debug, clap::Args)]
pub(super) struct EngineArgs {
    /// Draw nothing and compare nothing: faster, without a similarity score; for the engine on this machine
    #[arg(long, conflicts_with = "drive")]
    no_pictures: bool,
    /// Memory that the engine may use for each model
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4G",
        conflicts_with = "drive"
    )]
    memory: EngineMemory,
}

/// The engine; each model that it works on has a turn.
#[derive(Debug, Clone)]
pub(super) struct EngineTurns {
    settings: EngineSettings,
    turns: Arc<Semaphore>,
    jobs: usize,
    kept: Arc<KeptWorkers>,
    /// The only folder that its processes may read; links out of it are not followed. `None`: they may read the folder of each
    /// model and the targets of its links.
    reads: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct KeptWorkers {
    workers: OnceLock<Workers>,
    idle: Mutex<Vec<WarmWorker>>,
}

/// A worker process and the folder that it writes to.
#[derive(Debug)]
struct WarmWorker {
    /// With what its tasks may read. Ended before its folder is removed.
    worker: Option<(KeptWorker, PathBuf)>,
    folder: TempDir,
}

/// A model on which the engine works.
#[derive(Debug)]
pub(super) struct EngineTurn {
    engine: EngineTurns,
    kept: Option<WarmWorker>,
    /// The files of the model, once they were looked for.
    found: Option<Model>,
    is_small: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The model of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnModel<'m> {
    pub(super) path: &'m Path,
    /// Identifies its bytes.
    pub(super) source: &'m str,
    /// It leaves its process to other small models.
    pub(super) is_small: bool,
}

/// Results of a task that are not in their folder yet.
#[derive(Debug)]
pub(super) struct UnkeptResult {
    report: Box<Report>,
    /// What moves them there; `None` if only the facts are missing.
    planned: Option<PlannedTask>,
    out: PathBuf,
}

impl UnkeptResult {
    /// Completes the folder of the results. They have to be kept before their turn ends: the process could change them in the
    /// task of another model.
    ///
    /// # Errors
    /// As [`EngineTurn::run`].
    pub(super) fn keep(self) -> Result<()> {
        let UnkeptResult {
            report,
            planned,
            out,
        } = self;
        planned
            .map_or(Ok(Vec::new()), |planned| planned.finish(&report, false))
            .and_then(|_| facts_of(&report).write_into(&out))
            .map_err(|error| disk_full_of(error, &out))
    }
}

/// What became of a task in a kept process.
enum KeptOutcome {
    Done(Box<Report>, Box<PlannedTask>),
    /// It failed after tasks of others: it has to be done again in a process of its own.
    DoAgain(Error),
}

impl EngineTurns {
    /// The engine for `jobs` models at a time; without a number one for each processor, as far as the memory suffices.
    pub(super) fn new(
        args: &EngineArgs,
        jobs: Option<usize>,
        timeout: Duration,
        reads: Option<PathBuf>,
    ) -> Result<EngineTurns> {
        let jobs = jobs.unwrap_or_else(|| {
            let processors = available_parallelism().map_or(1, usize::from);
            let fit = memory_of_machine().map(|bytes| bytes / args.memory.bytes());
            let fit = fit.map_or(processors, |fit| fit as usize);
            processors.min(fit).max(1)
        });
        Ok(EngineTurns {
            settings: EngineSettings {
                overwrite: true,
                renders: false,
                pictures: !args.no_pictures,
                memory: args.memory,
                timeout,
            },
            turns: Arc::new(Semaphore::new(jobs)),
            jobs,
            kept: Arc::default(),
            reads,
        })
    }

    /// How many models it works on at a time.
    pub(super) fn count(&self) -> usize {
        self.jobs
    }

    /// Waits for a turn, which ends when the value is dropped.
    pub(super) async fn wait(&self, model: TurnModel<'_>) -> EngineTurn {
        // It is never closed.
        let permit = Arc::clone(&self.turns).acquire_owned().await.ok();
        let kept = model
            .is_small
            .then(|| self.kept.idle.locked().pop())
            .flatten();
        EngineTurn {
            engine: self.clone(),
            kept,
            found: None,
            is_small: model.is_small,
            _permit: permit,
        }
    }

    /// Ends the processes that wait for models.
    pub(super) fn end_idle(&self) {
        let idle = std::mem::take(&mut *self.kept.idle.locked());
        drop(idle);
    }

    fn workers(&self) -> Result<&Workers> {
        if let Some(workers) = self.kept.workers.get() {
            return Ok(workers);
        }
        let mut command = worker(self.settings.pictures)?;
        command.args.push("--kept".into());
        let limits = self.settings.limits();
        // A process that has worked for as long as one task may take gets no other task.
        let limits = WorkerLimits {
            cpu: limits.cpu * 2,
            ..limits
        };
        let started = Workers::start(command, limits).context("cannot start a thread")?;
        Ok(self.kept.workers.get_or_init(|| started))
    }
}

impl EngineTurn {
    /// Optimizes the model of this turn with `config`, for the folder `out`; see [`EngineSettings::run`].
    ///
    /// # Errors
    /// One with an error of the system among its causes if the disk of `out` is full.
    pub(super) async fn run(
        &mut self,
        config: &Config,
        (model, out): (TurnModel<'_>, &Path),
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<UnkeptResult> {
        let working = self.work(config, (model, out), progress, stop);
        working.await.map_err(|error| disk_full_of(error, out))
    }

    async fn work(
        &mut self,
        config: &Config,
        (model, out): (TurnModel<'_>, &Path),
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<UnkeptResult> {
        let engine = self.engine.clone();
        let folder = out.parent().unwrap_or(out);
        let found = match self.found.take() {
            Some(found) => found,
            None => {
                let found = Model::find(model.path, folder)?;
                match &engine.reads {
                    Some(reads) => found.within(reads)?,
                    None => found,
                }
            }
        };
        self.found = Some(found.clone());
        let mut kept = match self.kept.take() {
            Some(kept) => kept,
            None => WarmWorker::new(folder)?,
        };
        let mut repeats = 0;
        let done = loop {
            let planned = engine
                .settings
                .plan(config, found.clone(), (out, kept.folder.path()))?;
            // A process that may read one folder cannot follow a link out of it.
            if engine.reads.is_none() && has_links(&planned.task) {
                break None;
            }
            let working = kept.run(&engine, planned, model.source, progress, stop);
            match working.await? {
                KeptOutcome::Done(report, planned) => break Some((report, planned)),
                KeptOutcome::DoAgain(_) if engine.reads.is_none() => break None,
                KeptOutcome::DoAgain(why) if repeats == REPEATS => return Err(why),
                KeptOutcome::DoAgain(_) => {
                    repeats += 1;
                    kept = WarmWorker::new(folder)?;
                }
            }
        };
        self.kept = Some(kept);
        let (report, planned) = match done {
            Some((report, planned)) => (report, Some(*planned)),
            None => {
                let alone = engine
                    .settings
                    .run(config, (model.path, out), progress, stop);
                (Box::new(alone.await?.0), None)
            }
        };
        Ok(UnkeptResult {
            report,
            planned,
            out: out.to_owned(),
        })
    }
}

impl Drop for EngineTurn {
    fn drop(&mut self) {
        let is_fit = |kept: &WarmWorker| {
            let worker = kept.worker.as_ref();
            worker.is_some_and(|(worker, _)| worker.is_fit_for_others())
        };
        if let Some(kept) = self.kept.take().filter(is_fit)
            && self.is_small
        {
            self.engine.kept.idle.locked().push(kept);
        }
    }
}

impl WarmWorker {
    /// A folder in `parent` for a process that will be started.
    fn new(parent: &Path) -> Result<WarmWorker> {
        let folder = tempfile::Builder::new().prefix("work-").tempdir_in(parent);
        Ok(WarmWorker {
            worker: None,
            folder: folder.with_context(|| format!("cannot write to {}", parent.display()))?,
        })
    }

    /// Runs a task in the process, which is started if there is none.
    async fn run(
        &mut self,
        engine: &EngineTurns,
        planned: PlannedTask,
        source: &str,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> Result<KeptOutcome> {
        let workers = engine.workers()?;
        let cannot = format!("cannot optimize {}", planned.shown());
        let input_dir = match &engine.reads {
            Some(reads) => reads.clone(),
            None => planned.task.input_dir().to_owned(),
        };
        let worker = match self.worker.take() {
            Some((worker, reads)) if reads == input_dir => worker,
            _ => {
                let folders = TaskFolders {
                    input_dir: input_dir.clone(),
                    output_dir: self.folder.path().to_owned(),
                };
                let started = workers.start_kept(&folders).await;
                started.with_context(|| cannot.clone())?
            }
        };
        let is_used = worker.is_used();
        let task = KeptTask {
            task: planned.task.clone(),
            source: Some(source.to_owned()),
        };
        let mut shown = progress.task(planned.name());
        let show = |progress: job::Progress| {
            shown.show(&format!("{}% {}", progress.percent, progress.step));
        };
        match workers.run_kept(worker, &task, show, stop).await {
            Ok((Outcome::Done(Some(report)), worker)) => {
                shown.finish("100% done");
                self.worker = worker.map(|worker| (worker, input_dir));
                Ok(KeptOutcome::Done(report, Box::new(planned)))
            }
            Ok((Outcome::Stopped, _)) => bail!("interrupted; nothing was written"),
            // Its message may name what it could not write. What it has written is still there, and fills the disk.
            Ok((Outcome::Failed(_), _)) if check_room(self.folder.path()).is_err() => {
                Err(WorkerError::DiskFull).context(cannot)
            }
            Ok((Outcome::Failed(failure), _)) if !is_used => bail!("{cannot}: {}", failure.reason),
            // Memory may have been short for a moment, or another model was the cause.
            Ok((Outcome::Failed(failure), _)) => Ok(KeptOutcome::DoAgain(anyhow!(
                "{cannot}: {}",
                failure.reason
            ))),
            Ok((Outcome::Done(None), _)) => Ok(KeptOutcome::DoAgain(anyhow!(
                "{cannot}: the worker ended without a report"
            ))),
            Err(error @ WorkerError::Killed { .. }) => {
                Ok(KeptOutcome::DoAgain(Error::new(error).context(cannot)))
            }
            Err(error) => Err(error).context(cannot),
        }
    }
}

/// A worker says with its exit code alone that its disk is full: here it becomes the error of the system for that.
fn disk_full_of(error: Error, out: &Path) -> Error {
    match error.downcast_ref::<WorkerError>() {
        Some(WorkerError::DiskFull) => {
            let folder = out.parent().unwrap_or(out).display();
            let full = Error::new(io::Error::from(io::ErrorKind::StorageFull));
            full.context(format!("cannot write to {folder}"))
        }
        _ => error,
    }
}

/// Whether a file of the task is a link, which leads out of the folders of a kept process.
fn has_links(task: &Task) -> bool {
    let mut paths = task.files().iter().map(|file| task.input_dir().join(file));
    paths.any(|path| path.is_symlink())
}
