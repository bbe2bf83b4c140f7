//! Standard output and standard error that cannot be written to.

use std::fs::File;
use std::process::{Command, Stdio};

use super::support::{ASSETFS, Ran};

fn ran(line: &str, stdout: impl Into<Stdio>) -> Ran {
    let mut command = Command::new(ASSETFS);
    command
        .args(line.split(' '))
        .env("ASSETFS_KEYRING", "off")
        .stdout(stdout)
        .stderr(Stdio::piped());
    Ran(command.spawn().unwrap().wait_with_output().unwrap())
}

const LINES: [&str; 4] = [
    "doctor --json",
    "optimize --list-presets",
    "man",
    "completions bash",
];

#[test]
fn a_reader_that_ends_early_is_no_error() {
    for line in LINES {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = ran(line, writer);
        assert_eq!((ran.code(), ran.err().as_str()), (0, ""), "{line}");
    }
}

#[test]
fn a_reader_of_standard_error_that_ends_early_changes_no_exit_code() {
    for (line, code) in [
        ("optimize missing.glb out --preset web.json", 2),
        ("why /nowhere", 1),
        ("status --no-such-option", 2),
        ("doctor --json", 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(ASSETFS);
        command
            .args(line.split(' '))
            .env("ASSETFS_KEYRING", "off")
            .env("ASSETFS_LOG", "trace")
            .stdout(Stdio::null())
            .stderr(writer);
        assert_eq!(command.status().unwrap().code(), Some(code), "{line}");
    }
}

#[test]
fn a_full_disk_is_an_error_with_a_sentence() {
    for line in LINES {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran = ran(line, full);
        let said = ran.err();
        assert_eq!(ran.code(), 1, "{line}: {said}");
        assert!(
            said.starts_with("assetfs: cannot write to standard output: No space left"),
            "{line}: {said}"
        );
    }
}
