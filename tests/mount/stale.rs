//! Every read after a write through the drive returns what was written, also if the service is slow.

use std::fs;

use crate::needs_fuse;
use crate::support::{Fixture, shell};

/// The time that the service needs for an answer.
const SLOW: &str =
    "seed = 7\n[[rule]]\npath = \"/api/*\"\nfault = { kind = \"latency\", ms = 100 }\n";

#[test]
fn a_preset_that_was_just_written_is_the_one_that_is_copied_to_optimize() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted_with_chaos(SLOW, &[]);
    fixture.mount(&["--refresh", "10s"]);
    fixture.add_chair();
    let chair = fixture.path("rawmodels/chair");
    assert!(chair.join("optimize").is_dir());
    let new = fixture.scratch.path().join("new.json");
    for round in 0..6 {
        let count = 1000 + round;
        fs::write(
            &new,
            format!(r#"{{"limits":{{"faces":{{"count":{count}}}}}}}"#),
        )
        .unwrap();
        let line = format!(
            "cp {} presets/web.json && cp presets/web.json rawmodels/chair/optimize/r{round}.json",
            new.display()
        );
        shell(&fixture.root(), &line);
        let sent = fs::read_to_string(chair.join(format!("optimize/r{round}.json"))).unwrap();
        assert!(sent.contains(&count.to_string()), "round {round}: {sent}");
        // The shown length is that of the text.
        let preset = fixture.path("presets/web.json");
        let text = fs::read(&preset).unwrap();
        assert_eq!(fs::metadata(&preset).unwrap().len(), text.len() as u64);
    }
}

#[test]
fn a_link_that_was_read_leads_to_the_newest_result() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let optimize = fixture.path("rawmodels/chair/optimize");
    let mut targets = Vec::new();
    for count in [900, 800] {
        let preset = format!(r#"{{"limits":{{"faces":{{"count":{count}}}}}}}"#);
        fs::write(optimize.join("small.json"), preset).unwrap();
        fixture.wait("rawmodels/chair/optimize/small.json");
        let target = fs::read_link(optimize.join("small")).unwrap();
        // The length of a link is that of its target.
        let length = fs::symlink_metadata(optimize.join("small")).unwrap().len();
        assert_eq!(length, target.as_os_str().len() as u64);
        targets.push(target);
    }
    assert_ne!(targets[0], targets[1]);
}
