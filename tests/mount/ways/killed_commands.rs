//! A command that brings models in is killed before the service has accepted them: whatever brings the same files next, each
//! becomes one model.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::models::triangle_glb;
use crate::support::{ASSETFS, Fixture, assetfs, exists, names_in, read, run, text, wait_until};
use crate::{needs_fuse, needs_program};

const NAMES: [&str; 2] = ["chair", "table"];
const SYNC: &str = "\"$ASSETFS\" sync --quiet models mnt";
const BUILD: &str = "\"$ASSETFS\" build --quiet";
const WATCH: &str =
    "\"$ASSETFS\" watch models --out done --quiet --settle 100ms --drive mnt --preset half.json";
const RSYNC: &str = "rsync -rt models/ mnt/rawmodels/";

/// A drive of a service that answers this call with 503, and beside it what the commands need.
fn project(method: &str, path: &str) -> Fixture {
    let plan = format!(
        "[[rule]]\nmethod = \"{method}\"\npath = \"{path}\"\nfault = {{ kind = \"status\", status = 503 }}\n"
    );
    let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
    fixture.mount(&[]);
    let dir = fixture.scratch.path();
    fs::create_dir(dir.join("models")).unwrap();
    for name in NAMES {
        fs::write(dir.join(format!("models/{name}.glb")), triangle_glb(name)).unwrap();
    }
    let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(dir.join("half.json"), config).unwrap();
    let file = "models = 'models'\ndrive = 'mnt'\n[presets]\nhalf = 'half.json'\n";
    fs::write(dir.join("assetfs.toml"), file).unwrap();
    fixture
}

/// A line of the shell in the folder of the project.
fn shell(fixture: &Fixture, line: &str) -> Command {
    let mut command = Command::new("bash");
    command
        .args(["-euc", &format!("exec {line}")])
        .current_dir(fixture.scratch.path())
        .env("ASSETFS", ASSETFS)
        .env("HOME", fixture.scratch.path())
        .env_remove("XDG_STATE_HOME")
        .env_remove("GITHUB_ACTIONS");
    command
}

/// Kills a command when the drive tries to send all models.
fn kill_before_accepted(fixture: &Fixture, line: &str) {
    let mut command = shell(fixture, line);
    let mut child: Child = command.stderr(Stdio::null()).spawn().unwrap();
    wait_until("all models are being sent", || {
        let status = fixture.status();
        let drafts = status["drafts"].as_array().unwrap();
        let sent = drafts
            .iter()
            .filter(|draft| draft["state"] == "uploading" || draft["state"] == "waiting");
        sent.count() == NAMES.len() && fixture.chaos_fired() > 0
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

fn service_is_well_again(fixture: &Fixture) {
    fs::write(fixture.scratch.path().join("chaos.toml"), "").unwrap();
    fixture.service.hang_up();
}

fn assert_each_is_one_model(fixture: &Fixture, after: &str) {
    run(assetfs("wait", fixture.root()));
    let assets = fixture.service.assets();
    assert_eq!(assets.len(), NAMES.len(), "{after}: {assets:#?}");
    assert_eq!(names_in(&fixture.path("rawmodels")), NAMES, "{after}");
    for name in NAMES {
        let file = fixture.path(&format!("rawmodels/{name}/{name}.glb"));
        assert_eq!(read(file), triangle_glb(name), "{after}");
    }
}

#[test]
fn what_a_killed_command_has_begun_becomes_one_model_whatever_brings_it_next() {
    needs_fuse!();
    needs_program!("rsync");
    let start = ("POST", "*/api-upload/start");
    let complete = ("GET", "*/api-upload/complete");
    for (command, (method, path), next) in [
        (SYNC, start, RSYNC),
        (
            SYNC,
            start,
            "rsync -rt --delete --ignore-times models/ mnt/rawmodels/",
        ),
        (
            SYNC,
            start,
            "rsync -rt --delete-after models/ mnt/rawmodels/",
        ),
        (
            SYNC,
            complete,
            "rsync -rt --delete --ignore-times models/ mnt/rawmodels/",
        ),
        (
            SYNC,
            complete,
            "cp -u models/chair.glb models/table.glb mnt/rawmodels/",
        ),
        (BUILD, start, RSYNC),
        (WATCH, start, RSYNC),
    ] {
        let case = format!("{command}, {path}, {next}");
        let fixture = project(method, path);
        kill_before_accepted(&fixture, command);
        let output = shell(&fixture, next).output().unwrap();
        assert!(output.status.success(), "{case}: {}", text(&output.stderr));
        service_is_well_again(&fixture);
        assert_each_is_one_model(&fixture, &case);
        for again in [next, SYNC, RSYNC] {
            run(shell(&fixture, again));
            assert_each_is_one_model(&fixture, &format!("{case}, then {again}"));
        }
    }
}

#[test]
fn other_bytes_take_the_place_of_what_a_killed_command_has_begun() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = project("POST", "*/api-upload/start");
    kill_before_accepted(&fixture, SYNC);
    let source = fixture.scratch.path().join("models/chair.glb");
    fs::write(&source, triangle_glb("another chair")).unwrap();
    run(shell(&fixture, RSYNC));
    // The same file by its other name is no file to replace.
    let beside = fixture.path("rawmodels/table.glb");
    fs::rename(fixture.path("rawmodels/table/table.glb"), &beside).unwrap();
    assert_eq!(read(&beside), triangle_glb("table"));
    service_is_well_again(&fixture);
    run(assetfs("wait", fixture.root()));
    assert_eq!(fixture.service.assets().len(), NAMES.len());
    let chair = fixture.path("rawmodels/chair/chair.glb");
    assert_eq!(read(chair), triangle_glb("another chair"));
}

#[test]
fn a_copy_that_was_killed_in_the_middle_is_not_sent_beside_what_another_program_has_sent() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = project("POST", "/nothing");
    // As `assetfs sync` leaves it.
    let draft = fixture.path("rawmodels/chair");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join(".assetfs-replace.copies"), "").unwrap();
    fs::write(draft.join("chair.glb"), &triangle_glb("chair")[..100]).unwrap();
    run(shell(&fixture, RSYNC));
    run(shell(&fixture, SYNC));
    assert_each_is_one_model(&fixture, "sync");
    assert!(!is_unfinished(&draft));
}

fn is_unfinished(draft: &Path) -> bool {
    exists(draft.join(".assetfs-replace.copies"))
}
