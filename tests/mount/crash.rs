//! The process behind the mount dies without a word; the next mount goes on.

use std::process::Command;

use crate::fault_server::Relay;
use crate::needs_fuse;
use crate::support::{Fixture, assert_same_files, file_names, model, run, wait_until};

#[test]
fn an_upload_that_was_killed_in_the_middle_ends_once_after_the_next_mount() {
    needs_fuse!();
    let link = Relay::start();
    link.set_speed(Some(400_000));
    let public_url = format!("{}/", link.url());
    let mut fixture = Fixture::unmounted(&["--public-url", &public_url]);
    // `serve` announces the public URL; the relay goes to where it really listens.
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
