//! One upload in the logs of everything that worked on it.

use crate::needs_fuse;
use crate::support::Fixture;

/// The trace in the last line of a log that contains all these words.
fn trace(log: &str, words: &[&str]) -> String {
    let line = log
        .lines()
        .rfind(|line| words.iter().all(|word| line.contains(word)))
        .unwrap_or_else(|| panic!("no line with {words:?} in {log}"));
    let id = line.split("trace=").nth(1).expect("a trace");
    let is_digit = |c: &char| c.is_ascii_hexdigit();
    id.trim_start_matches('"')
        .chars()
        .take_while(is_digit)
        .collect()
}

#[test]
fn the_logs_of_the_mount_and_the_service_have_the_same_trace_for_one_upload() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let called = trace(&fixture.log(), &["called the service", "complete"]);
    assert_eq!(called.len(), 32, "{called}");
    // The job is run after the request was answered.
    assert_eq!(trace(&fixture.service.log(), &["job taken"]), called);
}
