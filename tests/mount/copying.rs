//! Copying a model in with common tools, and reading it back.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Fixture, assert_same_files, file_names, model, run, shell, small_chair};
use crate::{needs_fuse, needs_program};

/// Copies the model with `copy`, waits, and checks that there is one asset with exactly its files and the same bytes.
fn one_asset_comes_of(copy: impl Fn(&Path, &Path)) {
    let fixture = Fixture::new();
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    copy(&source, &target);
    fixture.wait("rawmodels/model");
    let asset = fixture.only_asset();
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["name"], "model");
    assert_eq!(fixture.uploaded_names(&asset), file_names(&source));
    assert_same_files(&source, &target);
}

#[test]
fn cp_r_makes_one_asset_with_exactly_the_files() {
    needs_fuse!();
    one_asset_comes_of(|source, target| {
        run(Command::new("cp").arg("-r").args([source, target]));
    });
}

#[test]
fn cp_a_makes_one_asset_and_keeps_the_mtimes() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = model(fixture.scratch.path());
    let target = fixture.path("rawmodels/model");
    run(Command::new("cp").arg("-a").args([&source, &target]));
    let mtimes = || -> Vec<_> {
        file_names(&source)
            .iter()
            .map(|name| fs::metadata(target.join(name)).unwrap().modified().unwrap())
            .collect()
    };
    let expected: Vec<_> = file_names(&source)
        .iter()
        .map(|name| fs::metadata(source.join(name)).unwrap().modified().unwrap())
        .collect();
    assert_eq!(mtimes(), expected, "in the draft");
    fixture.wait("rawmodels/model");
    assert_eq!(mtimes(), expected, "in the asset");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
    assert_same_files(&source, &target);
}

#[test]
fn mv_makes_one_asset_and_the_source_is_gone() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = model(fixture.scratch.path());
    let copy = fixture.scratch.path().join("to-be-moved");
    run(Command::new("cp").arg("-r").args([&source, &copy]));
    let target = fixture.path("rawmodels/model");
    run(Command::new("mv").args([&copy, &target]));
    assert!(!copy.exists());
    fixture.wait("rawmodels/model");
    assert_eq!(
        fixture.uploaded_names(&fixture.only_asset()),
        file_names(&source)
    );
    assert_same_files(&source, &target);
}

#[test]
fn tar_x_makes_one_asset_with_exactly_the_files() {
    needs_fuse!();
    one_asset_comes_of(|source, target| {
        let parent = target.parent().unwrap();
        let (folder, name) = (
            source.parent().unwrap().display(),
            source.file_name().unwrap().to_string_lossy(),
        );
        let line = format!(
            "tar -C '{folder}' -cf - --transform 's,^{name},model,' '{name}' | tar -xf - --no-same-owner"
        );
        shell(parent, &line);
    });
}

#[test]
fn rsync_makes_one_asset_with_exactly_the_files() {
    needs_fuse!();
    needs_program!("rsync");
    one_asset_comes_of(|source, target| {
        run(Command::new("rsync")
            .arg("-a")
            .arg(format!("{}/", source.display()))
            .arg(target));
    });
}

#[test]
fn what_was_copied_in_is_there_after_a_remount() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    let source = small_chair(fixture.scratch.path());
    let target = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-a").args([&source, &target]));
    fixture.wait("rawmodels/chair");
    run(Command::new(crate::support::ASSETFS)
        .arg("unmount")
        .arg(fixture.root()));
    fixture.mount(&[]);
    assert_same_files(&source, &target);
    fixture.only_asset();
}

#[test]
fn unmounting_sends_what_is_ready() {
    needs_fuse!();
    let fixture = Fixture::with(&[], &["--settle", "10m"]);
    let source = fixture.copy_chair();
    run(Command::new(crate::support::ASSETFS)
        .arg("unmount")
        .arg(fixture.root()));
    let asset = fixture.only_asset();
    assert_ne!(asset["upload_status"], "incomplete");
    assert_eq!(fixture.uploaded_names(&asset), file_names(&source));
}

#[test]
fn sync_of_a_folder_returns_when_the_service_hinto_accepted_it() {
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
