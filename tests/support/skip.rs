//! Skipped tests. A test that cannot run reports its name. With `CI=true` this is a failure, unless `tests/skips.txt`
//! lists the missing program or file with a reason.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::print_stderr, reason = "what is skipped is said loudly")]

/// The programs and files that may be missing in CI: one a line, with the reason after a colon.
const LIST: &str = include_str!("../skips.txt");

/// Reports that the running test, or a part of it, is skipped because `what` is missing.
///
/// # Panics
/// In CI, if `what` is not on the list.
#[track_caller]
pub fn skipped(what: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    eprintln!("SKIPPED {test}: {what}");
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(
        !is_ci || is_listed(what),
        "SKIPPED {test}: {what}, which tests/skips.txt does not list, so this is a failure in CI"
    );
}

/// True if a program is in `PATH`; otherwise reports a skip.
#[track_caller]
pub fn has_program_or_skips(name: &str) -> bool {
    let is_here = has_program(name);
    if !is_here {
        skipped(&format!("{name} is not installed"));
    }
    is_here
}

/// True if a program is in `PATH`.
pub fn has_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}

fn is_listed(what: &str) -> bool {
    entries().any(|(listed, _)| listed == what)
}

fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIST.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(": ").unwrap_or((line, "")))
}

#[test]
fn every_skip_on_the_list_has_its_reason() {
    for (what, reason) in entries() {
        assert!(reason.len() > 10, "{what}: {reason:?} is no reason");
    }
}

#[test]
fn what_is_not_on_the_list_fails_in_ci() {
    assert!(is_listed("gltf-validator is not installed"));
    assert!(!is_listed("/dev/fuse cannot be opened"));
}
