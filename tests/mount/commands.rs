//! The commands around a mount.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::needs_fuse;
use crate::support::{
    ASSETFS, Fixture, assetfs, exists, fails, run, shell, small_chair, text, wait_until,
};
use crate::ways::models::triangle_glb;

#[test]
fn status_shows_drafts_and_speaks_json() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    fixture.copy_chair();
    let json = run(assetfs("status --json", fixture.root()));
    let status: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status["drafts"][0]["path"], "/rawmodels/chair");
    let page = run(assetfs("status", fixture.root()));
    assert!(page.contains("rawmodels/chair"), "{page}");
    let token = fixture.service.token();
    let secret = token.split('|').nth(1).unwrap();
    assert!(
        !json.contains(secret) && !fixture.log_tail().contains(secret),
        "the token leaks"
    );
}

#[test]
fn the_hidden_folder_is_never_listed_and_always_resolves() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let listed = shell(&fixture.root(), "find . -name .assetfs");
    assert_eq!(listed, "");
    for path in [
        ".assetfs/status.json",
        "rawmodels/chair/.assetfs/detail.json",
    ] {
        let record: Value = serde_json::from_slice(&fs::read(fixture.path(path)).unwrap()).unwrap();
        assert!(record.is_object(), "{path}");
        assert!(
            !record.to_string().replace("?…", "").contains('?'),
            "a signed URL in {path}: {record}"
        );
    }
    let id = fixture.only_asset()["id"].to_string();
    let link = fs::read_link(fixture.path(&format!("rawmodels/.assetfs/by-id/{id}"))).unwrap();
    assert!(exists(fixture.path("rawmodels/.assetfs/by-id").join(link)));
}

#[test]
fn the_links_that_the_drive_makes_for_scripts_name_their_models_in_commands() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let id = fixture.only_asset()["id"].to_string();
    let by_id = fixture.path(&format!("rawmodels/.assetfs/by-id/{id}"));
    let found = fixture.path("rawmodels/.assetfs/search/chair/chair");
    for link in [&by_id, &found] {
        assert!(fs::symlink_metadata(link).unwrap().is_symlink(), "{link:?}");
        for command in ["wait --quiet", "commit", "why", "scale", "pin"] {
            let mut command = assetfs(command, link);
            if command.get_args().any(|arg| arg == "scale") {
                command.arg("1");
            }
            run(command);
        }
    }
    let source = fixture.path("rawmodels/chair");
    let refused = fails(assetfs("replace", &source).arg(&by_id), 2);
    assert!(refused.contains("belongs to"), "{refused}");
    // With a slash at the end, as a shell completes it.
    run(assetfs("rm", format!("{}/", by_id.display())));
    let left = fixture.service.get("api/v2/rawmodel");
    assert_eq!(left["meta"]["total"], 0, "{left}");
}

#[test]
fn the_tree_can_be_walked_to_its_end() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    shell(
        &fixture.root(),
        "find . > /dev/null; ls -lR . > /dev/null; du -s . > /dev/null; grep -r zzzz . || true",
    );
    let top = shell(&fixture.root(), "ls | tr '\\n' ' '");
    for name in ["rawmodels", "rapidmodels", "presets"] {
        assert!(top.contains(name), "{top}");
    }
    let analysis: Value = serde_json::from_slice(
        &fs::read(fixture.path("rawmodels/chair/analysis/rpd_info.json")).unwrap(),
    )
    .unwrap();
    assert!(analysis.is_object());
}

#[test]
fn a_path_outside_any_drive_is_reported_as_such() {
    let scratch = tempfile::tempdir().unwrap();
    for command in ["why", "wait", "commit"] {
        let output = Command::new(ASSETFS)
            .arg(command)
            .arg(scratch.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(
            text(&output.stderr).contains("not in a mounted assetfs drive"),
            "{command}"
        );
    }
}

#[test]
fn unmount_of_no_mount_or_a_busy_mount_is_a_clear_error() {
    needs_fuse!();
    let fixture = Fixture::new();
    let held = fs::File::open(fixture.path(".assetfs/status.json")).unwrap();
    let said = fails(assetfs("unmount", fixture.root()), 1);
    assert!(said.contains("in use"), "{said}");
    drop(held);
    run(assetfs("unmount", fixture.root()));
    assert_eq!(fs::read_dir(fixture.root()).unwrap().count(), 0);
}

#[test]
fn wait_fails_for_a_draft_that_cannot_go_without_help() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::write(fixture.path("rawmodels/alone.obj"), "v 0 0 0\n").unwrap();
    let said = fails(
        assetfs("wait --timeout 30s", fixture.path("rawmodels/alone.obj")),
        1,
    );
    assert!(said.contains("into a folder"), "{said}");
}

#[test]
fn wait_of_a_model_waits_for_its_new_version_that_is_being_sent() {
    needs_fuse!();
    let fixture = Fixture::new();
    for mark in ["first", "second", "third"] {
        let model = triangle_glb(mark);
        let file = fixture.path("rawmodels/chair.glb");
        if mark == "second" {
            // As rsync does.
            let part = fixture.path("rawmodels/.chair.glb.Ab12Cd");
            fs::write(&part, &model).unwrap();
            fs::rename(&part, &file).unwrap();
        } else {
            let local = fixture.scratch.path().join("chair.glb");
            fs::write(&local, &model).unwrap();
            run(Command::new("cp").arg(&local).arg(&file));
        }
        fixture.wait("rawmodels/chair");
        let now = fs::read(fixture.path("rawmodels/chair/chair.glb"));
        assert_eq!(now.unwrap(), model, "{mark}");
    }
}

#[test]
fn a_budget_is_checked_on_a_machine_that_does_not_have_the_text() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let text = fixture.path("rawmodels/chair/optimize/half.json");
    fs::write(&text, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    fixture.wait("rawmodels/chair/optimize");
    let other = fixture.second_machine();
    let results = other.root().join("rawmodels/chair/optimize");
    wait_until("the other machine has the result", || {
        results.join("half").exists()
    });
    let link = other
        .root()
        .join("rapidmodels/.assetfs/by-source/chair/half");
    for path in [&results, &link] {
        run(assetfs("wait", path).args(["--max-bytes", "1G"]));
        let said = fails(assetfs("wait", path).args(["--max-bytes", "1"]), 1);
        assert!(said.contains("more than the budget"), "{said}");
    }
}

#[test]
fn a_budget_for_a_source_model_is_wrong_use() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let mut wait = assetfs("wait", fixture.path("rawmodels/chair"));
    wait.args(["--max-triangles", "1"]);
    let said = fails(wait, 2);
    assert!(said.contains("a budget is about results"), "{said}");
    // What is done already would not be looked at.
    let mut wait = assetfs("wait", fixture.root());
    let said = fails(wait.args(["--max-bytes", "1"]), 2);
    assert!(said.contains("name the results"), "{said}");
}

#[test]
fn wait_follows_a_replacement_that_goes_on_in_the_background() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let local = fixture.scratch.path().join("chair.glb");
    let file = fixture.path("rawmodels/chair.glb");
    fs::write(&local, triangle_glb("first")).unwrap();
    run(Command::new("cp").arg(&local).arg(&file));
    fixture.wait("rawmodels/chair");
    for (mark, waits_for) in [("second", "rawmodels/chair"), ("third", "")] {
        fs::write(&local, triangle_glb(mark)).unwrap();
        let mut replace = Command::new(ASSETFS);
        run(replace
            .args(["replace", "--no-wait"])
            .arg(&local)
            .arg(fixture.path("rawmodels/chair")));
        fixture.wait(waits_for);
        let now = fs::read(fixture.path("rawmodels/chair/chair.glb"));
        assert_eq!(now.unwrap(), triangle_glb(mark), "{mark}");
    }
    // A version that is cancelled fails its wait.
    fixture.service.stop();
    fixture.service.start_again_with(&["--workers", "0"]);
    fs::write(&local, triangle_glb("fourth")).unwrap();
    let mut replace = Command::new(ASSETFS);
    run(replace
        .args(["replace", "--no-wait"])
        .arg(&local)
        .arg(fixture.path("rawmodels/chair")));
    let mut waiting = Command::new(ASSETFS)
        .args(["wait", "--quiet"])
        .arg(fixture.path("rawmodels/chair"))
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(waiting.try_wait().unwrap(), None, "it waits");
    run(assetfs("cancel", fixture.path("rawmodels/chair")));
    assert_eq!(waiting.wait().unwrap().code(), Some(1));
}

#[test]
fn the_local_service_can_be_mounted_without_an_account() {
    needs_fuse!();
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("mnt");
    let mount = || {
        run(Command::new(ASSETFS)
            .arg("mount")
            .arg(&root)
            .args(["--local", "--settle", "300ms", "--state-dir"])
            .arg(scratch.path().join("state"))
            .arg("--cache-dir")
            .arg(scratch.path().join("cache"))
            .arg("--data-dir")
            .arg(scratch.path().join("data")))
    };
    mount();
    let source = small_chair(scratch.path());
    run(Command::new("cp")
        .arg("-r")
        .arg(&source)
        .arg(root.join("rawmodels/chair")));
    run(assetfs("wait", root.join("rawmodels/chair")));
    run(assetfs("unmount", &root));
    mount();
    assert!(
        root.join("rawmodels/chair/chair.gltf").is_file(),
        "the same account after a remount"
    );
    run(assetfs("unmount", &root));
}

#[test]
fn orders_and_why_speak_of_the_path_they_were_given() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    // A draft that is not sent: messages about other paths must not mention it.
    let neighbour = fixture.path("rawmodels/cut.glb");
    fs::write(&neighbour, b"glTF\x02\0\0\0\xff\xff\0\0").unwrap();
    let said = |below: &str, args: &[&str]| {
        let mut command = Command::new(ASSETFS);
        let output = command.args(args).current_dir(fixture.path(below)).output();
        let output = output.unwrap();
        let words = format!("{}{}", text(&output.stdout), text(&output.stderr));
        (output.status.code(), words)
    };
    let orders: [&[&str]; 11] = [
        &["why", "rawmodels/none"],
        &["why", "rawmodels/none/deeper"],
        &["commit", "rawmodels/none"],
        &["cancel", "rawmodels/none.glb"],
        &["retry", "rawmodels/none"],
        &["run", "rawmodels/chair/optimize/none"],
        &["scale", "rawmodels/none", "2"],
        &["convert", "rawmodels/none", "obj"],
        &["rm", "rawmodels/none"],
        &["pin", "rawmodels/none"],
        &["check", "rawmodels/chair", "rawmodels/none"],
    ];
    for order in orders {
        let (code, words) = said("", order);
        assert_eq!(code, Some(1), "{order:?}: {words}");
        let path = order.iter().rfind(|word| word.contains("none")).unwrap();
        let is_plain = words.contains(&format!("{path} does not exist"));
        assert!(is_plain && !words.contains("cut.glb"), "{order:?}: {words}");
    }
    for folder in ["rawmodels", "rawmodels/chair/analysis"] {
        let (code, words) = said("", &["commit", folder]);
        assert_eq!(code, Some(1), "{words}");
        let is_about = words.contains(folder) && !words.contains("cut.glb");
        assert!(is_about, "{words}");
    }
    // A relative path works too.
    let (_, words) = said("rawmodels", &["why", "cut.glb"]);
    assert!(words.contains("cut.glb"), "{words}");
    let (code, words) = said("rawmodels", &["cancel", "cut.glb"]);
    assert_eq!(code, Some(0), "{words}");
}

#[test]
fn a_job_is_not_waited_for_longer_than_its_model_can_become_ready() {
    needs_fuse!();
    let fixture = Fixture::new();
    let dir = fixture.scratch.path();
    fs::create_dir(fixture.path("rawmodels/bad")).unwrap();
    fs::write(fixture.path("rawmodels/bad/bad.glb"), "no model").unwrap();
    run(assetfs("commit", fixture.path("rawmodels/bad")));
    fs::write(
        dir.join("half.json"),
        r#"{"limits":{"faces":{"percentage":50}}}"#,
    )
    .unwrap();
    shell(dir, "cp half.json mnt/rawmodels/bad/optimize/");
    let job = fixture.path("rawmodels/bad/optimize/half.json");
    let said = fails(assetfs("wait --timeout 100s", job), 1);
    assert!(
        said.contains("waiting for model, which failed: bad.glb"),
        "{said}"
    );
}
