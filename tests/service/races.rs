//! Parallel requests have the same effect as one after the other.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{COPYING_WORKER, Fixture, blobs, upload_url};
use crate::needs_own_storage;

/// Number of parallel requests.
const AT_ONCE: usize = 16;

/// The copying worker, which also writes a line to a file for each run.
fn counting() -> String {
    format!("echo run >> \"$(dirname \"$0\")/runs\"\n{COPYING_WORKER}")
}

fn runs(service: &Fixture) -> usize {
    let runs = std::fs::read_to_string(service.dir.path().join("runs"));
    runs.unwrap_or_default().lines().count()
}

#[tokio::test]
async fn completing_twice_at_once_makes_one_analysis() {
    let service = Fixture::with(&counting(), |config| config.workers = 4).await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    let answers = join_all((0..AT_ONCE).map(|_| service.complete(id))).await;
    for answer in answers {
        answer.expect(200);
    }
    service.analysed(id).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(runs(&service), 1);
}

#[tokio::test]
async fn retrying_twice_at_once_makes_one_analysis() {
    let worker = "echo run >> \"$(dirname \"$0\")/runs\"\ncat > /dev/null\nexit 1";
    let service = Fixture::with(worker, |config| config.workers = 4).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let path = format!("/api/v2/rawmodel/{id}/api-upload/retry");
    let before = runs(&service);
    // The job waits until all requests are answered: another retry is right once it has failed again.
    let answers = join_all((0..AT_ONCE).map(|_| service.post(&path, json!({})))).await;
    let accepted = answers.iter().filter(|a| a.status == 200).count();
    service.analysed(id).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(
        runs(&service) - before,
        accepted,
        "one run for each acceptance"
    );
    assert!(
        answers
            .iter()
            .all(|a| [200, 422].contains(&a.status.as_u16()))
    );
}

#[tokio::test]
async fn one_of_many_equal_conversions_is_accepted() {
    let service = Fixture::with(COPYING_WORKER, |config| config.workers = 0).await;
    // No worker analyses it: the record is changed directly.
    let id = complete_asset(&service).await;
    let path = format!("/api/v2/rawmodel/{id}/addFormats");
    let ask = |_| service.post(&path, json!({ "formats": ["usdz"] }));
    let answers = join_all((0..AT_ONCE).map(ask)).await;
    let mut statuses: Vec<u16> = answers.iter().map(|a| a.status.as_u16()).collect();
    statuses.sort_unstable();
    let mut expected = vec![400; AT_ONCE];
    expected[0] = 200;
    assert_eq!(statuses, expected);
    let jobs = service
        .get(&format!("/api/v2/rawmodel/{id}/processedFormats"))
        .await
        .json();
    assert_eq!(jobs.as_array().unwrap().len(), 1, "{jobs}");
}

async fn complete_asset(service: &Fixture) -> u64 {
    service.service.add_sample_assets(1).await.unwrap();
    let list = service.get("/api/v2/rawmodel").await.json();
    list["data"][0]["id"].as_u64().unwrap()
}

#[tokio::test]
async fn parallel_requests_create_no_more_webhooks_than_allowed() {
    let service = Fixture::start().await;
    let body = json!({ "url": "http://127.0.0.1:1/", "verify_ssl": false });
    let ask = |_| service.post("/api/v2/user/webhooks", body.clone());
    let answers = join_all((0..AT_ONCE).map(ask)).await;
    assert_eq!(answers.iter().filter(|a| a.status == 200).count(), 10);
    assert_eq!(answers.iter().filter(|a| a.status == 500).count(), 6);
    let list = service.get("/api/v2/user/webhooks").await.json();
    assert_eq!(list.as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn points_are_never_spent_twice() {
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.workers = 0;
        config.initial_points = 5;
    })
    .await;
    let id = complete_asset(&service).await;
    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let answers = join_all((0..AT_ONCE).map(|_| service.post(&path, json!({})))).await;
    assert_eq!(answers.iter().filter(|a| a.status == 200).count(), 5);
    assert_eq!(answers.iter().filter(|a| a.status == 402).count(), 11);
    let rapids = service.get("/api/v2/rapidmodel").await.json();
    assert_eq!(rapids["meta"]["total"], 5);
}

#[tokio::test]
async fn two_uploads_of_one_file_leave_one_and_count_once() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let storage = service.get("/api/v2/user/storage").await.json();
    let before = storage["storage_left"].as_u64().unwrap();
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    let bodies: Vec<Vec<u8>> = (0..AT_ONCE).map(|n| vec![n as u8; 1_000]).collect();
    let puts = join_all(bodies.iter().map(|body| service.put(url, body))).await;
    for put in puts {
        put.expect(200);
    }
    let storage = service.get("/api/v2/user/storage").await.json();
    assert_eq!(storage["storage_left"].as_u64().unwrap(), before - 1_000);
    assert_eq!(stored_files(&service), 1, "of asset {id}");
}

fn stored_files(service: &Fixture) -> usize {
    blobs(&service.dir.path().join("data")).len()
}

#[tokio::test]
async fn what_is_deleted_gets_no_tags_and_no_embeds_any_more() {
    let service = Fixture::with(COPYING_WORKER, |config| config.workers = 0).await;
    for round in 0..8 {
        let id = complete_asset(&service).await;
        let path = format!("/api/v2/rawmodel/{id}");
        let body = json!({ "tags": [format!("tag {round}")] });
        let tagging = (0..4).map(|_| service.json(Method::PUT, &path, body.clone()));
        let (tagged, deleted) = tokio::join!(join_all(tagging), service.delete(&path));
        deleted.expect(200);
        for answer in tagged {
            assert!([200, 404].contains(&answer.status.as_u16()));
        }
    }
    let tags = service.get("/api/v2/rawmodel/tags").await.json();
    assert_eq!(tags["data"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn parallel_uploads_never_exceed_the_quota() {
    needs_own_storage!();
    let service = Fixture::with(COPYING_WORKER, |config| config.quota_bytes = Some(5_000)).await;
    let names: Vec<String> = (0..AT_ONCE).map(|n| format!("{n}.bin")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (_, started) = service.begin("chair", &names).await;
    let puts = names.iter().map(|name| {
        let url = upload_url(&started, name);
        service.put(url, &[7; 1_000])
    });
    let stored = join_all(puts).await;
    assert_eq!(stored.iter().filter(|put| put.status == 200).count(), 5);
    let storage = service.get("/api/v2/user/storage").await.json();
    assert_eq!(storage["storage_left"], 0);
    assert_eq!(stored_files(&service), 5);
}
