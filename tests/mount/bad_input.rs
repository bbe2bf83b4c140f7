//! Bad input: a clear error, and nothing is lost.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::needs_fuse;
use crate::support::{Fixture, assetfs, fails, read, request, run, text, wait_until};

/// A GLB whose header declares more bytes than the file has.
fn truncated_glb() -> Vec<u8> {
    let mut glb = b"glTF".to_vec();
    glb.extend(2_u32.to_le_bytes());
    glb.extend(1_000_000_u32.to_le_bytes());
    glb.extend([0; 2000]);
    glb
}

#[test]
fn a_truncated_glb_is_not_sent_by_itself_and_fails_clearly_by_force() {
    needs_fuse!();
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("rawmodels/cut")).unwrap();
    fs::write(fixture.path("rawmodels/cut/cut.glb"), truncated_glb()).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(fixture.service.assets().len(), 0);
    let status = text(&read(fixture.path("rawmodels/cut/.assetfs/status")));
    assert!(status.starts_with("incomplete: cut.glb has"), "{status}");

    let refused = assetfs("commit", fixture.path("rawmodels/cut"))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    run(assetfs("commit --force", fixture.path("rawmodels/cut")));
    let waited = fixture.try_wait("rawmodels/cut");
    assert_eq!(waited.status.code(), Some(1), "{}", text(&waited.stderr));
    assert_eq!(fixture.only_asset()["upload_status"], "Importing Failed");
    let reason = text(&read(fixture.path("rawmodels/cut/ERROR.txt")));
    assert!(reason.contains("truncated"), "{reason}");
    assert!(fixture.why("rawmodels/cut").contains("truncated"));
    assert_eq!(
        read(fixture.path("rawmodels/cut/cut.glb")),
        truncated_glb(),
        "nothing is lost"
    );

    // The next job runs.
    fixture.add_chair();
}

#[test]
fn a_preset_that_is_not_json_is_einval_at_close_and_why_says_line_and_column() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let bad = fixture.scratch.path().join("bad.json");
    let broken = "{\n  \"limits\": {,}\n}\n";
    fs::write(&bad, broken).unwrap();
    let job = fixture.path("rawmodels/chair/optimize/bad.json");
    let copied = Command::new("cp").arg(&bad).arg(&job).output().unwrap();
    assert!(!copied.status.success());
    assert!(
        text(&copied.stderr).contains("Invalid argument"),
        "{}",
        text(&copied.stderr)
    );
    assert_eq!(text(&read(&job)), broken, "the text is kept");
    let why = fixture.why("rawmodels/chair/optimize/bad.json");
    assert!(why.contains("line 2") && why.contains("column"), "{why}");
    assert_eq!(fixture.service.get("api/v2/rapidmodel")["meta"]["total"], 0);
}

#[test]
fn a_wrong_token_is_refused_before_anything_is_mounted_and_no_supervisor_tries_it_again() {
    needs_fuse!();
    let fixture = Fixture::unmounted(&[]);
    // As the units of systemd start it.
    let mut mount = fixture.mount_command(&["--foreground"]);
    let said = fails(mount.env("ASSETFS_TOKEN", "1|wrong"), 2);
    for unit in ["system/assetfs@", "user/assetfs@", "user/assetfs"] {
        let file = format!(
            "{}/packaging/systemd/{unit}.service",
            env!("CARGO_MANIFEST_DIR")
        );
        let lines = fs::read_to_string(file).unwrap();
        assert!(lines.contains("\nRestartPreventExitStatus=2\n"), "{unit}");
    }
    assert!(
        said.contains("refuses the token") && said.contains("ASSETFS_TOKEN"),
        "{said}"
    );
    assert!(
        !said.contains("wrong"),
        "the secret is not repeated: {said}"
    );
}

#[test]
fn a_token_that_is_revoked_later_is_eacces_with_what_to_do() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fs::read_dir(fixture.path("rawmodels")).unwrap().count();
    let id = fixture
        .service
        .token()
        .split('|')
        .next()
        .unwrap()
        .to_owned();
    run(assetfs("unmount", fixture.root()));
    let url = format!("{}api/v2/user/tokens/{id}", fixture.service.base_url);
    request(reqwest::Method::DELETE, &url, &fixture.service.token());
    fixture.mount(&[]);
    let error = fs::read_dir(fixture.path("rapidmodels"))
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(
        fixture.why("rapidmodels").contains("token"),
        "{}",
        fixture.why("rapidmodels")
    );
    // Programs go on: drafts are still accepted. Whoever watches the drive is told.
    fixture.copy_chair();
    let status = text(&read(fixture.path(".assetfs/status.json")));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["online"], false);
    let why = status["offline_because"].as_str().unwrap();
    assert!(why.contains("token"), "{why}");
    let metrics = text(&read(fixture.path(".assetfs/metrics")));
    assert!(metrics.contains("assetfs_online 0\n"), "{metrics}");
}

#[test]
fn a_mount_point_that_cannot_be_used_is_refused_before_going_to_the_background() {
    needs_fuse!();
    let fixture = Fixture::unmounted(&[]);
    let refused = |what: &str| {
        let said = fails(fixture.mount_command(&[]), 1);
        assert!(said.contains(what), "{said}");
    };
    fs::write(fixture.root(), "a file").unwrap();
    refused("is not a folder");
    fs::remove_file(fixture.root()).unwrap();
    fs::create_dir(fixture.root()).unwrap();
    fs::write(fixture.path("precious"), "x").unwrap();
    refused("is not empty");
}

#[test]
fn a_missing_mount_point_is_made_and_a_dead_mount_cleared() {
    needs_fuse!();
    let mut fixture = Fixture::unmounted(&[]);
    assert!(!fixture.root().exists());
    fixture.mount(&[]);
    let again = fixture.mount_command(&[]).output().unwrap();
    assert!(
        text(&again.stderr).contains("already mounted"),
        "{}",
        text(&again.stderr)
    );
    fixture.kill_mount();
    let error = fs::read(fixture.path(".assetfs/status.json")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(107), "ENOTCONN");
    fixture.mount(&[]);
    wait_until("the drive answers", || fixture.path("rawmodels").is_dir());
}
