//! `assetfs build --dry-run`: what a build would make, why, and what it would cost through a drive. Changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::bring::{BringStep, Found, Look};
use super::super::exit::{Exit, sentence};
use super::super::models_of_folder::{KnownTexts, Links, ModelPreset, Source, scan};
use super::super::mounted::MountedDrive;
use super::super::output;
use super::super::result_facts::ResultFacts;
use super::super::run_presets::cost_at_most;
use super::super::watch::{self, DoneBefore, Due, Key};
use super::args::BuildArgs;
use super::build_file::BuildFile;
use super::publish::has_exports;
use super::published::PublishedResults;
use super::report::{self, Built, BuiltState};
use super::run::{
    DRIVE_COMMAND, FOLDER, budget_of, check_may_prune, check_names, drive_of, folder_of_records,
    folders_of_models, no_models, presets_of, say_gone, say_removed,
};

struct DryBuild<'a> {
    file: BuildFile,
    args: &'a BuildArgs,
    published: PublishedResults,
    drive: Option<DriveNow>,
}

/// What the drive that would do the work has now.
struct DriveNow {
    look: Look,
    known: KnownTexts,
    /// Models of the drive that have the files of a model under another name.
    taken: BTreeSet<String>,
    points: usize,
}

pub(super) fn run(args: &BuildArgs) -> Result<Exit> {
    let mut file = BuildFile::read(&args.file)?;
    let presets = presets_of(&file)?;
    let models = folders_of_models(&file)?;
    let drive = match drive_of(args, &file) {
        Some(mount) => Some(DriveNow::of(mount, &models)?),
        None => None,
    };
    file.out = watch::checked_folder_of_results(&file.out, &models, "`out`")?;
    let mut dry = DryBuild {
        published: PublishedResults::peek(&file.out, &file.out.join(FOLDER))?,
        file,
        args,
        drive,
    };
    let all = dry.look(&presets)?;
    report::check_not_empty(&all, &args.file)?;
    report::print(&all, &BTreeSet::new(), args.quiet);
    let points = dry.drive.as_ref().map(|drive| drive.points);
    if let Some(points) = points.filter(|_| !args.quiet && !output::is_json()) {
        println!("{}", cost_at_most(points as u64));
    }
    let may_prune = dry.show_gone(&all);
    let exit = match &may_prune {
        Ok(()) => report::exit_of(&all),
        Err(_) => Exit::Failed,
    };
    report::print_sum(&all, points, true, exit);
    may_prune.map(|()| exit)
}

impl DriveNow {
    fn of(mount: Option<&Path>, models: &[PathBuf]) -> Result<DriveNow> {
        let drive = MountedDrive::at_or_only(mount, DRIVE_COMMAND)?;
        Ok(DriveNow {
            look: Look::of(models, &drive)?,
            known: KnownTexts::of(&drive),
            taken: BTreeSet::new(),
            points: 0,
        })
    }

    /// What a build would do to have a model in the drive, and where it is then.
    fn step(&mut self, source: &Source) -> (BringStep, PathBuf) {
        let found = self.look.step(source, &self.look.others(), &mut self.taken);
        let found = found.unwrap_or_else(|error| Found::Own(BringStep::Fail(error)));
        let (step, name) = found.placed(&source.stem);
        (step, self.look.rawmodels.join(name))
    }
}

impl DryBuild<'_> {
    fn look(&mut self, presets: &[ModelPreset]) -> Result<Vec<Built>> {
        let mut folders = Vec::new();
        for dir in &self.file.models {
            let before = DoneBefore::read(&folder_of_records(&self.file, dir))?;
            let sources = scan(
                &dir.canonicalize()?,
                &self.file.out,
                Links::Anywhere,
                |_| None,
            )?;
            folders.push((before, sources));
        }
        check_names(&self.file, folders.iter().flat_map(|(_, sources)| sources))?;
        let mut all = Vec::new();
        for (before, sources) in &folders {
            for source in sources {
                all.extend(self.outcomes(before, source, presets)?);
            }
        }
        all.extend(no_models(&self.file)?);
        all.sort_by(|a, b| (&a.model, &a.preset).cmp(&(&b.model, &b.preset)));
        Ok(all)
    }

    /// What would become of a model with each preset.
    fn outcomes(
        &mut self,
        before: &DoneBefore,
        source: &Source,
        presets: &[ModelPreset],
    ) -> Result<Vec<Built>> {
        let mut all = Vec::new();
        let mut step = None;
        for preset in presets {
            let Some(due) = self.due(before, source, preset)? else {
                all.push(self.known(before, source, preset));
                continue;
            };
            let mut reasons = Vec::new();
            if let Some(drive) = &mut self.drive {
                let (step, model) = step.get_or_insert_with(|| drive.step(source));
                drive.points += usize::from(step.needs_text(model, preset, &drive.known));
                if let BringStep::Fail(error) = step {
                    reasons.push(sentence(error));
                }
            }
            let fails = !reasons.is_empty();
            all.push(Built {
                model: source.entry.clone(),
                preset: preset.label.clone(),
                state: match fails {
                    true => BuiltState::Failed,
                    false => BuiltState::WouldBeMade,
                },
                files: Vec::new(),
                facts: None,
                reasons,
                due: (!fails).then_some(due),
            });
        }
        Ok(all)
    }

    /// Why a result would be made; `None` if its files are there, or have to be moved to their names only.
    fn due(
        &mut self,
        before: &DoneBefore,
        source: &Source,
        preset: &ModelPreset,
    ) -> Result<Option<Due>> {
        let due = before.due(source, preset)?;
        if due.is_some() || self.published.is_current(&key(source, preset)) {
            return Ok(due);
        }
        let results = before.results_of(source, preset);
        let has_files = results
            .filter(|it| it.exists())
            .is_some_and(|it| has_exports(&it).unwrap_or(false));
        Ok((!has_files).then_some(Due::FilesChanged))
    }

    /// A result that is there, within its budget or not.
    fn known(&self, before: &DoneBefore, source: &Source, preset: &ModelPreset) -> Built {
        let results = before.results_of(source, preset);
        let facts = results.as_deref().and_then(ResultFacts::of_folder);
        let budget = budget_of(&self.file, self.args, &preset.label);
        let exceeded = budget.exceeded_by(&facts.clone().unwrap_or_default());
        let files = self.published.files(&key(source, preset));
        Built {
            model: source.entry.clone(),
            preset: preset.label.clone(),
            state: match exceeded.is_empty() {
                true => BuiltState::UpToDate,
                false => BuiltState::OverBudget,
            },
            files: files.iter().map(|it| self.file.out.join(it)).collect(),
            facts,
            reasons: exceeded,
            due: None,
        }
    }

    /// Prints the files that `--prune` would remove. Fails if they are more than its limit.
    fn show_gone(&self, all: &[Built]) -> Result<()> {
        let wanted: BTreeSet<Key> = all
            .iter()
            .map(|built| (built.model.clone(), built.preset.clone()))
            .collect();
        let keys = self.published.keys();
        let gone: Vec<&Key> = keys.iter().filter(|key| !wanted.contains(key)).collect();
        if !self.args.prune {
            say_gone(gone.len(), self.args.quiet);
            return Ok(());
        }
        check_may_prune(gone.len(), keys.len(), all.is_empty(), self.args.max_prune)?;
        for file in gone.iter().flat_map(|key| self.published.files(key)) {
            say_removed(&self.file.out.join(file), true, self.args.quiet);
        }
        Ok(())
    }
}

fn key(source: &Source, preset: &ModelPreset) -> Key {
    (source.entry.clone(), preset.label.clone())
}
