//! The rules for drafts, drop folders and deletions, tested with a kernel.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::models::triangle_glb;
use super::tools::{assert_arrived, tree};
use crate::needs_fuse;
use crate::support::{Fixture, assetfs, exists, file_names, read, run, shell, small_chair, text};

const EPERM: i32 = 1;
const EINVAL: i32 = 22;
const EROFS: i32 = 30;

fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().expect("of the system")
}

#[test]
fn a_process_that_wrote_makes_durable_by_sync_and_another_commits() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let target = fixture.path("rawmodels/synced");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("one.glb"), triangle_glb("synced")).unwrap();
    File::open(&target).unwrap().sync_all().unwrap();
    assert!(
        fixture.service.assets().is_empty(),
        "the writer only makes durable"
    );
    run(Command::new("sync").arg(&target));
    assert_ne!(fixture.only_asset()["upload_status"], "incomplete");
}

#[test]
fn a_commit_that_takes_too_long_times_out_while_the_upload_goes_on() {
    needs_fuse!();
    let slow =
        "[[rule]]\nmethod = \"PUT\"\ntimes = 1\nfault = { kind = \"latency\", ms = 112000 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(slow, &[]);
    fixture.mount(&["--settle", "10m"]);
    let target = fixture.path("rawmodels/slow");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("one.glb"), triangle_glb("slow")).unwrap();
    let began = Instant::now();
    let output = Command::new("sync").arg(&target).output().unwrap();
    let took = began.elapsed();
    let said = text(&output.stderr);
    assert!(said.contains("timed out"), "after {took:?}: {said}");
    assert!((95..110).contains(&took.as_secs()), "{took:?}");
    fixture.wait("rawmodels/slow");
    fixture.only_asset();
}

#[test]
fn renames_in_drafts_follow_the_flags_and_names_cannot_be_exchanged() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let folder = fixture.path("rawmodels/draft");
    fs::create_dir(&folder).unwrap();
    let (a, b) = (folder.join("a.bin"), folder.join("b.bin"));
    fs::write(&a, "a").unwrap();
    fs::write(&b, "b").unwrap();
    let rename = |flags| renameat_with(CWD, &a, CWD, &b, flags).map_err(std::io::Error::from);
    assert_eq!(errno(rename(RenameFlags::NOREPLACE)), 17, "EEXIST");
    assert_eq!(errno(rename(RenameFlags::EXCHANGE)), EINVAL);
    assert_eq!((read(&a), read(&b)), (b"a".to_vec(), b"b".to_vec()));
    rename(RenameFlags::empty()).unwrap();
    assert_eq!(read(&b), b"a");
    // Links and devices are refused.
    assert_eq!(
        errno(std::os::unix::fs::symlink("b.bin", folder.join("link"))),
        EPERM
    );
    let fifo = Command::new("mkfifo")
        .arg(folder.join("fifo"))
        .output()
        .unwrap();
    assert!(!fifo.status.success());
    assert_eq!(
        errno(fs::create_dir(fixture.path("rawmodels/.Trash-1000"))),
        EPERM
    );
    assert_eq!(errno(fs::create_dir(fixture.path(".Trash-1000"))), EPERM);
}

#[test]
fn a_draft_can_be_renamed_emptied_and_refilled_before_it_is_sent() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = fixture.copy_chair();
    shell(
        &fixture.path("rawmodels"),
        "mv chair first; mkdir first/sub; mv first/*.png first/sub/; rm -r first/sub; rm first/*; \
         mv first second; chmod 700 second; touch -d 2001-01-01 second",
    );
    assert!(file_names(&fixture.path("rawmodels/second")).is_empty());
    shell(
        &source,
        &format!("cp -a . '{}'", fixture.path("rawmodels/second").display()),
    );
    run(Command::new("sync").arg(fixture.path("rawmodels/second")));
    assert_arrived(&fixture, "second", &tree(&source, &[]));
    fixture.only_asset();
}

#[test]
fn a_draft_cancelled_in_the_middle_of_its_upload_leaves_nothing() {
    needs_fuse!();
    let slow = "[[rule]]\nmethod = \"PUT\"\nfault = { kind = \"latency\", ms = 3000 }\n";
    let mut fixture = Fixture::unmounted_with_chaos(slow, &[]);
    fixture.mount(&[]);
    fixture.copy_chair();
    crate::support::wait_until("it is being sent", || fixture.service.assets().len() == 1);
    run(assetfs("cancel", fixture.path("rawmodels/chair")));
    crate::support::wait_until("the service has nothing", || {
        fixture.service.assets().is_empty()
    });
    std::thread::sleep(Duration::from_secs(4));
    assert!(fixture.service.assets().is_empty());
}

#[test]
fn other_loose_files_are_kept_and_never_sent() {
    needs_fuse!();
    let fixture = Fixture::new();
    let loose = fixture.path("rawmodels/notes.txt");
    fs::write(&loose, "what to do").unwrap();
    fs::write(fixture.path("rawmodels/chair.obj"), "v 0 0 0\n").unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert!(fixture.service.assets().is_empty());
    for name in ["notes.txt", "chair.obj"] {
        let why = fixture.why(&format!("rawmodels/{name}"));
        assert!(why.contains("folder"), "{name}: {why}");
    }
    assert_eq!(read(&loose), b"what to do");
}

#[test]
fn an_asset_takes_no_file_and_no_other_name_and_says_why() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.add_chair();
    let asset = fixture.path("rawmodels/chair");
    assert_eq!(errno(fs::write(asset.join("more.bin"), "x")), EROFS);
    let why = fixture.why("rawmodels/chair/more.bin");
    assert!(why.contains("another name"), "{why}");
    assert_eq!(errno(fs::create_dir(asset.join("more"))), EROFS);
    assert_eq!(
        errno(fs::rename(&asset, fixture.path("rawmodels/table"))),
        EPERM
    );
    let moved = Command::new("mv")
        .arg(&asset)
        .arg(fixture.path("rawmodels/table"))
        .output()
        .unwrap();
    assert!(!moved.status.success());
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
    assert_eq!(file_or_folder_count(&fixture), 1);
}

fn file_or_folder_count(fixture: &Fixture) -> usize {
    fs::read_dir(fixture.path("rawmodels")).unwrap().count()
}

#[test]
fn removing_a_link_never_removes_what_it_points_to() {
    needs_fuse!();
    let fixture = Fixture::new();
    fixture.add_chair();
    let job = fixture.path("rawmodels/chair/optimize/half.json");
    fs::write(&job, r#"{"limits":{"faces":{"percentage":50}}}"#).unwrap();
    fixture.wait("rawmodels/chair/optimize/half.json");
    run(Command::new("rm").arg(fixture.path("rawmodels/chair/optimize/half")));
    let links = fixture.path("rawmodels/chair/rapidmodels");
    shell(&links, "rm ./*");
    assert_eq!(fixture.service.get("api/v2/rapidmodel")["meta"]["total"], 1);
    assert_eq!(
        fs::read_dir(fixture.path("rapidmodels")).unwrap().count(),
        1
    );
    // The text stays in place of the job and is never sent again.
    let kept = text(&read(&job));
    fs::remove_file(&job).unwrap();
    fs::write(&job, kept).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(fixture.service.get("api/v2/rapidmodel")["meta"]["total"], 1);
    run(assetfs("run", &job));
    fixture.wait("rawmodels/chair/optimize/half.json");
    assert_eq!(
        fixture.service.get("api/v2/rapidmodel")["meta"]["total"],
        2,
        "run pays again"
    );
}

#[test]
fn a_mount_that_deletes_nothing_refuses_before_anything_is_hidden() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = fixture.add_chair();
    for (flag, number) in [("--no-delete", EPERM), ("--read-only", EROFS)] {
        run(assetfs("unmount", fixture.root()));
        fixture.mount(&[flag]);
        let file = fixture.path("rawmodels/chair/chair.gltf");
        assert_eq!(errno(fs::remove_file(&file)), number, "{flag}");
        assert!(exists(&file));
        let removed = Command::new("rm")
            .arg("-rf")
            .arg(fixture.path("rawmodels/chair"))
            .output();
        assert!(!removed.unwrap().status.success(), "{flag}");
        assert_eq!(
            file_names(&fixture.path("rawmodels/chair")),
            file_names(&source)
        );
    }
    fixture.only_asset();
}

#[test]
fn junk_of_file_managers_and_editors_is_kept_and_never_sent() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = small_chair(fixture.scratch.path());
    let dirty = fixture.scratch.path().join("dirty");
    run(Command::new("cp").arg("-r").args([&source, &dirty]));
    shell(
        &dirty,
        "echo x > .DS_Store; echo x > ._chair.bin; echo x > Thumbs.db; echo x > desktop.ini; echo x > .directory; \
         echo x > chair.gltf~; echo x > .chair.gltf.swp; echo x > 4913; echo x > '~$chair.max'; echo x > scratch.tmp",
    );
    fixture.copy_in(&dirty, "rawmodels/chair");
    let why = fixture.why("rawmodels/chair/Thumbs.db");
    assert!(why.contains("never sent"), "{why}");
    fixture.wait("rawmodels/chair");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
}
