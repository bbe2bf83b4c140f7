//! The admin listener: `/livez`, `/readyz`, `/metrics`, and the drain before an end.

use std::time::{Duration, Instant};

use assetfs::service::ServiceConfig;
use serde_json::{Value, json};

use super::bucket;
use super::s3::TestBucket;
use super::skip::skipped;
use super::support::{Answer, COPYING_WORKER, Fixture, WAITING_WORKER, files_are_in_a_bucket};
use crate::needs_own_storage;

fn with_admin(config: &mut ServiceConfig) {
    config.admin_listen = Some(([127, 0, 0, 1], 0).into());
}

impl Fixture {
    async fn admin(&self, path: &str, accept: &str) -> Answer {
        let addr = self.service.admin_addr().expect("an admin listener");
        let request = self.http.get(format!("http://{addr}{path}"));
        self.send(request.header("accept", accept)).await
    }

    pub async fn ready(&self) -> (u16, Value) {
        let answer = self.admin("/readyz", "application/json").await;
        (answer.status.as_u16(), answer.json())
    }

    /// The value of a metric with its labels, 0 if it is missing.
    pub async fn metric(&self, name: &str) -> f64 {
        let answer = self.admin("/metrics", "*/*").await.expect(200);
        let text = answer.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("assetfs_service_{name} ")));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// Starts two optimizations and waits until the worker of the first runs. The second one waits.
    async fn optimize_twice(&self) -> [u64; 2] {
        let id = self.upload("chair", &[("a.glb", b"x")]).await;
        let rapids = [self.optimize(id).await, self.optimize(id).await];
        self.until_runs(1).await;
        rapids
    }
}

#[tokio::test]
async fn a_service_is_ready_while_its_parts_answer_and_says_which_does_not() {
    needs_own_storage!();
    let service = Fixture::with(COPYING_WORKER, with_admin).await;
    assert_eq!(
        service.admin("/livez", "*/*").await.expect(200).text(),
        "ok\n"
    );
    let (status, ready) = service.ready().await;
    let good = json!({ "ready": true, "parts": {
        "records": "ok", "files": "ok", "clock": "ok", "memory": "ok", "jobs": "ok", "process": "ok",
    } });
    assert_eq!((status, ready), (200, good));

    let files = service.dir.path().join("data/files");
    let aside = service.dir.path().join("aside");
    std::fs::rename(&files, &aside).unwrap();
    let (status, ready) = service.ready().await;
    assert_eq!((status, &ready["ready"]), (503, &json!(false)));
    let sentence = ready["parts"]["files"].as_str().unwrap();
    assert!(sentence.contains("data/files"), "{sentence}");
    assert!(sentence.contains("No such file"), "{sentence}");
    assert_eq!(ready["parts"]["records"], "ok");
    let text = service.admin("/readyz", "text/plain").await.expect(503);
    assert_eq!(
        text.text(),
        format!("records: ok\nfiles: {sentence}\nclock: ok\nmemory: ok\njobs: ok\nprocess: ok\n")
    );
    service.admin("/livez", "*/*").await.expect(200);
    std::fs::rename(&aside, &files).unwrap();
    assert_eq!(service.ready().await.0, 200);
}

#[tokio::test]
async fn a_bucket_that_does_not_answer_is_named_and_the_service_gets_ready_again() {
    let mut bucket = TestBucket::start();
    let in_bucket = bucket::config(&bucket);
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.bucket = Some(in_bucket);
        with_admin(config);
    })
    .await;
    assert_eq!(service.ready().await.0, 200);
    if !bucket.is_own() {
        skipped("the storage in ASSETFS_TEST_S3 is not stopped by a test");
        return;
    }
    bucket.signal("STOP");
    let (status, ready) = service.ready().await;
    assert_eq!(status, 503);
    let sentence = ready["parts"]["files"].as_str().unwrap();
    assert!(
        sentence.contains("did not answer within 2 seconds"),
        "{sentence}"
    );
    bucket.signal("CONT");
    assert_eq!(service.ready().await.0, 200);
    bucket.stop();
    let (status, ready) = service.ready().await;
    assert_eq!(status, 503);
    let sentence = ready["parts"]["files"].as_str().unwrap();
    assert!(sentence.contains("cannot be reached"), "{sentence}");
    assert!(sentence.contains("onnection refused"), "{sentence}");
}

#[tokio::test]
async fn a_service_with_more_slots_than_memory_says_so() {
    let service = Fixture::with(COPYING_WORKER, |config| {
        with_admin(config);
        config.worker_limits.memory_bytes = 1 << 50;
    })
    .await;
    let (status, ready) = service.ready().await;
    assert_eq!(status, 503);
    let sentence = ready["parts"]["memory"].as_str().unwrap();
    assert!(sentence.contains("run fewer jobs at a time"), "{sentence}");
}

#[tokio::test]
async fn the_admin_listener_answers_nothing_of_the_api_and_the_api_nothing_of_it() {
    let service = Fixture::with(COPYING_WORKER, with_admin).await;
    service.admin("/api/v2/rawmodel", "*/*").await.expect(404);
    for path in ["/livez", "/readyz", "/metrics"] {
        service.get(path).await.expect(404);
    }
    let without = Fixture::start().await;
    assert_eq!(without.service.admin_addr(), None, "off by default");
}

#[tokio::test]
async fn metrics_count_jobs_requests_and_bytes() {
    let service = Fixture::with(WAITING_WORKER, with_admin).await;
    let rapids = service.optimize_twice().await;
    assert_eq!(service.metric("jobs_running").await, 1.0);
    assert_eq!(service.metric("jobs_queued").await, 1.0);
    assert_eq!(service.metric("leases_held").await, 1.0);
    assert_eq!(service.metric("slots").await, 1.0);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(service.metric("oldest_queued_job_seconds").await > 0.01);
    service.go();
    for rapid in rapids {
        service.optimized(rapid).await;
    }
    service
        .upload("broken", &[("broken.glb", &[b'x'; 100_000])])
        .await;

    assert_eq!(service.metric("jobs_queued").await, 0.0);
    let analysed = |result| format!("jobs_ended_total{{kind=\"analyse\",result=\"{result}\"}}");
    assert_eq!(service.metric(&analysed("finished")).await, 1.0);
    assert_eq!(service.metric(&analysed("failed")).await, 1.0);
    let optimized = "jobs_ended_total{kind=\"optimize\",result=\"finished\"}";
    assert_eq!(service.metric(optimized).await, 2.0);
    assert_eq!(service.metric("job_attempts_total").await, 4.0);
    assert_eq!(service.metric("job_wait_seconds_count").await, 4.0);
    assert_eq!(service.metric("leases_lost_total").await, 0.0);
    if !files_are_in_a_bucket() {
        let uploads = "requests_total{class=\"storage\",status=\"200\"}";
        assert_eq!(service.metric(uploads).await, 2.0);
        assert!(service.metric("received_bytes_total").await > 100_000.0);
    }
    service.get("/api/v2/nothing").await.expect(404);
    let unknown = "requests_total{class=\"api\",status=\"404\"}";
    assert_eq!(service.metric(unknown).await, 1.0);
    assert!(service.metric("sent_bytes_total").await > 1_000.0);
}

#[tokio::test]
async fn a_drain_fails_readyz_claims_nothing_and_lets_running_jobs_end() {
    let service = Fixture::with(WAITING_WORKER, with_admin).await;
    let [rapid, waiting] = service.optimize_twice().await;
    let drain = service.service.drain(Duration::from_secs(60));
    let during = async {
        let deadline = Instant::now() + Duration::from_secs(30);
        let (mut status, mut ready) = service.ready().await;
        while status == 200 {
            assert!(Instant::now() < deadline, "ready during the drain");
            (status, ready) = service.ready().await;
        }
        assert_eq!(status, 503);
        let sentence = ready["parts"]["process"].as_str().unwrap();
        assert!(sentence.contains("ending"), "{sentence}");
        assert_eq!(service.metric("draining").await, 1.0);
        // The API answers during the drain, and sends its clients to another process.
        let answer = service.get("/api/v2/rawmodel").await.expect(200);
        assert_eq!(answer.header("connection"), "close");
        service.go();
    };
    tokio::join!(drain, during);
    let state = |rapid: u64| format!("/api/v2/rapidmodel/{rapid}");
    let ended = service.get_json(&state(rapid)).await;
    assert_eq!(ended["data"]["optimization_status"], "done");
    let queued = service.get_json(&state(waiting)).await;
    assert_eq!(queued["data"]["job_status"]["status"], "queued");
}

#[tokio::test]
async fn a_drain_ends_with_its_time_and_the_jobs_are_given_back() {
    let service = Fixture::with(WAITING_WORKER, with_admin).await;
    service.optimize_twice().await;
    let began = Instant::now();
    service.service.drain(Duration::from_millis(300)).await;
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(service.metric("jobs_running").await, 1.0, "until the end");
    let Fixture { dir, service, .. } = service;
    service.shutdown().await;
    let mut database = super::test_records::TestDatabase::open(&dir.path().join("data")).await;
    let queued = "UPDATE jobs SET attempts = attempts WHERE state = 'queued'";
    assert_eq!(database.run(queued).await, 2);
}
