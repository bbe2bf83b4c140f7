//! `assetfs samba`: its configuration in a real Samba, and what it refuses. `scripts/check/smb` does much more.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::smbd::{PROGRAMS, Smbd};
use crate::square_glb::numbered_glb;
use crate::support::{Fixture, assetfs, fails, text};
use crate::{needs_fuse, needs_program, needs_root};

/// Shares the drive of a fixture.
fn share(fixture: &Fixture) -> Smbd {
    Smbd::share(&fixture.root(), &fixture.scratch.path().join("samba"))
}

/// What smbclient says to these commands.
fn client(smbd: &Smbd, commands: &str) -> String {
    let output = Command::new("smbclient")
        .arg("-s")
        .arg(&smbd.conf)
        .args(["//127.0.0.1/studio", "-U", "root%secret"])
        .args(["-p", &smbd.port.to_string(), "-c", commands])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_model_that_is_copied_in_by_smb_is_sent_and_a_refusal_has_its_sentence() {
    needs_fuse!();
    needs_root!();
    for program in PROGRAMS {
        needs_program!(program);
    }
    let fixture = Fixture::with(&[], &["--allow-other"]);
    let smbd = share(&fixture);
    let glb = fixture.scratch.path().join("chair.glb");
    fs::write(&glb, numbered_glb(1)).unwrap();
    let put = |name: &str| client(&smbd, &format!("put {} {name}", glb.display()));
    let said = client(&smbd, "mkdir rawmodels/chair") + &put("rawmodels/chair/Chair.glb");
    assert!(!said.contains("NT_STATUS"), "{said}");
    fixture.wait("rawmodels/chair");
    // Another case is the same file, and its bytes are the same.
    let back = fixture.scratch.path().join("back.glb");
    let said = client(
        &smbd,
        &format!("get RAWMODELS/chair/chair.GLB {}", back.display()),
    );
    assert!(fs::read(&back).unwrap() == numbered_glb(1), "{said}");
    let said = put("rawmodels/chair/more.glb");
    assert!(said.contains("NT_STATUS"), "{said}");
    let by_smb = fixture.why("rawmodels/chair/more.glb");
    fs::write(fixture.path("rawmodels/chair/more.glb"), b"x").unwrap_err();
    assert_eq!(by_smb, fixture.why("rawmodels/chair/more.glb"));
    assert!(
        by_smb.contains("copy the model in under another name"),
        "{by_smb}"
    );
}

#[test]
fn a_changed_loose_file_that_is_copied_over_itself_by_smb_is_the_next_version() {
    needs_fuse!();
    needs_root!();
    for program in PROGRAMS {
        needs_program!(program);
    }
    let fixture = Fixture::with(&[], &["--allow-other"]);
    let smbd = share(&fixture);
    let glb = fixture.scratch.path().join("chair.glb");
    for number in 1..4 {
        fs::write(&glb, numbered_glb(number)).unwrap();
        let said = client(&smbd, &format!("put {} rawmodels/chair.glb", glb.display()));
        assert!(!said.contains("NT_STATUS"), "{number}: {said}");
        fixture.wait("rawmodels/chair");
        let now = fs::read(fixture.path("rawmodels/chair/chair.glb")).unwrap();
        assert!(now == numbered_glb(number), "{number}");
    }
}

#[test]
fn a_configuration_is_written_where_it_is_asked_for_and_over_no_other_file() {
    needs_fuse!();
    let fixture = Fixture::new();
    let scratch = fixture.scratch.path();
    let written = |path: &Path| fs::read_to_string(path).unwrap();
    let samba = || assetfs("samba --share studio", fixture.root());
    let other = scratch.join("other.conf");
    fs::write(&other, "[global]\n").unwrap();
    let said = fails(samba().arg("--out").arg(&other), 1);
    assert!(said.contains("was not made by"), "{said}");
    assert_eq!(written(&other), "[global]\n");
    // Only what mounted this drive is let in, so Samba would not be.
    let out = scratch.join("assetfs.conf");
    for _ in 0..2 {
        let output = samba().arg("--out").arg(&out).output().unwrap();
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("--allow-other"), "{said}");
    }
    let section = written(&out);
    let path = format!("path = {}", fixture.root().display());
    assert!(
        section.contains("[studio]") && section.contains(&path),
        "{section}"
    );
    let foreign = scratch.join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("letter.txt"), "x").unwrap();
    let said = fails(samba().arg("--private").arg(&foreign), 1);
    assert!(said.contains("empty or new"), "{said}");
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
    for (wrong, told) in [
        ("--share=a]b", "network folder"),
        ("--user=a b", "--user"),
        ("--port=0", "--port"),
    ] {
        let said = fails(assetfs("samba", fixture.root()).arg(wrong), 2);
        assert!(said.contains(told), "{wrong}: {said}");
    }
    let json = assetfs("samba --share studio --json", fixture.root())
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(told["share"], "studio");
    assert!(told["configuration"].as_str().unwrap().contains("[studio]"));
    assert!(
        told["steps"]["windows"]
            .as_str()
            .unwrap()
            .contains(r"\studio")
    );
}
