//! `assetfs replace` while something else changes the same model: other commands, cancelled drafts, locks of scripts.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::super::models::triangle_glb;
use super::{
    Chair, Running, drafts, first_draft, id, large_version_of, left_version, replace, set_faults,
    uploaded, version_of,
};
use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, assetfs, exists, read, run, text, wait_until};

/// How often a test tries to stop a command at a place that it passes quickly.
const ATTEMPTS: usize = 20;

/// A file of this many bytes that takes no room on the disk.
fn sparse(path: &Path, len: u64) {
    File::create(path).unwrap().set_len(len).unwrap();
}

#[test]
fn a_copy_whose_draft_was_cancelled_never_sends_another_draft_of_the_name() {
    needs_fuse!();
    let Chair {
        fixture,
        model,
        old,
        ..
    } = Chair::mounted(&[]);
    let source = fixture.scratch.path().join("large.glb");
    fs::write(&source, vec![7; 64 << 20]).unwrap();
    let version = fixture.path("rawmodels/chair~new");
    for attempt in 0.. {
        assert!(attempt < ATTEMPTS, "the copy was never caught");
        // Files of a removed draft can still be written, so the copy itself succeeds.
        let mut copying = Running::start(&mut replace(&source, &model));
        if !copying.stop_with_open(&[&version.join("large.glb")]) {
            assert!(!copying.end().status.success());
            continue;
        }
        run(assetfs("cancel", &version));
        // The draft that another command begins.
        left_version(&fixture, &model);
        copying.go_on();
        let output = copying.end();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("cancelled or removed"), "{said}");
        break;
    }
    wait_until("the other draft waits for its command", || {
        first_draft(&fixture)["state"] == "needs_commit"
    });
    assert_eq!(read(version.join("one.glb")), triangle_glb("one"));
    assert_eq!((id(&model), uploaded(&fixture)), (old, 1));
}

#[test]
fn a_command_that_joined_a_version_does_not_take_another_one_for_it() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::with_faults();
    let [second, third] = ["2", "3"].map(|mark| version_of(&first, mark));
    let version = fixture.path("rawmodels/chair~new");
    // The first upload that begins gets no answer for a long time, and so no id.
    set_faults(
        &fixture,
        "[[rule]]\nmethod = \"POST\"\npath = \"*/api-upload/start\"\ntimes = 1\n\
         fault = { kind = \"latency\", ms = 600000 }\n",
    );
    run(replace(&second, &model).arg("--no-wait"));
    let mut joined = Running::start(&mut replace(&second, &model));
    wait_until("it looks at the version", || {
        joined.stop_with_open(&[&version.join(".assetfs/ctl")])
    });
    assert_eq!(first_draft(&fixture)["asset"], Value::Null);
    run(replace(&third, &model));
    joined.go_on();
    let output = joined.end();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("another version replaced it"), "{said}");
    assert_same_files(&third, &model);
}

#[test]
fn a_version_that_becomes_the_model_while_it_is_looked_at_is_replaced() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        mut old,
    } = Chair::mounted(&["--limit-up", "64K"]);
    let version = fixture.path("rawmodels/chair~new");
    let turn = fixture.path(".assetfs");
    let [last, under_way] = ["2", "3"].map(|mark| {
        let folder = large_version_of(&first, mark);
        // Comparing these takes a moment, in which the command is stopped.
        fs::create_dir(folder.join("many")).unwrap();
        for number in 0..200 {
            fs::write(folder.join(format!("many/{number}.bin")), mark).unwrap();
        }
        folder
    });
    for attempt in 0.. {
        assert!(attempt < ATTEMPTS, "the comparison was never caught");
        // Both have the same names, so their contents are compared.
        fs::write(under_way.join("attempt.txt"), attempt.to_string()).unwrap();
        fs::write(last.join("attempt.txt"), "the last one").unwrap();
        run(replace(&under_way, &model).arg("--no-wait"));
        let mut looking = Running::start(replace(&last, &model).arg("--json"));
        let mut is_stopped = looking.stop_with_open(&[&turn]);
        if is_stopped && !exists(&version) {
            looking.go_on();
            is_stopped = false;
        }
        if !is_stopped {
            // It has cancelled the version that was under way.
            assert!(looking.end().status.success());
            old = id(&model);
            fs::write(last.join("again.txt"), attempt.to_string()).unwrap();
            fs::write(under_way.join("again.txt"), attempt.to_string()).unwrap();
            continue;
        }
        wait_until("the version has the name", || id(&model) != old);
        let between = id(&model);
        looking.go_on();
        let output = looking.end();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let row: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(row["outcome"], "replaced");
        assert_eq!(row["old_id"], between);
        break;
    }
    assert_same_files(&last, &model);
}

#[test]
fn the_version_that_is_reported_as_replaced_is_the_one_that_was() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted_with_chaos("", &[]);
    fixture.mount(&[]);
    set_faults(
        &fixture,
        "[[rule]]\nmethod = \"POST\"\npath = \"*/api-upload/start\"\n\
         fault = { kind = \"status\", status = 429 }\n",
    );
    // When the command begins, there is no model that could be replaced.
    let first = fixture.copy_chair();
    let model = fixture.path("rawmodels/chair");
    let second = version_of(&first, "2");
    let waiting = Running::start(replace(&second, &model).arg("--json"));
    wait_until("it waits for the first version", || {
        waiting.said().contains("rawmodels/chair")
    });
    set_faults(&fixture, "");
    let output = waiting.end();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<Value> = fixture.service.assets().into_iter().collect();
    let ids: Vec<u64> = ids.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    let new = id(&model);
    assert_eq!(
        (row["outcome"].as_str(), row["id"].as_u64()),
        (Some("replaced"), Some(new))
    );
    let old = ids.into_iter().find(|id| *id != new);
    assert!(old.is_some());
    assert_eq!(row["old_id"].as_u64(), old);
}

#[test]
fn a_script_that_locks_the_top_folder_can_replace() {
    needs_fuse!();
    let Chair {
        fixture,
        first,
        model,
        ..
    } = Chair::mounted(&[]);
    let top = File::open(fixture.root()).unwrap();
    flock(&top, FlockOperation::NonBlockingLockExclusive).unwrap();
    let second = version_of(&first, "2");
    run(replace(&second, &model).args(["--timeout", "100s"]));
    assert_same_files(&second, &model);
}

#[test]
fn a_command_that_reads_its_source_keeps_no_other_command_waiting() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("one.glb");
    let model = fixture.path("rawmodels/one");
    fs::write(&source, triangle_glb("1")).unwrap();
    run(replace(&source, &model));
    wait_until("its staged copy is gone", || drafts(&fixture).is_empty());
    sparse(&source, 1 << 30);
    let mut reading = Running::start(&mut replace(&source, &model));
    // It opens the source more than once before it compares it with the model.
    wait_until("it reads the source", || reading.stop_with_open(&[&source]));
    // Nothing is begun.
    assert!(drafts(&fixture).is_empty());
    let other = fixture.scratch.path().join("other.glb");
    fs::write(&other, triangle_glb("2")).unwrap();
    let mut quick = replace(&other, &fixture.path("rawmodels/other"));
    run(quick.args(["--timeout", "100s"]));
    drop(reading);
    assert_eq!(read(model.join("one.glb")), triangle_glb("1"));
}

#[test]
fn a_command_that_waits_for_the_import_keeps_nothing_of_the_drive_open() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let scratch = fixture.scratch.path().to_owned();
    let [folder, loose, made] =
        ["folder", "loose", "made"].map(|name| fixture.path("rawmodels").join(name));
    let first = scratch.join("first.glb");
    fs::write(&first, triangle_glb("first")).unwrap();
    run(replace(&first, &folder));
    let mut copy = Command::new("cp");
    run(copy.args([&first, &fixture.path("rawmodels/loose.glb")]));
    fixture.wait("rawmodels/loose");
    wait_until("the staged copies are gone", || drafts(&fixture).is_empty());
    // A service without workers takes uploads, and imports nothing.
    fixture.service.stop();
    fixture.service.start_again_with(&["--workers", "0"]);
    let source = scratch.join("loose.glb");
    fs::write(&source, triangle_glb("second")).unwrap();
    for (before, model) in [folder, loose, made].into_iter().enumerate() {
        let waiting = Running::start(&mut replace(&source, &model));
        wait_until("its version is being imported", || {
            let states = drafts(&fixture).into_iter();
            let states: Vec<Value> = states.map(|draft| draft["state"].clone()).collect();
            states == vec!["importing"; before + 1]
        });
        wait_until("it has nothing open", || {
            waiting.stop_without_open(&fixture.root())
        });
        run(assetfs("unmount --timeout 60s", fixture.root()));
        drop(waiting);
        fixture.mount(&[]);
    }
}
