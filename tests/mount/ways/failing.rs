//! Failures: each cause has an error number and a message, nothing hangs, and accepted work continues automatically.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::tools::{assert_arrived, tree};
use crate::needs_fuse;
use crate::square_glb::changed_glb;
use crate::support::{ASSETFS, Fixture, assetfs, exists, read, run, small_chair, text, wait_until};

fn status_plan(path: &str, status: u16) -> String {
    format!("[[rule]]\npath = \"{path}\"\nfault = {{ kind = \"status\", status = {status} }}\n")
}

#[test]
fn drafts_are_found_again_when_accounts_json_was_lost_while_the_service_was_away() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "1h"]);
    fixture.copy_chair();
    fixture.kill_mount();
    let state = fixture.scratch.path().join("state");
    fs::remove_file(state.join("accounts.json")).unwrap();
    fixture.service.stop();
    fixture.mount(&["--settle", "1h"]);
    run(assetfs("unmount", fixture.root()));
    fixture.service.start_again();
    fixture.mount(&["--settle", "1h"]);
    wait_until("the draft is there", || {
        fixture.path("rawmodels/chair/chair.gltf").exists()
    });
}

#[test]
fn a_damaged_accounts_json_hides_no_draft() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "1h"]);
    fixture.copy_chair();
    fixture.kill_mount();
    let accounts = fixture.scratch.path().join("state/accounts.json");
    fs::write(&accounts, "{").unwrap();
    fixture.service.stop();
    let told = fixture.mount(&["--settle", "1h"]);
    assert!(told.contains("accounts.json was damaged"), "{told}");
    assert!(fixture.path("rawmodels/chair/chair.gltf").exists());
}

/// The same service under another host name, and an account of which the service does not say that it is the same.
#[test]
fn drafts_are_there_under_another_address_of_the_service_or_named() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "1h"]);
    fixture.copy_chair();
    fixture.kill_mount();
    let other_name = fixture.service.base_url.replace("127.0.0.1", "localhost");
    assert_ne!(other_name, fixture.service.base_url);
    fixture.service.base_url = other_name;
    fixture.mount(&["--settle", "1h"]);
    assert!(fixture.path("rawmodels/chair/chair.gltf").exists());
    fixture.kill_mount();

    let state = fixture.scratch.path().join("state");
    let folder = fs::read_dir(&state).unwrap().flatten();
    let folder = folder.map(|it| it.path()).find(|it| it.is_dir()).unwrap();
    fs::remove_file(state.join("accounts.json")).unwrap();
    fs::remove_file(folder.join("account.json")).unwrap();
    let told = fixture.mount(&["--settle", "1h"]);
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert!(told.contains(name) && told.contains("not sent"), "{told}");
    let status = run(assetfs("status", fixture.root()));
    assert!(status.contains(name), "{status}");
    let mut recover = Command::new(ASSETFS);
    let recovered = run(recover.arg("recover").arg("--state-dir").arg(&state));
    assert!(recovered.contains(name), "{recovered}");
}

/// Such a service is there; it only does not say whose the token is.
#[test]
fn a_service_without_records_of_tokens_is_not_called_silent() {
    needs_fuse!();
    let plan = status_plan("/api/v2/user/tokens/", 404);
    let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
    let told = fixture.mount(&[]);
    assert!(!told.contains("does not answer"), "{told}");
    assert_eq!(fixture.status()["online"], true);
}

#[test]
fn rm_r_removes_a_draft_that_shows_a_failure() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.service.stop();
    fixture.copy_chair();
    let chair = fixture.path("rawmodels/chair");
    wait_until("the failure is shown", || chair.join("ERROR.txt").exists());
    // It goes on by itself when the service answers.
    let draft = fixture.status()["drafts"][0].clone();
    assert_eq!(draft["stuck"], false, "{draft}");
    run(Command::new("rm").arg("-r").arg(&chair));
    assert!(!chair.exists());
}

#[test]
fn each_refusal_of_the_service_has_its_error_number_and_a_sentence() {
    needs_fuse!();
    const EACCES: i32 = 13;
    const ENOENT: i32 = 2;
    const EBUSY: i32 = 16;
    const EINVAL: i32 = 22;
    const EIO: i32 = 5;
    for (status, errno) in [
        (401, EACCES),
        (403, EACCES),
        (404, ENOENT),
        (400, EINVAL),
        (422, EINVAL),
        (429, EBUSY),
        (503, EIO),
    ] {
        let plan = status_plan("/api/v2/user/rapidpoints", status);
        let mut fixture = Fixture::unmounted_with_chaos(&plan, &[]);
        fixture.mount(&[]);
        let error = fs::read(fixture.path("account/points")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(errno), "{status}: {error}");
        // A missing file needs no explanation.
        if errno != ENOENT {
            let why = fixture.why("account/points");
            assert!(!why.contains("nothing failed"), "{status}: {why}");
        }
    }
}

/// A mount with the chair, a configuration next to it, and the job that a copy of it starts.
fn chair_and_job(plan: &str) -> (Fixture, PathBuf, PathBuf) {
    let mut fixture = Fixture::unmounted_with_chaos(plan, &[]);
    fixture.mount(&[]);
    fixture.add_chair();
    let config = fixture.scratch.path().join("half.json");
    fs::write(&config, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    let job = fixture.path("rawmodels/chair/optimize/half.json");
    (fixture, config, job)
}

#[test]
fn a_job_that_the_service_refuses_fails_the_copy_with_its_words() {
    needs_fuse!();
    let plan = "[[rule]]\nmethod = \"POST\"\npath = \"/api/v2/rawmodel/optimize/*\"\ntimes = 1\n\
        fault = { kind = \"status\", status = 422, body = '{\"message\":\"No such decimator.\"}' }\n";
    let (fixture, config, job) = chair_and_job(plan);
    let copied = Command::new("cp").args([&config, &job]).output().unwrap();
    assert!(
        text(&copied.stderr).contains("Invalid argument"),
        "{}",
        text(&copied.stderr)
    );
    let why = fixture.why("rawmodels/chair/optimize/half.json");
    assert!(why.contains("No such decimator"), "{why}");
    assert_eq!(read(&job), read(&config), "the text is kept");
}

#[test]
fn a_job_that_gets_no_answer_is_queued_within_ten_seconds_and_goes_out_later() {
    needs_fuse!();
    let plan = "[[rule]]\nmethod = \"POST\"\npath = \"/api/v2/rawmodel/optimize/*\"\ntimes = 1\n\
        fault = { kind = \"latency\", ms = 14000 }\n";
    let (fixture, config, job) = chair_and_job(plan);
    let began = Instant::now();
    run(Command::new("cp").args([&config, &job]));
    assert!(
        began.elapsed() < Duration::from_secs(13),
        "{:?}",
        began.elapsed()
    );
    let status = text(&read(fixture.path("rawmodels/chair/optimize/half.status")));
    assert_eq!(status.trim(), "queued");
    fixture.wait("rawmodels/chair/optimize/half.json");
    assert_eq!(fixture.service.get("api/v2/rapidmodel")["meta"]["total"], 1);
}

/// A read that waits for the network and is ended by a signal.
fn a_waiting_read_ends_by(signal: &str, number: i32) {
    let slow = "[[rule]]\nmethod = \"GET\"\npath = \"/storage/*\"\nfault = { kind = \"latency\", ms = 60000 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(slow, &[]);
    fixture.mount(&[]);
    fixture.copy_chair();
    wait_until("the analysis is there", || {
        fixture.path("rawmodels/chair/analysis").is_dir()
    });
    let mut cat = Command::new("cat")
        .arg(fixture.path("rawmodels/chair/analysis/rpd_info.json"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(
        cat.try_wait().unwrap().is_none(),
        "it waits for the service"
    );
    let began = Instant::now();
    run(Command::new("kill").args([signal, &cat.id().to_string()]));
    let ended = cat.wait().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(ended.signal(), Some(number), "{ended}");
}

#[test]
fn ctrl_c_ends_a_read_that_waits() {
    needs_fuse!();
    a_waiting_read_ends_by("-INT", 2);
}

#[test]
fn sigkill_ends_a_read_that_waits() {
    needs_fuse!();
    a_waiting_read_ends_by("-KILL", 9);
}

#[test]
fn without_network_a_drive_mounts_takes_drafts_and_sends_them_when_it_is_back() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = fixture.add_chair();
    run(assetfs("unmount", fixture.root()));
    fixture.service.stop();
    fixture.mount(&[]);
    let later = fixture.path("rawmodels/later");
    run(Command::new("cp").arg("-r").args([&source, &later]));
    run(Command::new("mv").args([&later, &fixture.path("rawmodels/latest")]));
    assert_eq!(
        tree(&fixture.path("rawmodels/latest"), &[]),
        tree(&source, &[])
    );
    fixture.service.start_again();
    assert_arrived(&fixture, "latest", &tree(&source, &[]));
}

#[test]
fn why_says_that_the_service_is_away_if_a_lookup_fails() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.add_chair();
    let away = fixture.second_machine();
    assert!(
        exists(away.root().join("rawmodels/chair")),
        "listed, not opened"
    );
    fixture.service.stop();
    let unknown = away.root().join("rawmodels/chair/chair.gltf");
    assert!(fs::read(&unknown).is_err());
    let why = run(assetfs("why", &unknown));
    assert!(why.contains("cannot be reached"), "{why}");
    fixture.service.start_again();
}

#[test]
fn a_failure_after_the_tool_has_ended_is_in_error_txt() {
    needs_fuse!();
    let plan = "[[rule]]\nmethod = \"POST\"\npath = \"*/api-upload/start\"\ntimes = 1\n\
        fault = { kind = \"status\", status = 422, body = '{\"message\":\"The name is reserved.\"}' }\n";
    let mut fixture = Fixture::unmounted_with_chaos(plan, &[]);
    fixture.mount(&[]);
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    let told = target.join("ERROR.txt");
    wait_until("the failure is told", || told.is_file());
    assert!(
        text(&read(&told)).contains("The name is reserved"),
        "{}",
        text(&read(&told))
    );
    assert_eq!(
        tree(&target, &["ERROR.txt"]),
        tree(&source, &[]),
        "nothing is lost"
    );
    run(assetfs("retry", &target));
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
    assert!(!told.exists(), "the retry worked");
}

#[test]
fn why_has_a_sentence_for_every_operation_that_was_refused() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let path = |below: &str| fixture.path(below);
    fixture.copy_chair();
    fs::write(path("rawmodels/lone.glb"), changed_glb(|_| {})).unwrap();
    run(Command::new(ASSETFS)
        .arg("commit")
        .arg(path("rawmodels/lone.glb")));
    fixture.wait("rawmodels/lone");

    let chair = path("rawmodels/chair");
    let gltf = chair.join("chair.gltf");
    let refused = |error: std::io::Error, errno: i32, below: &str, said: &str| {
        assert_eq!(error.raw_os_error(), Some(errno), "{below}: {error}");
        let why = fixture.why(below);
        assert!(why.contains(said), "{below}: {why}");
    };
    let not_made = "cannot be made here";
    let error = std::os::unix::fs::symlink("chair.gltf", chair.join("link")).unwrap_err();
    refused(error, libc::EPERM, "rawmodels/chair/link", not_made);
    let error = fs::hard_link(&gltf, chair.join("hard")).unwrap_err();
    refused(error, libc::EPERM, "rawmodels/chair/hard", not_made);
    let kind = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR;
    let error = rustix::fs::mknodat(rustix::fs::CWD, chair.join("pipe"), kind, mode, 0);
    let error = error.unwrap_err().into();
    refused(error, libc::EPERM, "rawmodels/chair/pipe", not_made);
    let file = fs::File::options().write(true).open(&gltf).unwrap();
    let zeros = rustix::fs::FallocateFlags::ZERO_RANGE | rustix::fs::FallocateFlags::KEEP_SIZE;
    let error = rustix::fs::fallocate(&file, zeros, 0, 10)
        .unwrap_err()
        .into();
    let below = "rawmodels/chair/chair.gltf";
    refused(error, libc::EOPNOTSUPP, below, "only be reserved");
    let flags = rustix::fs::XattrFlags::empty();
    let points = path("account/points");
    let error = rustix::fs::setxattr(&points, "user.note", b"x", flags).unwrap_err();
    let said = "extended attribute";
    refused(error.into(), libc::EOPNOTSUPP, "account/points", said);
    let error = fs::remove_file(path("rawmodels/lone.glb")).unwrap_err();
    let said = "deleting its folder rawmodels/lone deletes it";
    refused(error, libc::EPERM, "rawmodels/lone.glb", said);
}
