//! What a killed process, a lost database or a broken file leaves behind.

use std::path::Path;
use std::time::{Duration, Instant};

use assetfs::service::Service;
use bytes::Bytes;
use futures_util::stream;
use reqwest::Method;
use serde_json::json;
use tokio::sync::mpsc;

use super::bucket;
use super::s3::TestBucket;
use super::skip::skipped;
use super::support::{COPYING_WORKER, Fixture, config, script, settings, upload_url};
use super::test_records::TestDatabase;
use crate::needs_own_storage;

/// Time for a state to come.
const PATIENCE: Duration = Duration::from_secs(60);

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a service on the data folder of one that was stopped.
async fn start_again(dir: &Path) -> assetfs::service::RunningService {
    let config = config(&dir.join("data"), script(dir, COPYING_WORKER)).await;
    Service::start(config).await.unwrap()
}

#[tokio::test]
async fn what_a_killed_process_was_storing_is_removed_at_the_next_start() {
    needs_own_storage!();
    let Fixture { dir, service, .. } = Fixture::start().await;
    service.shutdown().await;
    let data = dir.path().join("data");
    let mut database = TestDatabase::open(&data).await;
    if matches!(database, TestDatabase::Postgres(_)) {
        skipped("other processes may share PostgreSQL, so what they store is kept for a day");
        return;
    }
    let pending =
        "INSERT INTO pending_blobs (blob, created_at) VALUES ('ab/half', 9000000000000000)";
    database.run(pending).await;
    let folder = data.join("files/ab");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("half"), "half of a file").unwrap();
    let service = start_again(dir.path()).await;
    until("it is removed", async || !folder.join("half").exists()).await;
    service.shutdown().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_removed_does_not_keep_the_janitor_from_the_others() {
    needs_own_storage!();
    let Fixture { dir, service, .. } = Fixture::start().await;
    service.shutdown().await;
    let files = dir.path().join("data/files");
    // A folder in the place of a blob cannot be removed as a file. It comes first.
    std::fs::create_dir_all(files.join("00/stuck")).unwrap();
    std::fs::create_dir_all(files.join("zz")).unwrap();
    std::fs::write(files.join("zz/stray"), "nobody's").unwrap();
    let service = start_again(dir.path()).await;
    until("the other is removed", async || {
        !files.join("zz/stray").exists()
    })
    .await;
    assert!(files.join("00/stuck").exists());
    service.shutdown().await;
}

#[tokio::test]
async fn a_start_with_an_empty_database_keeps_the_file_of_the_account_before() {
    needs_own_storage!();
    let Fixture { dir, service, .. } = Fixture::start().await;
    service.shutdown().await;
    let data = dir.path().join("data");
    if matches!(TestDatabase::open(&data).await, TestDatabase::Postgres(_)) {
        skipped("the database of this test is a file");
        return;
    }
    let before = std::fs::read(data.join("account.json")).unwrap();
    for name in ["records.sqlite", "records.sqlite-wal", "records.sqlite-shm"] {
        let _ = std::fs::remove_file(data.join(name));
    }
    std::fs::remove_dir_all(data.join("files")).unwrap();
    let service = start_again(dir.path()).await;
    assert_eq!(std::fs::read(data.join("account.json.1")).unwrap(), before);
    assert_ne!(std::fs::read(data.join("account.json")).unwrap(), before);
    service.shutdown().await;
}

#[tokio::test]
async fn an_upload_is_not_given_up_while_its_bytes_arrive() {
    needs_own_storage!();
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.upload_renewal = Duration::from_millis(50);
    })
    .await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let (bytes, body) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let body = stream::unfold(body, async |mut body| Some((body.recv().await?, body)));
    let body = reqwest::Body::wrap_stream(Box::pin(body));
    let sending = service.send(service.http.request(Method::PUT, url).body(body));
    let aging = async {
        bytes.send(Ok(Bytes::from_static(b"first"))).await.unwrap();
        let data = service.dir.path().join("data");
        let mut database = TestDatabase::open(&data).await;
        until("the upload has a key", async || {
            let age = "UPDATE pending_blobs SET created_at = 1";
            database.run(age).await == 1
        })
        .await;
        let old = "SELECT COUNT(*) FROM pending_blobs WHERE created_at = 1";
        until("it is renewed", async || database.number(old).await == 0).await;
        bytes.send(Ok(Bytes::from_static(b" last"))).await.unwrap();
        drop(bytes);
    };
    let (sent, ()) = tokio::join!(sending, aging);
    sent.expect(200);
    service.complete(id).await.expect(200);
    assert_eq!(service.analysed(id).await["upload_status"], "complete");
}

#[tokio::test]
async fn a_job_that_waits_for_the_storage_stops_with_the_service_and_is_queued_again() {
    let Some(bucket) = TestBucket::start_own_or_skip() else {
        return;
    };
    let in_bucket = bucket::config(&bucket);
    let service = Fixture::with(COPYING_WORKER, |config| config.bucket = Some(in_bucket)).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    service.analysed(id).await;
    bucket.signal("STOP");
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    service.post(&path, json!({})).await.expect(200);
    let data = service.dir.path().join("data");
    let mut database = TestDatabase::open(&data).await;
    let running = "SELECT COUNT(*) FROM jobs WHERE state = 'running'";
    until("it runs", async || database.number(running).await == 1).await;
    let Fixture { service, dir, .. } = service;
    let began = Instant::now();
    service.shutdown().await;
    assert!(began.elapsed() < Duration::from_secs(30));
    let queued = "SELECT COUNT(*) FROM jobs WHERE state = 'queued' AND attempts = 0";
    assert_eq!(database.number(queued).await, 1);
    bucket.signal("CONT");
    drop(dir);
}

#[tokio::test]
async fn what_was_sent_for_a_refused_upload_is_removed_after_a_week() {
    let bucket = TestBucket::start();
    if !bucket.is_own() {
        skipped("the objects in ASSETFS_TEST_S3 do not get older");
        return;
    }
    let in_bucket = bucket::config(&bucket);
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.bucket = Some(in_bucket);
        config.workers = 0;
    })
    .await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"first").await.expect(200);
    let path = format!("/api/v2/rawmodel/{id}/api-upload/complete");
    service.get(&path).await.expect(200);
    service.put(url, b"other bytes").await.expect(200);
    let Fixture { dir, service, .. } = service;
    service.shutdown().await;
    let sent = || {
        bucket
            .objects()
            .iter()
            .filter(|key| key.contains("/in/"))
            .count()
    };
    for (days, left) in [(6, 1), (8, 0)] {
        bucket.age(days);
        let settings = settings(dir.path(), COPYING_WORKER, Some(&bucket)).await;
        let service = Service::start(settings).await.unwrap();
        let mut database = TestDatabase::open(&dir.path().join("data")).await;
        let failed = "SELECT COUNT(*) FROM jobs WHERE state = 'failed'";
        until("it is refused", async || database.number(failed).await == 1).await;
        if left == 0 {
            until("it is removed", async || sent() == 0).await;
        }
        service.shutdown().await;
        assert_eq!(sent(), left, "after {days} days");
    }
}
