//! Refusals: a final one rests until the user acts, and whatever is tried again is tried after growing pauses.

use std::time::Duration;

use assetfs::outbox::{DraftId, Outbox, StatusWord};
use futures_util::future::join_all;

use crate::fault_server::{Bound, Reply, make_certificate};
use crate::support::{Fault, World, as_map, chair, client, copy_chair, eventually, quick};

fn word(outbox: &Outbox, draft: DraftId) -> StatusWord {
    outbox.drafts().get(draft).unwrap().status.word()
}

/// Number of calls that send something, and bytes of the journal.
fn work_so_far(world: &World) -> (usize, u64) {
    let calls = ["api-upload/start", "", "api-upload/complete"];
    let methods = ["POST", "PUT", "GET"];
    let calls = methods
        .iter()
        .zip(calls)
        .map(|(method, path)| world.relay.calls(method, path).len());
    let journal = world.dir.path().join("outbox/journal");
    (calls.sum(), std::fs::metadata(journal).unwrap().len())
}

/// Longer than the settle time and the pause in which changes are collected.
const A_WHILE: Duration = Duration::from_millis(350);

#[tokio::test]
async fn a_final_refusal_rests_until_retry_over_a_remount_too() {
    let cases = [
        ("PUT", "", 413),
        ("POST", "api-upload/start", 422),
        ("GET", "api-upload/complete", 400),
        ("GET", "api-upload/complete", 409),
        ("GET", "api-upload/complete", 422),
    ];
    join_all(cases.map(|(method, path, status)| refused_for_good(method, path, status))).await;
}

async fn refused_for_good(method: &'static str, path: &'static str, status: u16) {
    let what = format!("{method} {path} answered {status}");
    let world = World::start().await;
    let fault = Fault::Status(status);
    world.relay.fault(method, path, fault, usize::MAX);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair").id;
    eventually("it has failed", async || {
        word(&outbox, draft) == StatusWord::Failed
    })
    .await;
    eventually("what was under way then has ended", async || {
        let before = work_so_far(&world);
        tokio::time::sleep(A_WHILE).await;
        work_so_far(&world) == before
    })
    .await;
    let before = work_so_far(&world);
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(work_so_far(&world), before, "{what}");
    let outbox = world.reopen(outbox).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(work_so_far(&world).0, before.0, "{what}, after a remount");
    let info = outbox.drafts().get(draft).unwrap();
    assert_eq!(info.status.word(), StatusWord::Failed, "{what}");
    assert!(info.failure.unwrap().contains("assetfs retry"), "{what}");
    world.relay.mend();
    outbox.uploads().retry(draft).await.unwrap();
    complete(&outbox, draft).await;
    let asset = world.the_one(&world.assets().await);
    assert_eq!(world.files(asset).await, as_map(chair()), "{what}");
    outbox.shut_down().await;
}

async fn complete(outbox: &Outbox, draft: DraftId) {
    eventually("it is complete", async || {
        outbox.drafts().get(draft).is_none()
    })
    .await;
}

#[tokio::test]
async fn retry_sends_the_files_again_if_the_storage_has_said_yes_and_stored_nothing() {
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::Status(200), 3);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair").id;
    eventually("it has failed", async || {
        word(&outbox, draft) == StatusWord::Failed
    })
    .await;
    outbox.uploads().retry(draft).await.unwrap();
    complete(&outbox, draft).await;
    // The note on the model is a PUT, too.
    let puts = world.relay.calls("PUT", "");
    let files = puts.iter().filter(|it| !it.target.contains("/api/v2/"));
    assert_eq!(files.count(), 6);
    eventually("one is left", async || world.assets().await.len() == 1).await;
    let asset = world.the_one(&world.assets().await);
    assert_eq!(world.files(asset).await, as_map(chair()));
    outbox.shut_down().await;
}

#[tokio::test]
async fn what_is_started_over_is_started_after_a_pause_that_doubles_from_the_first_time_on() {
    let cases = [
        ("PUT", "", Fault::Status(403)),
        ("GET", "api-upload/complete", Fault::Status(404)),
        ("POST", "api-upload/start", Fault::LostAfter),
    ];
    join_all(cases.map(|(method, path, fault)| started_over(method, path, fault))).await;
}

#[tokio::test]
async fn many_drafts_whose_addresses_are_refused_pause_each_and_the_journal_hardly_grows() {
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::Status(403), usize::MAX);
    let outbox = world.outbox();
    for number in 0..8 {
        copy_chair(&outbox, &format!("chair{number}"));
    }
    eventually("each was started twice", async || {
        world.relay.calls("POST", "api-upload/start").len() >= 16
    })
    .await;
    // The pauses are 200, 400, 800 ms by then, so a draft begins at most twice in this time.
    let (calls, journal) = work_so_far(&world);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (later, grown) = work_so_far(&world);
    assert!(later - calls <= 8 * 2 * 4, "{calls} {later}");
    assert!(grown - journal <= 8 * 2 * 2048, "{journal} {grown}");
    outbox.shut_down().await;
}

async fn started_over(method: &'static str, path: &'static str, fault: Fault) {
    let world = World::start().await;
    world.relay.fault(method, path, fault, usize::MAX);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair").id;
    let starts = || world.relay.calls("POST", "api-upload/start");
    eventually("it was started four times", async || starts().len() == 4).await;
    let times: Vec<_> = starts().iter().map(|call| call.at).collect();
    for (times, least_ms) in times.windows(2).zip([200, 400, 800]) {
        let gap = times[1] - times[0];
        let least = Duration::from_millis(least_ms);
        assert!(gap >= least, "{method} {path}: {gap:?}");
    }
    eventually("it says why", async || {
        let failure = outbox.drafts().get(draft).unwrap().failure;
        failure.is_some_and(|failure| failure.contains("retried automatically"))
    })
    .await;
    world.relay.mend();
    outbox.uploads().retry(draft).await.unwrap();
    complete(&outbox, draft).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_service_whose_disk_is_full_is_asked_again_and_nothing_is_started_over_or_deleted() {
    let cases = [
        ("POST", "api-upload/start"),
        ("PUT", ""),
        ("GET", "api-upload/complete"),
    ];
    join_all(cases.map(|(method, path)| full(method, path))).await;
}

async fn full(method: &'static str, path: &'static str) {
    let what = format!("{method} {path}");
    let world = World::start().await;
    world
        .relay
        .fault(method, path, Fault::Full("1"), usize::MAX);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair").id;
    eventually("the status says why", async || {
        let status = outbox.drafts().get(draft).unwrap().status.to_string();
        status.contains("full") || status.contains("507")
    })
    .await;
    eventually("it was asked again", async || {
        let most = if method == "PUT" { 3 } else { 1 };
        world.relay.calls(method, path).len() > most
    })
    .await;
    let starts = world.relay.calls("POST", "api-upload/start").len();
    let asked = world.relay.calls(method, path).len();
    tokio::time::sleep(A_WHILE).await;
    let more = world.relay.calls(method, path).len() - asked;
    assert!(more <= 3, "{what}: {more} more calls in {A_WHILE:?}");
    if path != "api-upload/start" {
        assert_eq!(starts, 1, "{what}: it is not started over");
    }
    for (method, path) in [("DELETE", ""), ("POST", "api-upload/abandon")] {
        assert_eq!(world.relay.calls(method, path).len(), 0, "{what}");
    }
    world.relay.mend();
    complete(&outbox, draft).await;
    let asset = world.the_one(&world.assets().await);
    assert_eq!(world.files(asset).await, as_map(chair()), "{what}");
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_file_that_the_storage_does_not_take_is_sent_again_after_pauses_that_double_and_the_others_go_on()
 {
    let world = World::start().await;
    let outbox = world.outbox();
    world
        .relay
        .fault("PUT", "chair.bin", Fault::Status(507), usize::MAX);
    let draft = copy_chair(&outbox, "chair").id;
    let sent = |name| world.relay.calls("PUT", name);
    eventually("it was sent five times", async || {
        sent("chair.bin").len() == 5
    })
    .await;
    let times: Vec<_> = sent("chair.bin").iter().map(|call| call.at).collect();
    for (times, least_ms) in times.windows(2).zip([100, 200, 400, 800]) {
        let gap = times[1] - times[0];
        assert!(gap >= Duration::from_millis(least_ms), "{gap:?}");
    }
    for other in ["chair.gltf", "wood.png"] {
        assert_eq!(sent(other).len(), 1, "{other}");
    }
    eventually("it says when it is sent again", async || {
        let status = outbox.drafts().get(draft).unwrap().status.to_string();
        status.contains("next in")
    })
    .await;
    world.relay.mend();
    // An order ends the pause.
    outbox.uploads().retry(draft).await.unwrap();
    complete(&outbox, draft).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_pause_that_the_storage_asks_for_is_shown_with_its_end() {
    let world = World::start().await;
    world.relay.fault("PUT", "", Fault::Wait("90"), usize::MAX);
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair").id;
    eventually("it says when it is sent again", async || {
        let status = outbox.drafts().get(draft).unwrap().status.to_string();
        status.contains("next in 90 s")
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_waited_for_like_a_refused_connection() {
    if !crate::skip::has_program_or_skips("openssl") {
        return;
    }
    let world = World::start().await;
    let keys = tempfile::tempdir().unwrap();
    make_certificate(keys.path());
    let server = Bound::with_tls(keys.path()).serve(|_, _| Reply::status(500));
    let client = client(&server.url(), world.service.token());
    let config = quick(&world.dir.path().join("outbox"));
    let (outbox, _events) = Outbox::open(config, client).unwrap();
    let draft = copy_chair(&outbox, "chair").id;
    eventually("it says what to do and goes on", async || {
        let failure = outbox
            .drafts()
            .get(draft)
            .unwrap()
            .failure
            .unwrap_or_default();
        failure.contains("SSL_CERT_FILE") && failure.contains("retried automatically")
    })
    .await;
    assert_ne!(word(&outbox, draft), StatusWord::Failed);
    outbox.shut_down().await;
    drop(outbox);
    // The next run has a service that it trusts.
    let outbox = world.outbox();
    complete(&outbox, draft).await;
    outbox.shut_down().await;
}
