//! Several services on one PostgreSQL database, and databases that cannot be used.
//!
//! Files that are not in a bucket are in a folder of each service, so only one of them reads and writes bytes.

use std::path::Path;
use std::time::{Duration, Instant};

use assetfs::service::{PostgresServer, RecordsAt, Service, ServiceConfig, ServiceError};
use futures_util::future::{join_all, try_join_all};
use serde_json::json;

use super::skip::skipped;
use super::support::{COPYING_WORKER, Fixture, config, http_client, script, settings, upload_url};
use super::test_records::{TestDatabase, database_url};

/// Number of parallel requests.
const AT_ONCE: usize = 16;

/// The URL of an empty database, or `None` and a skip without a server.
async fn empty_database(dir: &Path) -> Option<String> {
    let url = database_url(dir).await;
    if url.is_none() {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
    }
    url
}

/// Settings of a service in the folder `name`.
fn config_of(dir: &Path, name: &str, url: &str) -> ServiceConfig {
    let mut config = ServiceConfig::new(dir.join(name), script(dir, COPYING_WORKER));
    config.records = RecordsAt::Postgres(url.parse().unwrap());
    config
}

/// Two services on one database; the second has no workers.
pub struct Pair {
    pub first: Fixture,
    second: Fixture,
    url: String,
}

impl Pair {
    /// `None` and a skip without a server.
    pub async fn start(change: impl Fn(&mut ServiceConfig)) -> Option<Pair> {
        let dir = tempfile::tempdir().unwrap();
        let url = empty_database(dir.path()).await?;
        let with = |config: &mut ServiceConfig| {
            config.records = RecordsAt::Postgres(url.parse().unwrap());
            change(config);
        };
        let first = Fixture::with(COPYING_WORKER, with).await;
        let second = Fixture::with(COPYING_WORKER, |config| {
            with(config);
            config.bucket = first.bucket_config();
            config.workers = 0;
        });
        let second = second.await;
        Some(Pair { first, second, url })
    }

    /// The services in turn, for parallel requests.
    pub fn in_turn(&self) -> impl Iterator<Item = &Fixture> {
        [&self.first, &self.second]
            .into_iter()
            .cycle()
            .take(AT_ONCE)
    }

    /// Settings of one more service on the database, with its data below `dir`.
    fn config_of_third(&self, dir: &Path) -> ServiceConfig {
        let mut config = config_of(dir, "third", &self.url);
        config.bucket = self.first.bucket_config();
        config
    }

    pub async fn number(&self, query: &str) -> i64 {
        TestDatabase::at(&self.url).await.number(query).await
    }
}

#[tokio::test]
async fn services_that_start_at_once_make_one_schema_and_one_account() {
    let dir = tempfile::tempdir().unwrap();
    let Some(url) = empty_database(dir.path()).await else {
        return;
    };
    let names = ["a", "b", "c", "d"];
    let starts = names.map(|name| Service::start(config_of(dir.path(), name, &url)));
    let services = try_join_all(starts).await.unwrap();
    let mut database = TestDatabase::at(&url).await;
    assert_eq!(database.number("SELECT COUNT(*) FROM users").await, 1);
    let steps = "SELECT COUNT(*) - COUNT(DISTINCT version) FROM schema_version";
    assert_eq!(database.number(steps).await, 0, "each step once");
    let http = http_client();
    for service in &services {
        // Each service has a token of its own, which all of them accept.
        let url = format!("{}api/v2/rawmodel", services[0].base_url());
        let answer = http.get(url).bearer_auth(service.token()).send().await;
        assert_eq!(answer.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn completing_at_two_services_makes_one_analysis() {
    let Some(pair) = Pair::start(|_| {}).await else {
        return;
    };
    let (id, started) = pair.first.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    pair.first.put(url, b"x").await.expect(200);
    let asked = pair.in_turn().map(|service| service.complete(id));
    for answer in join_all(asked).await {
        answer.expect(200);
    }
    pair.first.analysed(id).await;
    let jobs = "SELECT COUNT(*) FROM jobs";
    assert_eq!(pair.number(jobs).await, 1);
}

#[tokio::test]
async fn points_conversions_and_webhooks_are_exact_at_two_services() {
    let points = |config: &mut ServiceConfig| {
        config.initial_points = 5;
        config.workers = 0;
    };
    let Some(pair) = Pair::start(points).await else {
        return;
    };
    pair.first.service.add_sample_assets(1).await.unwrap();
    let list = pair.first.get("/api/v2/rawmodel").await.json();
    let id = list["data"][0]["id"].as_u64().unwrap();

    let path = format!("/api/v2/rawmodel/optimize/{id}");
    let asked = pair.in_turn().map(|service| service.post(&path, json!({})));
    let accepted = join_all(asked).await;
    let accepted = accepted.iter().filter(|answer| answer.status == 200);
    assert_eq!(accepted.count(), 5);
    assert_eq!(pair.number("SELECT points FROM users").await, 0);
    assert_eq!(pair.number("SELECT COUNT(*) FROM rapids").await, 5);

    let path = format!("/api/v2/rawmodel/{id}/addFormats");
    let body = json!({ "formats": ["usdz"] });
    let asked = pair
        .in_turn()
        .map(|service| service.post(&path, body.clone()));
    let accepted = join_all(asked).await;
    assert_eq!(accepted.iter().filter(|a| a.status == 200).count(), 1);

    let body = json!({ "url": "http://127.0.0.1:1/", "verify_ssl": false });
    let path = "/api/v2/user/webhooks";
    let asked = pair
        .in_turn()
        .map(|service| service.post(path, body.clone()));
    let accepted = join_all(asked).await;
    assert_eq!(accepted.iter().filter(|a| a.status == 200).count(), 10);
}

#[tokio::test]
async fn a_start_leaves_the_running_jobs_of_other_processes_alone() {
    let short = |config: &mut ServiceConfig| config.job_lease = Duration::from_millis(800);
    let Some(pair) = Pair::start(short).await else {
        return;
    };
    let dir = pair.first.dir.path();
    let id = pair.first.upload("chair", &[("a.glb", b"x")]).await;
    let mut database = TestDatabase::at(&pair.url).await;
    // As if a process on another machine worked on it.
    let running = "UPDATE jobs SET state = 'running', lease_until = 9000000000000000000";
    assert_eq!(database.run(running).await, 1);
    let third = Service::start(pair.config_of_third(dir)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let state = "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND attempts = 1";
    assert_eq!(database.number(state).await, 1, "it still runs");
    third.unwrap().shutdown().await;
    // That process died. Its third lease expires, so the job fails.
    let lost = "UPDATE jobs SET lease_until = 1, attempts = 3";
    assert_eq!(database.run(lost).await, 1);
    let failed = "SELECT COUNT(*) FROM jobs WHERE state = 'failed'";
    let deadline = Instant::now() + Duration::from_secs(60);
    while database.number(failed).await == 0 {
        assert!(Instant::now() < deadline, "it never fails");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let asset = pair.first.analysed(id).await;
    let reason = asset["error_message"].as_str().unwrap();
    assert!(reason.contains("died 3 times"), "{reason}");
}

#[tokio::test]
async fn a_job_of_one_service_is_done_by_another() {
    let Some(pair) = Pair::start(|config| config.workers = 0).await else {
        return;
    };
    let (id, started) = pair.first.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    pair.first.put(url, b"x").await.expect(200);
    // The second service accepts the upload; a third one works. Its folder is empty, so the analysis fails there.
    let third = Service::start(pair.config_of_third(pair.second.dir.path())).await;
    pair.second.complete(id).await.expect(200);
    let begun = "SELECT COUNT(*) FROM jobs WHERE attempts > 0";
    let deadline = Instant::now() + Duration::from_secs(60);
    while pair.number(begun).await == 0 {
        assert!(Instant::now() < deadline, "nobody takes it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    third.unwrap().shutdown().await;
}

#[tokio::test]
async fn databases_that_cannot_be_used_are_sentences() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_) = empty_database(dir.path()).await else {
        return;
    };
    let mut unreachable = url::Url::parse(&std::env::var("ASSETFS_TEST_RECORDS").unwrap()).unwrap();
    unreachable.set_path("no_such_database");
    let why = refusal(dir.path(), unreachable.as_str()).await;
    assert!(
        why.contains("no_such_database: create it with createdb"),
        "{why}"
    );
    // Connections over TCP need a password, and this user has none.
    let port = unreachable.port().unwrap();
    let refused = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    let why = refusal(dir.path(), &refused).await;
    assert!(
        why.contains("asks for a password, and none is given"),
        "{why}"
    );
    let mut server: PostgresServer = refused.parse().unwrap();
    server = server.with_password("wrong");
    let why = refusal_at(dir.path(), server).await;
    assert!(
        why.contains("refuses the password: check the user"),
        "{why}"
    );
    assert!(!why.contains("wrong"), "{why}");
    let closed = "postgres://postgres@127.0.0.1:9/postgres";
    let why = refusal(dir.path(), closed).await;
    assert!(
        why.contains("cannot be reached: check that it runs"),
        "{why}"
    );
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let service = Fixture::with(COPYING_WORKER, |_| {}).await;
    let Fixture { dir, service, .. } = service;
    service.shutdown().await;
    let data = dir.path().join("data");
    let mut database = TestDatabase::open(&data).await;
    let newer = "INSERT INTO schema_version (version) VALUES (999)";
    assert_eq!(database.run(newer).await, 1);
    let config = config(&data, script(dir.path(), COPYING_WORKER)).await;
    let error = Service::start(config).await.unwrap_err();
    let why = text_of(&error);
    assert!(why.contains("schema 999"), "{why}");
    let older = "SELECT COUNT(*) FROM schema_version WHERE version = 999";
    assert_eq!(database.number(older).await, 1, "nothing is changed");
}

#[tokio::test]
async fn a_process_starts_again_after_a_newer_version_if_that_says_it_may() {
    let service = Fixture::with(COPYING_WORKER, |_| {}).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let stopped = service.stop().await;
    let data = stopped.dir.path().join("data");
    let mut database = TestDatabase::open(&data).await;
    // As a newer version has migrated it, which says that the newest of ours may go on.
    let newer = "INSERT INTO schema_readers (version, readable_from) SELECT 999, MAX(version) FROM schema_version";
    assert_eq!(database.run(newer).await, 1);
    database
        .run("INSERT INTO schema_version (version) VALUES (999)")
        .await;
    database
        .run("ALTER TABLE assets ADD COLUMN later BIGINT NOT NULL DEFAULT 0")
        .await;
    let service = stopped.start(COPYING_WORKER).await;
    assert_eq!(service.analysed(id).await["name"], "chair");
    let rapid = service.optimize(id).await;
    assert_eq!(
        service.optimized(rapid).await["optimization_status"],
        "done"
    );
    let stopped = service.stop().await;
    // One that our version must not work with.
    database
        .run("INSERT INTO schema_version (version) VALUES (1000)")
        .await;
    database
        .run("INSERT INTO schema_readers (version, readable_from) VALUES (1000, 999)")
        .await;
    let again = settings(stopped.dir.path(), COPYING_WORKER, stopped.bucket.as_ref()).await;
    let refused = Service::start(again).await.unwrap_err();
    assert!(text_of(&refused).contains("schema 1000"), "{refused:?}");
}

async fn refusal(dir: &Path, url: &str) -> String {
    refusal_at(dir, url.parse().unwrap()).await
}

async fn refusal_at(dir: &Path, server: PostgresServer) -> String {
    let mut config = ServiceConfig::new(dir.join("refused"), script(dir, COPYING_WORKER));
    config.records = RecordsAt::Postgres(server);
    let error = Service::start(config).await.unwrap_err();
    assert!(matches!(error, ServiceError::Records(_)), "{error:?}");
    text_of(&error)
}

/// An error with its causes.
fn text_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
