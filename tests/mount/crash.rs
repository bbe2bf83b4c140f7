//! The process of the mount is killed; the next mount continues.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fault_server::Relay;
use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, file_names, model, post_json, run, wait_until};

#[test]
fn an_upload_that_was_killed_in_the_middle_ends_once_after_the_next_mount() {
    needs_fuse!();
    let link = Relay::start();
    link.set_speed(Some(400_000));
    let public_url = format!("{}/", link.url());
    let mut fixture = Fixture::unmounted(&["--public-url", &public_url]);
    // `serve` prints the public URL; the relay connects to the real address.
    link.to(fixture.service.listens_on().parse().unwrap());
    assert_eq!(fixture.service.base_url, public_url);
    fixture.mount(&[]);
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    wait_until("the upload is under way", || link.passed_bytes() > 100_000);
    fixture.kill_mount();
    link.set_speed(None);
    fixture.mount(&[]);
    fixture.wait("rawmodels/model");
    let asset = fixture.only_asset();
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(fixture.uploaded_names(&asset), file_names(&source));
    assert_same_files(&source, &target);
}

#[test]
fn a_draft_that_was_killed_before_it_settled_is_sent_once_after_the_next_mount() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    run(Command::new("cp").arg("-a").args([&source, &target]));
    fixture.kill_mount();
    assert_eq!(fixture.service.assets().len(), 0);
    fixture.mount(&[]);
    assert_same_files(&source, &target);
    fixture.wait("rawmodels/model");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
}

/// Every deletion takes longer than the test.
const ENDLESS_DELETES: &str = "[[rule]]\nmethod = \"DELETE\"\npath = \"/api/*\"\n\
    fault = { kind = \"latency\", ms = 600000 }\n";

#[test]
fn a_killed_mount_ends_although_a_removal_waits_in_a_folder_that_changed() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted_with_chaos(ENDLESS_DELETES, &[]);
    fixture.mount(&[]);
    fixture.add_chair();
    let mut removal = Command::new("rm")
        .arg("-r")
        .arg(fixture.path("rawmodels/chair"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the service is asked", || fixture.chaos_fired() > 0);
    // The listing changes, and the kernel holds the lock of its folder.
    let url = format!(
        "{}api/v2/rawmodel/api-upload/start",
        fixture.service.base_url
    );
    let body = serde_json::json!({ "model_name": "other", "filenames": ["other.glb"] });
    post_json(&url, &fixture.service.token(), &body);
    fs::write(fixture.path(".assetfs/ctl"), "refresh\n").unwrap();
    // Nothing in the folder can be looked up meanwhile.
    std::thread::sleep(Duration::from_secs(3));
    let pid = fixture.pid();
    run(Command::new("kill").args(["-9", &pid.to_string()]));
    let killed = Instant::now();
    let process = Path::new("/proc").join(pid.to_string());
    while process.exists() && killed.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let has_ended = !process.exists();
    if !has_ended {
        run(Command::new("umount").arg("-f").arg(fixture.root()));
    }
    removal.wait().unwrap();
    assert!(has_ended, "a thread of the killed process hangs");
    fixture.mount(&[]);
}
