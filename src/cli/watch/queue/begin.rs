//! Begins the work on a model: which of its results are missing, what they are called, and where a drive has the model.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::super::record::{FORM, Record, RecordState, Upload};
use super::super::work::{Back, DriveNames, DrivePlace, Job, is_right, is_taken};
use super::Queue;
use crate::cli::bring::{BringStep, Found, Look};
use crate::cli::models_of_folder::content::{Content, compare};
use crate::cli::models_of_folder::on_drive;
use crate::cli::models_of_folder::{ModelPreset, NewFiles, Source};
use crate::cli::mounted::MountedDrive;
use crate::fuse::shell_quoted;

/// How many bytes the names of a model and of a preset have together in the name of a folder of results: what file systems
/// allow, without what is added to them (`.failed.txt`, parentheses, a number).
const MAX_NAME_BYTES: usize = 255 - 32;

impl Queue {
    /// Reads the model's bytes and records what is begun; `None` when every result is there already.
    pub(super) fn prepare(&mut self, source: Source) -> Result<Option<Job>> {
        let Ok(content) = source.content() else {
            // It is changing or gone: the next look sees what is there.
            return Ok(None);
        };
        let (place, process) = match self.place_of(&source, &content)? {
            Some((place, process)) => (Some(place), Some(process)),
            None => (None, None),
        };
        let mut job = Job {
            makes: Vec::new(),
            place,
            process,
            timeout: self.settings.timeout,
            content: content.clone(),
            source,
        };
        for preset in self.settings.presets.clone() {
            if let Some(folder) = self.begin(&job, &preset)? {
                job.makes.push((preset, folder));
            }
        }
        Ok((!job.makes.is_empty()).then_some(job))
    }

    /// Records that the work on a model and a preset has begun. Returns where the results come to; `None` if they exist.
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
        Ok(Some(self.records.work_folder()))
    }

    fn is_right(&self, record: &Record, preset: &ModelPreset) -> bool {
        match &self.settings.back {
            Back::Drive(back) if record.form != FORM => {
                is_right(back.drive.root(), record, &preset.config)
            }
            _ => true,
        }
    }

    /// Where the model is in the drive or will be copied to, and the id of the drive's process at this time.
    fn place_of(&mut self, source: &Source, content: &str) -> Result<Option<(DrivePlace, u32)>> {
        let back = match &self.settings.back {
            Back::Engine(_) => return Ok(None),
            Back::Drive(back) => back.clone(),
        };
        let process = back.drive.process()?;
        let place = match &back.names {
            DriveNames::Free => {
                DrivePlace::Copy(self.upload_of(back.drive.root(), source, content)?)
            }
            DriveNames::Own(dirs) => self.bring_step(source, &back.drive, dirs),
        };
        // Between two mounts the folder is empty, and every name in it looks free.
        back.drive.check_process(process)?;
        Ok(Some((place, process)))
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
        let is_free =
            |name: &String| !self.records.has_name(name) && !self.settings.out.join(name).exists();
        let numbered = (2..).map(|number| with_preset(&format!("{entry} {number}")));
        [with_preset(&stem), with_preset(&entry)]
            .into_iter()
            .chain(numbered)
            .find(is_free)
            .expect("some number is free")
    }
}

/// What a model of the drive has of a source. Links in a watched folder are left out, as by the scan.
fn found_in(model: &Path, source: &Source) -> Result<Content> {
    let files = NewFiles::of_file(&source.path, &source.root, &source.files)?;
    compare(&files, model, None)
}
