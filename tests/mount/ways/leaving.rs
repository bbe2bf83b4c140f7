//! Unmounting: complete drafts are sent first, with progress; others stay drafts on this machine, with a message.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::models::triangle_glb;
use super::tools::{assert_arrived, tree};
use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, exists, run, text};

fn unmount(fixture: &Fixture, args: &[&str]) -> Output {
    let mut command = Command::new(ASSETFS);
    command.arg("unmount").args(args).arg(fixture.root());
    command.output().expect("assetfs runs")
}

fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-r").args([from, to]));
}

#[test]
fn unmount_sends_what_is_ready_and_keeps_what_is_not() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = fixture.copy_chair();
    // One refers to a missing file, the other is cut off.
    fs::create_dir(fixture.path("rawmodels/lacking")).unwrap();
    let (document, lacking) = (source.join("chair.gltf"), fixture.path("rawmodels/lacking"));
    fs::copy(document, lacking.join("chair.gltf")).unwrap();
    let model = triangle_glb("half");
    fs::write(
        fixture.path("rawmodels/half.glb"),
        &model[..model.len() / 2],
    )
    .unwrap();

    let output = unmount(&fixture, &[]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    for draft in [
        "rawmodels/lacking stays a draft",
        "rawmodels/half.glb stays a draft",
    ] {
        assert!(said.contains(draft), "{said}");
    }
    assert!(!exists(fixture.path(".assetfs/status.json")), "it is away");
    assert_eq!(fixture.only_asset()["name"], "chair");

    fixture.mount(&["--settle", "10m"]);
    let now = unmount(&fixture, &["--now", "--json"]);
    let line: serde_json::Value = serde_json::from_slice(&now.stdout).unwrap();
    let unsent = line["unsent"].to_string();
    assert_eq!(unsent.matches("stays a draft").count(), 2, "{line}");
    assert!(text(&now.stderr).contains("rawmodels/half.glb stays a draft"));

    fixture.mount(&["--settle", "10m"]);
    assert!(exists(fixture.path("rawmodels/lacking/chair.gltf")));
    assert!(exists(fixture.path("rawmodels/half.glb")));
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
}

#[test]
fn unmount_shows_progress_and_can_stop_waiting() {
    needs_fuse!();
    const SLOW: &str = "[[rule]]\nmethod = \"PUT\"\npath = \"/storage/*\"\n\
                        fault = { kind = \"latency\", ms = 3000 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(SLOW, &[]);
    fixture.mount(&["--settle", "10m"]);
    let source = crate::support::small_chair(fixture.scratch.path());
    copy(&source, &fixture.path("rawmodels/chair"));

    let output = unmount(&fixture, &["--timeout", "1s"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(exists(fixture.path(".assetfs/status.json")), "it is there");

    let output = unmount(&fixture, &[]);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("uploading"), "{said}");
    fixture.mount(&["--settle", "10m"]);
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
}
