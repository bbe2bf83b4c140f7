//! Decides what is done next: which models are whole and unchanged for long enough, and which of their results are missing.

mod begin;
mod finish;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

use super::record::{FORM, Record, RecordState, Records};
use super::room::RoomWait;
use super::work::{Back, MaxInProgress, WorkEvent};
use crate::cli::bring::Look;
use crate::cli::exit::{Exit, sentence};
use crate::cli::models_of_folder::{Links, ModelPreset, Source, left_out, scan};
use crate::cli::output;
use crate::cli::progress::Progress;
use crate::fuse::shell_quoted;

/// How long a model may lack a file that it names; then it is tried as it is, and the failure says what is missing.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the work under way may take to end after a signal.
const ENDING: Duration = Duration::from_secs(10);

pub(in crate::cli) struct Settings {
    pub(in crate::cli) dir: PathBuf,
    /// The folder of the results and their records.
    pub(in crate::cli) out: PathBuf,
    /// A folder that is no model, also if it is in `dir`.
    pub(in crate::cli) not_models: PathBuf,
    pub(in crate::cli) links: Links,
    pub(in crate::cli) presets: Vec<ModelPreset>,
    pub(in crate::cli) back: Back,
    pub(in crate::cli) max_in_progress: MaxInProgress,
    pub(in crate::cli) settle: Duration,
    pub(in crate::cli) timeout: Duration,
    pub(in crate::cli) is_once: bool,
    pub(in crate::cli) is_quiet: bool,
    /// Says what came of each model when it has come; else whoever opened the queue does.
    pub(in crate::cli) reports: bool,
}

/// The entry of a model, and the label of a preset.
pub(in crate::cli) type Key = (String, String);

/// The models of the watched folder, and the work on them.
pub(in crate::cli) struct Queue {
    settings: Settings,
    records: Records,
    progress: Arc<Progress>,
    seen: BTreeMap<String, WatchedModel>,
    /// What the drive had at the first model that was brought under its own name.
    look_at_drive: Option<Look>,
    /// Names of models of the drive that have the files of a model of the folder under another name.
    taken_in_drive: BTreeSet<String>,
    running: BTreeSet<String>,
    /// Number of preset texts that this run put into the drive and that were not there; each costs a point.
    new_texts: usize,
    room_wait: Option<RoomWait>,
    /// Entries of the folder that cannot be models, and were named.
    left_out: BTreeSet<PathBuf>,
    /// Why models failed in this run.
    failed: BTreeMap<Key, String>,
    sender: mpsc::UnboundedSender<WorkEvent>,
    events: mpsc::UnboundedReceiver<WorkEvent>,
}

/// A model and how long it has been as it is.
struct WatchedModel {
    source: Source,
    since: Instant,
    /// The missing files were reported.
    is_reported: bool,
}

impl Queue {
    /// # Errors
    /// When the folder of the results cannot be used, or another process uses it.
    pub(in crate::cli) fn open(settings: Settings) -> Result<Queue> {
        let mut records = Records::open(&settings.out)?;
        records.recover(&settings.out)?;
        let (sender, events) = mpsc::unbounded_channel();
        Ok(Queue {
            progress: Arc::new(Progress::of_many(settings.is_quiet || output::is_json())),
            settings,
            records,
            seen: BTreeMap::new(),
            look_at_drive: None,
            taken_in_drive: BTreeSet::new(),
            running: BTreeSet::new(),
            new_texts: 0,
            room_wait: None,
            left_out: BTreeSet::new(),
            failed: BTreeMap::new(),
            sender,
            events,
        })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.settings.dir
    }

    pub(super) fn out(&self) -> &Path {
        &self.settings.out
    }

    /// Reads the presets that have changed.
    pub(super) fn read_presets(&mut self) {
        for preset in &mut self.settings.presets {
            if let Err(error) = block_in_place(|| preset.read_again()) {
                eprintln!(
                    "assetfs: {}; until that is corrected, models are optimized with the earlier text",
                    sentence(&error)
                );
            }
        }
    }

    fn name_left_out(&mut self) -> Result<()> {
        let Settings {
            dir,
            not_models,
            links,
            ..
        } = &self.settings;
        for (path, why) in left_out(dir, not_models, *links)? {
            if self.left_out.insert(path.clone()) {
                let why = anyhow!("{} is left out: {why}", shell_quoted(&path));
                output::failed(Some(&path), &why);
            }
        }
        Ok(())
    }

    /// Reads the watched folder.
    pub(in crate::cli) fn look(&mut self) -> Result<()> {
        if self.settings.reports {
            self.name_left_out()?;
        }
        let known = |entry: &str| self.seen.get(entry).map(|seen| &seen.source);
        let found = {
            let Settings {
                dir,
                not_models,
                links,
                ..
            } = &self.settings;
            block_in_place(|| scan(dir, not_models, *links, known))?
        };
        let mut before = std::mem::take(&mut self.seen);
        for source in found {
            let known = before
                .remove(&source.entry)
                .filter(|known| known.source == source);
            let seen = known.unwrap_or_else(|| WatchedModel {
                source,
                since: Instant::now(),
                is_reported: false,
            });
            self.seen.insert(seen.source.entry.clone(), seen);
        }
        for seen in self.seen.values_mut() {
            let is_old = seen.since.elapsed() >= self.settings.settle;
            if is_old
                && !seen.is_reported
                && !seen.source.lacks.is_empty()
                && !self.settings.is_quiet
            {
                eprintln!(
                    "{} waits for {}",
                    seen.source.entry,
                    seen.source.lacks.join(", ")
                );
                seen.is_reported = true;
            }
        }
        Ok(())
    }

    /// Begins the work on models that are due, as many as may run at a time.
    pub(super) fn start(&mut self, stop: &CancellationToken) -> Result<()> {
        let max = self.settings.max_in_progress;
        let out = &self.settings.out;
        let has_room = self.room_wait.as_mut().is_none_or(|wait| wait.may_try(out));
        if max.is_reached(self.running.len()) || !has_room {
            return Ok(());
        }
        let due: Vec<Source> = self
            .seen
            .values()
            .filter(|seen| self.due_in(seen) == Duration::ZERO && self.needs_work(&seen.source))
            .map(|seen| seen.source.clone())
            .collect();
        for source in due {
            if stop.is_cancelled() {
                break;
            }
            // Large models are not overtaken without end.
            if !max.has_room(self.running.len(), &source) {
                break;
            }
            let entry = source.entry.clone();
            let prepared = block_in_place(|| self.prepare(source));
            let Some(prepared) = self.unless_no_room(&entry, prepared)? else {
                break;
            };
            if let Some(job) = prepared {
                self.running.insert(entry);
                let (progress, sender) = (Arc::clone(&self.progress), self.sender.clone());
                self.settings
                    .back
                    .start(job, progress, stop.clone(), sender);
            }
        }
        Ok(())
    }

    fn due_in(&self, seen: &WatchedModel) -> Duration {
        let wait = match seen.source.lacks.is_empty() || self.settings.is_once {
            true => self.settings.settle,
            false => self.settings.settle.max(PATIENCE),
        };
        wait.saturating_sub(seen.since.elapsed())
    }

    /// True when a result is missing as far as sizes and times tell, and nobody works on it.
    fn needs_work(&self, source: &Source) -> bool {
        let presets = &self.settings.presets;
        !self.running.contains(&source.entry)
            && presets.iter().any(|preset| !self.is_done(source, preset))
    }

    fn is_done(&self, source: &Source, preset: &ModelPreset) -> bool {
        self.records
            .get(&source.entry, &preset.label)
            .is_some_and(|record| {
                let is_over = match record.state {
                    RecordState::Done => true,
                    RecordState::Failed => record.failure_text(&self.settings.out).exists(),
                    RecordState::Working | RecordState::Moving { .. } => false,
                };
                let is_checked = record.form == FORM
                    || record.upload.is_none()
                    || record.state == RecordState::Failed;
                is_over
                    && is_checked
                    && record.stamp == source.stamp
                    && record.config == preset.hash
            })
    }

    /// Number of preset texts that this run has put into the drive and that were not there before; each costs a point.
    pub(in crate::cli) fn new_texts(&self) -> usize {
        self.new_texts
    }

    /// When the work that waits for room is tried again.
    pub(super) fn next_try(&self) -> Option<tokio::time::Instant> {
        self.room_wait.as_ref()?.next_try()
    }

    /// Why models of a run with an end have waited for room for so long that they are given up.
    pub(in crate::cli) fn gave_up(&self) -> Option<&str> {
        let may_end = self.settings.is_once && self.rests();
        let wait = self.room_wait.as_ref().filter(|_| may_end)?;
        wait.given_up_after(self.settings.timeout)
    }

    /// True when nothing is under way.
    pub(super) fn rests(&self) -> bool {
        self.running.is_empty()
    }

    /// The models that were seen in the last look.
    pub(in crate::cli) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.seen.values().map(|seen| &seen.source)
    }

    /// The folder with the results of a model and a preset as they are now; `None` if there are none.
    pub(in crate::cli) fn results_of(&self, source: &Source, preset: &str) -> Option<PathBuf> {
        let preset = self.settings.presets.iter().find(|it| it.label == preset)?;
        let record = self.records.get(&source.entry, &preset.label)?;
        let is_there = record.state == RecordState::Done && self.is_done(source, preset);
        is_there.then(|| self.settings.out.join(&record.results))
    }

    /// Why a model failed with a preset in this run.
    pub(in crate::cli) fn failure_of(&self, key: &Key) -> Option<&str> {
        self.failed.get(key).map(String::as_str)
    }

    /// Has a result made again.
    pub(in crate::cli) fn forget(&mut self, (entry, preset): &Key) -> Result<()> {
        match self.records.get(entry, preset).cloned() {
            Some(record) => self.records.put(Record {
                state: RecordState::Working,
                ..record
            }),
            None => Ok(()),
        }
    }

    /// Has everything tried again that failed in earlier runs.
    pub(in crate::cli) fn retry_failures(&self) -> Result<()> {
        let failed = self
            .records
            .all()
            .filter(|it| it.state == RecordState::Failed);
        for text in failed.map(|record| record.failure_text(&self.settings.out)) {
            match fs::remove_file(&text) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// True when nothing is under way and nothing is left to be done.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && !self.seen.values().any(|seen| self.needs_work(&seen.source))
    }

    /// How long until a model is due; `None` when none is waited for.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let waiting = self
            .seen
            .values()
            .filter(|seen| self.needs_work(&seen.source));
        let due = waiting
            .map(|seen| self.due_in(seen))
            .filter(|due| !due.is_zero());
        due.min()
    }

    /// How the run ended: it failed if a model that is there failed with one of the presets, now or in an earlier run.
    /// Reports the earlier failures, which are not tried again: with `--quiet` not, because of scripts that run every few
    /// minutes.
    pub(super) fn conclude(&self) -> Exit {
        let presets = &self.settings.presets;
        let has_failed = |record: &&Record| {
            record.state == RecordState::Failed
                && self.seen.contains_key(&record.entry)
                && presets.iter().any(|preset| preset.label == record.preset)
        };
        let mut exit = match self.left_out.is_empty() {
            true => Exit::Done,
            false => Exit::Failed,
        };
        if let Some(why) = self.gave_up() {
            exit = output::failed(
                Some(&self.settings.out),
                &anyhow!("no room until the end of --timeout: {why}"),
            );
        }
        for record in self.records.all().filter(has_failed) {
            exit = Exit::Failed;
            let key = (record.entry.clone(), record.preset.clone());
            if self.failed.contains_key(&key) || self.settings.is_quiet {
                continue;
            }
            let text = record.failure_text(&self.settings.out);
            let why = format!(
                "failed in an earlier run with {}; {} says why. Remove that text to try it again.",
                record.preset,
                shell_quoted(&text)
            );
            if output::is_json() {
                self.print_failure(record, &text, &why);
            }
            eprintln!("assetfs: {} {why}", record.entry);
        }
        exit
    }

    /// Completes the records and ends the processes of the engine that wait for models, if no model is worked on.
    pub(super) fn rest(&mut self) {
        if !self.running.is_empty() {
            return;
        }
        block_in_place(|| self.records.rest());
        if let Back::Engine(turns) = &self.settings.back {
            turns.end_idle();
        }
    }

    /// Waits until the engine has ended what it was stopped in. What a drive does goes on without us.
    pub(super) async fn stop(&mut self) {
        if matches!(self.settings.back, Back::Drive(_)) {
            return;
        }
        let ended = async {
            while !self.running.is_empty() {
                if let Some(WorkEvent::Over { entry, .. }) = self.events.recv().await {
                    self.running.remove(&entry);
                }
            }
        };
        // Work that is still under way then ends with this process.
        let _ = tokio::time::timeout(ENDING, ended).await;
    }
}
