//! `assetfs status`: the current activity of a mount.

mod frame;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::Result;
use assetfs_formats::printable::printable_lines;
use serde_json::{Value, json};

use crate::cache::SharedCacheStats;
use crate::drive::{Direction, FailureLine, MountStatus, StatusWord, TransferStatus};
use crate::fuse::shell_quoted;

use super::cache::keeps_nothing_new;
use super::exit::{Exit, WrongUse};
use super::mounted::{MountedDrive, check_exists};
use super::output;
use super::result_warnings::{self, RecentWarnings};
use super::table::{bytes, counted};

/// Show drafts, transfers, jobs, cache and failures of a mounted drive
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs status ~/assets\n\
    Example: assetfs status --watch\n\
    Example: assetfs status --json | jq '.drafts[] | select(.stuck)'")]
pub(super) struct StatusArgs {
    /// A path in the drive; not needed if only one is mounted
    dir: Option<PathBuf>,
    /// Show what is going on until Ctrl-C: bars of uploads and downloads, rates and the queue; without a terminal a line
    /// for each change
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<Exit> {
    if args.watch && output::is_json() {
        let text = "--watch is for people; `assetfs events` prints changes as JSON";
        return Err(WrongUse(text.to_owned()).into());
    }
    output::about(args.dir.as_deref(), show(args))
}

fn show(args: &StatusArgs) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.dir.as_deref(), "status")?;
    if let Some(path) = &args.dir {
        check_exists(path)?;
    }
    if args.watch {
        return watch::run(&drive);
    }
    let status = drive.status()?;
    let warnings = result_warnings::of_recent_jobs(drive.root(), &status);
    if output::is_json() {
        output::line(json_of(&status, &warnings)?);
    } else {
        print!("{}", printable_lines(&describe(drive.root(), &status)));
        for warning in &warnings.found {
            println!("{}: {}", shell_quoted(&warning.path), warning.line);
        }
        if let Some(line) = result_warnings::not_read_line(drive.root(), warnings.not_read) {
            println!("{line}");
        }
    }
    Ok(Exit::Done)
}

/// The status for programs, without `schema`, which every line of output gets. What failed has its `reason` by the name that all commands use.
fn json_of(status: &MountStatus, warnings: &RecentWarnings) -> Result<Value> {
    let mut value = serde_json::to_value(status)?;
    value.as_object_mut().map(|fields| fields.remove("schema"));
    for list in ["failures", "refused"] {
        for failure in value[list].as_array_mut().into_iter().flatten() {
            let reason = failure["why"].clone();
            failure["reason"] = reason;
        }
    }
    let found = warnings
        .found
        .iter()
        .map(|it| json!({ "path": it.path.to_string_lossy(), "reason": it.line, "warning_codes": it.codes }));
    value["warnings"] = found.collect();
    value["warnings_not_read"] = warnings.not_read.into();
    Ok(value)
}

/// The status as a page of text.
fn describe(root: &Path, status: &MountStatus) -> String {
    let mut page = format!(
        "{}  {}  (pid {})\n",
        shell_quoted(root),
        status.account,
        status.pid
    );
    if !status.online {
        let because = status
            .offline_because
            .as_deref()
            .unwrap_or("the service cannot be reached");
        page.push_str(&format!(
            "Offline: {because}. Cached files can be read, and drafts can be written.\n"
        ));
    }
    add_work(&mut page, root, status);
    add_left_over(&mut page, status);
    add_failures(&mut page, root, status);
    page.push_str(&cache_and_requests(status));
    if let Some(sentence) = keeps_nothing_new(&status.cache) {
        page.push_str(&format!("{sentence}\n"));
    }
    page
}

/// What is going on.
fn add_work(page: &mut String, root: &Path, status: &MountStatus) {
    let absolute = |path: &str| path_below(root, path);
    let (failed, drafts): (Vec<_>, Vec<_>) =
        (status.drafts.iter()).partition(|draft| draft.state == StatusWord::Failed);
    let (importing, drafts): (Vec<_>, Vec<_>) =
        (drafts.into_iter()).partition(|draft| draft.state == StatusWord::Importing);
    section(page, "Failed models", &failed, |draft| {
        format!("{}  {}", absolute(&draft.path), draft.status)
    });
    if status.failed_elsewhere > 0 {
        page.push_str(&format!(
            "\nFailed elsewhere: {}; `assetfs list` names them\n",
            counted(status.failed_elsewhere, "model")
        ));
    }
    section(page, "Drafts", &drafts, |draft| {
        format!(
            "{}  {}{}",
            absolute(&draft.path),
            draft.status,
            bar(draft.sent_bytes, draft.total_bytes)
        )
    });
    section(page, "Importing", &importing, |draft| {
        format!("{}  {}", absolute(&draft.path), draft.status)
    });
    section(page, "Transfers", &status.transfers, |transfer| {
        transfer_lines(root, transfer)
    });
    if status.stale_results > 0 {
        page.push_str(&format!(
            "\nStale: {}; `assetfs run --stale` makes them again\n",
            counted(status.stale_results, "result")
        ));
    }
    section(page, "Jobs", &status.jobs, |job| {
        format!("{}  {}", absolute(&job.path), job.status)
    });
}

/// What is left of earlier uploads and mounts.
fn add_left_over(page: &mut String, status: &MountStatus) {
    section(
        page,
        "Orphans (remove with `assetfs cancel --orphan ID`)",
        &status.orphans,
        |orphan| match &orphan.not_deleted_because {
            None => format!("{}  {}", orphan.id, orphan.name),
            Some(why) => format!(
                "{}  {}: its draft was changed or removed; deleting it is tried again by itself ({why})",
                orphan.id, orphan.name
            ),
        },
    );
    section(
        page,
        "Recovered files (take back with `assetfs recover`)",
        &status.recovered,
        |found| {
            format!(
                "{}  {}, {}: {}",
                found.folder,
                counted(found.files, "file"),
                bytes(found.bytes),
                found.reason
            )
        },
    );
    section(
        page,
        "Drafts of other accounts, or of this one under another address (mount it to send them)",
        &status.unsent_elsewhere,
        |folder| shell_quoted(Path::new(folder)),
    );
}

fn add_failures(page: &mut String, root: &Path, status: &MountStatus) {
    let line = |failure: &FailureLine| {
        let at = failure.at.as_deref().map(to_the_second);
        format!(
            "{}  {}: {}",
            at.unwrap_or_default(),
            path_below(root, &failure.path),
            failure.why
        )
    };
    let failures: Vec<_> = status.other_failures().collect();
    section(page, "Failures", &failures, |failure| line(failure));
    let refused: Vec<_> = status.other_refusals().collect();
    let title = "Refused (nothing is lost; repeat it as the line says)";
    section(page, title, &refused, |refusal| line(refusal));
}

/// A transfer, followed by its files in flight.
fn transfer_lines(root: &Path, transfer: &TransferStatus) -> String {
    let arrow = match transfer.direction {
        Direction::Up => "↑",
        Direction::Down => "↓",
    };
    let mut lines = format!(
        "{arrow} {}{}{}",
        path_below(root, &transfer.path),
        bar(transfer.done_bytes, transfer.total_bytes),
        pace(transfer)
    );
    for file in &transfer.files {
        let bar = bar(file.done_bytes, file.total_bytes);
        lines.push_str(&format!("\n      {}{bar}", file.name));
    }
    lines
}

fn cache_and_requests(status: &MountStatus) -> String {
    format!(
        "Cache: {} of {} in {}. Requests: {} available now, {} a minute.\n",
        bytes(status.cache.used_bytes),
        bytes(status.cache.limit_bytes),
        counted(status.cache.objects, "object"),
        status.rate.available,
        status.rate.limit_per_minute,
    ) + &pause(status)
        + &status
            .shared_cache
            .as_ref()
            .map_or_else(String::new, shared_cache)
}

/// The pause that the service asked for.
fn pause(status: &MountStatus) -> String {
    match status.rate.paused_secs {
        0 => String::new(),
        left => format!(
            "Nothing is requested for {left} s more: the service had too many requests and asked for it.\n"
        ),
    }
}

fn shared_cache(stats: &SharedCacheStats) -> String {
    let mut line = format!(
        "Shared cache {}: {} read, {} written.",
        stats.place,
        bytes(stats.hit_bytes),
        bytes(stats.stored_bytes),
    );
    if let Some(left_alone) = &stats.left_alone {
        line.push_str(&format!(
            " It cannot be {}: {}. It is tried again in {} s.",
            if left_alone.is_read {
                "written"
            } else {
                "used"
            },
            left_alone.why,
            left_alone.seconds_left,
        ));
    }
    line + "\n"
}

/// A time in readable form: `2024-05-06 07:08:09 UTC`.
fn to_the_second(at: &str) -> String {
    let text = at.get(..19).unwrap_or(at).replace('T', " ");
    format!("{text} UTC")
}

/// The full path of a path relative to the drive, quoted for a shell.
pub(super) fn path_below(root: &Path, path: &str) -> String {
    shell_quoted(&root.join(path.trim_start_matches('/')))
}

fn section<T>(page: &mut String, title: &str, rows: &[T], line: impl Fn(&T) -> String) {
    if !rows.is_empty() {
        page.push_str(&format!("{title}:\n"));
        for row in rows {
            page.push_str(&format!("  {}\n", line(row)));
        }
    }
}

/// Number of files, speed and remaining time.
pub(super) fn pace(transfer: &TransferStatus) -> String {
    let mut text = String::new();
    if transfer.total_files > 1 {
        let (done, total) = (transfer.done_files, transfer.total_files);
        text.push_str(&format!(", {done} of {total} files"));
    }
    if let Some(rate) = transfer.bytes_per_second {
        text.push_str(&format!(", {}/s", bytes(rate)));
    }
    match transfer.seconds_left {
        Some(left) if left >= 60 => text.push_str(&format!(", {} min left", left.div_ceil(60))),
        Some(left) => text.push_str(&format!(", {left} s left")),
        None => {}
    }
    text
}

/// A progress bar of 20 characters, or nothing if there is nothing to transfer.
fn bar(done: u64, total: u64) -> String {
    if total == 0 || done == 0 {
        return String::new();
    }
    let filled = usize::try_from((done * 20 / total).min(20)).unwrap_or(20);
    format!(
        "  {}{}  {} of {}",
        "━".repeat(filled),
        "╌".repeat(20 - filled),
        bytes(done),
        bytes(total)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::DiskShortage;
    use crate::drive::{DraftStatus, FileTransferStatus};

    #[test]
    fn a_transfer_tells_its_files_its_speed_and_its_end() {
        let status = MountStatus {
            transfers: vec![TransferStatus {
                path: "rawmodels/chair".into(),
                direction: Direction::Up,
                done_bytes: 5_000_000,
                total_bytes: 10_000_000,
                done_files: 3,
                total_files: 9,
                bytes_per_second: Some(1_000_000),
                seconds_left: Some(5),
                files: vec![FileTransferStatus {
                    name: "wood.png".into(),
                    done_bytes: 1,
                    total_bytes: 2,
                }],
            }],
            ..MountStatus::default()
        };
        let page = describe(Path::new("/mnt"), &status);
        for told in ["3 of 9 files", "/s, 5 s left", "wood.png  ━━━━━━━━━━╌"]
        {
            assert!(page.contains(told), "{told}: {page}");
        }
        let slow = TransferStatus {
            seconds_left: Some(61),
            ..TransferStatus::default()
        };
        assert_eq!(pace(&slow), ", 2 min left");
    }

    #[test]
    fn a_cache_that_keeps_nothing_new_says_why_and_what_to_do() {
        let mut status = MountStatus::default();
        assert!(!describe(Path::new("/mnt"), &status).contains("nothing new"));
        status.cache.is_taken_up = true;
        assert!(describe(Path::new("/mnt"), &status).contains("--cache-size"));
        status.cache.disk_shortage = Some(DiskShortage {
            free_bytes: 1_200_000_000,
            keep_free_bytes: 13_000_000_000,
        });
        let page = describe(Path::new("/mnt"), &status);
        for told in ["1.2 GB", "13 GB stay free", "--cache-dir"] {
            assert!(page.contains(told), "{told}: {page}");
        }
    }

    #[test]
    fn a_model_whose_import_failed_is_no_draft_and_has_no_bar() {
        let mut status = MountStatus::default();
        status.drafts.push(DraftStatus {
            path: "rawmodels/fan".into(),
            state: StatusWord::Failed,
            status: "failed: no faces".into(),
            sent_bytes: 10,
            total_bytes: 10,
            ..DraftStatus::default()
        });
        let page = describe(Path::new("/mnt"), &status);
        assert!(
            page.contains("Failed models:\n  /mnt/rawmodels/fan  failed: no faces\n"),
            "{page}"
        );
        assert!(!page.contains("Drafts:") && !page.contains('━'), "{page}");
    }

    #[test]
    fn a_model_that_is_imported_is_no_draft_and_has_no_bar() {
        let mut status = MountStatus::default();
        status.drafts.push(DraftStatus {
            path: "rawmodels/fan".into(),
            state: StatusWord::Importing,
            status: "importing".into(),
            sent_bytes: 10,
            total_bytes: 10,
            ..DraftStatus::default()
        });
        let page = describe(Path::new("/mnt"), &status);
        let section = "Importing:\n  /mnt/rawmodels/fan  importing\n";
        assert!(page.contains(section), "{page}");
        assert!(!page.contains("Drafts:") && !page.contains('━'), "{page}");
    }

    #[test]
    fn a_refused_command_is_listed_beside_the_draft_that_says_the_same() {
        let mut status = MountStatus::default();
        let why = "fan.obj is not a complete model by itself";
        status.drafts.push(DraftStatus {
            path: "/rawmodels/fan.obj".into(),
            state: StatusWord::NeedsFolder,
            status: format!("needs folder: {why}"),
            ..DraftStatus::default()
        });
        status.refused.push(FailureLine {
            path: "/rawmodels/fan.obj".into(),
            why: why.into(),
            at: None,
        });
        let page = describe(Path::new("/mnt"), &status);
        assert!(
            page.contains("Refused") && page.matches(why).count() == 2,
            "{page}"
        );
    }

    #[test]
    fn a_draft_under_way_shows_its_bar_and_an_idle_mount_is_two_lines() {
        let mut status = MountStatus {
            online: true,
            ..MountStatus::default()
        };
        assert_eq!(describe(Path::new("/mnt"), &status).lines().count(), 2);
        status.drafts.push(DraftStatus {
            path: "rawmodels/chair".into(),
            status: "uploading 50%".into(),
            sent_bytes: 5,
            total_bytes: 10,
            ..DraftStatus::default()
        });
        let page = describe(Path::new("/mnt"), &status);
        assert!(
            page.contains("uploading 50%  ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  5 B of 10 B"),
            "{page}"
        );
    }
}
