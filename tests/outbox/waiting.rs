//! The reasons for which a draft waits, as its status shows them.

use std::time::Duration;

use assetfs::outbox::{DraftId, EntryId, Outbox};

use super::support::{Fault, ME, World, chair, copy_chair, eventually, glb, put};

/// An outbox whose drafts wait long enough for their status to be checked.
async fn patient(world: &World) -> Outbox {
    let mut config = world.config();
    config.settle = Duration::from_secs(30);
    let (outbox, mut events) = Outbox::open(config, world.client()).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    outbox
}

/// Waits until the status of the draft contains all of these words.
async fn says(outbox: &Outbox, draft: DraftId, words: &[&str]) {
    let what = format!("a status with {words:?}");
    eventually(&what, async || {
        let status = outbox.drafts().get(draft).unwrap().status.to_string();
        words.iter().all(|word| status.contains(word))
    })
    .await;
}

#[tokio::test]
async fn an_open_writer_is_named() {
    let world = World::start().await;
    let outbox = patient(&world).await;
    let draft = copy_chair(&outbox, "chair");
    let (_, file) = outbox
        .entries()
        .create_file(draft.id, EntryId::ROOT, "legs.bin", 0o644, &ME)
        .unwrap();
    says(&outbox, draft.id, &["being written: legs.bin"]).await;
    file.flush().unwrap();
    file.release();
    says(&outbox, draft.id, &["settling"]).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_name_in_flight_is_named() {
    let world = World::start().await;
    let outbox = patient(&world).await;
    let draft = copy_chair(&outbox, "chair");
    put(
        &outbox,
        draft.id,
        EntryId::ROOT,
        ".wood.png.Xa3fG9",
        b"half",
    );
    let words = [
        "temporary name: .wood.png.Xa3fG9 is a temporary file of a copy; remove it when that is over",
    ];
    says(&outbox, draft.id, &words).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_file_that_is_not_whole_is_named_with_its_sizes() {
    let world = World::start().await;
    let outbox = patient(&world).await;
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
    let whole = glb(600);
    put(&outbox, draft.id, EntryId::ROOT, "chair.glb", &whole[..250]);
    let words = ["incomplete: chair.glb has 250 of 600 bytes"];
    says(&outbox, draft.id, &words).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn missing_references_are_named() {
    let world = World::start().await;
    let outbox = patient(&world).await;
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
    let (name, bytes) = &chair()[0];
    put(&outbox, draft.id, EntryId::ROOT, name, bytes);
    let words = [
        "needs files: chair.bin and 1 more; it is sent once all files are there, or by `assetfs commit --force`",
    ];
    says(&outbox, draft.id, &words).await;
    let missing_files = outbox
        .drafts()
        .get(draft.id)
        .unwrap()
        .missing_files
        .unwrap();
    assert!(
        missing_files.contains("chair.bin, wood.png"),
        "{missing_files}"
    );
    outbox.shut_down().await;
}

#[tokio::test]
async fn the_quiet_time_that_is_left_counts_down() {
    let world = World::start().await;
    let outbox = patient(&world).await;
    let draft = copy_chair(&outbox, "chair");
    let left = |outbox: &Outbox| {
        let status = outbox.drafts().get(draft.id).unwrap().status.to_string();
        let left = status.strip_prefix("settling ")?.strip_suffix(" s")?;
        left.parse::<u64>().ok()
    };
    eventually("it settles", async || left(&outbox).is_some()).await;
    let first = left(&outbox).unwrap();
    eventually("it counts down", async || {
        left(&outbox).is_some_and(|now| now < first)
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_full_account_is_reported_with_both_sizes() {
    let world = World::with(|config| config.quota_bytes = Some(1000)).await;
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let words = ["waiting (needs 3", "the account has 1.0 kB left", "next in"];
    says(&outbox, draft.id, &words).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_unreachable_service_is_reported_with_the_next_try() {
    let world = World::start().await;
    world.relay.set_dead(true);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let words = [
        "waiting (",
        "cannot be reached",
        "retried automatically, next in",
    ];
    says(&outbox, draft.id, &words).await;
    world.relay.set_dead(false);
    eventually("it goes", async || outbox.drafts().find("chair").is_none()).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_rate_limit_is_reported_with_the_next_try() {
    let world = World::start().await;
    world
        .relay
        .fault("GET", "user/storage", Fault::Status(429), 1000);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let words = ["waiting (too many requests to the service", "next in"];
    says(&outbox, draft.id, &words).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn during_a_pause_that_the_service_asks_for_a_finished_draft_says_until_when_it_waits() {
    let world = World::start().await;
    world
        .relay
        .fault("GET", "user/storage", Fault::Wait("60"), 1);
    let outbox = world.outbox();
    copy_chair(&outbox, "chair");
    eventually("the service asks for a pause", async || {
        !world.relay.calls("GET", "user/storage").is_empty()
    })
    .await;
    let late = copy_chair(&outbox, "stool");
    let words = [
        "waiting (too many requests to the service, which asks to wait",
        "next in",
    ];
    says(&outbox, late.id, &words).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_empty_draft_says_that_it_waits_for_its_first_file() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
    let line = "draft: nothing to upload yet; copy a model into it, or remove it";
    says(&outbox, draft.id, &[line]).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_upload_shows_its_files_and_its_speed() {
    let world = World::start().await;
    let slow = Fault::Late(Duration::from_millis(1500));
    world.relay.fault("PUT", "chair.bin", slow, 1);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    eventually("two files have gone and one is on its way", async || {
        let transfers = outbox.uploads().transfers();
        let ours = transfers.iter().find(|it| it.draft == draft.id);
        ours.is_some_and(|it| {
            let current: Vec<&str> = it.current.iter().map(|file| file.name.as_str()).collect();
            (it.files_sent, it.files) == (2, 3)
                && current == ["chair.bin"]
                && it.bytes_per_second.is_some()
        })
    })
    .await;
    outbox.shut_down().await;
}
