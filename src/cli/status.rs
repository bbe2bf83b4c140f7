//! `assetfs status`: what a mount does at this moment.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::drive::MountStatus;

use super::Exit;
use super::mounted::MountedDrive;
use super::table::{bytes, grouped};

/// How often `--watch` draws.
const WATCH_PERIOD: Duration = Duration::from_millis(500);

/// Show drafts, transfers, jobs, cache and failures of a mounted drive
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs status ~/assets\n\
    Example: assetfs status --json | jq '.drafts[] | select(.stuck)'")]
pub(super) struct Args {
    /// A path in the drive; not needed where only one is mounted
    dir: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Draw again and again
    #[arg(long, conflicts_with = "json")]
    watch: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit> {
    let drive = MountedDrive::at_or_only(args.dir.as_deref())?;
    loop {
        let status = drive.status()?;
        if args.json {
            println!("{}", serde_json::to_string_pretty(&status)?);
        } else {
            let clear = if args.watch { "\x1b[H\x1b[2J" } else { "" };
            print!(
                "{clear}{}",
                describe(&drive.root().display().to_string(), &status)
            );
        }
        if !args.watch {
            return Ok(Exit::Done);
        }
        std::thread::sleep(WATCH_PERIOD);
    }
}

/// The status as a page of text.
fn describe(root: &str, status: &MountStatus) -> String {
    let mut page = format!("{root}  {}  (pid {})\n", status.account, status.pid);
    if !status.online {
        let because = status
            .offline_because
            .as_deref()
            .unwrap_or("the service cannot be reached");
        page.push_str(&format!(
            "Offline: {because}. What is cached can be read, drafts can be written.\n"
        ));
    }
    section(&mut page, "Drafts", &status.drafts, |draft| {
        format!(
            "{}  {}{}",
            draft.path,
            draft.status,
            bar(draft.sent_bytes, draft.total_bytes)
        )
    });
    section(&mut page, "Transfers", &status.transfers, |transfer| {
        let arrow = if transfer.direction == "up" {
            "↑"
        } else {
            "↓"
        };
        format!(
            "{arrow} {}{}",
            transfer.path,
            bar(transfer.done_bytes, transfer.total_bytes)
        )
    });
    section(&mut page, "Jobs", &status.jobs, |job| {
        format!("{}  {}", job.path, job.status)
    });
    section(
        &mut page,
        "Orphans (remove with `assetfs cancel --orphan ID`)",
        &status.orphans,
        |orphan| format!("{}  {}", orphan.id, orphan.name),
    );
    section(&mut page, "Failures", &status.failures, |failure| {
        format!("{}: {}", failure.path, failure.why)
    });
    page.push_str(&format!(
        "Cache: {} of {} in {} objects. Requests: {} could go out now, {} a minute.\n",
        bytes(status.cache.used_bytes),
        bytes(status.cache.limit_bytes),
        grouped(status.cache.objects),
        status.rate.available,
        status.rate.limit_per_minute,
    ));
    page
}

fn section<T>(page: &mut String, title: &str, rows: &[T], line: impl Fn(&T) -> String) {
    if !rows.is_empty() {
        page.push_str(&format!("{title}:\n"));
        for row in rows {
            page.push_str(&format!("  {}\n", line(row)));
        }
    }
}

/// A bar of twenty places, or nothing where there is nothing to move.
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
    use crate::drive::DraftStatus;

    #[test]
    fn a_draft_under_way_shows_its_bar_and_an_idle_mount_is_two_lines() {
        let mut status = MountStatus {
            online: true,
            ..MountStatus::default()
        };
        assert_eq!(describe("/mnt", &status).lines().count(), 2);
        status.drafts.push(DraftStatus {
            path: "rawmodels/chair".into(),
            status: "uploading 50%".into(),
            sent_bytes: 5,
            total_bytes: 10,
            ..DraftStatus::default()
        });
        let page = describe("/mnt", &status);
        assert!(
            page.contains("uploading 50%  ━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  5 B of 10 B"),
            "{page}"
        );
    }
}
