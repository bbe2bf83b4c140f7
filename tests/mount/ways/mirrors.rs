//! Programs that make one folder equal to another, and loose model files: nothing is deleted that did not change, and
//! nothing is sent again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::models::triangle_glb;
use crate::support::{ASSETFS, Fixture, exists, file_names, names_in, read, run, text};
use crate::zips::zip_of;
use crate::{needs_fuse, needs_program};

const NAMES: [&str; 2] = ["chair", "table"];

/// A folder with loose models, which were copied into the drive and are complete.
fn mirrored(fixture: &Fixture) -> PathBuf {
    let local = fixture.scratch.path().join("models");
    fs::create_dir(&local).unwrap();
    for name in NAMES {
        let file = format!("{name}.glb");
        fs::write(local.join(&file), triangle_glb(name)).unwrap();
        run(Command::new("cp")
            .arg("-p")
            .arg(local.join(&file))
            .arg(fixture.path("rawmodels")));
    }
    for name in NAMES {
        fixture.wait(&format!("rawmodels/{name}.glb"));
    }
    local
}

fn ids(fixture: &Fixture) -> Vec<u64> {
    let rows = fixture.service.assets();
    let mut ids: Vec<u64> = rows.iter().map(|row| row["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// Runs a line of the shell with `$FROM` and `$TO`.
fn mirror(line: &str, from: &Path, to: &Path) {
    let output = Command::new("bash")
        .args(["-euc", line])
        .env("FROM", from)
        .env("TO", to)
        .env("HOME", from.parent().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
}

/// A tool of this name that removes what it is given, as a mirror does that has another folder to be equal to.
fn remover(fixture: &Fixture, name: &str) -> PathBuf {
    let tool = fixture.scratch.path().join(name);
    fs::copy("/bin/rm", &tool).unwrap();
    tool
}

#[test]
fn a_mirror_of_loose_models_deletes_and_sends_nothing_that_did_not_change() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = Fixture::new();
    let local = mirrored(&fixture);
    let before = ids(&fixture);
    for options in [
        "--delete",
        "--delete-before",
        "--delete-after",
        "--delete-excluded",
        "--delete --inplace --ignore-times",
        "--delete --checksum",
    ] {
        let line = format!("rsync -rt {options} \"$FROM/\" \"$TO/\"");
        mirror(&line, &local, &fixture.path("rawmodels"));
        assert_eq!(ids(&fixture), before, "{options}");
        assert_eq!(
            read(fixture.path("rawmodels/chair/chair.glb")),
            triangle_glb("chair")
        );
        let info = fixture.path("rawmodels/chair/analysis/rpd_info.json");
        assert!(exists(info), "{options}");
    }
    // People and file managers still delete it.
    run(Command::new("rm")
        .arg("-r")
        .arg(fixture.path("rawmodels/chair")));
    assert_eq!(ids(&fixture).len(), 1);
}

#[test]
fn a_mirror_keeps_loose_models_that_a_command_has_sent() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = Fixture::new();
    let local = fixture.scratch.path().join("models");
    fs::create_dir(&local).unwrap();
    for name in NAMES {
        fs::write(local.join(format!("{name}.glb")), triangle_glb(name)).unwrap();
    }
    // A file that is never sent alone from `rawmodels/`: the command knows that it is the whole model.
    let obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    fs::write(local.join("part.obj"), obj).unwrap();
    let files = ["chair.glb", "table.glb", "part.obj"];
    // The program may have another name, as one that was downloaded.
    let renamed = fixture.scratch.path().join("assetfs-x86_64");
    std::os::unix::fs::symlink(ASSETFS, &renamed).unwrap();
    run(Command::new(renamed)
        .arg("sync")
        .arg(&local)
        .arg(fixture.root())
        .env("HOME", fixture.scratch.path()));
    let before = ids(&fixture);
    assert_eq!(before.len(), files.len());
    for line in [
        "rsync -rt --delete \"$FROM/\" \"$TO/\"",
        "rsync -rt --delete \"$FROM/\" \"$TO/\"",
        "if command -v rclone; then rclone sync \"$FROM\" \"$TO\"; fi",
    ] {
        mirror(line, &local, &fixture.path("rawmodels"));
        run(crate::support::assetfs("wait", fixture.root()));
        assert_eq!(ids(&fixture), before, "{line}");
    }
    for file in files {
        let loose = fixture.path(&format!("rawmodels/{file}"));
        let (shown, source) = (
            fs::metadata(&loose).unwrap(),
            fs::metadata(local.join(file)).unwrap(),
        );
        assert_eq!(shown.len(), source.len());
        assert_eq!(shown.modified().unwrap(), source.modified().unwrap());
        run(Command::new("cp")
            .arg("-u")
            .arg(local.join(file))
            .arg(&loose));
        assert_eq!(ids(&fixture), before, "cp -u {file}");
    }
    // Other bytes become the next version, once.
    fs::write(local.join("chair.glb"), triangle_glb("another chair")).unwrap();
    for _ in 0..2 {
        mirror(
            "rsync -rt --delete \"$FROM/\" \"$TO/\"",
            &local,
            &fixture.path("rawmodels"),
        );
        run(crate::support::assetfs("wait", fixture.root()));
        assert_eq!(ids(&fixture).len(), files.len() + 1);
        assert_eq!(
            read(fixture.path("rawmodels/chair/chair.glb")),
            triangle_glb("another chair")
        );
    }
    // So does what the command sends next.
    fs::write(local.join("table.glb"), triangle_glb("another table")).unwrap();
    run(Command::new(ASSETFS)
        .arg("sync")
        .arg(&local)
        .arg(fixture.root())
        .env("HOME", fixture.scratch.path()));
    assert_eq!(ids(&fixture).len(), files.len() + 2);
    assert_eq!(
        read(fixture.path("rawmodels/table/table.glb")),
        triangle_glb("another table")
    );
    // A folder that a user has made goes when it is gone from the source.
    let folder = local.join("lamp");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("lamp.glb"), triangle_glb("lamp")).unwrap();
    let line = "rsync -rt --delete \"$FROM/\" \"$TO/\"";
    let without = ids(&fixture).len();
    mirror(line, &local, &fixture.path("rawmodels"));
    fixture.wait("rawmodels/lamp");
    assert_eq!(ids(&fixture).len(), without + 1);
    fs::remove_dir_all(&folder).unwrap();
    mirror(line, &local, &fixture.path("rawmodels"));
    assert_eq!(ids(&fixture).len(), without);
}

#[test]
fn a_mirror_by_rclone_deletes_and_sends_nothing_that_did_not_change() {
    needs_fuse!();
    needs_program!("rclone");
    let fixture = Fixture::new();
    let local = mirrored(&fixture);
    let before = ids(&fixture);
    for _ in 0..2 {
        mirror(
            "rclone sync \"$FROM\" \"$TO\"",
            &local,
            &fixture.path("rawmodels"),
        );
        assert_eq!(ids(&fixture), before);
        assert_eq!(names_in(&fixture.path("rawmodels")), NAMES);
    }
}

#[test]
fn git_and_tools_with_a_version_in_their_name_keep_loose_models_too() {
    needs_fuse!();
    let fixture = Fixture::new();
    mirrored(&fixture);
    let before = ids(&fixture);
    for name in ["git", "unison-2.52", "rclone-v1", "lftp", "openrsync"] {
        run(Command::new(remover(&fixture, name))
            .arg("-r")
            .arg(fixture.path("rawmodels/chair")));
        assert_eq!(ids(&fixture), before, "{name}");
        let files = file_names(&fixture.path("rawmodels/chair"));
        assert!(files.iter().any(|it| it == "chair.glb"), "{name}");
    }
}

#[test]
fn a_mirror_on_another_machine_deletes_no_model_that_may_have_been_a_loose_file() {
    needs_fuse!();
    let fixture = Fixture::new();
    mirrored(&fixture);
    let elsewhere = fixture.second_machine();
    let before = ids(&fixture);
    let rawmodels = elsewhere.root().join("rawmodels");
    assert_eq!(names_in(&rawmodels), NAMES);
    run(Command::new(remover(&fixture, "rsync"))
        .arg("-r")
        .arg(rawmodels.join("chair")));
    assert_eq!(ids(&fixture), before);
    let glb = rawmodels.join("chair/chair.glb");
    assert_eq!(read(&glb), triangle_glb("chair"));
    // Nor does one of another name that looks for the file first.
    assert!(!exists(rawmodels.join("chair.glb")));
    let refused = fs::remove_dir_all(rawmodels.join("chair")).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(ids(&fixture), before);
}

#[test]
fn a_mirror_on_another_machine_deletes_and_sends_no_loose_zip() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = Fixture::new();
    let local = fixture.scratch.path().join("models");
    fs::create_dir(&local).unwrap();
    let files = [
        ("kit.glb", &triangle_glb("kit")[..]),
        ("readme.txt", b"kit"),
    ];
    let zip = zip_of(&files, zip::CompressionMethod::Stored);
    fs::write(local.join("kit.zip"), zip).unwrap();
    let line = "rsync -rt --delete \"$FROM/\" \"$TO/\"";
    mirror(line, &local, &fixture.path("rawmodels"));
    fixture.wait("rawmodels/kit");
    let before = ids(&fixture);
    let elsewhere = fixture.second_machine();
    let rawmodels = elsewhere.root().join("rawmodels");
    assert_eq!(names_in(&rawmodels), ["kit"]);
    for _ in 0..2 {
        mirror(line, &local, &rawmodels);
        run(Command::new(ASSETFS)
            .arg("wait")
            .arg(rawmodels.join("kit.zip")));
        assert_eq!(ids(&fixture), before);
        assert_eq!(names_in(&rawmodels), ["kit"]);
        assert_eq!(read(rawmodels.join("kit/kit.glb")), triangle_glb("kit"));
    }
}

#[test]
fn a_program_that_looked_for_a_loose_file_does_not_delete_its_model() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    mirrored(&fixture);
    // Another night.
    run(Command::new(ASSETFS).arg("unmount").arg(fixture.root()));
    fixture.mount(&[]);
    let before = ids(&fixture);
    let chair = fixture.path("rawmodels/chair");
    assert!(fixture.path("rawmodels/chair.glb").is_file());
    let refused = fs::remove_dir_all(&chair).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(ids(&fixture), before);
    let files = file_names(&chair);
    assert!(files.iter().any(|it| it == "chair.glb"), "{files:?}");
    let why = fixture.why("rawmodels/chair");
    assert!(
        why.contains("this program looked for its file chair.glb just before"),
        "{why}"
    );
    // It did not look for the other one.
    fs::remove_dir_all(fixture.path("rawmodels/table")).unwrap();
    // Another program did not look for anything.
    run(Command::new("rm").arg("-r").arg(&chair));
    assert!(ids(&fixture).is_empty());
}

#[test]
fn a_file_manager_that_looked_what_became_of_a_loose_file_deletes_its_model() {
    needs_fuse!();
    let fixture = Fixture::new();
    mirrored(&fixture);
    assert!(fixture.path("rawmodels/chair.glb").is_file());
    fs::remove_dir_all(fixture.path("rawmodels/chair")).unwrap();
    assert_eq!(ids(&fixture).len(), 1);
}

#[test]
fn a_mirror_of_folders_deletes_the_model_that_its_source_lacks() {
    needs_fuse!();
    needs_program!("rsync");
    let fixture = Fixture::new();
    let local = fixture.scratch.path().join("models");
    for name in NAMES {
        fs::create_dir_all(local.join(name)).unwrap();
        fs::write(local.join(name).join("one.glb"), triangle_glb(name)).unwrap();
    }
    let sync = || {
        mirror(
            "rsync -rt --delete \"$FROM/\" \"$TO/\"",
            &local,
            &fixture.path("rawmodels"),
        );
    };
    sync();
    for name in NAMES {
        fixture.wait(&format!("rawmodels/{name}"));
    }
    fs::remove_dir_all(local.join("table")).unwrap();
    sync();
    assert_eq!(ids(&fixture).len(), 1);
    assert_eq!(names_in(&fixture.path("rawmodels")), ["chair"]);
}
