//! Successful uploads: the asset has exactly the copied files.

use std::time::{Duration, SystemTime};

use assetfs::client::Priority;
use assetfs::outbox::{
    AttributeChange, DraftPhase, EntryId, OutboxError, OutboxEvent, Place, StatusWord,
};
use assetfs::wire::UploadStatus;

use crate::support::{Fault, ME, World, as_map, chair, copy_chair, eventually, glb, put};

#[tokio::test]
async fn a_copied_folder_becomes_one_asset_with_exactly_its_files() {
    let world = World::start().await;
    let (outbox, mut events) = world.open();
    let draft = copy_chair(&outbox, "chair");
    let mtime = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let bin = outbox
        .entries()
        .child(draft.id, EntryId::ROOT, "chair.bin")
        .unwrap();
    let change = AttributeChange {
        mtime: Some(mtime),
        ..AttributeChange::default()
    };
    outbox
        .entries()
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
    // The staged copy is kept until the service has the same bytes, then removed.
    eventually("the staged copy is dropped", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    assert_eq!(world.assets().await.len(), 1);
    assert_eq!(world.files(asset).await, as_map(chair()));
    let record = outbox.uploads().sent_record(asset).unwrap();
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
    let outbox = world.reopen(outbox).await;
    assert_eq!(
        outbox.uploads().sent_record(asset).unwrap().entries.len(),
        4
    );
    outbox.asset_gone(asset);
    assert!(outbox.uploads().sent_record(asset).is_none());
    outbox.shut_down().await;
}

#[tokio::test]
async fn commit_sends_at_once_and_an_accepted_draft_is_frozen() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("slow", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    assert_eq!(
        outbox.uploads().commit(draft.id, false).await.unwrap(),
        asset
    );
    let refused = outbox
        .entries()
        .create_file(draft.id, EntryId::ROOT, "more.bin", 0o644, &ME);
    assert!(matches!(refused, Err(OutboxError::Frozen(_))));
    let refused = outbox.drafts().rename(
        &Place::Top(outbox.drafts().get(draft.id).unwrap().name),
        &Place::Top("other".to_owned()),
        true,
        &ME,
    );
    assert!(matches!(refused, Err(OutboxError::Frozen(_))));
    let staged = outbox.uploads().open_sent(asset, "slow.glb").unwrap();
    assert_eq!(staged.size(), 500);
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    assert!(outbox.uploads().open_sent(asset, "slow.glb").is_none());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_loose_file_becomes_the_asset_of_its_stem() {
    let world = World::start().await;
    let outbox = world.outbox();
    let (draft, _, file) = outbox
        .drafts()
        .create_loose_file("chair.glb", 0o644, &ME)
        .unwrap();
    file.write_at(&glb(300), 0).unwrap();
    file.flush().unwrap();
    file.release();
    let (notes, _, file) = outbox
        .drafts()
        .create_loose_file("notes.txt", 0o644, &ME)
        .unwrap();
    file.write_at(b"hello", 0).unwrap();
    file.flush().unwrap();
    file.release();
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    let assets = world.assets().await;
    assert_eq!(assets.len(), 1);
    assert_eq!(assets[0].name, "chair");
    assert_eq!(outbox.uploads().sent_records()[0].name, "chair.glb");
    let status = outbox.drafts().get(notes.id).unwrap().status;
    assert_eq!(status.word(), StatusWord::NeedsFolder);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_nested_folder_goes_as_one_zip_built_on_the_way() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap().id;
    put(
        &outbox,
        draft,
        EntryId::ROOT,
        "chair.gltf",
        br#"{"images":[{"uri":"t/wood.png"}]}"#,
    );
    let sub = outbox
        .entries()
        .make_dir(draft, EntryId::ROOT, "t", 0o755, &ME)
        .unwrap()
        .id;
    put(&outbox, draft, sub, "wood.png", &chair()[2].1);
    let asset = outbox.uploads().commit(draft, false).await.unwrap();
    let starts = world.relay.calls("POST", "api-upload/start");
    assert!(
        starts[0].text().contains("\"chair.zip\"") && starts[0].text().contains("\"is_zip\":true")
    );
    let mut puts = world.relay.calls("PUT", "");
    // The note on the model is a PUT, too.
    puts.retain(|it| !it.target.contains("/api/v2/"));
    assert_eq!(puts.len(), 1);
    assert!(puts[0].body.starts_with(b"PK\x03\x04"));
    let record = outbox.uploads().sent_record(asset).unwrap();
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
async fn the_staged_copy_stays_while_the_service_has_other_bytes() {
    let world = World::start().await;
    let outbox = world.outbox();
    world
        .relay
        .fault("GET", "/downloads", Fault::Status(500), 1000);
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    world.wait_complete(asset).await;
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).unwrap().phase == DraftPhase::Complete
    })
    .await;
    eventually("it says that it keeps the copy", async || {
        let comparison = outbox.drafts().get(draft.id).unwrap().comparison;
        comparison.is_some_and(|text| text.contains("the local copy is kept"))
    })
    .await;
    assert!(outbox.uploads().open_sent(asset, "chair.bin").is_some());
    let record = world
        .direct()
        .assets()
        .get(asset, Priority::Interactive)
        .await
        .unwrap();
    assert_eq!(record.upload_status, UploadStatus::Complete);
    outbox.shut_down().await;
}
