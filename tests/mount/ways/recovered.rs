//! A missing or damaged journal: the drive mounts and reports the kept files, and `assetfs recover` restores them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::models::triangle_glb;
use crate::needs_fuse;
use crate::support::{ASSETFS, Fixture, assetfs, exists, read, run, wait_until};

const MODELS: [&str; 3] = ["one", "two", "three"];

/// The journal of the fixture's account.
fn journal(fixture: &Fixture) -> PathBuf {
    let accounts = fs::read_dir(fixture.scratch.path().join("state")).unwrap();
    let journals = accounts.map(|account| account.unwrap().path().join("outbox/journal"));
    let found: Vec<_> = journals.filter(|journal| journal.is_file()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn recover(fixture: &Fixture) -> Command {
    let mut command = Command::new(ASSETFS);
    command
        .arg("recover")
        .env("ASSETFS_STATE_DIR", fixture.scratch.path().join("state"));
    command
}

#[test]
fn a_lost_journal_is_reported_and_its_files_can_be_recovered_into_drafts() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    for name in MODELS {
        let folder = fixture.path(&format!("rawmodels/{name}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("model.glb"), triangle_glb(name)).unwrap();
    }
    run(assetfs("unmount --now", fixture.root()));
    fs::remove_file(journal(&fixture)).unwrap();
    fixture.mount(&[]);
    let recovered = fixture.status()["recovered"].clone();
    assert_eq!(recovered[0]["files"], 3, "{recovered}");
    assert!(recovered[0]["reason"].as_str().unwrap().contains("missing"));
    let told = run(assetfs("status", fixture.root()));
    assert!(told.contains("assetfs recover"), "{told}");
    for place in ["", "rawmodels"] {
        let why = fixture.why(place);
        let folder = recovered[0]["folder"].as_str().unwrap();
        assert!(
            why.contains(folder) && why.contains("assetfs recover"),
            "{why}"
        );
    }
    let listed = run(recover(&fixture).arg("--json"));
    // The drives of other tests are listed, too.
    let own = recovered[0]["folder"].as_str();
    let all = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let all: Vec<Value> = all.collect();
    let listed = all.iter().find(|it| it["path"].as_str() == own).unwrap();
    // By its path: another drive may have a folder of the same time.
    let name = listed["path"].as_str().unwrap().to_owned();
    assert_eq!(listed["files"].as_array().unwrap().len(), 3);
    // Without names they would become one model, so they go to another folder first.
    let aside = fixture.scratch.path().join("aside");
    run(recover(&fixture)
        .args(["take", &name, "--keep"])
        .arg(&aside));
    let refused = recover(&fixture)
        .args(["take", &name])
        .arg(fixture.path("rawmodels"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("names of 3 files are lost"), "{message}");
    assert!(!exists(fixture.path("rawmodels/unnamed")));
    let sorted = fixture.scratch.path().join("sorted");
    run(recover(&fixture).args(["take", &name]).arg(&sorted));
    let expected: BTreeSet<_> = MODELS.map(triangle_glb).into();
    for folder in [aside, sorted.clone()].map(|folder| folder.join("unnamed")) {
        let files = fs::read_dir(&folder).unwrap();
        let bytes: BTreeSet<_> = files.map(|file| read(file.unwrap().path())).collect();
        assert_eq!(bytes, expected, "{}", folder.display());
    }
    for file in fs::read_dir(sorted.join("unnamed")).unwrap() {
        fixture.copy_in(file.unwrap().path(), "rawmodels");
    }
    wait_until("nothing is left to recover", || {
        fixture.status()["recovered"].is_null()
    });
    let again = recover(&fixture)
        .args(["take", &name])
        .arg(&sorted)
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2), "it was taken");
}

#[test]
fn a_damaged_journal_loses_no_draft_and_sends_none_twice() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    fixture.add_chair();
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&["--settle", "10m"]);
    for name in MODELS {
        let folder = fixture.path(&format!("rawmodels/{name}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("model.glb"), triangle_glb(name)).unwrap();
    }
    run(assetfs("unmount --now", fixture.root()));
    let path = journal(&fixture);
    let mut bytes = read(&path);
    let at = bytes.windows(5).position(|it| it == b"\"two\"").unwrap();
    bytes[at + 2] ^= 1;
    fs::write(&path, &bytes).unwrap();
    fixture.mount(&[]);
    let why = fixture.why("rawmodels/one");
    assert!(
        why.contains("damaged") && why.contains("assetfs retry"),
        "{why}"
    );
    assert_eq!(
        read(fixture.path("rawmodels/one/model.glb")),
        triangle_glb("one")
    );
    let listed = run(recover(&fixture));
    assert!(
        listed.contains("model.glb") && listed.contains("damaged"),
        "{listed}"
    );
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(fixture.service.assets().len(), 1, "the chair alone");
    run(assetfs("retry", fixture.path("rawmodels/one")));
    fixture.wait("rawmodels/one");
    assert_eq!(fixture.service.assets().len(), 2);
}
