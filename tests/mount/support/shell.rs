//! Functions that run programs and wait for conditions.

use std::borrow::BorrowMut;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::ASSETFS;

/// The longest time before a test counts something as hanging.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a command that must succeed; returns its standard output.
pub fn run(mut command: impl BorrowMut<Command>) -> String {
    let command = command.borrow_mut();
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}: {}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs a command that must end with an exit code; returns its standard error.
pub fn fails(mut command: impl BorrowMut<Command>, code: i32) -> String {
    let output = command.borrow_mut().output().expect("it runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// A command of assetfs, such as `commit --force`, with a path.
pub fn assetfs(words: &str, path: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(ASSETFS);
    command.args(words.split(' ')).arg(path);
    command
}

/// Runs a line of shell in a folder.
pub fn shell(dir: &Path, line: &str) -> String {
    run(Command::new("bash").args(["-euc", line]).current_dir(dir))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for a condition; panics after a time limit.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
