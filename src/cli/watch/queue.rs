//! Decides what is done next: which models are whole and unchanged for long enough, which of their results are missing, and
//! what a result or a failure leaves behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

use super::super::exit::{Exit, sentence};
use super::super::output;
use super::super::progress::Progress;
use super::super::result_warnings;
use super::record::{FORM, Record, RecordState, Records, Upload, sync_tree};
use super::room::{NotMade, RoomWait, is_no_room};
use super::work::{
    Back, DriveNames, DrivePlace, Job, MaxInProgress, WorkEvent, is_right, is_taken,
};
use crate::cli::bring::{BringStep, Found, Look};
use crate::cli::models_of_folder::content::{Content, compare};
use crate::cli::models_of_folder::on_drive;
use crate::cli::models_of_folder::{ModelPreset, NewFiles, Source, left_out, scan};
use crate::cli::mounted::MountedDrive;
use crate::durable::{in_parallel, write_atomic};
use crate::fuse::shell_quoted;

/// How long a model may lack a file that it names; then it is tried as it is, and the failure says what is missing.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of reports that are kept together.
const MAX_EVENTS: usize = 256;
/// How long results wait for others that end soon, so that they are made durable together.
const GATHERING: Duration = Duration::from_millis(25);
/// How many bytes the names of a model and of a preset have together in the name of a folder of results: what file systems
/// allow, without what is added to them (`.failed.txt`, parentheses, a number).
const MAX_NAME_BYTES: usize = 255 - 32;
/// How long the work under way may take to end after a signal.
const ENDING: Duration = Duration::from_secs(10);

pub(in crate::cli) struct Settings {
    pub(in crate::cli) dir: PathBuf,
    /// The folder of the results and their records.
    pub(in crate::cli) out: PathBuf,
    /// A folder that is no model, also if it is in `dir`.
    pub(in crate::cli) not_models: PathBuf,
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
        for (path, why) in left_out(&self.settings.dir)? {
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
        let found = block_in_place(|| scan(&self.settings.dir, &self.settings.not_models, known))?;
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
                    RecordState::Failed => failure_text(&self.settings.out, record).exists(),
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

    /// Reads the model's bytes and records what is begun; `None` when every result is there already.
    fn prepare(&mut self, source: Source) -> Result<Option<Job>> {
        let Ok(content) = source.content() else {
            // It is changing or gone: the next look sees what is there.
            return Ok(None);
        };
        let mut job = Job {
            makes: Vec::new(),
            place: self.place_of(&source, &content)?,
            timeout: self.settings.timeout,
            content: content.clone(),
            source,
        };
        for preset in self.settings.presets.clone() {
            match self.begin(&job, &preset) {
                Ok(Some(folder)) => job.makes.push((preset, folder)),
                Ok(None) => {}
                Err(error) => {
                    let folders = job.makes.iter().map(|(_, folder)| folder);
                    folders.for_each(|folder| discard(folder));
                    return Err(error);
                }
            }
        }
        Ok((!job.makes.is_empty()).then_some(job))
    }

    /// Records that the work on a model and a preset has begun, and makes a folder for the results; `None` if the results exist.
    fn begin(&mut self, job: &Job, preset: &ModelPreset) -> Result<Option<PathBuf>> {
        let Job {
            source, content, ..
        } = job;
        if self.is_done(source, preset) {
            return Ok(None);
        }
        let known = self.records.get(&source.entry, &preset.label).cloned();
        let is_same = |known: &&Record| known.content == *content && known.config == preset.hash;
        if let Some(known) = known.as_ref().filter(is_same)
            && known.state == RecordState::Done
            && self.is_right(known, preset)
        {
            self.records.put(Record {
                stamp: source.stamp.clone(),
                form: FORM,
                ..known.clone()
            })?;
            return Ok(None);
        }
        let results = match &known {
            Some(known) => known.results.clone(),
            None => self.name_of_results(source, &preset.label),
        };
        let begun = Record {
            entry: source.entry.clone(),
            preset: preset.label.clone(),
            config: preset.hash.clone(),
            stamp: source.stamp.clone(),
            content: content.clone(),
            results,
            upload: match &job.place {
                Some(DrivePlace::Copy(upload)) => Some(upload.clone()),
                _ => None,
            },
            state: RecordState::Working,
            form: FORM,
        };
        match &self.settings.back {
            // What it has begun ends with this process.
            Back::Engine(_) => self.records.note(begun),
            Back::Drive(_) => self.records.put(begun)?,
        }
        Ok(Some(self.records.work_folder()?))
    }

    fn is_right(&self, record: &Record, preset: &ModelPreset) -> bool {
        match &self.settings.back {
            Back::Drive(back) if record.form != FORM => {
                is_right(back.drive.root(), record, &preset.config)
            }
            _ => true,
        }
    }

    /// Where the model is in the drive, or comes to.
    fn place_of(&mut self, source: &Source, content: &str) -> Result<Option<DrivePlace>> {
        let back = match &self.settings.back {
            Back::Engine(_) => return Ok(None),
            Back::Drive(back) => back.clone(),
        };
        Ok(Some(match &back.names {
            DriveNames::Free => {
                DrivePlace::Copy(self.upload_of(back.drive.root(), source, content)?)
            }
            DriveNames::Own(dirs) => self.bring_step(source, &back.drive, dirs),
        }))
    }

    /// What has to be done to have the model in the drive under its own name. What stands against it is the failure of this
    /// model alone.
    fn bring_step(
        &mut self,
        source: &Source,
        drive: &MountedDrive,
        dirs: &[PathBuf],
    ) -> DrivePlace {
        let mut found = || -> Result<Found> {
            let look = match self.look_at_drive.take() {
                Some(look) => look,
                None => Look::of(dirs, drive)?,
            };
            let look = self.look_at_drive.insert(look);
            look.step(source, &look.others(), &mut self.taken_in_drive)
        };
        let found = found().unwrap_or_else(|error| Found::Own(BringStep::Fail(error)));
        let (step, name) = found.placed(&source.stem);
        DrivePlace::Bring(step, on_drive::folder(drive.root(), &name))
    }

    /// Where an earlier run put the same bytes and the drive still has them, else under a free name.
    fn upload_of(&self, root: &Path, source: &Source, content: &str) -> Result<Upload> {
        let known = self.records.all().find_map(|record| {
            let is_same = record.entry == source.entry && record.content == content;
            record.upload.as_ref().filter(|_| is_same)
        });
        if let Some(known) = known {
            let model = on_drive::folder(root, &known.name);
            // One that cannot be compared now is used: another copy would be paid again.
            let is_other = known.is_copied
                && is_taken(root, &known.name)?
                && found_in(&model, source).is_ok_and(|found| found == Content::Other);
            if !is_other {
                return Ok(known.clone());
            }
        }
        let is_ours = |name: &str| {
            let mut uploads = self
                .records
                .all()
                .filter_map(|record| record.upload.as_ref());
            uploads.any(|upload| upload.name == name)
        };
        // The model of that name is used if it has the same bytes, whoever copied it in.
        if !is_ours(&source.stem) {
            let model = on_drive::folder(root, &source.stem);
            let is_copied = is_taken(root, &source.stem)?;
            let is_same = || found_in(&model, source).is_ok_and(|it| it == Content::Same);
            if !is_copied || is_same() {
                return Ok(Upload {
                    name: source.stem.clone(),
                    is_copied,
                });
            }
        }
        // Under a name of the content an earlier run may have put it, whose records are gone.
        for digits in [on_drive::NAME_DIGITS, content.len()] {
            let name = format!("{}-{}", source.stem, &content[..digits]);
            let model = on_drive::folder(root, &name);
            let is_copied = is_taken(root, &name)?;
            if !is_copied || found_in(&model, source)? == Content::Same {
                return Ok(Upload { name, is_copied });
            }
        }
        bail!(
            "{} has other models under every name that {} could have; remove those that are not needed",
            shell_quoted(&root.join("rawmodels")),
            source.entry
        )
    }

    /// A name that no other model's results have: the model's, with the preset where there are several.
    fn name_of_results(&self, source: &Source, preset: &str) -> String {
        let with_preset = |name: &str| match self.settings.presets.len() {
            1 => name.to_owned(),
            _ => format!("{name} ({preset})"),
        };
        let most = MAX_NAME_BYTES.saturating_sub(preset.len());
        let cut = |name: &'_ str| name[..name.floor_char_boundary(most)].to_owned();
        let (stem, entry) = (cut(&source.stem), cut(&source.entry));
        let is_free = |name: &String| {
            !self.settings.out.join(name).exists()
                && self.records.all().all(|record| record.results != *name)
        };
        let numbered = (2..).map(|number| with_preset(&format!("{entry} {number}")));
        [with_preset(&stem), with_preset(&entry)]
            .into_iter()
            .chain(numbered)
            .find(is_free)
            .expect("some number is free")
    }

    /// What the work has reported, once it has reported something.
    pub(super) async fn finished(&mut self) -> Vec<WorkEvent> {
        let mut events = Vec::new();
        self.events.recv_many(&mut events, MAX_EVENTS).await;
        events
    }

    /// Keeps what came of models. Results that ended together are made durable together. Returns those that are whole.
    pub(super) async fn settle(&mut self, mut events: Vec<WorkEvent>) -> Result<Vec<Key>> {
        if self.running.len() > 1 {
            tokio::time::sleep(GATHERING).await;
            while events.len() < MAX_EVENTS
                && let Ok(event) = self.events.try_recv()
            {
                events.push(event);
            }
        }
        let mut whole = Vec::new();
        let mut over = BTreeSet::new();
        for event in events {
            match event {
                WorkEvent::Over { entry, new_texts } => {
                    self.new_texts += new_texts;
                    over.insert(entry);
                }
                WorkEvent::Copied { entry } => {
                    let kept = self.keep_copied(&entry);
                    self.unless_no_room(&entry, kept)?;
                }
                WorkEvent::Made {
                    entry,
                    preset,
                    folder,
                    outcome,
                } => {
                    let record = self
                        .records
                        .get(&entry, &preset)
                        .context("the record is gone")?
                        .clone();
                    match outcome {
                        // It changed while it was read; what came of it may be of neither state. The next look finds it.
                        _ if !self.is_current(&record) => {
                            discard(&folder);
                            self.seen.remove(&entry);
                        }
                        Ok(()) => whole.push((record, folder)),
                        Err(NotMade::NoRoom(why)) => {
                            discard(&folder);
                            self.wait_for_room(&entry, why);
                        }
                        Err(NotMade::Failed(why)) => {
                            discard(&folder);
                            let kept = self.keep_failure(&record, &why);
                            self.unless_no_room(&entry, kept)?;
                        }
                    }
                }
            }
        }
        let made = block_in_place(|| self.keep_results(whole))?;
        self.running.retain(|entry| !over.contains(entry));
        Ok(made)
    }

    /// What was done; `None` if a disk had no room for it. Then the work on the model is tried again.
    fn unless_no_room<T>(&mut self, entry: &str, done: Result<T>) -> Result<Option<T>> {
        match done {
            Err(error) if is_no_room(&error, &self.settings.out) => {
                self.wait_for_room(entry, sentence(&error));
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    fn wait_for_room(&mut self, entry: &str, why: String) {
        // A failed copy may have changed what the drive has.
        self.look_at_drive = None;
        if let Some(wait) = &mut self.room_wait {
            return wait.note(why);
        }
        if output::is_json() && self.settings.reports {
            output::line(json!({
                "state": "waiting",
                "path": self.settings.dir.join(entry).to_string_lossy(),
                "model": entry,
                "reason": why,
                "exit": 0,
            }));
        }
        eprintln!("assetfs: {entry} waits: {why}. It and the models after it are tried again.");
        self.room_wait = Some(RoomWait::new(why));
    }

    /// How many texts of presets this run has put into the drive that were not there; each costs a point.
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

    /// True if a model is as it was when its work began.
    fn is_current(&self, record: &Record) -> bool {
        self.seen.get(&record.entry).is_some_and(|seen| {
            seen.source.stamp == record.stamp
                && block_in_place(|| seen.source.is_unchanged(&self.settings.dir))
        })
    }

    fn keep_copied(&mut self, entry: &str) -> Result<()> {
        let of_entry: Vec<Record> = self
            .records
            .all()
            .filter(|record| record.entry == entry)
            .cloned()
            .collect();
        for mut record in of_entry {
            if let Some(upload) = &mut record.upload
                && record.state == RecordState::Working
            {
                upload.is_copied = true;
                self.records.put(record)?;
            }
        }
        Ok(())
    }

    fn keep_results(&mut self, whole: Vec<(Record, PathBuf)>) -> Result<Vec<Key>> {
        let Some((first, _)) = whole.first() else {
            return Ok(Vec::new());
        };
        let entry = first.entry.clone();
        let folders: Vec<PathBuf> = whole.iter().map(|(_, folder)| folder.clone()).collect();
        let landed = self.land(whole);
        match self.unless_no_room(&entry, landed)? {
            Some(landed) => {
                self.room_wait.take_if(|_| !landed.is_empty());
                self.report_all(landed)
            }
            None => {
                // A result that is in its place already has its older version there.
                folders.iter().for_each(|folder| discard(folder));
                Ok(Vec::new())
            }
        }
    }

    /// Moves whole results to where they are seen. Returns those that are there.
    fn land(&mut self, whole: Vec<(Record, PathBuf)>) -> Result<Vec<(Record, PathBuf)>> {
        if self.records.land_at_once(&whole, &self.settings.out)? {
            return Ok(whole);
        }
        let synced = in_parallel(&whole, |(_, folder)| sync_tree(folder));
        let mut durable = Vec::new();
        for ((record, folder), synced) in whole.into_iter().zip(synced) {
            match synced {
                Ok(()) => durable.push((record, folder)),
                Err(error) => {
                    discard(&folder);
                    self.wait_for_room(&record.entry, sentence(&error));
                }
            }
        }
        self.records.land(&durable, &self.settings.out)?;
        Ok(durable)
    }

    fn report_all(&self, landed: Vec<(Record, PathBuf)>) -> Result<Vec<Key>> {
        landed
            .iter()
            .try_for_each(|(record, _)| self.report_results(record))?;
        let keys = landed
            .into_iter()
            .map(|(record, _)| (record.entry, record.preset));
        Ok(keys.collect())
    }

    fn report_results(&self, record: &Record) -> Result<()> {
        match fs::remove_file(failure_text(&self.settings.out, record)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        if !self.settings.reports {
            return Ok(());
        }
        let results = self.settings.out.join(&record.results);
        if output::is_json() {
            let line = json!({ "state": "done", "results": results.to_string_lossy(), "exit": 0 });
            self.print_json(record, line);
        } else {
            println!("{} → {}", record.entry, shell_quoted(&results));
            if !self.settings.is_quiet
                && let Some(warning) = result_warnings::in_one_line(&results)
            {
                eprintln!("{}: {warning}", record.entry);
            }
        }
        Ok(())
    }

    fn keep_failure(&mut self, record: &Record, why: &str) -> Result<()> {
        let path = failure_text(&self.settings.out, record);
        let text = format!(
            "{} could not be optimized with {}:\n\n{why}\n\nIt is tried again when it changes, or when this text is removed.\n",
            record.entry, record.preset
        );
        write_atomic(&path, text.as_bytes())?;
        let key = (record.entry.clone(), record.preset.clone());
        self.failed.insert(key, why.to_owned());
        self.records.put(Record {
            state: RecordState::Failed,
            ..record.clone()
        })?;
        if !self.settings.reports {
            return Ok(());
        }
        if output::is_json() {
            let line = json!({ "state": "failed", "failure": path.to_string_lossy(), "reason": why, "exit": 1 });
            self.print_json(record, line);
        } else {
            eprintln!("assetfs: {} failed: {why}", record.entry);
        }
        Ok(())
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
        for text in failed.map(|record| failure_text(&self.settings.out, record)) {
            match fs::remove_file(&text) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn print_json(&self, record: &Record, mut line: serde_json::Value) {
        let path = self.settings.dir.join(&record.entry);
        line["path"] = path.to_string_lossy().into();
        line["model"] = record.entry.as_str().into();
        line["preset"] = record.preset.as_str().into();
        output::line(line);
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
            if !self.failed.contains_key(&key) && !self.settings.is_quiet {
                let text = failure_text(&self.settings.out, record);
                eprintln!(
                    "assetfs: {} failed in an earlier run with {}; {} says why. Remove that text to try it again.",
                    record.entry,
                    record.preset,
                    shell_quoted(&text)
                );
            }
        }
        exit
    }

    /// Ends the processes of the engine that wait for models, if no model is worked on.
    pub(super) fn rest(&self) {
        if let Back::Engine(turns) = &self.settings.back
            && self.running.is_empty()
        {
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

/// Removes an unfinished result. What cannot be removed now, the next run removes.
fn discard(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}

fn failure_text(out: &Path, record: &Record) -> PathBuf {
    out.join(format!("{}.failed.txt", record.results))
}

/// What a model of the drive has of a source. Links in a watched folder are left out, as by the scan.
fn found_in(model: &Path, source: &Source) -> Result<Content> {
    let files = NewFiles::of_file(&source.path, &source.root, &source.files)?;
    compare(&files, model, None)
}
