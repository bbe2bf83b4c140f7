//! Lost replies, connections and processes: exactly one asset is created.

use std::collections::BTreeSet;
use std::time::Duration;

use assetfs::outbox::EntryId;
use assetfs::wire::{IDEMPOTENCY_KEY, JOIN_KEY};

use crate::support::{Fault, World, as_map, chair, copy_chair, eventually, put};

/// The idempotency keys of all start requests, in order.
fn start_keys(world: &World) -> Vec<String> {
    let starts = world.relay.calls("POST", "api-upload/start");
    let keys = starts.iter().map(|asked| &asked.headers[IDEMPOTENCY_KEY]);
    keys.cloned().collect()
}

#[tokio::test]
async fn starts_whose_replies_are_lost_join_one_upload_also_after_a_restart() {
    let world = World::start().await;
    let relay = &world.relay;
    relay.fault("POST", "api-upload/start", Fault::LostAfter, 2);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("two starts are lost", async || {
        relay.calls("POST", "api-upload/start").len() == 2
    })
    .await;
    let outbox = world.reopen(outbox).await;
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    let assets = world.assets().await;
    assert_eq!(assets.len(), 1, "{assets:?}");
    assert_eq!(world.files(assets[0].id).await, as_map(chair()));
    let keys = start_keys(&world);
    assert_eq!(keys.len(), 3);
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 1, "{keys:?}");
    assert!(outbox.orphans().find().await.unwrap().is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_upload_that_begins_anew_and_another_draft_have_keys_of_their_own() {
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::Status(403), 1);
    let outbox = world.outbox();
    for name in ["chair", "stool"] {
        let draft = copy_chair(&outbox, name);
        outbox.uploads().commit(draft.id, false).await.unwrap();
    }
    let keys = start_keys(&world);
    assert_eq!(keys.len(), 3);
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 3, "{keys:?}");
    outbox.shut_down().await;
}

#[tokio::test]
async fn on_a_service_without_keys_a_lost_reply_of_start_leaves_a_listed_orphan() {
    let world = World::start().await;
    world.relay.without(&[IDEMPOTENCY_KEY, JOIN_KEY]);
    world
        .relay
        .fault("POST", "api-upload/start", Fault::LostAfter, 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    let assets = world.assets().await;
    assert_eq!(assets.len(), 2);
    assert_eq!(world.the_one(&assets), asset);
    let orphans = outbox.orphans().find().await.unwrap();
    assert_eq!(orphans.len(), 1);
    assert_ne!(orphans[0].id, asset);
    assert!(
        outbox.orphans().cancel(asset).await.is_err(),
        "only orphans can be cancelled"
    );
    outbox.orphans().cancel(orphans[0].id).await.unwrap();
    assert_eq!(world.assets().await.len(), 1);
    assert!(outbox.orphans().find().await.unwrap().is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn what_a_draft_that_was_removed_in_flight_leaves_is_listed_until_the_service_has_deleted_it()
{
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::Status(503), usize::MAX);
    world
        .relay
        .fault("POST", "api-upload/abandon", Fault::Status(403), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("its files are being sent", async || {
        !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    let begun = world.assets().await;
    assert_eq!(begun.len(), 1, "{begun:?}");
    outbox.drafts().remove(draft.id).unwrap();
    eventually("the service refuses to delete it", async || {
        let left = outbox.orphans().not_deleted();
        left.iter()
            .any(|(asset, why)| *asset == begun[0].id && why.contains("does not allow"))
    })
    .await;
    eventually("it is deleted after all", async || {
        outbox.orphans().not_deleted().is_empty()
    })
    .await;
    assert!(world.assets().await.is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn after_a_lost_completion_the_state_of_the_asset_decides() {
    for (fault, calls) in [(Fault::LostAfter, 1), (Fault::LostBefore, 1)] {
        let world = World::start().await;
        world.relay.fault("GET", "api-upload/complete", fault, 1);
        let outbox = world.outbox();
        let draft = copy_chair(&outbox, "chair");
        let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
        eventually("it is complete", async || {
            outbox.drafts().get(draft.id).is_none()
        })
        .await;
        assert_eq!(world.the_one(&world.assets().await), asset);
        assert_eq!(world.files(asset).await, as_map(chair()));
        // Bytes that the relay discarded are not counted.
        assert_eq!(
            world.relay.calls("GET", "api-upload/complete").len(),
            calls,
            "{fault:?}"
        );
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn a_file_whose_transfer_breaks_is_sent_again_whole() {
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::LostBefore, 2);
    world.relay.fault("PUT", "", Fault::LostAfter, 1);
    world.relay.fault("PUT", "", Fault::Status(503), 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    assert_eq!(world.files(asset).await, as_map(chair()));
    assert_eq!(world.assets().await.len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn urls_that_expired_mean_a_new_start_and_the_old_id_removed() {
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::Status(403), 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    assert_eq!(world.relay.calls("POST", "api-upload/start").len(), 2);
    eventually("the old id is gone", async || {
        world.assets().await.len() == 1
    })
    .await;
    assert_eq!(world.the_one(&world.assets().await), asset);
    assert_eq!(world.files(asset).await, as_map(chair()));
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_dead_network_leaves_drafts_writable_and_they_go_when_it_is_back() {
    let world = World::start().await;
    world.relay.set_dead(true);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("the status says why", async || {
        outbox.drafts().get(draft.id).unwrap().failure.is_some()
    })
    .await;
    let info = outbox.drafts().get(draft.id).unwrap();
    assert!(info.failure.unwrap().contains("retried automatically"));
    put(
        &outbox,
        draft.id,
        EntryId::ROOT,
        "more.txt",
        b"still writable",
    );
    world.relay.set_dead(false);
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    assert_eq!(world.assets().await.len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_upload_cut_off_by_a_shutdown_ends_once_after_the_next_open() {
    let world = World::start().await;
    world
        .relay
        .fault("PUT", "", Fault::Late(Duration::from_secs(5)), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("it is on its way", async || {
        !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    let outbox = world.reopen(outbox).await;
    eventually("it is complete", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
    eventually("one is left", async || world.assets().await.len() == 1).await;
    let asset = world.the_one(&world.assets().await);
    assert_eq!(world.files(asset).await, as_map(chair()));
    // The upload continued where it was, and no secret is in the journal.
    assert_eq!(world.relay.calls("POST", "api-upload/start").len(), 1);
    let journal = std::fs::read(world.dir.path().join("outbox/journal")).unwrap();
    let url = world.relay.url().into_bytes();
    assert!(!journal.windows(url.len()).any(|bytes| bytes == url));
    outbox.shut_down().await;
}
