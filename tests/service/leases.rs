//! Leases of jobs: a lost lease ends its worker, a finished job stays finished, and a data folder of an older version
//! still works.

use std::path::Path;
use std::time::{Duration, Instant};

use assetfs::service::{Service, ServiceConfig};
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

use super::support::{COPYING_WORKER, Fixture, WAITING_WORKER, blobs, http_client, runs, script};
use super::test_records::TestDatabase;
use crate::needs_own_storage;

async fn change(dir: &Path, statement: &'static str) -> u64 {
    let mut database = TestDatabase::open(&dir.join("data")).await;
    database.run(statement).await
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_worker_whose_job_was_claimed_by_another_is_killed() {
    let service = Fixture::with(WAITING_WORKER, |config| {
        config.job_lease = Duration::from_millis(800);
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await;
    let rapid = service.optimize_one().await;
    let dir = service.dir.path();
    until("the worker runs", || runs(dir).len() == 1).await;
    let worker = format!("/proc/{}/stat", runs(dir)[0]);
    // Beyond the first lease: it is renewed.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(Path::new(&worker).exists(), "its lease is renewed");
    // As if another process had claimed it.
    let taken = "UPDATE jobs SET fence = fence + 1, lease_until = 9e18 WHERE state = 'running'";
    assert_eq!(change(dir, taken).await, 1);
    until("the worker is dead", || !Path::new(&worker).exists()).await;
    assert_eq!(service.metric("leases_lost_total").await, 0.0, "its loser");
    let record = service.get(&format!("/api/v2/rapidmodel/{rapid}")).await;
    let status = record.json()["data"]["job_status"]["status"].clone();
    assert_eq!(status, "executing", "the other has it");
}

#[tokio::test]
async fn a_job_whose_files_are_gone_fails_and_the_jobs_after_it_run() {
    needs_own_storage!();
    let service = Fixture::start().await;
    let broken = service.upload("broken", &[("a.glb", b"x")]).await;
    let data = service.dir.path().join("data");
    for blob in blobs(&data) {
        std::fs::remove_file(data.join("files").join(blob)).unwrap();
    }
    let whole = service.upload("whole", &[("a.glb", b"x")]).await;
    let mut rapids = Vec::new();
    for asset in [broken, whole] {
        rapids.push(service.optimize(asset).await);
    }
    let statuses = [
        service.optimized(rapids[0]).await["optimization_status"].clone(),
        service.optimized(rapids[1]).await["optimization_status"].clone(),
    ];
    assert_eq!(statuses, ["failed", "done"].map(|status| json!(status)));
}

#[tokio::test]
async fn a_job_whose_process_is_gone_is_done_by_another() {
    let service = Fixture::with(WAITING_WORKER, |config| {
        config.job_lease = Duration::from_millis(800);
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await;
    let dir = service.dir.path();
    service.go();
    let rapid = service.optimize_one().await;
    service.optimized(rapid).await;
    // As if a process had claimed it and died.
    let lost = "UPDATE jobs SET state = 'running', lease_until = 1 WHERE kind = 'optimize'";
    assert_eq!(change(dir, lost).await, 1);
    until("it runs again", || runs(dir).len() == 2).await;
    assert_eq!(service.metric("leases_lost_total").await, 1.0);
}

#[tokio::test]
async fn a_restart_runs_no_finished_job_again() {
    let service = Fixture::with(WAITING_WORKER, |_| {}).await;
    service.go();
    let rapid = service.optimize_one().await;
    let before = service.optimized(rapid).await;
    assert_eq!(before["optimization_status"], "done");
    let mut stopped = service.stop().await;
    for _ in 0..2 {
        let service = stopped.start(WAITING_WORKER).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        stopped = service.stop().await;
    }
    assert_eq!(runs(stopped.dir.path()).len(), 1);
    let service = stopped.start(WAITING_WORKER).await;
    let after = service.optimized(rapid).await;
    assert_eq!(after["job_status"], before["job_status"]);
    assert_eq!(after["updated_at"], before["updated_at"]);
}

#[tokio::test]
async fn stored_results_survive_a_shutdown_at_any_time() {
    // The service is stopped at many moments around the end of a job: it runs once, or its first run has no effect.
    for pause in [0, 5, 10, 20, 40, 80] {
        let service = Fixture::with(WAITING_WORKER, |_| {}).await;
        service.go();
        let rapid = service.optimize_one().await;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let row = service.get(&format!("/api/v2/rapidmodel/{rapid}")).await;
        let was_done = row.json()["data"]["optimization_status"] == "done";
        let stopped = service.stop().await;
        let runs_before = runs(stopped.dir.path()).len();
        let service = stopped.start(WAITING_WORKER).await;
        let record = service.optimized(rapid).await;
        assert_eq!(record["optimization_status"], "done", "after {pause} ms");
        assert!(record["downloads"]["all"]["chair.glb"].is_string());
        if was_done {
            assert_eq!(runs(service.dir.path()).len(), runs_before);
        }
    }
}

#[tokio::test]
async fn a_data_folder_of_the_first_version_still_works() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records-1.sql");
    let statements = std::fs::read_to_string(fixture).unwrap();
    let options = SqliteConnectOptions::new()
        .filename(data.join("records.sqlite"))
        .create_if_missing(true);
    let database = SqlitePool::connect_with(options).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements))
        .execute(&database)
        .await
        .unwrap();
    database.close().await;
    let config = ServiceConfig::new(&data, script(dir.path(), COPYING_WORKER));
    let service = Service::start(config).await.unwrap();
    let service = Fixture {
        dir,
        service,
        http: http_client(),
        bucket: None,
    };
    // The finished job stays as it was; the running and the queued one are finished now.
    let done = service.optimized(1).await;
    assert_eq!(done["job_status"]["attempts"], 1);
    assert_eq!(done["job_status"]["output"], "{\"exitCode\":0}");
    for rapid in [2, 3] {
        let record = service.optimized(rapid).await;
        assert_eq!(record["job_status"]["status"], "failed", "{record}");
        assert!(record["rpd_error"].is_string(), "the asset has no files");
    }
}
