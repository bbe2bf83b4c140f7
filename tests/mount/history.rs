//! The log of events: what happened is known after the drive was unmounted, and after its process ended.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::needs_fuse;
use crate::square_glb::numbered_glb;
use crate::support::{ASSETFS, Fixture, assetfs, fails, run, shell, text, wait_until};

/// The lines of `assetfs why --since 1h` about a path.
fn since(fixture: &Fixture, below: &str) -> Vec<Value> {
    let output = Command::new(ASSETFS)
        .args(["why", "--since", "1h", "--json", "--state-dir"])
        .arg(fixture.scratch.path().join("state"))
        .arg(fixture.path(below))
        .output()
        .expect("assetfs runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let known = [
        "begun",
        "uploaded",
        "completed",
        "failed",
        "deleted",
        "mounted",
        "unmounted",
    ];
    let kinds = events.iter().map(|event| event["kind"].as_str().unwrap());
    kinds.filter(|kind| known.contains(kind)).collect()
}

#[test]
fn why_since_tells_what_became_of_a_model_after_the_drive_is_gone() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fs::write(fixture.path("rawmodels/good.glb"), numbered_glb(1)).unwrap();
    let whole = numbered_glb(2);
    fs::create_dir(fixture.path("rawmodels/bad")).unwrap();
    fs::write(fixture.path("rawmodels/bad/bad.obj"), "no model").unwrap();
    fixture.wait("rawmodels/good");
    let failed = fixture.try_wait("rawmodels/bad");
    assert!(!failed.status.success());
    fs::write(fixture.path("rawmodels/cut.glb"), &whole[..whole.len() - 8]).unwrap();
    fs::remove_dir_all(fixture.path("rawmodels/good")).unwrap();
    let refused = assetfs("commit", fixture.path("rawmodels/cut.glb"));
    fails(refused, 1);
    let metrics = fs::read_to_string(fixture.path(".assetfs/metrics")).unwrap();
    for line in ["assetfs_uploads_total 2\n", "assetfs_deletions_total 1\n"] {
        assert!(metrics.contains(line), "{line} {metrics}");
    }
    // The import and the commit.
    assert!(metrics.contains("assetfs_failures_total 2\n"), "{metrics}");
    let state = format!(
        "why --since 1h --state-dir {}",
        fixture.scratch.path().join("state").display()
    );
    let said = run(assetfs(&state, fixture.path("presets/factory")));
    assert!(said.contains("nothing is recorded in this time"), "{said}");
    let said = fails(assetfs(&state, fixture.path("rawmodels/none")), 1);
    assert!(said.contains("does not exist"), "{said}");
    run(assetfs("unmount --now", fixture.root()));
    wait_until("the unmount is in the log", || {
        kinds(&since(&fixture, "")).last() == Some(&"unmounted")
    });
    let good = since(&fixture, "rawmodels/good");
    assert_eq!(
        kinds(&good),
        ["uploaded", "completed", "deleted"],
        "{good:#?}"
    );
    let cut = since(&fixture, "rawmodels/cut.glb");
    let failures = |events: &[Value]| {
        kinds(events)
            .iter()
            .filter(|kind| **kind == "failed")
            .count()
    };
    assert_eq!(failures(&cut), 1, "{cut:#?}");
    assert_eq!(failures(&since(&fixture, "")), 2);
    let bad = since(&fixture, "rawmodels/bad");
    assert_eq!(kinds(&bad), ["begun", "uploaded", "failed"], "{bad:#?}");
    assert!(
        bad.iter()
            .all(|event| event["mount"] == fixture.root().to_str().unwrap())
    );
    assert!(
        bad.iter()
            .all(|event| event["account"].as_str().unwrap().contains("127.0.0.1"))
    );
    // Mounted again, the failure is not forgotten.
    fixture.mount(&[]);
    let again = fixture.why("rawmodels/bad");
    assert!(!again.contains("nothing failed here"), "{again}");
}

#[test]
fn a_log_that_was_moved_away_is_made_again_on_hangup() {
    needs_fuse!();
    let fixture = Fixture::new();
    let log = fixture.scratch.path().join("mount.log");
    fs::rename(&log, fixture.scratch.path().join("moved.log")).unwrap();
    run(Command::new("kill").args(["-HUP", &fixture.pid().to_string()]));
    wait_until("there is a new log", || {
        let _ = fs::metadata(fixture.path("rawmodels/none"));
        log.exists()
    });
}

#[test]
fn several_models_in_one_folder_are_said_and_the_printed_command_makes_a_model_of_each() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "1s"]);
    fs::create_dir(fixture.path("rawmodels/set")).unwrap();
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        let model = fixture.path(&format!("rawmodels/set/{name}.glb"));
        fs::write(model, numbered_glb(number)).unwrap();
    }
    const COMMAND: &str = "run this in the folder: ";
    wait_until("it says that there are several", || {
        fixture.why("rawmodels/set").contains(COMMAND)
    });
    let status = run(assetfs("status", fixture.root()));
    assert!(status.contains("3 models are in one folder"), "{status}");
    let why = fixture.why("rawmodels/set");
    let command = why.split_once(COMMAND).unwrap().1;
    let command = command.lines().next().unwrap().split(';').next().unwrap();
    shell(&fixture.path("rawmodels/set"), command);
    for path in ["set", "b.glb", "c.glb"] {
        fixture.wait(&format!("rawmodels/{path}"));
    }
    assert_eq!(fixture.service.assets().len(), 3);
}
