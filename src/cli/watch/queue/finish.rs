//! Keeps what came of models: results are moved to where they are seen, failures become texts.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use tokio::task::block_in_place;

use super::super::record::{Record, RecordState, discard};
use super::super::room::{NotMade, RoomWait, is_no_room};
use super::super::work::WorkEvent;
use super::{Key, Queue};
use crate::cli::exit::sentence;
use crate::cli::{output, result_warnings};
use crate::durable::write_atomic;
use crate::fuse::shell_quoted;

/// Maximum number of reports that are kept together.
const MAX_EVENTS: usize = 256;
/// How long results wait for others that end soon, so that they are made durable together: during a sync, nothing else can
/// write to the file system.
const GATHERING: Duration = Duration::from_millis(100);

impl Queue {
    /// What the work has reported, once it has reported something.
    pub(in crate::cli::watch) async fn finished(&mut self) -> Vec<WorkEvent> {
        let mut events = Vec::new();
        self.events.recv_many(&mut events, MAX_EVENTS).await;
        events
    }

    /// Keeps what came of models. Results that ended together are made durable together. Returns those that are whole.
    pub(in crate::cli::watch) async fn settle(
        &mut self,
        mut events: Vec<WorkEvent>,
    ) -> Result<Vec<Key>> {
        self.gather(&mut events).await;
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

    /// Waits a short time for more reports, if work is under way.
    async fn gather(&mut self, events: &mut Vec<WorkEvent>) {
        let is_over = |event: &&WorkEvent| matches!(event, WorkEvent::Over { .. });
        let running = self.running.len();
        let gathering = async {
            while events.len() < MAX_EVENTS && events.iter().filter(is_over).count() < running {
                self.events.recv_many(events, MAX_EVENTS).await;
            }
        };
        // Reports that have come until then are in `events`.
        let _ = tokio::time::timeout(GATHERING, gathering).await;
    }

    /// What was done; `None` if a disk had no room for it. Then the work on the model is tried again.
    pub(super) fn unless_no_room<T>(&mut self, entry: &str, done: Result<T>) -> Result<Option<T>> {
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
        let synced = self.records.make_durable(&whole);
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

    fn keep_failure(&mut self, record: &Record, why: &str) -> Result<()> {
        let path = record.failure_text(&self.settings.out);
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
            self.print_failure(record, &path, why);
        } else {
            eprintln!("assetfs: {} failed: {why}", record.entry);
        }
        Ok(())
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
        match fs::remove_file(record.failure_text(&self.settings.out)) {
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

    /// Prints a line of JSON for a failed job. `text` is the path of the file that contains the reason.
    pub(super) fn print_failure(&self, record: &Record, text: &Path, why: &str) {
        let line = json!({ "state": "failed", "failure": text.to_string_lossy(), "reason": why, "exit": 1 });
        self.print_json(record, line);
    }

    fn print_json(&self, record: &Record, mut line: serde_json::Value) {
        let path = self.settings.dir.join(&record.entry);
        line["path"] = path.to_string_lossy().into();
        line["model"] = record.entry.as_str().into();
        line["preset"] = record.preset.as_str().into();
        output::line(line);
    }
}
