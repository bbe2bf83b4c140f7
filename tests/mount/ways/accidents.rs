//! Accidents: backups copied back, nightly copies, deletions by the wrong tool, names of other people. Nothing is
//! paid, duplicated or lost.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::models::triangle_glb;
use super::tools::{SERVICE_FOLDERS, assert_arrived, assert_same_trees, tree};
use crate::support::{Fixture, assetfs, exists, file_names, read, run, shell, small_chair};
use crate::support::{text, wait_until};
use crate::{needs_fuse, needs_program};

fn total(fixture: &Fixture, path: &str) -> u64 {
    fixture.service.get(path)["meta"]["total"]
        .as_u64()
        .expect("a number")
}

/// Adds a model of one small file with `sync`, which sends it without the settle time.
fn add_small(fixture: &Fixture, name: &str) {
    let folder = fixture.path(&format!("rawmodels/{name}"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("one.glb"), triangle_glb(name)).unwrap();
    run(Command::new("sync").arg(&folder));
}

#[test]
fn a_backup_of_the_drive_that_is_copied_back_pays_nothing() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let config = fixture.scratch.path().join("half.json");
    fs::write(&config, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    fixture.copy_in(&config, "rawmodels/chair/optimize/half.json");
    fixture.copy_in(&config, "presets/half.json");
    fixture.wait("rawmodels/chair/optimize/half.json");
    let points = fixture.service.get("api/v2/user/rapidpoints");
    let backup = fixture.scratch.path().join("backup");
    run(Command::new("cp")
        .arg("-rL")
        .arg(fixture.root())
        .arg(&backup));
    assert!(exists(
        backup.join("rawmodels/chair/analysis/rpd_info.json")
    ));

    // Back to the same place: an existing file is refused or unchanged, and nothing is paid.
    for flag in ["-r", "-ru", "-rn"] {
        let _ = Command::new("cp")
            .arg(flag)
            .arg(backup.join("rawmodels/chair"))
            .arg(fixture.path("rawmodels"))
            .output();
        run(Command::new("cp")
            .arg(flag)
            .arg(backup.join("presets/half.json"))
            .arg(fixture.path("presets")));
    }
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
    assert_eq!(total(&fixture, "api/v2/rapidmodel"), 1);

    // Under another name: a model with the original files, and nothing else is sent.
    fixture.copy_in(backup.join("rawmodels/chair"), "rawmodels/restored");
    let why = fixture.why("rawmodels/restored/analysis/rpd_info.json");
    assert!(why.contains("not sent"), "{why}");
    assert_arrived(&fixture, "restored", &tree(&source, &[]));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 2);
    assert_eq!(total(&fixture, "api/v2/rapidmodel"), 1, "nothing was paid");
    assert_eq!(fixture.service.get("api/v2/user/rapidpoints"), points);

    // Its links cannot be copied; the empty folder left behind does not hide that of the service.
    let (chair, again) = (source.display(), fixture.path("rawmodels/again"));
    let target = again.display();
    shell(
        &fixture.root(),
        &format!("cp -r '{chair}' '{target}'; mkdir '{target}/rapidmodels'"),
    );
    fixture.wait("rawmodels/again");
    wait_until("the service's folder has its name", || {
        exists(again.join("rapidmodels")) && !exists(again.join("rapidmodels@"))
    });
}

#[test]
fn the_same_files_copied_every_night_make_no_second_asset() {
    needs_fuse!();
    needs_program!("rsync");
    let mut fixture = Fixture::new();
    let local = fixture.scratch.path().join("models");
    fs::create_dir(&local).unwrap();
    for name in ["chair", "table"] {
        fs::write(local.join(format!("{name}.glb")), triangle_glb(name)).unwrap();
    }
    let (from, to) = (local.display().to_string(), fixture.path("rawmodels"));
    let to = to.display().to_string();
    shell(&local, &format!("cp *.glb '{to}/'"));
    for name in ["chair", "table"] {
        fixture.wait(&format!("rawmodels/{name}.glb"));
    }
    for night in 0..2 {
        for line in [
            format!("cp -u '{from}'/*.glb '{to}/'"),
            format!("rsync -rt '{from}/' '{to}/'"),
            format!("rsync -r --checksum '{from}/' '{to}/'"),
            format!("cp '{from}'/*.glb '{to}/'"),
            format!("cp -p '{from}'/*.glb '{to}/'"),
            format!("rsync -rt --ignore-times --inplace '{from}/' '{to}/'"),
        ] {
            let output = Command::new("bash").args(["-euc", &line]).output().unwrap();
            let said = text(&output.stderr);
            assert!(output.status.success(), "night {night}: {line}: {said}");
        }
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(total(&fixture, "api/v2/rawmodel"), 2, "night {night}");
        run(assetfs("unmount", fixture.root()));
        fixture.mount(&[]);
    }
    // A changed file is the next version.
    fs::write(local.join("chair.glb"), triangle_glb("another")).unwrap();
    shell(&local, &format!("cp chair.glb '{to}/'"));
    fixture.wait("rawmodels/chair");
    assert_eq!(
        read(fixture.path("rawmodels/chair/chair.glb")),
        triangle_glb("another")
    );
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 3);
}

#[test]
fn a_folder_copied_again_over_its_asset_changes_nothing_and_is_no_error() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let target = fixture.path("rawmodels/chair");
    for args in [["-rT"], ["-rTu"]] {
        run(Command::new("cp").args(args).args([&source, &target]));
    }
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
}

#[test]
fn tools_that_remove_a_file_before_they_write_it_anew_change_nothing_either() {
    needs_fuse!();
    needs_program!("unzip");
    needs_program!("zip");
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let expected = tree(&source, &[]);
    let target = fixture.path("rawmodels/chair");
    let (from, to) = (source.display(), target.display());
    let scratch = fixture.scratch.path();
    for line in [
        format!("cp -rT --remove-destination '{from}' '{to}'"),
        format!("tar -C '{from}' -cf - . | tar -C '{to}' -xf -"),
        format!(
            "(cd '{from}'; zip -qr '{}/all.zip' .); unzip -qo all.zip -d '{to}'",
            scratch.display()
        ),
        format!("install -m 644 '{from}/chair.gltf' '{to}/'"),
        format!("cp '{from}/chair.gltf' .; mv chair.gltf '{to}/'"),
    ] {
        let output = Command::new("bash")
            .args(["-euc", &line])
            .current_dir(scratch)
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        // At once, not only after the removed files are shown again.
        let shown = tree(&target, SERVICE_FOLDERS);
        assert_same_trees(&line, &expected, &shown);
    }
    // Other bytes are refused, and the existing file stays.
    fs::write(scratch.join("chair.gltf"), "{}").unwrap();
    let output = Command::new("install")
        .arg(scratch.join("chair.gltf"))
        .arg(&target)
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("Read-only file system"), "{said}");
    assert_same_trees("refused", &expected, &tree(&target, SERVICE_FOLDERS));
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
}

#[test]
fn find_delete_of_files_deletes_no_asset_and_everything_is_back() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let root = fixture.root();
    let _ = Command::new("find")
        .args(["rawmodels", "-type", "f", "-delete"])
        .current_dir(&root)
        .output();
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
    wait_until("what was unlinked is back", || {
        tree(&fixture.path("rawmodels/chair"), SERVICE_FOLDERS) == tree(&source, &[])
    });
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
}

#[test]
fn rsync_delete_into_a_model_deletes_no_asset() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let target = fixture.path("rawmodels/chair");
    let empty = fixture.scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for from in [&source, &empty] {
        let _ = Command::new("rsync")
            .args(["-rt", "--delete"])
            .arg(format!("{}/", from.display()))
            .arg(&target)
            .output();
        assert_eq!(total(&fixture, "api/v2/rawmodel"), 1);
    }
    wait_until("what was unlinked is back", || {
        tree(&target, SERVICE_FOLDERS) == tree(&source, &[])
    });
    assert!(exists(target.join("analysis/rpd_info.json")));
}

#[test]
fn rm_rf_of_the_whole_drive_stops_at_the_limit() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--delete-limit", "3"]);
    for number in 0..6 {
        add_small(&fixture, &format!("model{number}"));
    }
    for number in 0..6 {
        fixture.wait(&format!("rawmodels/model{number}"));
    }
    let output = Command::new("bash")
        .args(["-c", "rm -rf ./*"])
        .current_dir(fixture.root())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("Operation not permitted"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 3);
    let left = file_or_folder_names(&fixture, "rawmodels");
    let why = fixture.why(&format!("rawmodels/{}", left[0]));
    assert!(why.contains("allow-delete"), "{why}");
    run(assetfs("allow-delete", fixture.root()));
    let left = file_or_folder_names(&fixture, "rawmodels");
    run(Command::new("rm")
        .arg("-r")
        .arg(fixture.path("rawmodels").join(&left[0])));
    assert_eq!(total(&fixture, "api/v2/rawmodel"), 2);
}

fn file_or_folder_names(fixture: &Fixture, below: &str) -> Vec<String> {
    let entries = fs::read_dir(fixture.path(below)).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn names_that_look_like_temporary_ones_are_sent() {
    needs_fuse!();
    let fixture = Fixture::new();
    let object = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let folder = fixture.scratch.path().join("cars");
    fs::create_dir(&folder).unwrap();
    for name in ["sedan.obj", "tmp_car.obj"] {
        fs::write(folder.join(name), object).unwrap();
    }
    fixture.copy_in(&folder, "rawmodels/cars");
    assert_arrived(&fixture, "cars", &tree(&folder, &[]));
}

#[test]
fn a_git_clone_is_not_sent_by_itself() {
    needs_fuse!();
    needs_program!("git");
    let fixture = Fixture::new();
    let repository = small_chair(fixture.scratch.path());
    shell(
        &repository,
        "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm a",
    );
    let target = fixture.path("rawmodels/cloned");
    run(Command::new("git")
        .args(["clone", "-q"])
        .args([&repository, &target]));
    std::thread::sleep(Duration::from_secs(4));
    assert!(fixture.service.assets().is_empty());
    let status = text(&read(target.join(".assetfs/status")));
    assert!(
        status.contains(".git") && status.contains("assetfs commit"),
        "{status}"
    );
    run(assetfs("commit", &target));
    assert_arrived(
        &fixture,
        "cloned",
        &tree(&repository, &[".git"])
            .into_iter()
            .filter(|(name, _)| !name.starts_with(".git/"))
            .collect(),
    );
}

#[test]
fn another_account_at_the_same_mount_point_never_gets_the_drafts() {
    needs_fuse!();
    let mut fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = fixture.copy_chair();
    run(assetfs("unmount --now", fixture.root()));
    let other = crate::support::ServeProcess::start(&fixture.scratch.path().join("other"), &[]);
    let ours = std::mem::replace(&mut fixture.service, other);
    fixture.mount(&[]);
    assert!(file_or_folder_names(&fixture, "rawmodels").is_empty());
    std::thread::sleep(Duration::from_secs(2));
    assert!(fixture.service.assets().is_empty());
    run(assetfs("unmount", fixture.root()));
    drop(std::mem::replace(&mut fixture.service, ours));
    fixture.mount(&[]);
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
}

#[test]
fn a_name_that_was_taken_elsewhere_meanwhile_stays_the_drafts() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = fixture.copy_chair();
    let url = format!(
        "{}api/v2/rawmodel/api-upload/start",
        fixture.service.base_url
    );
    let body = json!({ "model_name": "chair", "filenames": ["theirs.glb"] });
    let started = crate::support::post_json(&url, &fixture.service.token(), &body);
    let theirs = started["id"].as_u64().expect("an id");
    wait_until("theirs is listed", || {
        exists(fixture.path(&format!("rawmodels/chair~{theirs}")))
    });
    run(Command::new("sync").arg(fixture.path("rawmodels/chair")));
    fixture.wait("rawmodels/chair");
    let shown = tree(&fixture.path("rawmodels/chair"), SERVICE_FOLDERS);
    assert_same_trees("ours", &tree(&source, &[]), &shown);
    assert_eq!(
        file_or_folder_names(&fixture, "rawmodels").len(),
        2,
        "{:?}",
        file_or_folder_names(&fixture, "rawmodels")
    );
    assert!(file_names(&fixture.path(&format!("rawmodels/chair~{theirs}"))).is_empty());
}
