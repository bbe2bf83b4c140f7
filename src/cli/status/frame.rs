//! The picture of `assetfs status --watch`: one line for each transfer, draft and job, as much as the terminal has room
//! for. Only text is made here.

use std::path::Path;

use super::super::table::{bytes, counted, cut_inside};
use crate::drive::{Direction, DraftStatus, FailureLine, MountStatus, StatusWord, TransferStatus};

/// Maximum number of lines for the reason of a failure.
const REASON_LINES: usize = 4;
const BAR_COLUMNS: usize = 14;
/// Fewer columns than any terminal has; lines would have room for nothing.
const MIN_WIDTH: usize = 20;

/// The lines to show. They fit into the columns and lines of the terminal.
pub(super) fn frame(
    root: &Path,
    status: &MountStatus,
    down: u64,
    (width, height): (usize, usize),
) -> Vec<String> {
    let width = width.max(MIN_WIDTH) - 1;
    let mut head = vec![format!("{}  {}", root.display(), status.account)];
    if !status.online {
        let reason = status.offline_because.as_deref();
        head.push(format!(
            "Offline: {}",
            reason.unwrap_or("the service cannot be reached")
        ));
    }
    let transfers = status.transfers.iter();
    let transfers = transfers.map(|it| vec![transfer_line(it, width)]);
    let failures = other_failures(status).map(|(word, line)| {
        let name = shortened(&line.path, width / 2);
        wrapped(&format!("! {name}  {word}: {}", line.why), width)
    });
    let waiting = waiting(status)
        .map(|(path, status)| vec![format!("· {}  {status}", shortened(path, width / 2))]);
    let mut room = height.saturating_sub(head.len() + 3).max(1);
    let mut hidden = 0;
    let mut lines = head;
    for mut item in transfers.chain(failures).chain(waiting) {
        if room == 0 {
            hidden += 1;
            continue;
        }
        shorten_lines(&mut item, room);
        room -= item.len();
        lines.extend(item);
    }
    if hidden > 0 {
        lines.push(format!("  … and {hidden} more"));
    }
    lines.push(summary(status, down));
    lines.into_iter().map(|line| cut(&line, width)).collect()
}

/// Failures and refusals that no draft and no job shows, each with its word.
pub(super) fn other_failures(
    status: &MountStatus,
) -> impl Iterator<Item = (&'static str, &FailureLine)> {
    let failed = status.other_failures().map(|line| ("failed", line));
    failed.chain(status.other_refusals().map(|line| ("refused", line)))
}

/// Breaks a text at spaces into lines of at most `columns` characters, and keeps the first [`REASON_LINES`] lines.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        if last.chars().count() + 1 + word.chars().count() <= columns || last.is_empty() {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        } else {
            lines.push(format!("    {word}"));
        }
    }
    shorten_lines(&mut lines, REASON_LINES);
    lines
}

/// Leaves at most `count` lines, which is not 0, and marks what was left out.
fn shorten_lines(lines: &mut Vec<String>, count: usize) {
    if lines.len() > count {
        lines.truncate(count);
        lines[count - 1].push_str(" …");
    }
}

/// Drafts that are not on their way, and jobs.
fn waiting(status: &MountStatus) -> impl Iterator<Item = (&str, &str)> {
    let drafts = drafts(status, false).chain(drafts(status, true));
    let drafts = drafts.map(|draft| (draft.path.as_str(), draft.status.as_str()));
    let jobs = status.jobs.iter();
    drafts.chain(jobs.map(|job| (job.path.as_str(), job.status.as_str())))
}

/// The drafts that are not on their way: those that failed, or the others.
fn drafts(status: &MountStatus, failed: bool) -> impl Iterator<Item = &DraftStatus> {
    let is_shown = |path: &str| status.transfers.iter().any(|it| it.path == path);
    let drafts = status.drafts.iter();
    let drafts = drafts.filter(move |draft| (draft.state == StatusWord::Failed) == failed);
    drafts.filter(move |draft| !is_shown(&draft.path))
}

fn transfer_line(transfer: &TransferStatus, width: usize) -> String {
    let (done, total) = (transfer.done_bytes, transfer.total_bytes.max(1));
    let done = done.min(total);
    let columns = TransferColumns::of(width);
    let name = shortened(&transfer.path, columns.name);
    let mut line = format!("{} {name:<1$}", arrow(transfer.direction), columns.name);
    if columns.bar {
        let filled = (done as f64 / total as f64 * BAR_COLUMNS as f64) as usize;
        let rest = "╌".repeat(BAR_COLUMNS - filled);
        line += &format!(" {}{rest}", "━".repeat(filled));
    }
    let percent = (done as f64 / total as f64 * 100.0) as u64;
    line += &format!(" {percent:>3}%");
    if columns.amount {
        let amount = format!("{} of {}", bytes(done), bytes(total));
        line += &format!(" {amount:>18}");
    }
    let rate = transfer.bytes_per_second.filter(|rate| *rate > 0);
    let rate = rate.map_or_else(String::new, |rate| format!("{}/s", bytes(rate)));
    line += &format!(" {rate:>9}");
    if columns.left {
        let left = match transfer.seconds_left {
            Some(left) if left >= 60 => format!("{} min", left.div_ceil(60)),
            Some(left) => format!("{left} s"),
            None => String::new(),
        };
        line += &format!(" {left:>6}");
    }
    line
}

/// What a line about a transfer has room for. Arrow, name, percentage and rate are always there.
struct TransferColumns {
    name: usize,
    bar: bool,
    amount: bool,
    left: bool,
}

impl TransferColumns {
    fn of(width: usize) -> TransferColumns {
        let (bar, left, amount) = (width >= 44, width >= 56, width >= 76);
        let taken = [
            (true, 2 + 5 + 10),
            (bar, 1 + BAR_COLUMNS),
            (amount, 19),
            (left, 7),
        ];
        let taken = taken.iter().filter(|(is_shown, _)| *is_shown);
        let taken: usize = taken.map(|(_, columns)| columns).sum();
        TransferColumns {
            name: width.saturating_sub(taken).max(1),
            bar,
            amount,
            left,
        }
    }
}

fn arrow(direction: Direction) -> char {
    match direction {
        Direction::Up => '↑',
        Direction::Down => '↓',
    }
}

fn summary(status: &MountStatus, down: u64) -> String {
    let of = |direction| {
        let transfers = status.transfers.iter();
        transfers.filter(move |it| it.direction == direction)
    };
    let up: u64 = of(Direction::Up).filter_map(|it| it.bytes_per_second).sum();
    // By the words of the states, in the order in which drafts and jobs are listed.
    let mut states = vec![
        (of(Direction::Up).count(), "uploading".to_owned()),
        (of(Direction::Down).count(), "downloading".to_owned()),
    ];
    let listed = drafts(status, false).chain(drafts(status, true));
    for draft in listed {
        let word = draft.state.as_str().replace('_', " ");
        match states.iter_mut().find(|(_, known)| *known == word) {
            Some((count, _)) => *count += 1,
            None => states.push((1, word)),
        }
    }
    let things = [
        (status.jobs.len(), "job"),
        (status.other_failures().count(), "failure"),
        (status.other_refusals().count(), "refusal"),
    ];
    let states = states.iter().filter(|(count, _)| *count > 0);
    let states = states.map(|(count, state)| format!("{count} {state}"));
    let things = things.iter().filter(|(count, _)| *count > 0);
    let things = things.map(|(count, thing)| counted(*count as u64, thing));
    let counts = states.chain(things).collect::<Vec<_>>().join(", ");
    let counts = if counts.is_empty() {
        "idle".to_owned()
    } else {
        counts
    };
    format!("↑ {}/s  ↓ {}/s  {counts}", bytes(up), bytes(down))
}

/// A path of the drive in a number of columns.
fn shortened(path: &str, columns: usize) -> String {
    let path = path.trim_start_matches('/');
    cut_inside(path.strip_prefix("rawmodels/").unwrap_or(path), columns)
}

fn cut(line: &str, columns: usize) -> String {
    match line.chars().count() > columns {
        true => format!("{}…", line.chars().take(columns - 1).collect::<String>()),
        false => line.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::JobStatusLine;

    fn ten_uploads() -> MountStatus {
        let upload = |number: u64| TransferStatus {
            path: format!("/rawmodels/a model with quite a long name {number}"),
            direction: Direction::Up,
            done_bytes: number * 123_456_789,
            total_bytes: 1_234_567_890,
            bytes_per_second: Some(12_345_678),
            seconds_left: Some(100 - number * 10),
            ..TransferStatus::default()
        };
        MountStatus {
            account: "studio at https://assets.example.com".into(),
            online: true,
            transfers: (0..10).map(upload).collect(),
            drafts: vec![DraftStatus {
                path: "/rawmodels/lamp".into(),
                state: StatusWord::Settling,
                status: "settling 2 s".into(),
                ..DraftStatus::default()
            }],
            jobs: vec![JobStatusLine {
                path: "/rawmodels/chair/optimize/web.json".into(),
                status: "running 40%".into(),
                ..JobStatusLine::default()
            }],
            ..MountStatus::default()
        }
    }

    #[test]
    fn ten_uploads_fit_into_80_columns_and_24_lines() {
        let frame = frame(
            Path::new("/home/me/assets"),
            &ten_uploads(),
            2_000_000,
            (80, 24),
        );
        for line in &frame {
            assert!(line.chars().count() < 80, "{line}");
        }
        assert_eq!(frame.len(), 1 + 10 + 2 + 1, "{frame:#?}");
        assert!(
            frame[5].starts_with("↑ a model wi…ong name 4 "),
            "{}",
            frame[5]
        );
        assert!(frame[5].contains("━━━━━╌╌╌╌╌╌╌╌╌  40%"), "{}", frame[5]);
        assert!(frame[11].contains("lamp  settling 2 s"), "{}", frame[11]);
        assert!(frame[5].ends_with(" 12 MB/s  1 min"), "{}", frame[5]);
        let summary = &frame[13];
        assert!(
            summary.contains("10 uploading, 1 settling, 1 job"),
            "{summary}"
        );
        assert!(summary.contains("↓ 2.0 MB/s"), "{summary}");
    }

    #[test]
    fn narrow_terminals_show_less_of_each_transfer_and_break_no_line() {
        for (width, shown) in [
            (70, "↑ a model with qu… a long name 4 "),
            (50, "↑ a model …g name 4 ━━━━━"),
            (30, "↑ a mode…ame 4  40%   12 MB/s"),
            (20, "↑ a…  40%   12 MB/s"),
        ] {
            let frame = frame(Path::new("/mnt"), &ten_uploads(), 0, (width, 24));
            assert!(frame[5].starts_with(shown), "{width}: {}", frame[5]);
            let longest = frame.iter().map(|line| line.chars().count()).max();
            assert!(longest < Some(width), "{frame:#?}");
        }
    }

    #[test]
    fn a_failure_is_named_with_all_of_its_reason() {
        let why = "sent as one model, of which only a.gltf is read; copy b.gltf in again, each in a folder of its own";
        let status = MountStatus {
            failures: vec![FailureLine {
                path: "/rawmodels/pair".into(),
                why: why.into(),
                at: None,
            }],
            ..MountStatus::default()
        };
        let frame = frame(Path::new("/mnt"), &status, 0, (60, 24));
        let shown = frame.join(" ");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!("! pair failed: {why}");
        assert!(shown.contains(&line), "{frame:#?}");
        assert!(shown.ends_with("1 failure"), "{frame:#?}");
        assert!(frame.iter().all(|line| line.chars().count() < 60));
    }

    #[test]
    fn failures_stand_before_what_waits_and_are_counted_once_each() {
        let failure = |number: u64| FailureLine {
            path: format!("/rawmodels/pair{number}"),
            why: "sent as one model, of which only a.gltf is read; copy b.gltf in again".into(),
            at: None,
        };
        let status = MountStatus {
            transfers: Vec::new(),
            failures: (0..3).map(failure).collect(),
            ..ten_uploads()
        };
        let frame = frame(Path::new("/mnt"), &status, 0, (60, 7));
        assert!(frame[1].starts_with("! pair0  failed: "), "{frame:#?}");
        assert!(frame[3].starts_with("! pair1  failed: "), "{frame:#?}");
        // A draft, a job and a failure.
        assert_eq!(frame[4], "  … and 3 more", "{frame:#?}");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let frame = frame(Path::new("/mnt"), &ten_uploads(), 0, (80, 10));
        assert!(frame.len() < 10, "{frame:#?}");
        assert!(
            frame[frame.len() - 2].contains("… and 6 more"),
            "{frame:#?}"
        );
    }
}
