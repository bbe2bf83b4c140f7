//! Drafts that are not sent, or not yet, and their reasons.

use std::time::Duration;

use assetfs::client::{Client, ClientConfig};
use assetfs::outbox::{DraftId, DraftPhase, EntryId, Outbox, OutboxError, StatusWord};
use assetfs::wire::Token;

use crate::support::{Fault, ME, World, chair, copy_chair, eventually, glb, put};

#[tokio::test]
async fn what_is_sent_by_force_and_fails_keeps_its_copy() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("broken", 0o755, &ME).unwrap();
    put(
        &outbox,
        draft.id,
        EntryId::ROOT,
        "broken.glb",
        &glb(400)[..100],
    );
    let asset = outbox.uploads().commit(draft.id, true).await.unwrap();
    eventually("the import has failed", async || {
        outbox.drafts().get(draft.id).unwrap().phase == DraftPhase::ImportFailed
    })
    .await;
    let info = outbox.drafts().get(draft.id).unwrap();
    assert!(
        info.failure
            .unwrap()
            .contains("ends in the middle of a chunk")
    );
    assert!(info.status.word() == StatusWord::Failed, "{}", info.status);
    assert!(info.warning.unwrap().contains("by force"));
    assert_eq!(
        outbox
            .uploads()
            .open_sent(asset, "broken.glb")
            .unwrap()
            .size(),
        100
    );
    // Nothing is sent automatically.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(outbox.drafts().get(draft.id).is_some());
    outbox.uploads().cancel(draft.id).await.unwrap();
    eventually("the asset is gone", async || {
        world.assets().await.is_empty()
    })
    .await;
    assert!(outbox.uploads().sent_record(asset).is_none());
    outbox.shut_down().await;
}

#[tokio::test]
async fn missing_references_are_waited_for_and_named() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
    for (name, bytes) in chair().into_iter().filter(|(name, _)| *name != "wood.png") {
        put(&outbox, draft.id, EntryId::ROOT, name, &bytes);
    }
    eventually("the status names it", async || {
        outbox
            .drafts()
            .get(draft.id)
            .is_some_and(|it| it.status.to_string() == "missing files: wood.png")
    })
    .await;
    // A settle time of 80 ms makes this wait 2.4 s.
    eventually("it goes with a warning", async || {
        world.assets().await.len() == 1
    })
    .await;
    let asset = world.assets().await[0].id;
    eventually("it is accepted", async || {
        outbox.uploads().sent_record(asset).is_some()
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_draft_larger_than_the_room_left_does_not_start_and_says_so() {
    let world = World::with(|config| config.quota_bytes = Some(1000)).await;
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let refused = outbox.uploads().commit(draft.id, false).await.unwrap_err();
    assert!(
        matches!(refused, OutboxError::QuotaExceeded { .. }),
        "{refused}"
    );
    let status = outbox.drafts().get(draft.id).unwrap().status.to_string();
    assert!(status.contains("the account has 1.0 kB left"), "{status}");
    assert!(world.relay.calls("POST", "api-upload/start").is_empty());
    outbox.shut_down().await;
}

/// A new draft with one model of so many bytes.
fn copy_model(outbox: &Outbox, name: &str, len: u32) -> DraftId {
    let draft = outbox.drafts().create(name, 0o755, &ME).unwrap().id;
    put(outbox, draft, EntryId::ROOT, "model.glb", &glb(len));
    draft
}

fn waits_for_room(outbox: &Outbox, draft: DraftId) -> bool {
    let status = outbox.drafts().get(draft).map(|it| it.status);
    status.is_some_and(|it| {
        assert_ne!(it.word(), StatusWord::Failed, "{it}");
        it.to_string().contains("and the account has")
    })
}

async fn is_sent(world: &World, outbox: &Outbox, draft: DraftId) {
    eventually("it is sent", async || outbox.drafts().get(draft).is_none()).await;
    assert_eq!(world.assets().await.len(), 1);
}

#[tokio::test]
async fn of_two_drafts_at_once_that_do_not_fit_together_one_waits_for_room_and_is_sent_then() {
    let world = World::with(|config| config.quota_bytes = Some(100_000)).await;
    let outbox = world.outbox();
    let drafts = ["one", "two"].map(|name| copy_model(&outbox, name, 70_000));
    let is_waiting = || drafts.map(|draft| waits_for_room(&outbox, draft));
    eventually("one is sent and one waits", async || {
        let gone = drafts.map(|draft| outbox.drafts().get(draft).is_none());
        gone.contains(&true) && is_waiting().contains(&true)
    })
    .await;
    assert_eq!(
        world.relay.calls("POST", "api-upload/start").len(),
        1,
        "nothing is sent in vain"
    );
    let first = world.the_one(&world.assets().await);
    world.direct().assets().delete(first).await.unwrap();
    let waits = drafts.into_iter().find(|it| waits_for_room(&outbox, *it));
    is_sent(&world, &outbox, waits.unwrap()).await;
    outbox.shut_down().await;
}

/// An outbox with a client that waits an hour for a reply, and pauses of an hour.
fn patient_outbox(world: &World) -> Outbox {
    let hour = Duration::from_secs(3600);
    let mut config = ClientConfig::new(&world.relay.url()).unwrap();
    config.token = Some(Token::parse(world.service.token()).unwrap());
    config.deadlines.stall = hour;
    config.deadlines.json_call = hour;
    let outbox_config = assetfs::outbox::OutboxConfig {
        settle: hour,
        first_poll: hour,
        ..world.config()
    };
    let client = Client::new(config).unwrap();
    let (outbox, mut events) = Outbox::open(outbox_config, client).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    outbox
}

/// Begins an upload that never ends by itself.
fn commit_in_background(outbox: &Outbox, draft: DraftId) {
    let outbox = outbox.clone();
    tokio::spawn(async move { outbox.uploads().commit(draft, false).await });
}

#[tokio::test]
async fn a_cancelled_draft_leaves_its_turn_to_look_at_the_account_to_the_next() {
    let world = World::start().await;
    let outbox = patient_outbox(&world);
    let never = Fault::Late(Duration::from_secs(36_000));
    world.relay.fault("GET", "/user/storage", never, 1);
    let [first, second] = ["one", "two"].map(|name| copy_model(&outbox, name, 70_000));
    commit_in_background(&outbox, first);
    eventually("the first looks at the account", async || {
        !world.relay.calls("GET", "/user/storage").is_empty()
    })
    .await;
    outbox.uploads().cancel(first).await.unwrap();
    commit_in_background(&outbox, second);
    eventually("the second is accepted", async || {
        outbox.uploads().asset_of_draft(second).flatten().is_some()
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_cancelled_upload_gives_its_room_to_the_draft_that_waits_for_it_at_once() {
    let world = World::with(|config| config.quota_bytes = Some(100_000)).await;
    let outbox = patient_outbox(&world);
    let never = Fault::Late(Duration::from_secs(36_000));
    world.relay.fault("PUT", "", never, 1);
    let [first, second] = ["one", "two"].map(|name| copy_model(&outbox, name, 70_000));
    commit_in_background(&outbox, first);
    eventually("the first sends its file", async || {
        !world.relay.calls("PUT", "").is_empty()
    })
    .await;
    commit_in_background(&outbox, second);
    eventually("the second waits for room", async || {
        waits_for_room(&outbox, second)
    })
    .await;
    outbox.uploads().cancel(first).await.unwrap();
    eventually("the second is accepted", async || {
        outbox.uploads().asset_of_draft(second).flatten().is_some()
    })
    .await;
    outbox.shut_down().await;
}

/// Another machine has taken the room since the drive looked, or the drive could not look.
#[tokio::test]
async fn an_upload_that_is_refused_for_lack_of_room_at_any_step_waits_for_it() {
    let steps = [
        ("PUT", "", None),
        ("POST", "api-upload/start", Some(Fault::Status(413))),
        ("GET", "api-upload/complete", Some(Fault::Status(413))),
    ];
    for (method, path, fault) in steps {
        let world = World::with(|config| config.quota_bytes = Some(100_000)).await;
        let outbox = world.outbox();
        let first = match path {
            // What it has stored itself leaves too little.
            "api-upload/complete" => None,
            _ => {
                let first = copy_model(&outbox, "first", 70_000);
                let sent = outbox.uploads().commit(first, false).await.unwrap();
                is_sent(&world, &outbox, first).await;
                Some(sent)
            }
        };
        let not_told = Fault::Status(404);
        world.relay.fault("GET", "/user/storage", not_told, 1);
        if let Some(fault) = fault {
            world.relay.fault(method, path, fault, 1);
        }
        let draft = copy_model(&outbox, "second", 70_000);
        eventually("it waits for room", async || waits_for_room(&outbox, draft)).await;
        if let Some(first) = first {
            world.direct().assets().delete(first).await.unwrap();
        }
        is_sent(&world, &outbox, draft).await;
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn a_refused_token_is_reported_at_once() {
    let world = World::start().await;
    world
        .relay
        .fault("GET", "/user/storage", Fault::Status(401), 1000);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let refused = outbox.uploads().commit(draft.id, false).await.unwrap_err();
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
    let half = outbox.drafts().create("half", 0o755, &ME).unwrap();
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
