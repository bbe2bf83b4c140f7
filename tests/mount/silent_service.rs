//! A service that takes requests and never answers: what a drive knows is there at once.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::needs_fuse;
use crate::support::{Fixture, assetfs, text, wait_until};

#[test]
fn the_status_does_not_wait_for_a_service_that_is_silent() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let optimize = fixture.path("rawmodels/chair/optimize");
    let preset = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(optimize.join("small.json"), preset).unwrap();
    // Nothing has read the log of the result yet, so a look at it is a request.
    wait_until("the job is done", || {
        let events = events_at(&fixture, "rawmodels/chair/optimize/small.json");
        events.contains("\"completed\"")
    });
    fixture.service.pause();
    let mut asked = assetfs("status", fixture.root());
    let mut asked = asked.stdout(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while asked.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let ended = asked.try_wait().unwrap();
    fixture.service.resume();
    let output = asked.wait_with_output().unwrap();
    assert!(ended.is_some(), "it waited for the service");
    let said = text(&output.stdout);
    assert!(
        output.status.success() && said.contains("Cache: "),
        "{said}"
    );
}

/// The past of a path, a line an event.
fn events_at(fixture: &Fixture, below: &str) -> String {
    let mut why = assetfs(
        "why --since 1h --json --state-dir",
        fixture.scratch.path().join("state"),
    );
    let output = why.arg(fixture.path(below)).output().unwrap();
    text(&output.stdout)
}
