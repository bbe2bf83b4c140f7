//! `assetfs status --watch` on a terminal and without one, while ten models are uploaded slowly.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::needs_fuse;
use crate::square_glb::changed_glb;
use crate::support::{ASSETFS, Fixture, assetfs, fails, run, shell, text, wait_until};

const COLUMNS: usize = 80;

/// A drive that sends ten models of 300 kB each at 64 kB a second.
fn ten_slow_uploads() -> Fixture {
    let fixture = Fixture::with(&[], &["--limit-up", "64K"]);
    for number in 0..10 {
        let padding = format!("{number}").repeat(300_000);
        let model = changed_glb(|json| json["asset"]["extras"] = padding.into());
        fs::write(
            fixture.path(&format!("rawmodels/model-{number}.glb")),
            model,
        )
        .unwrap();
    }
    wait_until("an upload is under way", || {
        let status = fixture.status();
        let transfers = status["transfers"].as_array().unwrap();
        transfers
            .iter()
            .any(|it| it["done_bytes"].as_u64() > Some(0))
    });
    fixture
}

/// The text of a recording of a terminal, split at what moves the cursor.
fn lines_of(recording: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = recording.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                // A sequence ends with a letter.
                rest.by_ref().find(char::is_ascii_alphabetic);
                plain.push('\n');
            }
            '\r' => plain.push('\n'),
            character => plain.push(character),
        }
    }
    // `script` writes a line before and after. A row that is filled up goes on in the next without a line break.
    let lines = plain.lines().filter(|line| !line.starts_with("Script "));
    let mut rows = Vec::new();
    for line in lines {
        let line: Vec<char> = line.chars().collect();
        let parts = line.chunks(COLUMNS).map(|row| row.iter().collect());
        rows.extend(parts.map(|row: String| row.trim_end().to_owned()));
    }
    rows
}

#[test]
fn on_a_terminal_the_picture_is_redrawn_in_place_at_80_columns() {
    needs_fuse!();
    let fixture = ten_slow_uploads();
    // Ctrl-C after five seconds; `script` gives the command a terminal.
    let watch = format!(
        "stty cols {COLUMNS} rows 24; timeout --foreground --preserve-status -s INT 5 {ASSETFS} status --watch mnt"
    );
    let line = format!("script -eqfc '{watch}' recording < /dev/null > /dev/null");
    shell(fixture.scratch.path(), &line);
    let recording = fs::read(fixture.scratch.path().join("recording")).unwrap();
    let recording = text(&recording);
    assert!(recording.contains("\u{1b}["), "the cursor is moved");
    assert!(
        !recording.contains("\u{1b}[2J"),
        "the screen is not cleared"
    );
    let lines = lines_of(&recording);
    let bars: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("↑ model-"))
        .collect();
    assert!(bars.len() > 3, "{lines:#?}");
    assert!(bars.iter().any(|line| line.contains('%')), "{bars:#?}");
    assert!(
        lines.iter().any(|line| line.contains("uploading")),
        "{lines:#?}"
    );
    let is_row = |line: &&String| {
        let starts = ["/", "↑ ", "↓ ", "· ", "  … and "];
        line.is_empty() || starts.iter().any(|start| line.starts_with(start))
    };
    let other = lines.iter().find(|line| !is_row(line));
    assert_eq!(other, None, "a row was broken: {lines:#?}");
    if std::env::var_os("SHOW_WATCH").is_some() {
        eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
    }
}

#[test]
fn a_watched_drive_names_what_failed_and_says_when_it_is_unmounted() {
    needs_fuse!();
    let fixture = Fixture::new();
    let mut copy = Command::new("cp");
    copy.arg("/etc/hostname")
        .arg(fixture.path("presets/web.json"));
    fails(copy, 1);
    let mut watch = Command::new(ASSETFS)
        .args(["status", "--watch"])
        .arg(fixture.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = told.next().unwrap().unwrap();
    let path = fixture.path("presets/web.json").display().to_string();
    assert!(first.starts_with(&format!("{path}: refused: ")), "{first}");
    assert!(first.contains("is not JSON"), "{first}");
    run(assetfs("unmount", fixture.root()));
    let last = told.last().unwrap().unwrap();
    let root = fixture.root().display().to_string();
    assert_eq!(last, format!("{root} was unmounted"));
    let ended = watch.wait_with_output().unwrap();
    assert!(
        ended.status.success() && ended.stderr.is_empty(),
        "{}",
        text(&ended.stderr)
    );
}

#[test]
fn without_a_terminal_each_change_is_a_line_and_ctrl_c_ends_it() {
    needs_fuse!();
    let fixture = ten_slow_uploads();
    let watch = Command::new("timeout")
        .args([
            "--preserve-status",
            "-s",
            "INT",
            "5",
            ASSETFS,
            "status",
            "--watch",
            "mnt",
        ])
        .current_dir(fixture.scratch.path())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let told = text(&watch.stdout);
    assert!(watch.status.success(), "{}: {told}", watch.status);
    assert!(!told.contains('\u{1b}'), "{told}");
    assert!(told.contains("/rawmodels/model-"), "{told}");
    let lines: Vec<_> = told.lines().collect();
    let repeated = lines.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(repeated, None, "{told}");
}
