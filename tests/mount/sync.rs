//! `assetfs sync`: the models of a drive become those of a folder; nothing is sent twice, and nothing is deleted that was
//! not meant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::json_schema::check_lines;
use crate::square_glb::{broken_glb, numbered_glb};
use crate::support::{
    ASSETFS, Fixture, MountPoint, assetfs, exists, fails, names_in, read, run, small_chair, text,
    wait_until,
};
use crate::{needs_fuse, needs_program, needs_root};

/// A drive, and beside it the folder `models` with `m0.glb`, `m1.glb` and so on.
fn folder_with(count: usize) -> Fixture {
    let fixture = Fixture::new();
    fs::create_dir(models(&fixture)).unwrap();
    for number in 0..count {
        put(&fixture, number, number);
    }
    fixture
}

fn models(fixture: &Fixture) -> PathBuf {
    fixture.scratch.path().join("models")
}

fn put(fixture: &Fixture, name: usize, content: usize) {
    let path = models(fixture).join(format!("m{name}.glb"));
    fs::write(path, numbered_glb(content)).unwrap();
}

fn sync_into(fixture: &Fixture, root: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .current_dir(fixture.scratch.path())
        .args(["sync", "models"])
        .arg(root)
        .args(more)
        .env("HOME", fixture.scratch.path())
        .env_remove("XDG_STATE_HOME");
    command
}

fn sync(fixture: &Fixture, more: &[&str]) -> Command {
    sync_into(fixture, &fixture.root(), more)
}

/// The lines of `--json`, after a check against the schema, and the exit code.
fn lines_of(output: &Output) -> (Vec<Value>, i32) {
    let lines = check_lines("sync", &text(&output.stdout));
    assert!(!lines.is_empty(), "{}", text(&output.stderr));
    (lines, output.status.code().unwrap())
}

/// The line with the sum, of a run with this exit code.
fn sum(mut command: Command, code: i32) -> Value {
    let output = command.arg("--json").output().unwrap();
    let (mut lines, exit) = lines_of(&output);
    assert_eq!(exit, code, "{lines:?}");
    lines.pop().unwrap()
}

fn ids(fixture: &Fixture) -> Vec<u64> {
    let rows = fixture.service.assets();
    let mut ids: Vec<u64> = rows.iter().map(|row| row["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

fn results(fixture: &Fixture) -> usize {
    let page = fixture.service.get("api/v2/rapidmodel?itemsPerPage=50");
    page["data"].as_array().unwrap().len()
}

/// Calls of the mount that change something on the service.
fn changes(fixture: &Fixture) -> usize {
    let methods = ["POST", "PUT", "DELETE", "PATCH"].map(|method| format!("method={method} "));
    let is_change = |line: &&str| {
        line.contains("called the service") && methods.iter().any(|it| line.contains(it))
    };
    fixture.log().lines().filter(is_change).count()
}

#[test]
fn a_folder_is_brought_in_once_and_changes_are_versions() {
    needs_fuse!();
    let fixture = folder_with(3);
    small_chair(&models(&fixture));
    let preview = sum(sync(&fixture, &["--dry-run"]), 0);
    assert_eq!(
        (&preview["added"], &preview["dry_run"]),
        (&json!(4), &json!(true))
    );
    assert!(ids(&fixture).is_empty());
    let first = sum(sync(&fixture, &[]), 0);
    assert_eq!((&first["added"], &first["failed"]), (&json!(4), &json!(0)));
    let before = ids(&fixture);
    assert_eq!(before.len(), 4);
    assert!(changes(&fixture) >= 4, "the log has the calls");
    assert_eq!(
        names_in(&fixture.path("rawmodels")),
        ["chair", "m0", "m1", "m2"]
    );
    let sent = changes(&fixture);
    let again = sum(sync(&fixture, &["--delete"]), 0);
    assert_eq!(again["unchanged"], json!(4), "{again}");
    assert_eq!((ids(&fixture), changes(&fixture)), (before.clone(), sent));
    // rawmodels/ itself may be named, too.
    run(sync_into(&fixture, &fixture.path("rawmodels"), &[]));
    put(&fixture, 1, 7);
    let changed = sum(sync(&fixture, &[]), 0);
    assert_eq!(
        (&changed["replaced"], &changed["unchanged"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(read(fixture.path("rawmodels/m1/m1.glb")), numbered_glb(7));
    assert_eq!(ids(&fixture).len(), 5, "the old version is kept");
    // With --delete only the present versions stay.
    put(&fixture, 2, 8);
    for more in [&["--delete", "--dry-run"][..], &["--delete"]] {
        let deleted = sum(sync(&fixture, more), 0);
        let counts = (&deleted["replaced"], &deleted["deleted"]);
        assert_eq!(counts, (&json!(1), &json!(2)), "{more:?}");
    }
    assert_eq!(ids(&fixture).len(), 4);
    assert_eq!(
        names_in(&fixture.path("rawmodels")),
        ["chair", "m0", "m1", "m2"]
    );
}

#[test]
fn a_second_run_asks_the_service_for_no_model() {
    needs_fuse!();
    const MODELS: usize = 20;
    let mut fixture = folder_with(MODELS);
    run(sync(&fixture, &[]));
    // Nothing is polled any more for having been looked at.
    run(Command::new(ASSETFS).arg("unmount").arg(fixture.root()));
    fixture.mount(&["--refresh", "10m"]);
    names_in(&fixture.path("rawmodels"));
    let requests = || fixture.status()["rate"]["taken"].as_u64().unwrap();
    let before = requests();
    let again = sum(sync(&fixture, &["--delete"]), 0);
    assert_eq!(again["unchanged"], json!(MODELS));
    let sent = requests() - before;
    assert!(sent < 8, "{sent} requests for {MODELS} models");
}

#[test]
fn only_delete_removes_what_the_folder_lacks_and_not_more_than_half() {
    needs_fuse!();
    let fixture = folder_with(5);
    run(sync(&fixture, &[]));
    fs::remove_file(models(&fixture).join("m4.glb")).unwrap();
    let kept = sum(sync(&fixture, &[]), 0);
    assert_eq!((&kept["kept"], ids(&fixture).len()), (&json!(1), 5));
    let said = run(sync(&fixture, &["--delete"]));
    assert!(said.contains("gone for good"), "{said}");
    assert_eq!(
        names_in(&fixture.path("rawmodels")),
        ["m0", "m1", "m2", "m3"]
    );
    for name in ["m1.glb", "m2.glb", "m3.glb"] {
        fs::remove_file(models(&fixture).join(name)).unwrap();
    }
    let before = ids(&fixture);
    let said = fails(sync(&fixture, &["--delete"]), 1);
    assert!(
        said.contains("3 models of 4 would be deleted") && said.contains("nothing was changed"),
        "{said}"
    );
    let dry = sync(&fixture, &["--delete", "--dry-run"]).output().unwrap();
    let (said, listed) = (text(&dry.stderr), text(&dry.stdout));
    assert!(said.contains("3 models of 4 would be deleted"), "{said}");
    assert_eq!(listed, "", "nothing that the run refuses");
    let said = fails(sync(&fixture, &["--delete", "--max-delete", "2"]), 1);
    assert!(said.contains("--max-delete allows 2"), "{said}");
    assert_eq!(ids(&fixture), before);
    let deleted = sum(sync(&fixture, &["--delete", "--max-delete", "3"]), 0);
    assert_eq!((&deleted["deleted"], ids(&fixture).len()), (&json!(3), 1));
}

#[test]
fn a_dry_run_knows_the_limit_of_the_drive() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    fixture.mount(&["--delete-limit", "1"]);
    fs::create_dir(models(&fixture)).unwrap();
    (0..5).for_each(|number| put(&fixture, number, number));
    run(sync(&fixture, &[]));
    let gone = ["m3", "m4"];
    for name in gone {
        fs::remove_file(models(&fixture).join(format!("{name}.glb"))).unwrap();
    }
    for more in [&["--delete", "--dry-run"][..], &["--delete"]] {
        let refused = sum(sync(&fixture, more), 1);
        assert_eq!(refused["deleted"], json!(0), "{more:?}");
        let said = fails(sync(&fixture, more), 1);
        assert!(
            said.contains("the drive deletes only 1 model more") && said.contains("--max-delete 2"),
            "{said}"
        );
    }
    let mut remove = assetfs("rm", "--dry-run");
    let output = remove.args(gone.map(|name| fixture.path(&format!("rawmodels/{name}"))));
    let said = text(&output.output().unwrap().stderr);
    assert!(said.contains("deletes only 1 model more"), "{said}");
    assert_eq!(ids(&fixture).len(), 5);
    let wanted = ["--delete", "--max-delete", "2"];
    let dry = sum(sync(&fixture, &[&wanted[..], &["--dry-run"]].concat()), 0);
    let deleted = sum(sync(&fixture, &wanted), 0);
    assert_eq!(
        (&dry["deleted"], &deleted["deleted"]),
        (&json!(2), &json!(2))
    );
}

#[test]
fn what_a_mount_does_not_allow_is_refused_at_once_and_in_a_dry_run() {
    needs_fuse!();
    for (option, words) in [
        ("--no-delete", "mounted with --no-delete"),
        ("--read-only", "mounted read-only"),
    ] {
        let mut fixture = Fixture::unmounted(&[]);
        fixture.mount(&[option]);
        fs::create_dir(models(&fixture)).unwrap();
        put(&fixture, 1, 1);
        for more in [&["--delete", "--dry-run"][..], &["--delete"]] {
            let said = fails(sync(&fixture, more), 1);
            assert!(said.contains(words), "{option} {more:?}: {said}");
        }
        assert!(ids(&fixture).is_empty());
    }
}

#[test]
fn an_empty_or_missing_folder_deletes_nothing() {
    needs_fuse!();
    let fixture = folder_with(1);
    run(sync(&fixture, &[]));
    let before = ids(&fixture);
    fs::remove_file(models(&fixture).join("m0.glb")).unwrap();
    let said = fails(sync(&fixture, &["--delete"]), 1);
    assert!(said.contains("has no models"), "{said}");
    // What is no model, as a copy under way, has no say either.
    fs::write(models(&fixture).join("m0.glb.part"), b"x").unwrap();
    fails(sync(&fixture, &["--delete"]), 1);
    // A file of the name that is no model keeps the model.
    fs::write(models(&fixture).join("m0.txt"), b"x").unwrap();
    run(sync(&fixture, &["--delete"]));
    fs::remove_dir_all(models(&fixture)).unwrap();
    let said = fails(sync(&fixture, &["--delete"]), 2);
    assert!(said.contains("cannot read models"), "{said}");
    assert_eq!(ids(&fixture), before);
}

#[test]
fn a_folder_that_was_mounted_and_is_not_now_deletes_nothing() {
    needs_fuse!();
    needs_root!();
    let fixture = folder_with(0);
    let mount = |on: bool| {
        let mut command = Command::new(if on { "mount" } else { "umount" });
        if on {
            command.args(["-t", "tmpfs", "tmpfs"]);
        }
        run(command.arg(models(&fixture)));
    };
    mount(true);
    for number in 0..3 {
        put(&fixture, number, number);
    }
    run(sync(&fixture, &["--delete"]));
    mount(false);
    let before = ids(&fixture);
    // What lies below the mount point is another folder.
    put(&fixture, 0, 0);
    put(&fixture, 1, 1);
    let said = fails(sync(&fixture, &["--delete"]), 1);
    assert!(
        said.contains("was mounted when") && said.contains("nothing was changed"),
        "{said}"
    );
    assert_eq!(ids(&fixture), before);
}

#[test]
fn presets_are_paid_once_for_each_model_that_lacks_them() {
    needs_fuse!();
    let fixture = folder_with(2);
    let config = r#"{"limits":{"faces":{"percentage":50}}}"#;
    fs::write(fixture.scratch.path().join("half.json"), config).unwrap();
    let presets = ["--preset", "Lossless Clean-Up", "--preset", "half.json"];
    let first = sum(sync(&fixture, &presets), 0);
    assert_eq!((&first["added"], &first["preset"]), (&json!(2), &json!(4)));
    run(Command::new(ASSETFS)
        .args(["wait", "--quiet"])
        .arg(fixture.root()));
    assert_eq!(results(&fixture), 4);
    let sent = changes(&fixture);
    let again = sum(sync(&fixture, &presets), 0);
    assert_eq!(
        (&again["preset"], &again["unchanged"]),
        (&json!(0), &json!(2))
    );
    assert_eq!((results(&fixture), changes(&fixture)), (4, sent));
    put(&fixture, 2, 2);
    run(sync(&fixture, &presets));
    run(Command::new(ASSETFS)
        .args(["wait", "--quiet"])
        .arg(fixture.root()));
    assert_eq!(results(&fixture), 6);
}

#[test]
fn nothing_is_deleted_while_a_model_of_the_folder_cannot_be_compared() {
    needs_fuse!();
    let fixture = folder_with(3);
    run(sync(&fixture, &[]));
    let before = ids(&fixture);
    // It may be any of those that the folder lacks.
    let renamed = models(&fixture).join("chair.glb");
    fs::rename(models(&fixture).join("m0.glb"), &renamed).unwrap();
    let whole = fs::read(&renamed).unwrap();
    fs::write(&renamed, &whole[..whole.len() / 2]).unwrap();
    for more in [&["--delete"][..], &["--delete", "--dry-run"]] {
        let said = fails(sync(&fixture, more), 1);
        assert!(said.contains("1 model not deleted"), "{said}");
        assert_eq!(ids(&fixture), before);
    }
    fs::write(&renamed, &whole).unwrap();
    let again = sum(sync(&fixture, &["--delete"]), 0);
    assert_eq!(
        (&again["other_name"], &again["deleted"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(ids(&fixture), before);
}

#[test]
fn a_model_under_another_name_is_not_sent_again() {
    needs_fuse!();
    let fixture = folder_with(2);
    run(sync(&fixture, &[]));
    let before = ids(&fixture);
    fs::rename(
        models(&fixture).join("m0.glb"),
        models(&fixture).join("chair.glb"),
    )
    .unwrap();
    for more in [&["--delete"][..], &[]] {
        let renamed = sum(sync(&fixture, more), 0);
        assert_eq!(
            (&renamed["other_name"], &renamed["added"]),
            (&json!(1), &json!(0))
        );
        assert_eq!(ids(&fixture), before);
    }
    let said = run(sync(&fixture, &[]));
    assert!(said.contains("the service cannot rename models"), "{said}");
}

#[test]
fn a_renamed_model_whose_name_another_file_takes_is_not_sent_or_paid_again() {
    needs_fuse!();
    let fixture = folder_with(3);
    let with_preset = ["--preset", "Lossless Clean-Up", "--delete"];
    run(sync(&fixture, &with_preset));
    let (before, paid) = (ids(&fixture), results(&fixture));
    fs::rename(
        models(&fixture).join("m0.glb"),
        models(&fixture).join("chair.glb"),
    )
    .unwrap();
    put(&fixture, 0, 9);
    let dry = ["--preset", "Lossless Clean-Up", "--delete", "--dry-run"];
    for (more, models, texts) in [(&dry[..], 3, 3), (&with_preset[..], 4, 4)] {
        let renamed = sum(sync(&fixture, more), 0);
        let counts = ["replaced", "other_name", "added", "deleted", "points"]
            .map(|it| renamed[it].as_u64().unwrap());
        assert_eq!(counts, [1, 1, 0, 0, 1], "{renamed}");
        assert_eq!((ids(&fixture).len(), results(&fixture)), (models, texts));
    }
    assert_eq!(paid, 3);
    assert!(before.iter().all(|id| ids(&fixture).contains(id)));
    // It stays what it is.
    let again = sum(sync(&fixture, &with_preset), 0);
    let counts =
        ["other_name", "unchanged", "deleted", "points"].map(|it| again[it].as_u64().unwrap());
    assert_eq!(counts, [1, 3, 0, 0], "{again}");
}

#[test]
fn a_draft_under_another_name_is_renamed() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    // The drive itself would wait for minutes.
    fixture.mount(&["--settle", "10m"]);
    fs::create_dir(models(&fixture)).unwrap();
    put(&fixture, 1, 1);
    let draft = fixture.path("rawmodels/old");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("m1.glb"), numbered_glb(1)).unwrap();
    let renamed = sum(sync(&fixture, &[]), 0);
    assert_eq!(
        (&renamed["renamed"], &renamed["added"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(names_in(&fixture.path("rawmodels")), ["m1"]);
    assert_eq!(ids(&fixture).len(), 1);
}

#[test]
fn failures_are_at_the_end_and_are_not_sent_again() {
    needs_fuse!();
    let fixture = folder_with(2);
    let dir = models(&fixture);
    fs::write(dir.join("broken.stl"), "solid x\nfacet normal nothing\n").unwrap();
    fs::write(dir.join("cut.glb"), &numbered_glb(1)[..100]).unwrap();
    fs::write(dir.join("twice.glb"), numbered_glb(5)).unwrap();
    fs::write(dir.join("twice.stl"), "solid a\nendsolid a\n").unwrap();
    let first = sum(sync(&fixture, &[]), 1);
    assert_eq!(
        (&first["added"], &first["failed"]),
        (&json!(2), &json!(4)),
        "{first}"
    );
    let before = ids(&fixture);
    let sent = changes(&fixture);
    let output = sync(&fixture, &["--json", "--delete"]).output().unwrap();
    let (lines, code) = lines_of(&output);
    assert_eq!(code, 1);
    assert_eq!((ids(&fixture), changes(&fixture)), (before, sent));
    let failed: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("reason").is_some())
        .collect();
    assert_eq!(failed.len(), 4);
    for line in failed {
        assert_eq!(
            (&line["state"], &line["exit"]),
            (&json!("failed"), &json!(1))
        );
    }
    let said = text(&output.stderr);
    assert!(said.contains("several models of"), "{said}");
    assert!(!exists(fixture.path("rawmodels/twice")));
}

#[test]
fn a_dry_run_foresees_what_is_refused_and_no_draft_of_somebody_else_is_waited_for() {
    needs_fuse!();
    let fixture = folder_with(2);
    let gltf = r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"gone.bin","byteLength":4}]}"#;
    fs::write(models(&fixture).join("lacks.gltf"), gltf).unwrap();
    // As a copy leaves them that was killed.
    let draft = fixture.path("rawmodels/m1");
    fs::create_dir(&draft).unwrap();
    fs::write(draft.join("m1.glb"), &numbered_glb(1)[..100]).unwrap();
    wait_until("the drive has looked at it", || {
        fixture.status()["drafts"][0]["state"] == "incomplete"
    });
    for more in [&["--dry-run"][..], &[]] {
        let begun = std::time::Instant::now();
        let output = sync(&fixture, &[&["--json"], more].concat())
            .output()
            .unwrap();
        let (mut lines, code) = lines_of(&output);
        let end = lines.pop().unwrap();
        assert_eq!(code, 1);
        assert_eq!(
            (&end["added"], &end["failed"]),
            (&json!(1), &json!(2)),
            "{end}"
        );
        let reason = |name: &str| {
            let is_it = |line: &&Value| line["path"].as_str().is_some_and(|it| it.ends_with(name));
            lines.iter().find(is_it).unwrap()["reason"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert!(reason("lacks.gltf").ends_with("it is not whole: gone.bin is missing"));
        let said = reason("m1.glb");
        assert!(
            said.contains("is a draft with other files") && said.contains("assetfs cancel"),
            "{said}"
        );
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not wait"
        );
    }
    assert!(!exists(fixture.path("rawmodels/lacks")));
    run(assetfs("cancel", &draft));
    assert_eq!(sum(sync(&fixture, &[]), 1)["added"], json!(1));
}

#[test]
fn a_dry_run_while_a_model_is_imported_says_that_it_is_waited_for() {
    needs_fuse!();
    let mut fixture = folder_with(1);
    // A service without workers takes uploads, and imports nothing.
    fixture.service.stop();
    fixture.service.start_again_with(&["--workers", "0"]);
    let mut copy = Command::new("cp");
    run(copy
        .arg(models(&fixture).join("m0.glb"))
        .arg(fixture.path("rawmodels/")));
    let preview = sum(sync(&fixture, &["--dry-run"]), 0);
    assert_eq!(preview["added"], json!(1), "{preview}");
    run(assetfs("commit", fixture.path("rawmodels/m0.glb")));
    let preview = sum(sync(&fixture, &["--dry-run"]), 0);
    assert_eq!(
        (&preview["added"], &preview["awaited"]),
        (&json!(0), &json!(1)),
        "{preview}"
    );
    let said = run(sync(&fixture, &["--dry-run"]));
    assert!(said.contains("m0: would be waited for"), "{said}");
}

#[test]
fn a_run_that_is_killed_at_any_moment_sends_nothing_twice_and_loses_nothing() {
    needs_fuse!();
    const MODELS: usize = 8;
    let fixture = folder_with(MODELS);
    let presets = ["--quiet", "--preset", "Lossless Clean-Up"];
    for number in 0..6 {
        let mut child = sync(&fixture, &presets)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(40 + 150 * number));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(sync(&fixture, &presets));
    run(Command::new(ASSETFS)
        .args(["wait", "--quiet"])
        .arg(fixture.root()));
    assert_eq!((ids(&fixture).len(), results(&fixture)), (MODELS, MODELS));
    for number in 0..MODELS {
        let file = fixture.path(&format!("rawmodels/m{number}/m{number}.glb"));
        assert_eq!(read(file), numbered_glb(number));
    }
    let again = sum(sync(&fixture, &presets), 0);
    assert_eq!(
        (&again["unchanged"], &again["preset"]),
        (&json!(MODELS), &json!(0))
    );
}

#[test]
fn a_drive_that_ends_is_one_failure_and_the_next_run_sends_nothing_twice() {
    needs_fuse!();
    const MODELS: usize = 8;
    let mut fixture = folder_with(MODELS);
    let running = sync(&fixture, &["--delete", "--json", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("a model is sent", || !ids(&fixture).is_empty());
    fixture.kill_mount();
    let output = running.wait_with_output().unwrap();
    let said = text(&output.stderr);
    let (lines, exit) = lines_of(&output);
    let failures = lines.iter().filter(|it| it["reason"].is_string()).count();
    assert_eq!((exit, failures, said.lines().count()), (1, 1, 1), "{said}");
    assert!(
        said.contains("has ended; `") && said.contains("then run this again"),
        "{said}"
    );
    fixture.mount(&[]);
    run(sync(&fixture, &["--delete"]));
    assert_eq!(ids(&fixture).len(), MODELS);
}

#[test]
fn an_empty_folder_of_the_name_is_no_model_to_wait_for() {
    needs_fuse!();
    let fixture = folder_with(1);
    // As a run leaves it that is killed at the very beginning.
    fs::create_dir(fixture.path("rawmodels/m0")).unwrap();
    let first = sum(sync(&fixture, &[]), 0);
    assert_eq!(first["added"], json!(1));
    assert_eq!(read(fixture.path("rawmodels/m0/m0.glb")), numbered_glb(0));
}

#[test]
fn two_runs_at_once_make_each_model_once() {
    needs_fuse!();
    let fixture = folder_with(6);
    let both = [(); 2].map(|()| {
        let mut command = sync(&fixture, &[]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    for child in both {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_eq!(ids(&fixture).len(), 6);
}

#[test]
fn another_machine_sends_nothing_that_is_there_and_replaces_what_is_different() {
    needs_fuse!();
    let fixture = folder_with(3);
    run(sync(&fixture, &[]));
    let before = ids(&fixture);
    let elsewhere = fixture.second_machine();
    let again = sum(sync_into(&fixture, &elsewhere.root(), &["--delete"]), 0);
    assert_eq!(again["unchanged"], json!(3), "{again}");
    assert_eq!(ids(&fixture), before);
    // The name is taken by other bytes: they are the old version.
    put(&fixture, 1, 9);
    let changed = sum(sync_into(&fixture, &elsewhere.root(), &[]), 0);
    assert_eq!(
        (&changed["replaced"], &changed["unchanged"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(ids(&fixture).len(), 4);
    let there = elsewhere.root().join("rawmodels/m1/m1.glb");
    assert_eq!(read(there), numbered_glb(9));
}

#[test]
fn a_text_that_another_machine_sent_is_no_new_preset() {
    needs_fuse!();
    let fixture = folder_with(1);
    let preset = ["--preset", "Lossless Clean-Up"];
    let first = sum(sync(&fixture, &preset), 0);
    assert_eq!(first["preset"], json!(1), "{first}");
    run(Command::new(ASSETFS).arg("wait").arg(fixture.root()));
    // The next version of a model gets its presets, too.
    put(&fixture, 0, 7);
    let changed = sum(sync(&fixture, &[&preset[..], &["--dry-run"]].concat()), 0);
    assert_eq!(
        (&changed["replaced"], &changed["preset"]),
        (&json!(1), &json!(1)),
        "{changed}"
    );
    put(&fixture, 0, 0);
    let elsewhere = fixture.second_machine();
    for more in [&["--dry-run"][..], &[]] {
        let again = sum(
            sync_into(&fixture, &elsewhere.root(), &[&preset[..], more].concat()),
            0,
        );
        assert_eq!(
            (&again["unchanged"], &again["preset"]),
            (&json!(1), &json!(0)),
            "{more:?}: {again}"
        );
    }
    assert_eq!(results(&fixture), 1);
}

#[test]
fn a_model_that_two_machines_sent_at_the_same_moment_is_never_deleted() {
    needs_fuse!();
    needs_program!("curl");
    let fixture = folder_with(2);
    sum(sync(&fixture, &[]), 0);
    // What another machine sends that has not seen the first one.
    let id = crate::others::upload(&fixture, "m0");
    let double = format!("m0~{id}");
    crate::support::wait_until("the double is listed", || {
        names_in(&fixture.path("rawmodels")).contains(&double.clone().into())
    });
    let output = sync(&fixture, &["--delete"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains(&double),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(ids(&fixture).len(), 3);
    for more in [&["--delete", "--json"][..], &["--dry-run", "--json"]] {
        let (lines, _) = lines_of(&sync(&fixture, more).output().unwrap());
        let root = fixture.path("rawmodels");
        let told = json!({
            "schema": 1, "path": root.join(&double), "state": lines[0]["state"], "outcome": "double", "id": id,
            "twin": root.join("m0"), "dry_run": more[0] == "--dry-run", "exit": 0,
        });
        assert_eq!(lines[0], told);
        assert_eq!(lines[1]["double"], 1, "{lines:?}");
    }
}

#[test]
fn of_two_versions_that_two_machines_sent_at_the_same_moment_none_is_deleted_or_sent_again() {
    needs_fuse!();
    needs_program!("curl");
    let fixture = folder_with(2);
    sum(sync(&fixture, &[]), 0);
    let newest = || {
        let rows = fixture.service.assets();
        let of_name = rows.iter().filter(|row| row["name"] == "m0");
        of_name
            .map(|row| row["id"].as_u64().unwrap())
            .max()
            .unwrap()
    };
    let first = newest();
    put(&fixture, 0, 7);
    sum(sync(&fixture, &[]), 0);
    let own = newest();
    assert_ne!(own, first);
    // Another machine has replaced the first one, too, and has not seen the second.
    let other = crate::others::upload(&fixture, "m0");
    crate::others::note_replaces(&fixture, other, first);
    let double = format!("m0~{own}");
    crate::support::wait_until("the other's version has the name", || {
        names_in(&fixture.path("rawmodels")).contains(&double.clone().into())
    });
    let brought = sum(sync(&fixture, &["--delete"]), 0);
    assert_eq!(brought["other_name"], json!(1), "{brought}");
    assert_eq!(newest(), other, "what this machine sent is not sent again");
    let left = ids(&fixture);
    assert!(
        left.contains(&own),
        "no machine has replaced it knowingly: {left:?}"
    );
    assert!(!left.contains(&first), "both replaced it: {left:?}");
}

#[test]
fn what_sync_notes_does_not_keep_a_mount_from_the_usual_folders() {
    needs_fuse!();
    let fixture = folder_with(1);
    run(sync(&fixture, &[]));
    let home = fixture.scratch.path();
    assert!(exists(home.join(".local/state/assetfs/sync")));
    let second = home.join("second");
    let mut command = Command::new(ASSETFS);
    for variable in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(variable);
    }
    command
        .arg("mount")
        .arg(&second)
        .args(["--base-url", &fixture.service.base_url])
        .env("ASSETFS_TOKEN", fixture.service.token())
        .env("HOME", home);
    run(command);
    let _mounted = MountPoint(second.clone());
    assert!(exists(second.join("rawmodels/m0/m0.glb")));
}

#[test]
fn folders_that_cannot_work_are_wrong_use() {
    needs_fuse!();
    let fixture = folder_with(1);
    fs::create_dir(fixture.path("rawmodels/draft")).unwrap();
    for (drive, said) in [
        ("rawmodels/draft", "is inside a drive"),
        ("jobs", "is inside a drive"),
    ] {
        let told = fails(sync_into(&fixture, &fixture.path(drive), &[]), 2);
        assert!(told.contains(said), "{told}");
    }
    let mut command = Command::new(ASSETFS);
    command
        .args(["sync"])
        .args([fixture.path("rawmodels"), fixture.root()]);
    assert!(fails(command, 2).contains("is in the drive itself"));
    let mut command = Command::new(ASSETFS);
    command
        .arg("sync")
        .args([models(&fixture).join("m0.glb"), fixture.root()]);
    assert!(fails(command, 2).contains("is a file"));
}

#[test]
fn a_version_that_failed_is_sent_by_no_other_machine_and_is_over_with_the_next_good_file() {
    needs_fuse!();
    let fixture = folder_with(1);
    sum(sync(&fixture, &[]), 0);
    let elsewhere = fixture.second_machine();
    sum(sync_into(&fixture, &elsewhere.root(), &[]), 0);
    fs::write(models(&fixture).join("m0.glb"), broken_glb()).unwrap();
    sum(sync(&fixture, &[]), 1);
    let sent = fixture.service.assets().len();
    crate::support::wait_until("the other machine lists it", || {
        names_in(&elsewhere.root().join("rawmodels")).len() == 2
    });
    let other = sum(sync_into(&fixture, &elsewhere.root(), &[]), 1);
    assert_eq!(other["double"], json!(0), "{other}");
    assert_eq!(fixture.service.assets().len(), sent);

    // The other machine has a good file first.
    put(&fixture, 0, 5);
    let other = sum(sync_into(&fixture, &elsewhere.root(), &[]), 0);
    assert_eq!(other["replaced"], json!(1), "{other}");
    crate::support::wait_until("nothing is left of the failed version", || {
        // What others have done is learned by looking.
        names_in(&fixture.path("rawmodels"));
        let status = fixture.status();
        status["drafts"].as_array().unwrap().is_empty() && status["failed_elsewhere"] == 0
    });
    run(assetfs("wait", fixture.root()));
}
