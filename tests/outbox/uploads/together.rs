//! Two machines that send the same model at the same moment: they make one asset, and neither deletes what the other
//! sends.

use std::time::Duration;

use assetfs::outbox::{DraftInfo, EntryId, Outbox};
use assetfs::wire::{AssetId, UploadStatus};

use crate::support::{Fault, World, as_map, chair, client, copy_chair, eventually, put, quick};

/// The outbox of another machine with the same account. It asks the service without the relay.
fn another(world: &World) -> Outbox {
    let dir = world.dir.path().join("another");
    let url = format!("http://{}", world.service.addr());
    let client = client(&url, world.service.token());
    let (outbox, mut events) = Outbox::open(quick(&dir), client).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    outbox
}

async fn is_over(outbox: &Outbox, draft: &DraftInfo) {
    eventually("the upload is over", async || {
        outbox.drafts().get(draft.id).is_none()
    })
    .await;
}

/// The asset that the outbox has sent under the name.
fn sent(outbox: &Outbox, name: &str) -> Option<AssetId> {
    let records = outbox.uploads().sent_records();
    let found = records.iter().find(|record| record.name == name);
    found.map(|record| record.asset)
}

/// Two machines, the first of which has started an upload and sends slowly.
async fn begun(world: &World) -> ([Outbox; 2], [DraftInfo; 2]) {
    let slow = Fault::Late(Duration::from_millis(1500));
    world.relay.fault("PUT", "", slow, 3);
    let first = world.outbox();
    let second = another(world);
    let draft = copy_chair(&first, "chair");
    eventually("the first is on its way", async || {
        !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    let joining = copy_chair(&second, "chair");
    ([first, second], [draft, joining])
}

async fn shut_down(outboxes: [Outbox; 2]) {
    for outbox in outboxes {
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn machines_that_send_the_same_at_the_same_moment_make_one_asset() {
    let world = World::start().await;
    let outboxes = [world.outbox(), another(&world)];
    for round in 0..12 {
        let name = format!("chair{round}");
        let drafts = outboxes.each_ref().map(|outbox| copy_chair(outbox, &name));
        for (outbox, draft) in outboxes.iter().zip(&drafts) {
            is_over(outbox, draft).await;
        }
        let assets = outboxes.each_ref().map(|outbox| sent(outbox, &name));
        assert!(assets[0].is_some(), "round {round}");
        assert_eq!(assets[0], assets[1], "round {round}");
        assert_eq!(world.assets().await.len(), round + 1);
        assert_eq!(world.files(assets[0].unwrap()).await, as_map(chair()));
    }
    shut_down(outboxes).await;
}

#[tokio::test]
async fn machines_with_other_bytes_under_one_name_make_two_assets() {
    let world = World::start().await;
    let outboxes = [world.outbox(), another(&world)];
    let drafts = outboxes
        .each_ref()
        .map(|outbox| copy_chair(outbox, "chair"));
    put(
        &outboxes[1],
        drafts[1].id,
        EntryId::ROOT,
        "notes.txt",
        b"more",
    );
    for (outbox, draft) in outboxes.iter().zip(&drafts) {
        is_over(outbox, draft).await;
    }
    assert_eq!(world.assets().await.len(), 2);
    assert_ne!(sent(&outboxes[0], "chair"), sent(&outboxes[1], "chair"));
    shut_down(outboxes).await;
}

#[tokio::test]
async fn a_draft_that_is_removed_after_it_has_joined_leaves_the_asset_to_the_other_machine() {
    let world = World::start().await;
    let slow = Fault::Late(Duration::from_millis(1500));
    world.relay.fault("PUT", "", slow, 3);
    // Here the slow machine is the one that joins.
    let (joining, first) = (world.outbox(), another(&world));
    let draft = copy_chair(&first, "chair");
    is_over(&first, &draft).await;
    let asset = sent(&first, "chair").unwrap();
    let late = copy_chair(&joining, "chair");
    eventually("it has joined", async || {
        sent(&joining, "chair") == Some(asset)
    })
    .await;
    let _ = joining.uploads().cancel(late.id).await;
    assert!(joining.orphans().not_deleted().is_empty());
    shut_down([joining, first]).await;
    assert_eq!(world.the_one(&world.assets().await), asset);
    assert_eq!(world.files(asset).await, as_map(chair()));
}

#[tokio::test]
async fn a_machine_that_gives_up_what_another_has_joined_deletes_nothing() {
    let world = World::start().await;
    let (outboxes, drafts) = begun(&world).await;
    eventually("the second has joined", async || {
        sent(&outboxes[1], "chair").is_some()
    })
    .await;
    assert_eq!(world.assets().await.len(), 1);
    // Whether the upload still runs or is complete by now: the machine that joined it has its model.
    let _ = outboxes[0].drafts().remove(drafts[0].id);
    is_over(&outboxes[1], &drafts[1]).await;
    eventually("nothing is left to be deleted", async || {
        outboxes[0].orphans().not_deleted().is_empty()
    })
    .await;
    let asset = sent(&outboxes[1], "chair").unwrap();
    assert_eq!(world.the_one(&world.assets().await), asset);
    assert_eq!(world.files(asset).await, as_map(chair()));
    shut_down(outboxes).await;
}

#[tokio::test]
async fn a_machine_that_sends_late_takes_what_another_has_completed() {
    let world = World::start().await;
    let (outboxes, drafts) = begun(&world).await;
    for (outbox, draft) in outboxes.iter().zip(&drafts) {
        is_over(outbox, draft).await;
    }
    let asset = sent(&outboxes[0], "chair");
    assert_eq!(asset, sent(&outboxes[1], "chair"));
    assert_eq!(world.assets().await.len(), 1);
    shut_down(outboxes).await;
}

#[tokio::test]
async fn an_upload_that_is_deleted_elsewhere_begins_anew() {
    let world = World::start().await;
    let (outboxes, drafts) = begun(&world).await;
    let begun = world.assets().await;
    assert_eq!(begun.len(), 1, "{begun:?}");
    let is_incomplete = begun[0].upload_status == UploadStatus::Incomplete;
    world.direct().assets().delete(begun[0].id).await.unwrap();
    if is_incomplete {
        for (outbox, draft) in outboxes.iter().zip(&drafts) {
            eventually("the upload is over", async || {
                let draft = outbox.drafts().get(draft.id);
                draft.is_none_or(|draft| draft.failure.is_some())
            })
            .await;
        }
        eventually("one is there", async || world.assets().await.len() == 1).await;
    }
    shut_down(outboxes).await;
}

#[tokio::test]
async fn two_drafts_of_one_machine_stay_two_models() {
    let world = World::start().await;
    let outbox = world.outbox();
    let folder = copy_chair(&outbox, "chair");
    outbox.uploads().commit(folder.id, false).await.unwrap();
    let first = sent(&outbox, "chair").unwrap();
    is_over(&outbox, &folder).await;
    // As after a restart with a state in which the name is free.
    let again = copy_chair(&outbox, "chair");
    let second = outbox.uploads().commit(again.id, false).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(world.assets().await.len(), 2);
    outbox.shut_down().await;
}
