//! A full data disk is named by every answer, costs nothing, and is over when there is room.

use std::time::Duration;

use assetfs::service::{RecordsAt, Service, ServiceConfig, ServiceError};
use serde_json::{Value, json};

use super::support::{COPYING_WORKER, Fixture, WAITING_WORKER, settings, upload_url};
use super::tmpfs::SmallDisk;
use crate::needs_own_storage;

/// Bytes of the disk of the data folder.
const DISK_BYTES: u64 = 4 << 20;

#[tokio::test]
async fn a_full_data_disk_is_the_reason_of_jobs_costs_nothing_and_ends_by_itself() {
    needs_own_storage!();
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path(), DISK_BYTES) else {
        return;
    };
    let service = Fixture::with(WAITING_WORKER, |config| {
        config.data_dir = dir.path().join("data");
        config.records = RecordsAt::DataFolder;
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let (next, started) = service.begin("table", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    let before = service.points().await;
    // One runs and cannot store its result; the other waits for its turn.
    let runs = service.optimize(asset).await;
    service.until_runs(1).await;
    let queued = service.optimize(asset).await;
    disk.fill();
    service.go();
    for rapid in [runs, queued] {
        let path = format!("/api/v2/rapidmodel/{rapid}");
        let waits = |record: &Value| record["data"]["waits_because"].is_string();
        let record = service.until(&path, waits).await["data"].clone();
        let said = record["waits_because"].as_str().unwrap();
        assert!(
            said.contains("of the service") && said.contains("full"),
            "{said}"
        );
        assert!(said.contains("has made room"), "{said}");
        assert_eq!(record["progress"], 0);
    }
    let admin = service.service.admin_addr().unwrap();
    let ask = async |path: &str| {
        let url = format!("http://{admin}{path}");
        service.send(service.http.get(url)).await
    };
    let ready = ask("/readyz").await.expect(503).text();
    for (part, reason) in [
        ("records", "no storage space"),
        ("files", "no storage space"),
        ("jobs", "is full"),
    ] {
        let line = ready.lines().find(|line| line.starts_with(part));
        assert!(line.unwrap().contains(reason), "{ready}");
    }
    let metrics = ask("/metrics").await.expect(200).text();
    let obstructed = |line: &str| line.contains("jobs_obstructed_total{") && !line.ends_with(" 0");
    assert!(metrics.lines().any(obstructed), "{metrics}");
    // What a client sends now is refused with the cause, and changes nothing.
    let complete = format!("/api/v2/rawmodel/{next}/api-upload/complete");
    let start = json!({ "model_name": "a", "filenames": ["a.glb"] });
    for refused in [
        service.put(url, &[1; 100_000]).await,
        service.get(&complete).await,
        service
            .post("/api/v2/rawmodel/api-upload/start", start)
            .await,
    ] {
        assert!(refused.headers.contains_key("retry-after"));
        let said = refused.expect(507).text();
        assert!(
            said.contains("is full. Its operator has to make room"),
            "{said}"
        );
    }

    disk.free();
    for rapid in [runs, queued] {
        let record = service.optimized(rapid).await;
        assert_eq!(record["optimization_status"], "done", "{record}");
        assert_eq!(record["job_status"]["attempts"], 1);
        assert_eq!(record.get("waits_because"), None);
    }
    assert_eq!(service.points().await, before - 2);
    service.get(&complete).await.expect(200);
    assert_eq!(service.analysed(next).await["upload_status"], "complete");
    service.service.shutdown().await;
}

#[tokio::test]
async fn models_can_be_deleted_on_a_full_data_disk_and_the_service_starts_on_it() {
    needs_own_storage!();
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path(), DISK_BYTES) else {
        return;
    };
    let data = dir.path().join("data");
    let on_disk = |config: &mut ServiceConfig| {
        config.data_dir = data.clone();
        config.records = RecordsAt::DataFolder;
    };
    let reserve = data.join("records.reserve");
    let until_reserved = async || {
        for _ in 0..500 {
            if reserve.exists() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let service = Fixture::with(COPYING_WORKER, on_disk).await;
    let bytes = vec![b'x'; 200_000];
    let mut models = Vec::new();
    for name in ["chair", "table", "stool"] {
        models.push(service.upload(name, &[("a.glb", &bytes)]).await);
    }
    for model in &models[..2] {
        until_reserved().await;
        disk.fill();
        let path = format!("/api/v2/rawmodel/{model}");
        service.delete(&path).await.expect(200);
    }
    service.service.shutdown().await;
    assert!(reserve.exists());
    disk.fill();
    let service = Fixture::with(COPYING_WORKER, on_disk).await;
    let listed = service.get_json("/api/v2/rawmodel").await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    service.service.shutdown().await;

    // Without the reserve, the start says what to do.
    let _ = std::fs::remove_file(&reserve);
    disk.fill();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut config = settings(elsewhere.path(), COPYING_WORKER, None).await;
    on_disk(&mut config);
    let refused = loop {
        match Service::start(config.clone()).await.unwrap_err() {
            // A process that another test just starts still has the lock of the last service.
            ServiceError::DataDir(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            refused => break refused,
        }
    };
    assert!(refused.is_disk_full(), "{refused}");
    let said = std::error::Error::source(&refused).unwrap().to_string();
    assert!(said.contains("is full: make room on it"), "{said}");
    disk.free();
    let service = Fixture::with(COPYING_WORKER, on_disk).await;
    service.service.shutdown().await;
}
