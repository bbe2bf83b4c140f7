//! `assetfs sync`: makes the models of a drive those of a folder.
//!
//! [`plan`] compares, [`guard`] says whether anything may be deleted, and this file does the rest: models come in as
//! `assetfs replace` brings them in, so an interrupted copy is no model and several runs at once make one model. The drive
//! remembers what it has; nothing but where the folder was mounted is noted elsewhere.

mod guard;
mod plan;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap_complete::engine::ArgValueCompleter;

use self::guard::Memory;
use self::plan::{SyncPlan, Wanted};
use self::report::{BroughtModel, DroppedText, Report, SyncOutcome};
use super::at_once::at_once;
use super::bring::{BringStep, Bringer, Brings, Lacking, Listed, with_id_in_name};
use super::completers;
use super::exit::{Exit, WrongUse};
use super::files::percent;
use super::models_of_folder::{KnownTexts, Links, ModelPreset, left_out};
use super::mounted::{self, MountedDrive};
use super::progress::Progress;
use super::removal_limit::{self, RemovalRefused};
use super::settings::Span;
use super::table::counted;
use super::unanswered;
use crate::drive::{MountStatus, StatusWord};
use crate::fuse::shell_quoted;

/// How many models are brought in at a time: the service imports one while the next is copied.
const AT_ONCE: usize = 4;
/// Maximum number of ids in one command line.
const IDS_A_LINE: usize = 500;

/// Make the models of a drive those of a folder
///
/// New models are added, changed ones replaced. Each folder, model file and zip in DIR is one model, without its extension the
/// name of the model. What the drive has already is not sent: a second run does nothing. Models that DIR lacks are kept without
/// --delete; deleted models are gone for good, because the drive has no trash.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs sync ~/models ~/assets\n\
    Example: assetfs sync ~/models --preset 'Web Viewer' --preset ar.json\n\
    Example: assetfs sync ~/models ~/assets --delete --max-delete 20 --dry-run\n\
    Exit codes: 0 the drive has the models of DIR, 1 it lacks some, or nothing was deleted, 2 wrong use, 3 timed out")]
pub(super) struct SyncArgs {
    /// The folder with the models
    dir: PathBuf,
    /// The drive, or its rawmodels/ [default: the only one that you mounted]
    drive: Option<PathBuf>,
    /// Delete the models that DIR lacks, and the old versions of replaced ones; not more than half of all
    #[arg(long)]
    delete: bool,
    /// Delete at most this many models that DIR lacks, instead of half of all; also those of an empty DIR
    #[arg(long, value_name = "N", requires = "delete")]
    max_delete: Option<usize>,
    /// Optimize each model with this preset, once: a name of a factory preset, or a file (.json, .rpdx); can be given several
    /// times
    #[arg(long = "preset", short, add = ArgValueCompleter::new(completers::presets), value_name = "PRESET")]
    presets: Vec<String>,
    /// Only say what would be done
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Give up waiting for a model after this time; its upload goes on
    #[arg(long, value_name = "TIME")]
    timeout: Option<Span>,
    /// Show no progress, and nothing but failures
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: &SyncArgs) -> Result<Exit> {
    let _ends = unanswered::end_after(args.timeout);
    let sync = Sync::of(args)?;
    let mut plan = SyncPlan::of(&sync.dir, &sync.drive)?;
    if args.delete {
        sync.check_may_delete(&plan)?;
    }
    let mut report = Report::default();
    report.is_dry = args.dry_run;
    report.is_quiet = args.quiet;
    for (path, why) in left_out(&sync.dir, sync.drive.root(), Links::Anywhere)? {
        report.failed(&path, &anyhow::anyhow!("{why}"));
    }
    plan.doubles.iter().for_each(|double| report.double(double));
    if args.dry_run {
        sync.show(plan, &mut report);
    } else {
        let wanted = std::mem::take(&mut plan.wanted);
        let old = sync.bring_all(wanted, &mut report);
        if !report.has_drive_ended() {
            sync.delete(&plan, &old, &mut report);
        }
        sync.memory.note(&sync.dir)?;
    }
    Ok(report.conclude())
}

/// A replaced version. `--delete` deletes it.
struct OldVersion {
    id: u64,
    /// Its path after the replacement.
    path: PathBuf,
}

impl OldVersion {
    fn of(model: &Path, id: &str) -> Option<OldVersion> {
        Some(OldVersion {
            id: id.parse().ok()?,
            path: with_id_in_name(model, id),
        })
    }
}

struct Sync<'a> {
    args: &'a SyncArgs,
    dir: PathBuf,
    drive: MountedDrive,
    /// The process of the drive at the beginning.
    process: u32,
    presets: Vec<ModelPreset>,
    /// What the account has of their texts, at the beginning.
    known: KnownTexts,
    memory: Memory,
}

impl Sync<'_> {
    fn of(args: &SyncArgs) -> Result<Sync<'_>> {
        let shown = shell_quoted(&args.dir);
        let dir = args.dir.canonicalize();
        let dir = dir.map_err(|error| WrongUse(format!("cannot read {shown}: {error}")))?;
        if !dir.is_dir() {
            let hint = "sync needs a folder, and `assetfs replace` takes a file";
            return Err(WrongUse(format!("{shown} is a file; {hint}")).into());
        }
        let drive = MountedDrive::at_or_only(args.drive.as_deref(), "sync DIR")?;
        let root = drive.root();
        if let Some(given) = &args.drive {
            let whole = given.canonicalize()?;
            if whole != root && whole != root.join("rawmodels") {
                return Err(WrongUse(format!(
                    "{} is inside a drive; name the drive {}",
                    shell_quoted(given),
                    shell_quoted(root)
                ))
                .into());
            }
        }
        if dir.starts_with(root) {
            return Err(WrongUse(format!(
                "{shown} is in the drive itself; name a folder outside of it"
            ))
            .into());
        }
        let presets = ModelPreset::read(&args.presets)?;
        let status = drive.status()?;
        check_may_change(&drive, &status, args.delete)?;
        Ok(Sync {
            memory: Memory::of(&dir, root),
            known: match presets.is_empty() {
                true => KnownTexts::default(),
                false => KnownTexts::of(&drive),
            },
            presets,
            args,
            dir,
            process: status.pid,
            drive,
        })
    }

    fn check_may_delete(&self, plan: &SyncPlan) -> Result<()> {
        guard::check_is_mounted(&self.dir, &self.memory)?;
        let count = plan.extra.len();
        let dir = shell_quoted(&self.dir);
        let models = counted(count as u64, "model");
        let is_empty = plan.wanted.is_empty();
        let checked = removal_limit::check(count, plan.uploaded, is_empty, self.args.max_delete);
        let Err(refused) = checked else {
            return Ok(());
        };
        match refused {
            RemovalRefused::OverLimit(limit) => bail!(
                "{models} would be deleted because {dir} lacks them, and --max-delete allows {limit}; nothing was changed"
            ),
            RemovalRefused::Everything => bail!(
                "{dir} has no models, so --delete would delete all {models} of the drive; nothing was changed. If that is meant, \
                 add --max-delete {count}"
            ),
            RemovalRefused::MoreThanHalf => bail!(
                "{models} of {} would be deleted because {dir} lacks them, which is more than half; nothing was changed. If that \
                 is meant, add --max-delete {count}",
                plan.uploaded
            ),
        }
    }

    /// Brings all models in; returns the versions that were replaced.
    fn bring_all(&self, wanted: Vec<Wanted>, report: &mut Report) -> Vec<OldVersion> {
        let total = wanted.len() as u64;
        let mut task = Progress::new(self.args.quiet).task(shell_quoted(&self.dir));
        let (mut old, mut done) = (Vec::new(), 0);
        at_once(
            AT_ONCE,
            wanted,
            |wanted| self.bring(wanted),
            |ended| {
                done += 1;
                old.extend(
                    ended
                        .old
                        .as_ref()
                        .and_then(|id| OldVersion::of(&ended.model, id)),
                );
                report.note(ended);
                task.show(&format!("{done} of {total} ({}%)", percent(done, total)));
            },
        );
        task.fail();
        old
    }

    fn bring(&self, wanted: Wanted) -> BroughtModel {
        let mut brought = BroughtModel {
            source: Some(wanted.source),
            model: wanted.model,
            outcome: Ok(SyncOutcome::Unchanged),
            old: None,
            texts: Vec::new(),
        };
        let bringer = Bringer::new(self.drive.clone(), self.args.timeout);
        match bringer.bring(wanted.step, &brought.model, Lacking::Refused) {
            Ok(done) => {
                brought.old = done.old;
                brought.outcome = Ok(done.outcome.into());
            }
            Err(error) => brought.outcome = Err(self.drive.unless_ended(self.process, error)),
        }
        if brought.outcome.is_ok() {
            let texts = self.presets.iter();
            brought.texts = texts
                .map(|preset| self.drop_preset(&brought.model, preset))
                .collect();
        }
        brought
    }

    /// What the folder lacks, if it is to be deleted. Nothing as long as a model of the folder could not be compared: it may be
    /// one of them, under another name.
    fn to_delete<'p>(&self, plan: &'p SyncPlan, report: &mut Report) -> &'p [Listed] {
        if !self.args.delete {
            report.kept(plan.extra.len());
            return &[];
        }
        if plan.not_compared == 0 || plan.extra.is_empty() {
            return &plan.extra;
        }
        let kept = counted(plan.extra.len() as u64, "model");
        let failed = counted(plan.not_compared as u64, "model");
        let why = anyhow::anyhow!(
            "{kept} not deleted, although {} lacks their names, because {failed} of the folder could not be compared with them",
            shell_quoted(&self.dir)
        );
        report.failed(&self.drive.root().join("rawmodels"), &why);
        &[]
    }

    /// Deletes what the folder lacks, and the versions that were replaced.
    fn delete(&self, plan: &SyncPlan, old: &[OldVersion], report: &mut Report) {
        let extra = self.to_delete(plan, report);
        if !self.args.delete {
            return;
        }
        let kept = |old: &&OldVersion| plan.kept_versions.contains(&old.id);
        let old: Vec<&OldVersion> = old.iter().filter(|it| !kept(it)).collect();
        let ids: Vec<String> = extra
            .iter()
            .filter_map(|it| Some(it.id?.to_string()))
            .chain(old.iter().map(|old| old.id.to_string()))
            .collect();
        let allowed = self.check_limit_of_drive(ids.len());
        let deleted = allowed.and_then(|()| self.delete_ids(&ids));
        let rawmodels = self.drive.root().join("rawmodels");
        match deleted {
            Ok(()) => {
                for extra in extra {
                    report.note(BroughtModel::deleted(rawmodels.join(&extra.name)));
                }
                for old in old {
                    report.note(BroughtModel::deleted(old.path.clone()));
                }
            }
            Err(error) => {
                let count = counted(ids.len() as u64, "model");
                let error = error.context(format!("{count} not deleted"));
                report.failed(&rawmodels, &error);
            }
        }
    }

    /// Whether the limit of the drive does not hold, because the user has given a limit.
    fn lifts_limit(&self) -> bool {
        self.args.max_delete.is_some_and(|limit| limit > 0)
    }

    /// Refuses more deletions than the drive makes without a confirmation.
    fn check_limit_of_drive(&self, count: usize) -> Result<()> {
        match self.drive.status()?.fewer_deletions_than(count) {
            Some(left) if !self.lifts_limit() => bail!(
                "without a confirmation the drive deletes only {} more within this minute; --max-delete {count} lifts its limit",
                counted(left as u64, "model")
            ),
            _ => Ok(()),
        }
    }

    fn delete_ids(&self, ids: &[String]) -> Result<()> {
        if self.lifts_limit() && !ids.is_empty() {
            self.drive.order("allow-delete")?;
        }
        for ids in ids.chunks(IDS_A_LINE) {
            let line = format!("delete rawmodels {}", ids.join(" "));
            self.drive.order(&line)?;
        }
        Ok(())
    }

    /// Says what would be done.
    fn show(&self, mut plan: SyncPlan, report: &mut Report) {
        let mut deleted = Vec::new();
        for wanted in std::mem::take(&mut plan.wanted) {
            let (step, model) = (&wanted.step, wanted.step.place(&wanted.model));
            let presets = self.presets.iter();
            let new = presets.filter(|it| step.needs_text(&wanted.model, it, &self.known));
            let texts = new.map(|preset| DroppedText {
                path: preset.text_in(model),
                outcome: Ok(true),
            });
            let texts = texts.collect();
            let is_replaced = matches!(wanted.step, BringStep::Bring(_, Brings::Changed));
            let old = match is_replaced && self.args.delete {
                true => mounted::item_id(&wanted.model).ok().flatten(),
                false => None,
            };
            let old = old.and_then(|id| OldVersion::of(&wanted.model, &id));
            let old = old.filter(|it| !plan.kept_versions.contains(&it.id));
            let outcome = match wanted.step {
                BringStep::Nothing => Ok(SyncOutcome::Unchanged),
                BringStep::Bring(_, Brings::New | Brings::Staged) => Ok(SyncOutcome::Added),
                BringStep::Bring(_, Brings::UnderWay) => Ok(SyncOutcome::Awaited),
                BringStep::Bring(_, Brings::Changed) => Ok(SyncOutcome::Replaced),
                BringStep::Rename(..) => Ok(SyncOutcome::Renamed),
                BringStep::OtherName => Ok(SyncOutcome::OtherName),
                BringStep::Fail(error) => Err(error),
            };
            report.note(BroughtModel {
                source: Some(wanted.source),
                model: wanted.model,
                outcome,
                old: None,
                texts,
            });
            deleted.extend(old.map(|old| old.path));
        }
        let rawmodels = self.drive.root().join("rawmodels");
        let extra = self.to_delete(&plan, report).iter();
        deleted.extend(extra.map(|extra| rawmodels.join(&extra.name)));
        match self.check_limit_of_drive(deleted.len()) {
            Ok(()) => {
                let models = deleted.into_iter().map(BroughtModel::deleted);
                models.for_each(|model| report.note(model));
            }
            Err(refused) => {
                let count = counted(deleted.len() as u64, "model");
                report.failed(
                    &rawmodels,
                    &refused.context(format!("{count} would not be deleted")),
                );
            }
        }
    }
}

/// Refuses what the drive was mounted not to do.
fn check_may_change(drive: &MountedDrive, status: &MountStatus, deletes: bool) -> Result<()> {
    if status.read_only {
        return Err(drive.explain(rustix::io::Errno::ROFS.into()));
    }
    if status.no_delete && deletes {
        bail!(
            "the drive at {} is mounted with --no-delete, so --delete is not possible; nothing was changed",
            shell_quoted(drive.root())
        );
    }
    Ok(())
}

impl Sync<'_> {
    fn drop_preset(&self, model: &Path, preset: &ModelPreset) -> DroppedText {
        let is_new = self.known.lacks(model, preset);
        let outcome = preset.drop_into(model).and_then(|path| {
            let report = mounted::item_report(&path).ok().flatten();
            match report.filter(|report| report.state == StatusWord::Failed) {
                Some(failed) => bail!("{}", failed.status),
                None => Ok(is_new),
            }
        });
        let outcome = outcome.with_context(|| format!("the preset {}", preset.label));
        let outcome = outcome.map_err(|error| self.drive.unless_ended(self.process, error));
        DroppedText {
            path: preset.text_in(model),
            outcome,
        }
    }
}
