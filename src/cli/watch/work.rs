//! The two that do the work: the engine on this machine, and a mounted drive. Each fills a folder with the results of one
//! model and one preset; neither knows of records.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::super::bring::{BringStep, Bringer, Double, Look};
use super::super::chosen_preset::Config;
use super::super::control::{Lacking, commit_at};
use super::super::exported_files::name_exports;
use super::super::interrupts;
use super::super::models_of_folder::{KnownTexts, ModelPreset, Source, on_drive};
use super::super::mounted::{self, CommandRefused, MountedDrive};
use super::super::progress::Progress;
use super::super::result_facts::ResultFacts;
use super::super::settings::Span;
use super::super::wait::{State, wait_for};
use super::super::watch_engine::{EngineTurns, TurnModel, UnkeptResult};
use super::record::{Record, Upload};
use super::room::NotMade;
use super::shown::while_shown;
use crate::drive::StatusWord;
use crate::fuse::shell_quoted;

/// How many models a drive gets at a time, unless `--jobs` says otherwise. Many small ones, because most of the time of each
/// passes until the service takes its job and reports the result.
const DRIVE_JOBS: usize = 4;
const SMALL_DRIVE_JOBS: usize = 32;

/// How many models are in progress for each worker process, so that it works while the next models are read from disk and
/// the results of others are made durable. Many small ones, because it does hundreds of them in the time of a few syncs.
const MODELS_PER_TURN: usize = 8;
const SMALL_MODELS_PER_TURN: usize = 64;

/// The limits of models that are in progress.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct MaxInProgress {
    models: usize,
    /// With small models alone.
    small_models: usize,
}

impl MaxInProgress {
    /// Whether nothing may begin beside so many models.
    pub(super) fn is_reached(self, in_progress: usize) -> bool {
        in_progress >= self.small_models
    }

    /// Whether this model may begin beside so many.
    pub(super) fn has_room(self, in_progress: usize, source: &Source) -> bool {
        in_progress < self.models || (!self.is_reached(in_progress) && source.is_small())
    }
}

/// The worker: the engine in this process, or a mounted drive.
#[derive(Debug, Clone)]
pub(in crate::cli) enum Back {
    /// The engine on this machine.
    Engine(EngineTurns),
    /// The drive that is mounted here.
    Drive(DriveBack),
}

/// A mounted drive that does the work.
#[derive(Debug, Clone)]
pub(in crate::cli) struct DriveBack {
    pub(super) drive: MountedDrive,
    pub(super) names: DriveNames,
    /// The texts of presets that had a result before the first one was put in. The list of results is read then, not earlier: a
    /// run with nothing to do asks for nothing.
    known: Arc<OnceLock<KnownTexts>>,
}

/// Which models of the drive those of a folder are.
#[derive(Debug, Clone)]
pub(in crate::cli) enum DriveNames {
    /// A changed model, or one whose name the drive has, is another model, with a name that is free.
    Free,
    /// Each has its own name, and a changed one becomes the next version, as with `assetfs sync`. These are all folders of
    /// models.
    Own(Vec<PathBuf>),
}

/// One model to be done.
pub(super) struct Job {
    pub(super) source: Source,
    /// A hash of its bytes.
    pub(super) content: String,
    /// The presets that it needs, each with the path of a folder for its results, which is made with them.
    pub(super) makes: Vec<(ModelPreset, PathBuf)>,
    /// Where it is in the drive; `None` if the engine does the work.
    pub(super) place: Option<DrivePlace>,
    /// The process of the drive when the place was chosen.
    pub(super) process: Option<u32>,
    pub(super) timeout: Duration,
}

/// Where a model is in the drive, or comes to.
pub(super) enum DrivePlace {
    Copy(Upload),
    /// This is done to have it at this path.
    Bring(BringStep, PathBuf),
}

/// What is reported of a job.
#[derive(Debug)]
pub(super) enum WorkEvent {
    /// Every file of the model was copied into the drive.
    Copied { entry: String },
    /// One preset is done, or failed for this reason. The results are not durable yet.
    Made {
        entry: String,
        preset: String,
        folder: PathBuf,
        outcome: Result<(), NotMade>,
    },
    /// Nothing more comes of this job.
    Over {
        entry: String,
        /// How many texts of presets it put into the drive that were not there; each costs a point.
        new_texts: usize,
    },
}

impl Back {
    /// The drive at `mount`; `command` is for the error if it has to be named.
    pub(in crate::cli) fn drive(
        mount: Option<&Path>,
        command: &str,
        names: DriveNames,
    ) -> Result<Back> {
        let drive = MountedDrive::at_or_only(mount, command)?;
        Ok(Back::Drive(DriveBack {
            drive,
            names,
            known: Arc::default(),
        }))
    }

    /// The models of the drive that have the names of models of the folders; see [`Double`].
    pub(in crate::cli) fn doubles(&self) -> Result<Vec<Double>> {
        match self {
            Back::Drive(DriveBack {
                drive,
                names: DriveNames::Own(dirs),
                ..
            }) => Ok(Look::of(dirs, drive)?.doubles(&BTreeSet::new())),
            Back::Drive(_) | Back::Engine(_) => Ok(Vec::new()),
        }
    }

    pub(in crate::cli) fn max_in_progress(&self, jobs: Option<usize>) -> MaxInProgress {
        match self {
            Back::Engine(turns) => MaxInProgress {
                models: turns.count() * MODELS_PER_TURN,
                small_models: turns.count() * SMALL_MODELS_PER_TURN,
            },
            Back::Drive(_) => MaxInProgress {
                models: jobs.unwrap_or(DRIVE_JOBS),
                small_models: jobs.unwrap_or(SMALL_DRIVE_JOBS),
            },
        }
    }

    /// Begins a job; its events go to `events`.
    pub(super) fn start(
        &self,
        job: Job,
        progress: Arc<Progress>,
        stop: CancellationToken,
        events: mpsc::UnboundedSender<WorkEvent>,
    ) {
        match self.clone() {
            Back::Engine(turns) => {
                tokio::spawn(async move {
                    engine(&turns, &Arc::new(job), &progress, &stop, &events).await;
                });
            }
            Back::Drive(back) => {
                tokio::task::spawn_blocking(move || drive(back, job, &progress, &events));
            }
        }
    }
}

impl DriveBack {
    fn known_texts(&self) -> &KnownTexts {
        self.known.get_or_init(|| match self.names {
            // Nobody asks what it costs.
            DriveNames::Free => KnownTexts::default(),
            DriveNames::Own(_) => KnownTexts::of(&self.drive),
        })
    }
}

async fn engine(
    engine: &EngineTurns,
    job: &Arc<Job>,
    progress: &Progress,
    stop: &CancellationToken,
    events: &mpsc::UnboundedSender<WorkEvent>,
) {
    let source = format!("{} {}", job.source.stamp, job.content);
    let model = TurnModel {
        path: &job.source.path,
        source: &source,
        is_small: job.source.is_small(),
    };
    {
        // The turn ends before the job does.
        let mut turn = engine.wait(model).await;
        // While the next result of the model is made.
        let mut keeping = JoinSet::new();
        for (number, (preset, folder)) in job.makes.iter().enumerate() {
            if stop.is_cancelled() {
                break;
            }
            let paths = (model, folder.as_path());
            let made = turn.run(&preset.config, paths, progress, stop).await;
            if stop.is_cancelled() {
                break;
            }
            let (job, events) = (Arc::clone(job), events.clone());
            keeping.spawn_blocking(move || {
                let (preset, folder) = &job.makes[number];
                report(
                    &events,
                    &job,
                    preset,
                    folder,
                    made.and_then(UnkeptResult::keep),
                );
            });
        }
        keeping.join_all().await;
    }
    let _ = events.send(WorkEvent::Over {
        entry: job.source.entry.clone(),
        new_texts: 0,
    });
}

fn report(
    events: &mpsc::UnboundedSender<WorkEvent>,
    job: &Job,
    preset: &ModelPreset,
    folder: &Path,
    made: Result<()>,
) {
    let made = made.and_then(|()| match preset.export_name(&job.source.stem) {
        Some(name) => name_exports(folder, &name),
        None => Ok(()),
    });
    let outcome = made.map_err(|error| NotMade::of(&error, folder));
    send(events, job, preset, folder, outcome);
}

fn send(
    events: &mpsc::UnboundedSender<WorkEvent>,
    job: &Job,
    preset: &ModelPreset,
    folder: &Path,
    outcome: Result<(), NotMade>,
) {
    // What an interrupted command could not read is no failure.
    if outcome.is_err() && interrupts::check().is_err() {
        return;
    }
    // Without a receiver the program is ending.
    let _ = events.send(WorkEvent::Made {
        entry: job.source.entry.clone(),
        preset: preset.label.clone(),
        folder: folder.to_owned(),
        outcome,
    });
}

/// Copies the model in, drops the presets, waits, and copies the results out. Each step that an earlier run made is
/// found and not made again: the drive itself says what it has.
fn drive(
    back: DriveBack,
    mut job: Job,
    progress: &Progress,
    events: &mpsc::UnboundedSender<WorkEvent>,
) {
    let entry = job.source.entry.clone();
    let process = job.process;
    let unless_ended = |error| match process {
        Some(process) => back.drive.unless_ended(process, error),
        None => error,
    };
    let mut new_texts = 0;
    let uploaded = upload(back.drive.clone(), &mut job, progress, || {
        let entry = entry.clone();
        drop(events.send(WorkEvent::Copied { entry }))
    });
    match uploaded {
        Ok(model) => {
            let dropped: Vec<Result<PathBuf>> = job
                .makes
                .iter()
                .map(|(preset, _)| {
                    let is_new = back.known_texts().lacks(&model, preset);
                    let dropped = preset.drop_into(&model);
                    new_texts += usize::from(is_new && dropped.is_ok());
                    dropped
                })
                .collect();
            for ((preset, folder), dropped) in job.makes.iter().zip(dropped) {
                let made = dropped.and_then(|text| {
                    while_shown(progress, &text, || {
                        copy_out(&made(&model, preset, job.timeout)?, folder)
                    })
                });
                report(events, &job, preset, folder, made.map_err(unless_ended));
            }
        }
        Err(error) => {
            let error = unless_ended(error);
            for (preset, folder) in &job.makes {
                let not_made = NotMade::of(&error, folder);
                send(events, &job, preset, folder, Err(not_made));
            }
        }
    }
    let _ = events.send(WorkEvent::Over { entry, new_texts });
}

/// The model's folder in the drive, complete.
fn upload(
    drive: MountedDrive,
    job: &mut Job,
    progress: &Progress,
    copied: impl FnOnce(),
) -> Result<PathBuf> {
    match job
        .place
        .take()
        .context("no name was chosen in the drive")?
    {
        DrivePlace::Copy(upload) => {
            let model = on_drive::folder(drive.root(), &upload.name);
            while_shown(progress, &model, || {
                copy_in(drive.root(), job, &upload, copied)
            })
        }
        DrivePlace::Bring(step, model) => {
            let bringer = Bringer::new(drive, Some(Span(job.timeout)));
            // As the engine, which makes a result of it and warns of what is missing.
            let brought = while_shown(progress, &model, || {
                bringer.bring(step, &model, Lacking::Sent)
            })?;
            if let Some(old) = brought.old {
                let name = model.file_name().unwrap_or_default().to_string_lossy();
                let task = progress.task(shell_quoted(&model));
                task.finish(&format!("a new version; the one before is {name}~{old}"));
            }
            Ok(model)
        }
    }
}

/// Copies a model in under a name that was chosen for it.
fn copy_in(root: &Path, job: &Job, upload: &Upload, copied: impl FnOnce()) -> Result<PathBuf> {
    job.source.check_can_be_imported()?;
    let model = on_drive::folder(root, &upload.name);
    if !upload.is_copied || !model.exists() {
        for file in &job.source.files {
            let (from, to) = (job.source.root.join(file), model.join(file));
            let cannot = || format!("cannot copy {} into the drive", from.display());
            make_folders(&model, file).with_context(cannot)?;
            let mut bytes = job.source.open(file).with_context(cannot)?;
            let mut copy = fs::File::create(&to).with_context(cannot)?;
            io::copy(&mut bytes, &mut copy).with_context(cannot)?;
        }
        copied();
    }
    commit(&model, &job.source)?;
    wait(&model, job.timeout)?;
    Ok(model)
}

/// Makes the folder of a model and the folders for one of its files, but never `rawmodels/`. While the drive is not mounted,
/// `rawmodels/` does not exist, and with it the file would be written to the disk below the mount point.
fn make_folders(model: &Path, file: &Path) -> io::Result<()> {
    let mut folders: Vec<&Path> = file.ancestors().skip(1).collect();
    folders.reverse();
    for folder in folders {
        match fs::create_dir(model.join(folder)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Commits a draft, because its source had already settled before it was copied. If the service does not answer, the drive
/// sends it later.
fn commit(draft: &Path, source: &Source) -> Result<()> {
    let state = mounted::item_report(draft).ok().flatten();
    if state.is_some_and(|report| report.state == StatusWord::Complete) {
        return Ok(());
    }
    let lacking = match source.lacks.is_empty() {
        true => Lacking::Refused,
        false => Lacking::Sent,
    };
    match commit_at(draft, lacking) {
        Err(error) if error.is::<CommandRefused>() => Err(error),
        _ => Ok(()),
    }
}

/// Waits for the result of a preset and returns its folder. If another command overwrites the text with another preset of the
/// same name meanwhile, the text is written again, which joins its job. So the result is never that of the other preset.
fn made(model: &Path, preset: &ModelPreset, timeout: Duration) -> Result<PathBuf> {
    let text = preset.text_in(model);
    let end = Instant::now() + timeout;
    loop {
        let ended = wait(&text, end.saturating_duration_since(Instant::now()));
        let result = text.with_extension("").canonicalize();
        if on_drive::has_config(&text, &preset.config)? != Some(false) {
            ended?;
            return result.with_context(|| format!("cannot find the result of {}", text.display()));
        }
        if Instant::now() >= end {
            bail!("timed out while other commands write other presets of this name");
        }
        preset.drop_into(model)?;
    }
}

/// Copies a result out of the drive: the exports, and what the service says of them.
fn copy_out(results: &Path, folder: &Path) -> Result<()> {
    ResultFacts::on_drive(results).write_into(folder)?;
    // The other folders have pictures, which only a list of each tells.
    for (from, to) in [
        (results.to_owned(), folder.to_owned()),
        (results.join("analysis"), folder.join("analysis")),
    ] {
        let cannot = || format!("cannot copy {} out of the drive", from.display());
        let entries = match fs::read_dir(&from) {
            // A result without reports.
            Err(error) if error.kind() == io::ErrorKind::NotFound && from != results => continue,
            entries => entries.with_context(cannot)?,
        };
        fs::create_dir_all(&to)?;
        for entry in entries {
            let entry = entry.with_context(cannot)?;
            if entry.file_type().with_context(cannot)?.is_file() {
                let file = entry.path();
                fs::copy(&file, to.join(entry.file_name()))
                    .with_context(|| format!("cannot copy {} out of the drive", file.display()))?;
            }
        }
    }
    Ok(())
}

fn wait(path: &Path, timeout: Duration) -> Result<()> {
    let outcome = wait_for(&[path.to_owned()], Some(timeout), true)?;
    match outcome.states.into_iter().next() {
        Some((_, State::Failed(_, why))) => bail!("{why}"),
        Some((_, State::Going(_, status))) => bail!("timed out while {status}"),
        _ => Ok(()),
    }
}

/// True when the drive at `root` has a model or a draft of that name.
pub(super) fn is_taken(root: &Path, name: &str) -> io::Result<bool> {
    match fs::symlink_metadata(on_drive::folder(root, name)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// True if a record that an earlier version made of a result is right as far as the drive shows. Such a version could
/// record the result of an earlier configuration as that of a new one: then the text in the drive has another
/// configuration. Where the drive has no text, or does not answer, the record is believed, because making the result
/// again would be paid again.
pub(super) fn is_right(root: &Path, record: &Record, config: &Config) -> bool {
    let Some(Upload { name, .. }) = &record.upload else {
        return true;
    };
    let text = on_drive::folder(root, name).join(format!("optimize/{}.json", record.preset));
    !matches!(on_drive::has_config(&text, config), Ok(Some(false)))
}
