//! `assetfs check`: checks that everything in a local folder is in the drive with the same content.
//!
//! Sizes are compared first. If the storage reports the MD5 of a file, it is compared with that of the local file and
//! nothing is fetched. Otherwise the bytes are compared. Nothing is changed on either side.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use super::completers;
use super::exit::{Exit, WrongUse};
use super::files::{self, FileBelow, at, percent, read_from_drive};
use super::mounted::{self, MountedDrive, check_exists};
use super::output;
use super::progress::{Progress, Task};
use super::table::{bytes, counted, grouped};
use crate::fuse::shell_quoted;
use crate::given_files;

/// Compare a local folder with its copy in the drive
///
/// Exits with 1 if something is missing or differs. Files that are only in the drive are ignored.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs check ~/models/chair ~/assets/rawmodels/chair")]
pub(super) struct CheckArgs {
    /// The folder or file that was copied in
    local: PathBuf,
    /// The copy of that file or folder on the drive
    #[arg(add = ArgValueCompleter::new(completers::models))]
    drive: PathBuf,
    /// Compare only sizes
    #[arg(long)]
    size_only: bool,
    /// Read both sides even if the storage reports checksums
    #[arg(long, conflicts_with = "size_only")]
    bytes: bool,
}

/// The line of `--json`.
#[derive(Serialize)]
struct CheckLine<'a> {
    path: &'a Path,
    #[serde(flatten)]
    report: &'a CheckReport,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    exit: u8,
}

/// The result of the comparison.
#[derive(Debug, Default, Serialize)]
struct CheckReport {
    files: u64,
    bytes: u64,
    /// Compared by the MD5 that the storage reports.
    by_md5: u64,
    /// Compared byte by byte.
    by_bytes: u64,
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize, PartialEq)]
struct Difference {
    path: String,
    what: DifferenceKind,
}

#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum DifferenceKind {
    Missing,
    Size { local: u64, drive: u64 },
    Content,
    Unreadable { reason: String },
}

pub(super) fn run(args: &CheckArgs) -> Result<Exit> {
    MountedDrive::of(&args.drive)?;
    check_exists(&args.drive)?;
    if !args.local.exists() {
        let path = shell_quoted(&args.local);
        return Err(WrongUse(format!("{path} does not exist")).into());
    }
    let list = files::below(&args.local)?;
    let mut check = Check {
        args,
        total: list.iter().map(|file| file.len).sum(),
        done: 0,
        task: Progress::new(output::is_json()).task("comparing"),
        report: CheckReport::default(),
    };
    for file in &list {
        check.compare(file)?;
    }
    let Check { task, report, .. } = check;
    let differ = format!("{} differ", grouped(report.differences.len() as u64));
    task.finish(&format!(
        "{}, {}: {differ}",
        counted(report.files, "file"),
        bytes(report.bytes),
    ));
    let (exit, reason) = match report.differences.is_empty() {
        true => (Exit::Done, None),
        false => (Exit::Failed, Some(differ)),
    };
    if output::is_json() {
        output::line(CheckLine {
            path: &args.drive,
            report: &report,
            state: output::state_after(exit),
            reason,
            exit: exit.code(),
        });
    } else {
        for it in &report.differences {
            println!("{}: {}", it.path, it.what.sentence());
        }
    }
    Ok(exit)
}

struct Check<'a> {
    args: &'a CheckArgs,
    total: u64,
    done: u64,
    task: Task,
    report: CheckReport,
}

impl Check<'_> {
    fn compare(&mut self, file: &FileBelow) -> Result<()> {
        let end = self.done + file.len;
        let local = at(&self.args.local, file);
        let drive = counterpart(&local, at(&self.args.drive, file));
        let found = self.difference(file, &local, &drive)?;
        self.report.files += 1;
        self.report.bytes += file.len;
        if let Some(what) = found {
            self.report.differences.push(Difference {
                path: local.display().to_string(),
                what,
            });
        }
        self.done = end;
        self.show(0);
        Ok(())
    }

    /// A local error ends the comparison; an error of the drive is a difference.
    fn difference(
        &mut self,
        file: &FileBelow,
        local: &Path,
        drive: &Path,
    ) -> Result<Option<DifferenceKind>> {
        let len = match std::fs::metadata(drive) {
            Ok(status) => status.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Some(DifferenceKind::Missing));
            }
            Err(error) => return Ok(Some(unreadable(&error.into()))),
        };
        if len != file.len {
            return Ok(Some(DifferenceKind::Size {
                local: file.len,
                drive: len,
            }));
        }
        if self.args.size_only {
            return Ok(None);
        }
        let same = match mounted::told_md5(drive).filter(|_| !self.args.bytes) {
            Some(told) => {
                self.report.by_md5 += 1;
                files::md5_of(local, |seen| self.show(seen))? == told
            }
            None => {
                self.report.by_bytes += 1;
                match self.has_same_bytes(local, drive)? {
                    Ok(same) => same,
                    Err(error) => return Ok(Some(unreadable(&error))),
                }
            }
        };
        Ok((!same).then_some(DifferenceKind::Content))
    }

    /// The outer error is of the local file, the inner one of the drive.
    fn has_same_bytes(&mut self, local: &Path, drive: &Path) -> Result<Result<bool>> {
        let mut here = given_files::open(local).with_context(|| local.display().to_string())?;
        let mut expected = Vec::new();
        let (mut same, mut seen, mut failed) = (true, 0, None);
        let read = read_from_drive(drive, |part| {
            expected.resize(part.len(), 0);
            match here.read_exact(&mut expected) {
                Ok(()) => same = expected == part,
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => same = false,
                Err(error) => failed = Some(error),
            }
            seen += part.len() as u64;
            self.show(seen);
            same && failed.is_none()
        });
        if let Some(error) = failed {
            return Err(error).with_context(|| local.display().to_string());
        }
        Ok(read.map(|()| same))
    }

    fn show(&mut self, of_this: u64) {
        let percent = percent(self.done + of_this, self.total);
        self.task.show(&format!("{percent}%"));
    }
}

/// The file of the drive that a local one is compared with. A model of one file is a folder in the drive, also where it was
/// sent as a loose file.
fn counterpart(local: &Path, drive: PathBuf) -> PathBuf {
    let Some(name) = local.file_name() else {
        return drive;
    };
    if drive.is_dir() {
        return drive.join(name);
    }
    let in_folder = drive.with_extension("").join(name);
    match !drive.exists() && in_folder.is_file() {
        true => in_folder,
        false => drive,
    }
}

impl DifferenceKind {
    fn sentence(&self) -> String {
        match self {
            DifferenceKind::Missing => "is not in the drive".to_owned(),
            DifferenceKind::Size { local, drive } => {
                format!(
                    "has {} here and {} in the drive",
                    counted(*local, "byte"),
                    grouped(*drive)
                )
            }
            DifferenceKind::Content => "has the same size but other bytes in the drive".to_owned(),
            DifferenceKind::Unreadable { reason } => {
                format!("cannot be read from the drive: {reason}")
            }
        }
    }
}

fn unreadable(error: &anyhow::Error) -> DifferenceKind {
    DifferenceKind::Unreadable {
        reason: super::exit::sentence(error),
    }
}
