//! Uploads that are cancelled while they run.

use std::time::Duration;

use assetfs::outbox::{DraftPhase, EntryId, JobFolder, OpenMode, OwnerFolder, Place, StatusWord};

use crate::support::{Fault, ME, World, as_map, chair, copy_chair, eventually, glb, put};

#[tokio::test]
async fn a_change_during_the_upload_takes_it_back() {
    let world = World::start().await;
    world
        .relay
        .fault("PUT", "", Fault::Late(Duration::from_millis(1500)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("it is on its way", async || {
        matches!(
            outbox.drafts().get(draft.id).unwrap().phase,
            DraftPhase::Uploading { .. }
        ) && !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    assert!(outbox.drafts().get(draft.id).unwrap().status.word() == StatusWord::Uploading);
    put(&outbox, draft.id, EntryId::ROOT, "notes.txt", b"changed");
    assert_eq!(
        outbox.drafts().get(draft.id).unwrap().phase,
        DraftPhase::Editing
    );
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
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
async fn a_rename_during_the_upload_sends_it_anew_under_the_new_name_and_leaves_and_pays_nothing() {
    let world = World::start().await;
    world
        .relay
        .fault("PUT", "", Fault::Late(Duration::from_millis(1500)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    // A job that waits for the model goes with it.
    let folder = JobFolder::Optimize(OwnerFolder::Draft(draft.id));
    let text = br#"{"limits":{"faces":{"count":1234}}}"#;
    outbox.jobs().write(&folder, "web.json", text).unwrap();
    outbox.jobs().submit(&folder, "web.json").await.unwrap();
    eventually("it is on its way", async || {
        !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    let top = |name: &str| Place::Top(name.to_owned());
    outbox
        .drafts()
        .rename(&top("chair"), &top("stool"), false, &ME)
        .unwrap();
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    eventually("the old one is gone", async || {
        world.assets().await.len() == 1
    })
    .await;
    let assets = world.assets().await;
    assert_eq!(assets[0].name, "stool");
    let asset = world.the_one(&assets);
    assert_eq!(world.files(asset).await, as_map(chair()));
    eventually("the job is sent", async || {
        !world.rapid_models(asset).await.is_empty()
    })
    .await;
    assert_eq!(world.relay.calls("POST", "rawmodel/optimize").len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn removing_a_draft_cancels_its_upload_and_removes_what_the_service_has() {
    let world = World::start().await;
    world
        .relay
        .fault("PUT", "", Fault::Late(Duration::from_secs(3)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("it is on its way", async || {
        !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    outbox.drafts().remove(draft.id).unwrap();
    assert!(outbox.drafts().get(draft.id).is_none());
    eventually("nothing is left", async || world.assets().await.is_empty()).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_asset_deleted_elsewhere_before_it_is_complete_gives_the_draft_back() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("slow", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    world.direct().assets().delete(asset).await.unwrap();
    eventually("the draft says so", async || {
        let info = outbox.drafts().get(draft.id).unwrap();
        info.failure
            .is_some_and(|why| why.contains("deleted on the service"))
    })
    .await;
    let entry = outbox
        .entries()
        .child(draft.id, EntryId::ROOT, "slow.glb")
        .unwrap();
    assert_eq!(
        outbox
            .entries()
            .open(draft.id, entry.id, OpenMode::Read, &ME)
            .unwrap()
            .size(),
        500
    );
    outbox.uploads().retry(draft.id).await.unwrap();
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_model_deleted_while_the_service_imports_it_stays_deleted_over_a_death() {
    let world = World::start().await;
    // The state after a kill before the request is sent, and before the answer is recorded.
    for service_has_heard in [false, true] {
        let name = format!("slow {service_has_heard}");
        let outbox = world.outbox();
        let draft = outbox.drafts().create(&name, 0o755, &ME).unwrap();
        put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
        let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
        outbox.deletions().begin(&[asset]).await.unwrap();
        if service_has_heard {
            world.direct().assets().delete(asset).await.unwrap();
        }
        let outbox = world.reopen(outbox).await;
        let is_shown = |asset| !outbox.uploads().unseen_assets().contains(&asset);
        assert!(!is_shown(asset) || outbox.uploads().sent_record(asset).is_none());
        eventually("the service has deleted it", async || {
            world.assets().await.is_empty()
        })
        .await;
        eventually("nothing is left of it", async || {
            outbox.drafts().all().is_empty() && outbox.uploads().sent_record(asset).is_none()
        })
        .await;
        let outbox = world.reopen(outbox).await;
        assert!(outbox.drafts().all().is_empty());
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn a_model_whose_deletion_was_refused_stays() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    outbox.deletions().begin(&[asset]).await.unwrap();
    assert!(outbox.uploads().unseen_assets().contains(&asset));
    outbox.deletions().refused(&[asset]).await.unwrap();
    let outbox = world.reopen(outbox).await;
    world.wait_complete(asset).await;
    assert!(!outbox.uploads().unseen_assets().contains(&asset));
    assert!(outbox.uploads().sent_record(asset).is_some());
    outbox.shut_down().await;
}
