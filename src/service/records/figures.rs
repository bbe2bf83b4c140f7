//! Measurements of the records, run by `scripts/bench/records`. They print figures and assert nothing.

#![allow(clippy::print_stdout, reason = "the figures are the result")]

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::*;
use crate::wire::{AssetId, FilenameRule, OptimizationStatus, TokenId, UserId};
use assetfs_engine::job::Progress;

const CLIENTS: u64 = 16;
const LEASE: Duration = Duration::from_secs(60);
const TIME: Duration = Duration::from_secs(10);
const ASSETS: u64 = 1_000_000;

async fn records() -> (tempfile::TempDir, Records) {
    let dir = tempfile::tempdir().unwrap();
    let records = Records::of_test(dir.path()).await;
    (dir, records)
}

/// An account with `assets` complete assets.
async fn account(records: &Records, user: UserId, assets: u64) {
    let insert = sql!(
        "INSERT INTO users (id, email, password_hash, points, quota_bytes, used_bytes, created_at) \
         VALUES ($1, 'user' || $1, '', 1000000000, 1000000000000, 0, 0)",
        user
    );
    records.database.run(insert).await.unwrap();
    let insert = sql!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2) \
         INSERT INTO assets (user_id, uuid, name, name_folded, is_zip, upload_status, format, main_file, \
         size, scale_factor, has_errors, created_at) \
         SELECT $1, 'uuid', 'asset ' || i, 'asset ' || i, 0, 'complete', 'glb', 'a.glb', 1, 1.0, 0, 0 FROM n",
        user,
        assets
    );
    records.database.run(insert).await.unwrap();
}

/// Starts an optimization, claims it or another one, notes progress, and ends it with a file.
async fn cycle(records: &Records, user: UserId, asset: AssetId) {
    let new = NewRapid {
        asset,
        asset_name: "chair".to_owned(),
        scale_factor: 1.0,
        name: "chair".to_owned(),
        config: "{}".to_owned(),
        preset: None,
        export_name: None,
        filename_rule: FilenameRule::default(),
        tags: Vec::new(),
        core_version: "1.0.0".to_owned(),
        request_key: None,
    };
    let new = [new];
    let started = records.optimizations().start(user, TokenId(1), &new);
    assert!(matches!(started.await.unwrap(), Started::Queued(_)));
    // None if another client is claiming the only job that this one sees; there is another job then.
    let job = loop {
        if let Some(job) = records.jobs().claim(LEASE).await.unwrap() {
            break job;
        }
    };
    let heartbeat = Heartbeat {
        lease: job.lease(),
        progress: Some(Progress {
            percent: 50,
            step: "half".to_owned(),
            phase: None,
            memory_bytes: 0,
        }),
    };
    // The claim of another client may lock the row for a moment.
    while records
        .jobs()
        .renew_leases(std::slice::from_ref(&heartbeat), LEASE)
        .await
        .unwrap()
        != [job.id]
    {}
    let blob = records.blobs().fresh().await.unwrap();
    let file = NewFile {
        area: Area::Export,
        name: "chair.glb".to_owned(),
        bytes: Stored {
            blob: blob.key().to_owned(),
            size: 1,
            md5: String::new(),
            crc32: 0,
        },
    };
    let end = OptimizationEnd {
        is_refunded: false,
        pictures: PicturesOfResult::Here,
        status: OptimizationStatus::Done,
        report: None,
        files: vec![file],
        output: "{}".to_owned(),
        events: Vec::new(),
    };
    let rapid = job.rapid.unwrap();
    let ended = records
        .optimizations()
        .end(job.lease(), job.user, rapid, &end);
    assert!(ended.await.unwrap().is_some());
}

async fn cycles_per_second(
    records: &Records,
    account_of: impl Fn(u64) -> (UserId, AssetId),
) -> f64 {
    let began = Instant::now();
    let clients = (0..CLIENTS).map(|client| {
        let (user, asset) = account_of(client);
        async move {
            let mut cycles = 0_u64;
            while began.elapsed() < TIME {
                cycle(records, user, asset).await;
                cycles += 1;
            }
            cycles
        }
    });
    let cycles: u64 = join_all(clients).await.iter().sum();
    cycles as f64 / began.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, run by scripts/bench/records"]
async fn job_cycles() {
    let (_dir, records) = records().await;
    for user in 1..=CLIENTS {
        account(&records, UserId(user), 1).await;
    }
    // Every account has one asset; they are numbered like the accounts.
    let own = cycles_per_second(&records, |client| (UserId(client + 1), AssetId(client + 1))).await;
    println!("FIGURE job cycles/s, {CLIENTS} clients with an account each: {own:.0}");
    let one = cycles_per_second(&records, |_| (UserId(1), AssetId(1))).await;
    println!("FIGURE job cycles/s, {CLIENTS} clients of one account: {one:.0}");
}

#[tokio::test]
#[ignore = "a measurement, run by scripts/bench/records"]
async fn listing() {
    let (_dir, records) = records().await;
    account(&records, UserId(1), ASSETS).await;
    if records.is_shared() {
        let analyze = sql!("ANALYZE assets");
        records.database.run(analyze).await.unwrap();
    }
    let all = Search::default();
    let last = ASSETS / 50;
    let pages = [
        ("first page", 1),
        ("page 2", 2),
        ("middle page", last / 2),
        ("the page after it", last / 2 + 1),
        ("last page but one", last - 1),
        ("last page", last),
    ];
    for (what, page) in pages {
        let began = Instant::now();
        let request = PageRequest { page, per_page: 50 };
        let listed = records.assets().list(UserId(1), &all, request);
        let listed = listed.await.unwrap();
        assert_eq!((listed.total, listed.items.len()), (ASSETS, 50));
        let millis = began.elapsed().as_secs_f64() * 1_000.0;
        println!("FIGURE listing of {ASSETS} assets, {what}: {millis:.1} ms");
    }
    let some = Search::parse("77777");
    let began = Instant::now();
    let request = PageRequest {
        page: 1,
        per_page: 50,
    };
    let found = records.assets().list(UserId(1), &some, request);
    let total = found.await.unwrap().total;
    let millis = began.elapsed().as_secs_f64() * 1_000.0;
    println!("FIGURE search that finds {total} of {ASSETS} assets: {millis:.1} ms");
}
