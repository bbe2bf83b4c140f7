//! The run of a build: the models of each folder through a queue, their results to their names, and what came of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use assetfs_formats::resolve::folded;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::xxh3_64;

use super::super::bring::Double;
use super::super::budget::Budget;
use super::super::exit::{WrongUse, sentence};
use super::super::interrupts;
use super::super::models_of_folder::{Links, ModelPreset, Source, left_out};
use super::super::output;
use super::super::removal_limit::{self, RemovalRefused};
use super::super::result_facts::ResultFacts;
use super::super::table::counted;
use super::super::watch::{self, Back, DriveNames, Key, Queue};
use super::super::watch_engine::EngineTurns;
use super::args::BuildArgs;
use super::build_file::BuildFile;
use super::publish::{NewResult, Publisher, has_exports};
use super::report::{Built, BuiltState, print_line};
use crate::durable::DirLock;
use crate::fuse::shell_quoted;

/// The folder with records and logs, in the folder of results.
pub(super) const FOLDER: &str = ".assetfs-build";

/// The command, for an error that has to name it with each drive.
pub(super) const DRIVE_COMMAND: &str = "build --drive";

/// A build under way.
struct Build<'a> {
    file: BuildFile,
    args: &'a BuildArgs,
    publisher: Publisher,
    /// What was made in this run.
    made: BTreeSet<Key>,
    /// Number of preset texts that this run put into the drive and that were not there; each costs a point.
    new_texts: usize,
    /// Why results that were made could not be moved to their names.
    not_published: BTreeMap<Key, String>,
    /// Those whose line of `--json` is printed.
    printed: BTreeSet<Key>,
    _lock: DirLock,
}

/// What came of a build.
pub(super) struct BuildEnd {
    pub(super) built: Vec<Built>,
    /// Those of `built` whose line of `--json` is printed.
    pub(super) printed: BTreeSet<Key>,
    pub(super) doubles: Vec<Double>,
    /// How many it has cost, if a drive did the work.
    pub(super) points: Option<usize>,
    /// Whether results that are gone were removed, if that was asked for; or why nothing was built.
    pub(super) ended: Result<()>,
}

/// Brings every result up to date.
pub(super) fn build(args: &BuildArgs) -> Result<BuildEnd> {
    let mut file = BuildFile::read(&args.file)?;
    let presets = presets_of(&file)?;
    let models = folders_of_models(&file)?;
    let back = back(args, &file, &models)?;
    file.out = watch::folder_of_results(&file.out, &models, "`out`")?;
    let mut build = Build::open(args, file)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let built = runtime.block_on(build.run(&presets, &back));
    // A drive's uploads and jobs go on without this process; the records say where to go on.
    runtime.shutdown_background();
    let built = built?;
    let points = matches!(back, Back::Drive(_)).then_some(build.new_texts);
    let ended = build.retract_gone(&built);
    if let Err(error) = build.publisher.keep_compared() {
        tracing::debug!(%error, "the next build reads all results once");
    }
    Ok(BuildEnd {
        built,
        printed: build.printed,
        // They are a hint: a drive that is gone by now does not undo the build.
        doubles: back.doubles().unwrap_or_default(),
        points,
        ended,
    })
}

/// The whole paths of the folders of models.
///
/// # Errors
/// If one is missing or named twice.
pub(super) fn folders_of_models(file: &BuildFile) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for dir in &file.models {
        let shown = dir.display();
        if !dir.is_dir() {
            let why = format!("{shown} is no folder; `models` names folders of models");
            return Err(WrongUse(why).into());
        }
        let whole = dir.canonicalize()?;
        if folders.contains(&whole) {
            return Err(WrongUse(format!("`models` names {shown} twice")).into());
        }
        folders.push(whole);
    }
    Ok(folders)
}

/// # Errors
/// If two models would be one model of a drive, or two results one file, also on systems that do not tell case apart: before
/// anything is made or paid.
pub(super) fn check_names<'s>(
    file: &BuildFile,
    sources: impl IntoIterator<Item = &'s Source>,
) -> Result<()> {
    let mut stems: BTreeMap<&str, &Path> = BTreeMap::new();
    let mut results: BTreeMap<String, (PathBuf, &Path, &str)> = BTreeMap::new();
    for source in sources {
        if let Some(other) = stems.insert(&source.stem, &source.path) {
            return Err(WrongUse(format!(
                "{} and {} would be one result, because `name` has only their name without its ending; rename one of them",
                other.display(),
                source.path.display()
            ))
            .into());
        }
        for preset in file.presets.keys() {
            let result = file.name.path(&source.stem, preset);
            let here = (result.clone(), source.path.as_path(), preset.as_str());
            let folded = folded(&result.to_string_lossy());
            let Some((before, other, of)) = results.insert(folded, here) else {
                continue;
            };
            let (before, result) = (file.out.join(before), file.out.join(result));
            let one = match before == result {
                true => format!("would be one result, {}", result.display()),
                false => format!(
                    "would be one result on Windows and macOS, where {} and {} are one file",
                    before.display(),
                    result.display()
                ),
            };
            return Err(WrongUse(format!(
                "{} ({of}) and {} ({preset}) {one}: rename one of them, or change `name`",
                other.display(),
                source.path.display()
            ))
            .into());
        }
    }
    Ok(())
}

pub(super) fn presets_of(file: &BuildFile) -> Result<Vec<ModelPreset>> {
    let presets = file.presets.iter().map(|(label, preset)| {
        let export_name = Some(file.name.stem_of_preset(label));
        ModelPreset::new(preset.preset.clone(), label.clone(), export_name)
    });
    presets.collect()
}

/// The entries of the folders of models that cannot be models, as failures with each preset.
pub(super) fn no_models(file: &BuildFile) -> Result<Vec<Built>> {
    let mut all = Vec::new();
    for dir in &file.models {
        for (path, why) in left_out(dir, &file.out, Links::Anywhere)? {
            let labels = file.presets.keys().cloned();
            all.extend(labels.map(|label| Built::failed(&path, label, why)));
        }
    }
    Ok(all)
}

/// The folder with the results and records of a folder of models; its name is a hash of the path of that folder.
pub(super) fn folder_of_records(file: &BuildFile, dir: &Path) -> PathBuf {
    let named = dir.strip_prefix(&file.folder).unwrap_or(dir);
    let name = xxh3_64(named.as_os_str().as_encoded_bytes());
    file.out.join(FOLDER).join(format!("results-{name:016x}"))
}

/// The budget of the results of a preset: options come before the preset's own, that before the general one.
pub(super) fn budget_of(file: &BuildFile, args: &BuildArgs, label: &str) -> Budget {
    let own = file.presets.get(label);
    let own = own.map_or_else(Budget::default, |preset| preset.budget.clone());
    args.budget.or(&own.or(&file.budget))
}

/// The drive that does the work, if one does: the one of a path, or the usual one.
pub(super) fn drive_of<'a>(args: &'a BuildArgs, file: &'a BuildFile) -> Option<Option<&'a Path>> {
    let given = args.drive.as_ref().map(|mount| mount.as_deref());
    given.or_else(|| file.drive.as_deref().map(Some))
}

fn back(args: &BuildArgs, file: &BuildFile, models: &[PathBuf]) -> Result<Back> {
    match drive_of(args, file) {
        Some(mount) => {
            let names = DriveNames::Own(models.to_vec());
            Back::drive(mount, DRIVE_COMMAND, names)
        }
        None => {
            let jobs = args.jobs.map(|jobs| jobs.get());
            Ok(Back::Engine(EngineTurns::new(
                &args.engine,
                jobs,
                args.timeout.0,
                None,
            )?))
        }
    }
}

impl<'a> Build<'a> {
    fn open(args: &'a BuildArgs, file: BuildFile) -> Result<Build<'a>> {
        let folder = file.out.join(FOLDER);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let lock = DirLock::acquire(&folder)
            .with_context(|| format!("another `assetfs build` writes to {}", file.out.display()))?;
        Ok(Build {
            publisher: Publisher::open(&file.out, &folder)?,
            file,
            args,
            made: BTreeSet::new(),
            new_texts: 0,
            not_published: BTreeMap::new(),
            printed: BTreeSet::new(),
            _lock: lock,
        })
    }

    async fn run(&mut self, presets: &[ModelPreset], back: &Back) -> Result<Vec<Built>> {
        let stop = CancellationToken::new();
        interrupts::cancel_at_signal(&stop)?;
        let mut queues = Vec::new();
        for dir in &self.file.models {
            let mut queue = self.queue(dir, presets, back)?;
            queue.look()?;
            queues.push(queue);
        }
        check_names(&self.file, queues.iter().flat_map(Queue::sources))?;
        let mut all = Vec::new();
        for mut queue in queues {
            self.run_folder(&mut queue, &stop).await?;
            self.new_texts += queue.new_texts();
            all.extend(self.outcomes(&queue));
        }
        all.extend(no_models(&self.file)?);
        all.sort_by(|a, b| (&a.model, &a.preset).cmp(&(&b.model, &b.preset)));
        Ok(all)
    }

    /// The queue of a folder of models. Its records are named after the folder.
    fn queue(&self, dir: &Path, presets: &[ModelPreset], back: &Back) -> Result<Queue> {
        let out = folder_of_records(&self.file, dir);
        std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
        Queue::open(watch::Settings {
            dir: dir.canonicalize()?,
            not_models: self.file.out.clone(),
            out,
            links: Links::Anywhere,
            presets: presets.to_vec(),
            back: back.clone(),
            max_in_progress: back.max_in_progress(self.args.jobs.map(|jobs| jobs.get())),
            settle: Duration::ZERO,
            timeout: self.args.timeout.0,
            is_once: true,
            is_quiet: self.args.quiet,
            reports: false,
        })
    }

    async fn run_folder(&mut self, queue: &mut Queue, stop: &CancellationToken) -> Result<()> {
        queue.retry_failures()?;
        self.finish_earlier(queue)?;
        let made = |queue: &Queue, keys: &[Key]| -> Result<()> {
            self.made.extend(keys.iter().cloned());
            let keys: BTreeSet<&Key> = keys.iter().collect();
            self.publish(queue, |key| keys.contains(key));
            Ok(())
        };
        watch::work_off(queue, stop, made).await
    }

    /// Moves results of earlier runs that were not moved, and has those made again whose files are missing or were changed.
    fn finish_earlier(&mut self, queue: &mut Queue) -> Result<()> {
        let sources: Vec<Source> = queue.sources().cloned().collect();
        let mut unmoved = BTreeSet::new();
        let mut lost = Vec::new();
        for source in &sources {
            for preset in self.labels() {
                let key = (source.entry.clone(), preset);
                if self.publisher.results.is_current(&key) {
                    continue;
                }
                let made_in = queue.results_of(source, &key.1);
                // Without files, they were moved to their names, and removed there when their model was gone.
                let is_there = match &made_in {
                    Some(made_in) => self.publisher.results.knows(&key) || has_exports(made_in)?,
                    None => false,
                };
                match is_there {
                    true => drop(unmoved.insert(key)),
                    false => lost.push(key),
                }
            }
        }
        self.publish(queue, |key| unmoved.contains(key));
        lost.extend(unmoved.into_iter().filter(|key| {
            !self.publisher.results.is_current(key) && !self.not_published.contains_key(key)
        }));
        // The same bytes would otherwise count as done.
        lost.iter().try_for_each(|key| queue.forget(key))
    }

    fn labels(&self) -> Vec<String> {
        self.file.presets.keys().cloned().collect()
    }

    /// Moves the results that are meant to their names. A failure is kept for the report: the next run tries it again.
    fn publish(&mut self, queue: &Queue, is_meant: impl Fn(&Key) -> bool) {
        let mut all = Vec::new();
        for source in queue.sources() {
            for preset in self.labels() {
                let key = (source.entry.clone(), preset);
                if is_meant(&key)
                    && let Some(made_in) = queue.results_of(source, &key.1)
                {
                    let folder = self.file.name.folder(&source.stem, &key.1);
                    all.push(NewResult {
                        key,
                        made_in,
                        folder,
                    });
                }
            }
        }
        for (key, ended) in self.publisher.publish(all) {
            match ended {
                Ok(()) if self.publisher.results.is_current(&key) => self.show(queue, key),
                Ok(()) => {}
                Err(error) => drop(self.not_published.insert(key, sentence(&error))),
            }
        }
    }

    fn show(&mut self, queue: &Queue, key: Key) {
        if output::is_json() {
            let source = queue.sources().find(|source| source.entry == key.0);
            if let Some(source) = source {
                print_line(&self.outcome(queue, source, &key.1));
                self.printed.insert(key);
            }
        } else if !self.args.quiet {
            for file in self.publisher.results.files(&key) {
                println!("{} → {}", key.0, shell_quoted(&self.file.out.join(file)));
            }
        }
    }

    /// What came of each model of a folder.
    fn outcomes(&self, queue: &Queue) -> Vec<Built> {
        let mut all = Vec::new();
        for source in queue.sources() {
            let labels = self.file.presets.keys();
            all.extend(labels.map(|label| self.outcome(queue, source, label)));
        }
        all
    }

    fn outcome(&self, queue: &Queue, source: &Source, preset: &str) -> Built {
        let key = (source.entry.clone(), preset.to_owned());
        let results = queue.results_of(source, preset);
        let facts = results.as_deref().and_then(ResultFacts::of_folder);
        let failure = self.not_published.get(&key).map(String::as_str);
        let failure = failure.or_else(|| queue.failure_of(&key));
        let (state, reasons) = match (failure, &results) {
            (Some(why), _) => (BuiltState::Failed, vec![why.to_owned()]),
            (None, None) => {
                let changes = "it changes while it is read; build again when it is whole";
                let why = queue.gave_up().unwrap_or(changes);
                (BuiltState::Failed, vec![why.to_owned()])
            }
            (None, Some(_)) => {
                let budget = budget_of(&self.file, self.args, preset);
                let exceeded = budget.exceeded_by(&facts.clone().unwrap_or_default());
                let state = match (exceeded.is_empty(), self.made.contains(&key)) {
                    (false, _) => BuiltState::OverBudget,
                    (true, true) => BuiltState::Made,
                    (true, false) => BuiltState::UpToDate,
                };
                (state, exceeded)
            }
        };
        // What lies under its name is of an earlier state of the model.
        let (files, facts) = match state {
            BuiltState::Failed => (Vec::new(), None),
            _ => (self.publisher.results.files(&key), facts),
        };
        Built {
            model: source.entry.clone(),
            preset: preset.to_owned(),
            state,
            files: files.iter().map(|it| self.file.out.join(it)).collect(),
            facts,
            reasons,
            due: None,
        }
    }

    /// Removes what is left of models and presets that are gone, or says that it is there.
    fn retract_gone(&mut self, built: &[Built]) -> Result<()> {
        let wanted: BTreeSet<Key> = built
            .iter()
            .map(|built| (built.model.clone(), built.preset.clone()))
            .collect();
        let keys = self.publisher.results.keys();
        let all = keys.len();
        let gone: Vec<Key> = keys
            .into_iter()
            .filter(|key| !wanted.contains(key))
            .collect();
        if !self.args.prune {
            say_gone(gone.len(), self.args.quiet);
            return Ok(());
        }
        check_may_prune(gone.len(), all, built.is_empty(), self.args.max_prune)?;
        for key in &gone {
            let files = self.publisher.results.files(key);
            self.publisher.retract(key)?;
            for file in files {
                say_removed(&self.file.out.join(file), false, self.args.quiet);
            }
        }
        Ok(())
    }
}

/// Says that `--prune` removed a file, or would remove it.
pub(super) fn say_removed(file: &Path, is_dry: bool, is_quiet: bool) {
    if output::is_json() {
        output::line(json!({
            "path": file.to_string_lossy(),
            "state": if is_dry { "not_sent" } else { "done" },
            "built": "removed",
            "dry_run": is_dry,
            "exit": 0,
        }));
    } else if !is_quiet {
        let words = if is_dry {
            "would be removed:"
        } else {
            "removed"
        };
        println!("{words} {}", shell_quoted(file));
    }
}

/// Says how many results of models and presets there are that are gone.
pub(super) fn say_gone(count: usize, is_quiet: bool) {
    if count > 0 && !is_quiet {
        eprintln!(
            "{} of models or presets that are gone; --prune removes them",
            counted(count as u64, "result")
        );
    }
}

/// Fails if `--prune` would remove more results than it may.
pub(super) fn check_may_prune(
    count: usize,
    all: usize,
    is_empty: bool,
    max_prune: Option<usize>,
) -> Result<()> {
    let checked = removal_limit::check(count, all, is_empty, max_prune);
    let Err(refused) = checked else {
        return Ok(());
    };
    let results = counted(count as u64, "result");
    match refused {
        RemovalRefused::OverLimit(limit) => bail!(
            "{results} would be removed because their models or presets are gone, and --max-prune allows {limit}; nothing was removed"
        ),
        RemovalRefused::Everything => bail!(
            "there are no models, so --prune would remove all {results}; nothing was removed. If that is meant, add \
                 --max-prune {count}"
        ),
        RemovalRefused::MoreThanHalf => bail!(
            "{results} would be removed because their models or presets are gone, which is more than half; nothing was \
                 removed. If that is meant, add --max-prune {count}"
        ),
    }
}
