//! Drafts on their way to the service, with everything that can go wrong there.

use std::time::{Duration, SystemTime};

use assetfs::client::Priority;
use assetfs::outbox::{AttributeChange, DraftPhase, EntryId, OpenMode, OutboxError, OutboxEvent};
use assetfs::wire::UploadStatus;

use super::support::{Fault, ME, World, as_map, chair, copy_chair, eventually, glb, put};

#[tokio::test]
async fn a_copied_folder_becomes_one_asset_with_exactly_its_files() {
    let world = World::start().await;
    let (outbox, mut events) = world.open();
    let draft = copy_chair(&outbox, "chair");
    let mtime = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let bin = outbox.child(draft.id, EntryId::ROOT, "chair.bin").unwrap();
    let change = AttributeChange {
        mtime: Some(mtime),
        ..AttributeChange::default()
    };
    outbox
        .set_attributes(draft.id, bin.id, &change, &ME)
        .unwrap();
    put(&outbox, draft.id, EntryId::ROOT, ".DS_Store", b"junk");
    let asset = loop {
        match events.recv().await.unwrap() {
            OutboxEvent::AssetCreated { draft: from, asset } => {
                assert_eq!(from, draft.id);
                break asset;
            }
            _ => continue,
        }
    };
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    // The staged copy is kept until the service has the same, and dropped then.
    eventually("the staged copy is dropped", async || {
        outbox.draft(draft.id).is_none()
    })
    .await;
    assert_eq!(world.assets().await.len(), 1);
    assert_eq!(world.files(asset).await, as_map(chair()));
    let record = outbox.sent_record(asset).unwrap();
    assert_eq!(record.name, "chair");
    let bin = record
        .entries
        .iter()
        .find(|entry| entry.path == "chair.bin")
        .unwrap();
    assert_eq!(
        (bin.mtime, bin.size, bin.sent_as.as_deref()),
        (mtime, 3000, Some("chair.bin"))
    );
    let junk = record
        .entries
        .iter()
        .find(|entry| entry.path == ".DS_Store")
        .unwrap();
    assert_eq!(junk.sent_as, None);
    let staged = std::fs::read_dir(world.dir.path().join("outbox/staging")).unwrap();
    let bytes: u64 = staged.map(|it| it.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(bytes, 0, "staged bytes are left behind");
    outbox.shut_down().await;
    drop(outbox);
    let outbox = world.outbox();
    assert_eq!(outbox.sent_record(asset).unwrap().entries.len(), 4);
    outbox.asset_gone(asset);
    assert!(outbox.sent_record(asset).is_none());
    outbox.shut_down().await;
}

#[tokio::test]
async fn commit_sends_at_once_and_an_accepted_draft_is_frozen() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.create_draft("slow", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
    let asset = outbox.commit(draft.id, false).await.unwrap();
    assert_eq!(outbox.commit(draft.id, false).await.unwrap(), asset);
    let refused = outbox.create_file(draft.id, EntryId::ROOT, "more.bin", 0o644, &ME);
    assert!(matches!(refused, Err(OutboxError::Frozen(_))));
    let refused = outbox.rename_draft(draft.id, "other", true, &ME);
    assert!(matches!(refused, Err(OutboxError::Frozen(_))));
    let staged = outbox.open_sent(asset, "slow.glb").unwrap();
    assert_eq!(staged.size(), 500);
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    assert!(outbox.open_sent(asset, "slow.glb").is_none());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_lost_reply_of_start_gives_one_complete_asset_and_a_listed_orphan() {
    let world = World::start().await;
    world
        .proxy
        .fault("POST", "api-upload/start", Fault::LostAfter, 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.commit(draft.id, false).await.unwrap();
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    let assets = world.assets().await;
    assert_eq!(assets.len(), 2);
    assert_eq!(world.the_one(&assets), asset);
    let orphans = outbox.orphans().await.unwrap();
    assert_eq!(orphans.len(), 1);
    assert_ne!(orphans[0].id, asset);
    assert!(
        outbox.cancel_orphan(asset).await.is_err(),
        "only orphans can be cancelled"
    );
    outbox.cancel_orphan(orphans[0].id).await.unwrap();
    assert_eq!(world.assets().await.len(), 1);
    assert!(outbox.orphans().await.unwrap().is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn after_a_lost_completion_the_state_of_the_asset_decides() {
    for (fault, calls) in [(Fault::LostAfter, 1), (Fault::LostBefore, 1)] {
        let world = World::start().await;
        world.proxy.fault("GET", "api-upload/complete", fault, 1);
        let outbox = world.outbox();
        let draft = copy_chair(&outbox, "chair");
        let asset = outbox.commit(draft.id, false).await.unwrap();
        eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
        assert_eq!(world.the_one(&world.assets().await), asset);
        assert_eq!(world.files(asset).await, as_map(chair()));
        // What the proxy has swallowed is not counted.
        assert_eq!(
            world.proxy.calls("GET", "api-upload/complete").len(),
            calls,
            "{fault:?}"
        );
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn a_file_whose_transfer_breaks_is_sent_again_whole() {
    let world = World::start().await;
    world.proxy.fault("PUT", "", Fault::LostBefore, 2);
    world.proxy.fault("PUT", "", Fault::LostAfter, 1);
    world.proxy.fault("PUT", "", Fault::Status(503), 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.commit(draft.id, false).await.unwrap();
    assert_eq!(world.files(asset).await, as_map(chair()));
    assert_eq!(world.assets().await.len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn urls_that_expired_mean_a_new_start_and_the_old_id_removed() {
    let world = World::start().await;
    world.proxy.fault("PUT", "", Fault::Status(403), 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.commit(draft.id, false).await.unwrap();
    assert_eq!(world.proxy.calls("POST", "api-upload/start").len(), 2);
    eventually("the old id is gone", async || {
        world.assets().await.len() == 1
    })
    .await;
    assert_eq!(world.the_one(&world.assets().await), asset);
    assert_eq!(world.files(asset).await, as_map(chair()));
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_change_during_the_upload_takes_it_back() {
    let world = World::start().await;
    world
        .proxy
        .fault("PUT", "", Fault::Late(Duration::from_millis(1500)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("it is on its way", async || {
        matches!(
            outbox.draft(draft.id).unwrap().phase,
            DraftPhase::Uploading { .. }
        ) && !world.proxy.calls("PUT", "").is_empty()
    })
    .await;
    assert!(outbox.status(draft.id).unwrap().starts_with("uploading"));
    put(&outbox, draft.id, EntryId::ROOT, "notes.txt", b"changed");
    assert_eq!(outbox.draft(draft.id).unwrap().phase, DraftPhase::Editing);
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    eventually("the old one is gone", async || {
        world.assets().await.len() == 1
    })
    .await;
    let asset = world.the_one(&world.assets().await);
    let mut files = as_map(chair());
    files.insert("notes.txt".to_owned(), b"changed".to_vec());
    assert_eq!(world.files(asset).await, files);
    outbox.shut_down().await;
}

#[tokio::test]
async fn removing_a_draft_cancels_its_upload_and_removes_what_the_service_has() {
    let world = World::start().await;
    world
        .proxy
        .fault("PUT", "", Fault::Late(Duration::from_secs(3)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("it is on its way", async || {
        !world.proxy.calls("PUT", "").is_empty()
    })
    .await;
    outbox.remove_draft(draft.id).unwrap();
    assert!(outbox.draft(draft.id).is_none());
    eventually("nothing is left", async || world.assets().await.is_empty()).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn what_is_sent_by_force_and_fails_keeps_its_copy() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.create_draft("broken", 0o755, &ME).unwrap();
    put(
        &outbox,
        draft.id,
        EntryId::ROOT,
        "broken.glb",
        &glb(400)[..100],
    );
    let asset = outbox.commit(draft.id, true).await.unwrap();
    eventually("the import has failed", async || {
        outbox.draft(draft.id).unwrap().phase == DraftPhase::ImportFailed
    })
    .await;
    let info = outbox.draft(draft.id).unwrap();
    assert!(
        info.failure
            .unwrap()
            .contains("ends in the middle of a chunk")
    );
    assert!(
        info.status_text.starts_with("failed: "),
        "{}",
        info.status_text
    );
    assert!(info.warning.unwrap().contains("by force"));
    assert_eq!(outbox.open_sent(asset, "broken.glb").unwrap().size(), 100);
    // Nothing moves by itself.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(outbox.draft(draft.id).is_some());
    outbox.cancel(draft.id).await.unwrap();
    eventually("the asset is gone", async || {
        world.assets().await.is_empty()
    })
    .await;
    assert!(outbox.sent_record(asset).is_none());
    outbox.shut_down().await;
}

#[tokio::test]
async fn missing_references_are_waited_for_and_named() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.create_draft("chair", 0o755, &ME).unwrap();
    for (name, bytes) in chair().into_iter().filter(|(name, _)| *name != "wood.png") {
        put(&outbox, draft.id, EntryId::ROOT, name, &bytes);
    }
    eventually("the status names it", async || {
        outbox
            .draft(draft.id)
            .is_some_and(|it| it.status_text == "waiting for wood.png")
    })
    .await;
    // 80 ms of settling make 2.4 s of this waiting.
    eventually("it goes with a warning", async || {
        world.assets().await.len() == 1
    })
    .await;
    let asset = world.assets().await[0].id;
    eventually("it is accepted", async || {
        outbox.sent_record(asset).is_some()
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_draft_larger_than_the_room_left_does_not_start_and_says_so() {
    let world = World::with(|config| config.quota_bytes = 1000).await;
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let refused = outbox.commit(draft.id, false).await.unwrap_err();
    assert!(
        matches!(refused, OutboxError::QuotaExceeded { .. }),
        "{refused}"
    );
    let status = outbox.status(draft.id).unwrap();
    assert!(status.contains("the account has 1.0 kB left"), "{status}");
    assert!(world.proxy.calls("POST", "api-upload/start").is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_loose_file_becomes_the_asset_of_its_stem() {
    let world = World::start().await;
    let outbox = world.outbox();
    let (draft, _, file) = outbox.create_loose_file("chair.glb", 0o644, &ME).unwrap();
    file.write_at(&glb(300), 0).unwrap();
    file.flush().unwrap();
    file.release();
    let (notes, _, file) = outbox.create_loose_file("notes.txt", 0o644, &ME).unwrap();
    file.write_at(b"hello", 0).unwrap();
    file.flush().unwrap();
    file.release();
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    let assets = world.assets().await;
    assert_eq!(assets.len(), 1);
    assert_eq!(assets[0].name, "chair");
    assert_eq!(outbox.sent_records()[0].name, "chair.glb");
    assert!(
        outbox
            .status(notes.id)
            .unwrap()
            .contains("put it into a folder")
    );
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_nested_folder_goes_as_one_zip_built_on_the_way() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.create_draft("chair", 0o755, &ME).unwrap().id;
    put(
        &outbox,
        draft,
        EntryId::ROOT,
        "chair.gltf",
        br#"{"images":[{"uri":"t/wood.png"}]}"#,
    );
    let sub = outbox
        .make_dir(draft, EntryId::ROOT, "t", 0o755, &ME)
        .unwrap()
        .id;
    put(&outbox, draft, sub, "wood.png", &chair()[2].1);
    let asset = outbox.commit(draft, false).await.unwrap();
    let starts = world.proxy.calls("POST", "api-upload/start");
    assert!(starts[0].body.contains("\"chair.zip\"") && starts[0].body.contains("\"is_zip\":true"));
    let puts = world.proxy.calls("PUT", "");
    assert_eq!(puts.len(), 1);
    assert!(puts[0].body.starts_with("PK\u{3}\u{4}"));
    let record = outbox.sent_record(asset).unwrap();
    assert_eq!(record.zip_name.as_deref(), Some("chair.zip"));
    let paths: Vec<&str> = record
        .entries
        .iter()
        .map(|entry| entry.path.as_str())
        .collect();
    assert_eq!(paths, ["chair.gltf", "t", "t/wood.png"]);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_dead_network_leaves_drafts_writable_and_they_go_when_it_is_back() {
    let world = World::start().await;
    world.proxy.set_dead(true);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("the status says why", async || {
        outbox.draft(draft.id).unwrap().failure.is_some()
    })
    .await;
    let info = outbox.draft(draft.id).unwrap();
    assert!(info.failure.unwrap().contains("tried again by itself"));
    put(
        &outbox,
        draft.id,
        EntryId::ROOT,
        "more.txt",
        b"still writable",
    );
    world.proxy.set_dead(false);
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    assert_eq!(world.assets().await.len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_refused_token_is_told_at_once() {
    let world = World::start().await;
    world
        .proxy
        .fault("GET", "/user/storage", Fault::Status(401), 1000);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let refused = outbox.commit(draft.id, false).await.unwrap_err();
    let OutboxError::Service { source, .. } = &refused else {
        panic!("{refused}")
    };
    assert!(source.is_about_token());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_drain_sends_what_is_ready_and_names_what_stays() {
    let world = World::start().await;
    let (outbox, mut events) = {
        let config = assetfs::outbox::OutboxConfig {
            settle: Duration::from_secs(3600),
            ..world.config()
        };
        assetfs::outbox::Outbox::open(config, world.client()).unwrap()
    };
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    let ready = copy_chair(&outbox, "chair");
    let half = outbox.create_draft("half", 0o755, &ME).unwrap();
    put(&outbox, half.id, EntryId::ROOT, "half.glb", &glb(400)[..50]);
    let report = outbox.drain(true).await;
    assert_eq!(report.accepted.len(), 1);
    assert_eq!(report.accepted[0].0, ready.id);
    assert_eq!(report.left.len(), 1);
    assert!(
        report.left[0].1.starts_with("incomplete: half.glb"),
        "{:?}",
        report.left
    );
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_upload_cut_off_by_a_shutdown_ends_once_after_the_next_open() {
    let world = World::start().await;
    world
        .proxy
        .fault("PUT", "", Fault::Late(Duration::from_secs(5)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("it is on its way", async || {
        !world.proxy.calls("PUT", "").is_empty()
    })
    .await;
    outbox.shut_down().await;
    drop(outbox);
    let outbox = world.outbox();
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    eventually("one is left", async || world.assets().await.len() == 1).await;
    let asset = world.the_one(&world.assets().await);
    assert_eq!(world.files(asset).await, as_map(chair()));
    // It went on where it was, and the journal shows nobody how.
    assert_eq!(world.proxy.calls("POST", "api-upload/start").len(), 1);
    let journal = std::fs::read(world.dir.path().join("outbox/journal")).unwrap();
    let url = world.proxy.url().into_bytes();
    assert!(!journal.windows(url.len()).any(|bytes| bytes == url));
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_asset_deleted_elsewhere_before_it_is_complete_gives_the_draft_back() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.create_draft("slow", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
    let asset = outbox.commit(draft.id, false).await.unwrap();
    world.direct().delete_asset(asset).await.unwrap();
    eventually("the draft says so", async || {
        let info = outbox.draft(draft.id).unwrap();
        info.failure
            .is_some_and(|why| why.contains("deleted on the service"))
    })
    .await;
    let entry = outbox.child(draft.id, EntryId::ROOT, "slow.glb").unwrap();
    assert_eq!(
        outbox
            .open_staged(draft.id, entry.id, OpenMode::Read, &ME)
            .unwrap()
            .size(),
        500
    );
    outbox.retry(draft.id).await.unwrap();
    eventually("it is complete", async || outbox.draft(draft.id).is_none()).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn the_staged_copy_stays_while_the_service_has_other_bytes() {
    let world = World::start().await;
    let outbox = world.outbox();
    world
        .proxy
        .fault("GET", "/downloads", Fault::Status(500), 1000);
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.commit(draft.id, false).await.unwrap();
    world.wait_complete(asset).await;
    eventually("it is complete", async || {
        outbox.draft(draft.id).unwrap().phase == DraftPhase::Complete
    })
    .await;
    eventually("it says that it keeps the copy", async || {
        let warning = outbox.draft(draft.id).unwrap().warning;
        warning.is_some_and(|text| text.contains("the staged copy is kept"))
    })
    .await;
    assert!(outbox.open_sent(asset, "chair.bin").is_some());
    let record = world
        .direct()
        .asset(asset, Priority::Interactive)
        .await
        .unwrap();
    assert_eq!(record.upload_status, UploadStatus::Complete);
    outbox.shut_down().await;
}
