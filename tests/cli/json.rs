//! `--json` of every command: one shape, which `docs/schemas` describes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use super::json_schema::{check_lines, commands};
use super::support::{ASSETFS, Ran};

fn ran(dir: &Path, line: &str) -> Ran {
    let mut command = Command::new(ASSETFS);
    let home = |name: &str| dir.join(name);
    command
        .args(line.split(' ').filter(|word| !word.is_empty()))
        .arg("--json")
        .current_dir(dir)
        .env("HOME", dir)
        .env("XDG_STATE_HOME", home("state"))
        .env("XDG_CACHE_HOME", home("cache"))
        .env("XDG_DATA_HOME", home("data"))
        .env("XDG_CONFIG_HOME", home("config"))
        .env("ASSETFS_KEYRING", "off");
    Ran(command.output().unwrap())
}

#[test]
fn every_command_has_a_schema_and_reports_a_wrong_use_as_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let commands = commands(ASSETFS);
    assert!(commands.len() > 30, "{commands:?}");
    for command in commands {
        let ran = ran(dir.path(), &format!("{command} --no-such-option"));
        let lines = check_lines(&command, &ran.out());
        assert_eq!(lines.len(), 1, "{command}");
        assert_eq!(lines[0]["exit"], 2, "{command}");
        assert_eq!(ran.code(), 2, "{command}");
        let reason = lines[0]["reason"].as_str().unwrap();
        assert!(reason.contains("no-such-option"), "{command}: {reason}");
        assert!(ran.err().contains(reason), "{command}: {}", ran.err());
    }
}

#[test]
fn a_path_that_is_not_utf8_is_a_line_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsStr::from_bytes(b"lat\xe9"));
    let shown = path.to_string_lossy();
    let commands =
        "wait why commit cancel retry run embed rm pin unpin tag scale convert replace unmount";
    for command in commands.split(' ') {
        let mut asked = Command::new(ASSETFS);
        asked.args([command, "--json"]).arg(&path);
        match command {
            "run" => drop(asked.args(["--preset", "Web Viewer"])),
            "tag" => drop(asked.arg("+oak")),
            "scale" => drop(asked.arg("2")),
            "convert" => drop(asked.args(["--to", "glb"])),
            "replace" => drop(asked.arg(&path)),
            _ => {}
        }
        let ran = Ran(asked.env("HOME", dir.path()).output().unwrap());
        let lines = check_lines(command, &ran.out());
        assert_eq!(lines.len(), 1, "{command}: {}", ran.err());
        assert!(
            ran.code() == 1 || ran.code() == 2,
            "{command}: {}",
            ran.err()
        );
        if let Some(path) = lines[0]["path"].as_str() {
            assert_eq!(path, shown, "{command}");
        }
    }
}

#[test]
fn the_exit_code_is_the_same_for_the_same_cause() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file.glb"), "no model").unwrap();
    for (command, line, code) in [
        // A source on this machine that does not exist.
        ("optimize", "optimize none out -p 3d-print", 2),
        ("watch", "watch none --out done -p 3d-print", 2),
        ("build", "build none.toml", 2),
        ("thumbnail", "thumbnail none.glb out.png", 2),
        // A value that cannot work.
        ("scale", "scale chair x", 2),
        ("scale", "scale chair 0", 2),
        ("scale", "scale chair -1", 2),
        ("wait", "wait --timeout soon", 2),
        ("status", "status --watch", 2),
        // A path that is in no drive.
        ("why", "why file.glb", 1),
        ("wait", "wait file.glb", 1),
        ("commit", "commit file.glb", 1),
        ("rm", "rm file.glb", 1),
        ("pin", "pin file.glb", 1),
        ("convert", "convert file.glb obj", 1),
        ("page", "page", 1),
    ] {
        let ran = ran(dir.path(), line);
        assert_eq!(ran.code(), code, "{line}: {}", ran.err());
        let lines = check_lines(command, &ran.out());
        let last = lines.last().unwrap();
        assert_eq!(last["exit"], code, "{line}: {last}");
        assert!(
            last["reason"].as_str().is_some_and(|why| !why.is_empty()),
            "{line}"
        );
    }
}

#[test]
fn what_needs_no_drive_prints_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    for (command, line, least) in [
        ("preset", "preset list --local", 11),
        ("optimize", "optimize --list-presets", 11),
        ("whoami", "whoami --local", 1),
        ("token", "token list --local", 1),
        ("token", "token create mine --local", 1),
        ("webhook", "webhook list --local", 0),
        ("recover", "recover", 0),
        ("doctor", "doctor", 8),
        ("man", "man", 1),
        ("completions", "completions zsh", 1),
        ("logout", "logout --local", 1),
    ] {
        let ran = ran(dir.path(), line);
        let lines = check_lines(command, &ran.out());
        assert!(lines.len() >= least, "{line}: {lines:?}{}", ran.err());
        if line == "token create mine --local" {
            let token = lines[0]["token"].as_str().unwrap();
            assert!(token.contains('|') && !ran.err().contains(token));
        }
    }
}

#[test]
fn presets_are_listed_with_what_they_do() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(ASSETFS);
    command
        .args(["preset", "list", "--local"])
        .env("XDG_DATA_HOME", dir.path());
    let ran = Ran(command.output().unwrap());
    let text = ran.out();
    let head = text.lines().next().unwrap();
    assert!(
        head.starts_with("name") && head.ends_with("description"),
        "{text}"
    );
    let line = text
        .lines()
        .find(|line| line.starts_with("Web Viewer Light "))
        .unwrap();
    assert!(
        line.contains("  2  factory  For pages with many models"),
        "{line}"
    );
}
