//! The storage of an account limits everything that is stored for it.

use serde_json::json;

use super::support::{COPYING_WORKER, Fixture, WAITING_WORKER, files_are_in_a_bucket, upload_url};
use super::test_records::TestDatabase;

impl Fixture {
    async fn change(&self, statement: &'static str) {
        let mut database = TestDatabase::open(&self.dir.path().join("data")).await;
        assert_eq!(database.run(statement).await, 1);
    }

    async fn storage_left(&self) -> u64 {
        let left = self.get_json("/api/v2/user/storage").await;
        left["storage_left"].as_u64().unwrap()
    }

    pub async fn points(&self) -> u64 {
        let points = self.get_json("/api/v2/user/rapidpoints").await;
        points["rapidpoints"].as_u64().unwrap()
    }
}

#[tokio::test]
async fn an_upload_that_just_fits_is_imported_and_the_next_one_is_refused() {
    let service = Fixture::with(COPYING_WORKER, |config| config.quota_bytes = Some(6)).await;
    let id = service.upload("chair", &[("a.glb", b"123456")]).await;
    let asset = service.get(&format!("/api/v2/rawmodel/{id}")).await.json();
    assert_eq!(asset["data"]["upload_status"], "complete", "{asset}");
    assert!(asset["data"]["downloads"]["metrics.json"].is_string());
    assert_eq!(service.storage_left().await, 0);
    let (_, started) = service.begin("stool", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    // A bucket takes every file, so there the end of the upload is refused.
    let end = format!("/api/v2/rawmodel/{}/api-upload/complete", started["id"]);
    let send = async || match files_are_in_a_bucket() {
        true => {
            service.put(url, b"1").await.expect(200);
            service.get(&end).await
        }
        false => service.put(url, b"1").await,
    };
    send().await.expect(413);
    // Deleting gives the room back.
    let path = format!("/api/v2/rawmodel/{id}");
    service.delete(&path).await.expect(200);
    assert_eq!(service.storage_left().await, 6);
    send().await.expect(200);
}

#[tokio::test]
async fn a_result_that_does_not_fit_fails_with_its_reason_and_gives_the_point_back() {
    let service = Fixture::with(COPYING_WORKER, |config| config.quota_bytes = Some(10_000)).await;
    // The copying worker makes a result as large as the model, and small logs.
    let id = service.upload("chair", &[("a.glb", &[b'x'; 6_000])]).await;
    let points = service.points().await;
    let left = service.storage_left().await;
    assert!(
        (3_000..4_000).contains(&left),
        "the logs count, too: {left}"
    );
    let rapid = service.optimize(id).await;
    let record = service.optimized(rapid).await;
    assert_eq!(record["optimization_status"], "failed", "{record}");
    let log = service
        .read(record["rpd_error"].as_str().unwrap())
        .await
        .text();
    assert!(log.contains("are left of the account's storage"), "{log}");
    assert_eq!(service.points().await, points);
    assert!(
        service.storage_left().await > 2_000,
        "only the reason is stored"
    );

    let path = format!("/api/v2/rawmodel/{id}/addFormats");
    let body = json!({ "formats": ["stl"] });
    service.post(&path, body).await.expect(200);
    let path = format!("/api/v2/rawmodel/{id}/processedFormats");
    let ended = |list: &serde_json::Value| list.to_string().contains("are left of");
    service.until(&path, ended).await;
}

#[tokio::test]
async fn an_account_without_storage_starts_nothing_and_pays_nothing() {
    let service = Fixture::with(COPYING_WORKER, |config| config.quota_bytes = Some(10_000)).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    service
        .change("UPDATE users SET quota_bytes = used_bytes")
        .await;
    assert_eq!(service.storage_left().await, 0);
    let points = service.points().await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let refused = service.post(&path, json!({})).await.expect(413).text();
    assert!(refused.contains("no storage left"), "{refused}");
    let path = format!("/api/v2/rawmodel/{id}/addFormats");
    service
        .post(&path, json!({ "formats": ["stl"] }))
        .await
        .expect(413);
    assert_eq!(service.points().await, points);
}

#[tokio::test]
async fn a_start_changes_no_quota_unless_the_option_changed() {
    let quota = async |start: Option<u64>, service: Fixture| {
        let stopped = service.stop().await;
        let mut settings = super::support::settings(stopped.dir.path(), "", None).await;
        settings.bucket = stopped.bucket.as_ref().map(super::bucket::config);
        settings.quota_bytes = start;
        stopped.start_with(settings).await
    };
    let service = Fixture::with("", |config| config.quota_bytes = Some(5_000)).await;
    assert_eq!(service.storage_left().await, 5_000);
    let service = quota(None, service).await;
    assert_eq!(service.storage_left().await, 5_000);
    let service = quota(Some(6_000), service).await;
    assert_eq!(service.storage_left().await, 6_000);
    service.change("UPDATE users SET quota_bytes = 700").await;
    let mut service = service;
    for start in [Some(6_000), None, Some(8_000)] {
        service = quota(start, service).await;
        assert_eq!(service.storage_left().await, 700, "{start:?}");
    }
}

#[tokio::test]
async fn deleting_a_queued_optimization_gives_the_point_back_and_a_running_one_does_not() {
    let service = Fixture::with(WAITING_WORKER, |_| {}).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let points = service.points().await;
    let running = service.optimize(id).await;
    service.until_runs(1).await;
    let queued = service.optimize(id).await;
    assert_eq!(service.points().await, points - 2);
    let path = |rapid| format!("/api/v2/rapidmodel/{rapid}");
    service.delete(&path(queued)).await.expect(200);
    assert_eq!(service.points().await, points - 1);
    service.delete(&path(running)).await.expect(200);
    assert_eq!(service.points().await, points - 1);
}
