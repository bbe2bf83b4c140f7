//! Copying a model in with common tools, and reading it back.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, assetfs, file_names, model, run, small_chair};

#[test]
fn cp_a_makes_one_asset_and_keeps_the_mtimes() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    run(Command::new("cp").arg("-a").args([&source, &target]));
    let mtimes = |folder: &Path| -> Vec<_> {
        let names = file_names(&source).into_iter();
        names
            .map(|name| fs::metadata(folder.join(name)).unwrap().modified().unwrap())
            .collect()
    };
    let expected = mtimes(&source);
    assert_eq!(mtimes(&target), expected, "in the draft");
    fixture.wait("rawmodels/model");
    assert_eq!(mtimes(&target), expected, "in the asset");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
    assert_same_files(&source, &target);
}

#[test]
fn what_was_copied_in_is_there_after_a_remount() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-a").args([&source, &target]));
    fixture.wait("rawmodels/chair");
    run(assetfs("unmount", fixture.root()));
    fixture.mount(&[]);
    assert_same_files(&source, &target);
    fixture.only_asset();
}

#[test]
fn unmounting_sends_what_is_ready() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = fixture.copy_chair();
    run(assetfs("unmount", fixture.root()));
    let asset = fixture.only_asset();
    assert_ne!(asset["upload_status"], "incomplete");
    assert_eq!(fixture.uploaded_names(&asset), file_names(&source));
}

#[test]
fn sync_of_a_folder_returns_when_the_service_has_accepted_it() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    run(Command::new("sync").arg(&target));
    assert_ne!(fixture.only_asset()["upload_status"], "incomplete");
}

#[test]
fn an_empty_folder_is_never_uploaded_and_rm_r_of_a_draft_cancels_it() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "3s"]);
    fs::create_dir(fixture.path("rawmodels/empty")).unwrap();
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    run(Command::new("rm").arg("-r").arg(&target));
    assert!(!target.exists());
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert_eq!(fixture.service.assets().len(), 0);
}

#[test]
fn rm_r_of_an_asset_deletes_it_on_the_service_once() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-r").args([&source, &target]));
    fixture.wait("rawmodels/chair");
    run(Command::new("rm").arg("-r").arg(&target));
    assert!(!target.exists());
    assert_eq!(fixture.service.assets().len(), 0);
}
