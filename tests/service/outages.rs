//! A database or a storage that goes away while the service runs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assetfs::service::{RecordsAt, Service, ServiceConfig};
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use super::bucket;
use super::fault_server::{Relay, RelayFault};
use super::s3::TestBucket;
use super::skip::skipped;
use super::support::{COPYING_WORKER, Fixture, WAITING_WORKER, http_client, script, upload_url};
use super::test_records::{TestDatabase, database_url};

/// Time for a state to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The sessions of the database that wait for a lock.
const LOCK_WAITS: &str = "SELECT COUNT(*) FROM pg_stat_activity \
    WHERE wait_event_type = 'Lock' AND datname = current_database()";

/// What a proxy does with its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    Works,
    /// Connections are closed.
    Cut,
    /// Connections are open, and no byte passes.
    Silent,
    /// The same, but the bytes pass when the network works again.
    Late,
}

/// A proxy in front of the PostgreSQL server of the tests.
struct Proxy {
    network: watch::Sender<Network>,
    /// The URL of the database over the proxy, and without it.
    url: String,
    direct: String,
}

impl Proxy {
    /// `None` and a skip without a server.
    async fn start(data: &std::path::Path) -> Option<Proxy> {
        let Some(direct) = database_url(data).await else {
            skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
            return None;
        };
        let url = url::Url::parse(&direct).unwrap();
        let folder = percent_encoding::percent_decode_str(url.host_str().unwrap());
        let folder = folder.decode_utf8().unwrap().into_owned();
        let port = url.port().unwrap();
        let socket = PathBuf::from(folder).join(format!(".s.PGSQL.{port}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (network, state) = watch::channel(Network::Works);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                tokio::spawn(forward(client, socket.clone(), state.clone()));
            }
        });
        let url = format!("postgres://postgres@{addr}{}?sslmode=disable", url.path());
        Some(Proxy {
            network,
            url,
            direct,
        })
    }

    fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

/// Forwards a connection as long as the network works.
async fn forward(mut client: TcpStream, socket: PathBuf, mut state: watch::Receiver<Network>) {
    // A connection that is opened now is late, too.
    let _ = state.wait_for(|network| *network != Network::Late).await;
    if *state.borrow() == Network::Works {
        let mut server = UnixStream::connect(socket).await.unwrap();
        loop {
            tokio::select! {
                _ = copy_bidirectional(&mut client, &mut server) => return,
                _ = state.wait_for(|network| *network != Network::Works) => {}
            }
            if *state.borrow() != Network::Late {
                break;
            }
            // Copying that is interrupted loses nothing: bytes stay in the sockets until they can be written.
            let _ = state.wait_for(|network| *network != Network::Late).await;
            if *state.borrow() != Network::Works {
                break;
            }
        }
    }
    if *state.borrow() == Network::Silent {
        // The connection stays open and silent, also when the network works again, as after a lost route.
        std::future::pending::<()>().await;
    }
}

impl Fixture {
    async fn readiness(&self) -> Value {
        let addr = self.service.admin_addr().expect("an admin listener");
        let request = self.http.get(format!("http://{addr}/readyz"));
        let answer = self.send(request.header("accept", "application/json"));
        answer.await.json()
    }

    /// Waits until `/readyz` says `ready`; returns its parts.
    async fn until_ready_is(&self, ready: bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let said = self.readiness().await;
            if said["ready"] == ready {
                return said["parts"].clone();
            }
            assert!(Instant::now() < deadline, "{said}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn behind(proxy: &Proxy) -> Fixture {
    let url = proxy.url.clone();
    Fixture::with(COPYING_WORKER, |config| {
        config.records = RecordsAt::Postgres(url.parse().unwrap());
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await
}

#[tokio::test]
async fn while_the_database_is_away_requests_get_503_at_once_and_then_all_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let Some(proxy) = Proxy::start(dir.path()).await else {
        return;
    };
    let service = behind(&proxy).await;
    for network in [Network::Cut, Network::Silent] {
        service.get("/api/v2/rawmodel").await.expect(200);
        proxy.set(network);
        let noticed = Instant::now();
        // A request that is handled meanwhile ends, too.
        service.get("/api/v2/rawmodel").await.expect(503);
        // At first a statement reports its own broken connection.
        let mut parts = service.until_ready_is(false).await;
        while !parts["records"].to_string().contains("cannot be reached") {
            assert!(noticed.elapsed() < PATIENCE, "{parts}");
            parts = service.until_ready_is(false).await;
        }
        assert!(noticed.elapsed() < Duration::from_secs(9), "{network:?}");
        let sentence = parts["records"].as_str().unwrap();
        assert!(sentence.contains("cannot be reached"), "{sentence}");
        let causes: &[&str] = match network {
            Network::Cut => &["reset", "EOF"],
            _ => &["timed out"],
        };
        let has_cause = causes.iter().any(|cause| sentence.contains(cause));
        assert!(has_cause, "{network:?}: {sentence}");

        let began = Instant::now();
        for _ in 0..20 {
            let refused = service.get("/api/v2/rawmodel").await.expect(503);
            assert!(["2", "30"].contains(&refused.header("retry-after")));
            let message = refused.json()["message"].clone();
            assert_eq!(
                message,
                "The service cannot reach its database at the moment; try again later."
            );
            let path = "/api/v2/rawmodel/api-upload/start";
            let body = json!({ "model_name": "a", "filenames": ["a.glb"] });
            let refused = service.post(path, body).await.expect(503);
            assert!(refused.headers.contains_key("retry-after"), "no change");
        }
        assert!(began.elapsed() < Duration::from_secs(9), "at once");
        // After some seconds nobody shall wait for it any more.
        loop {
            let refused = service.get("/api/v2/rawmodel").await.expect(503);
            if refused.header("retry-after") == "30" {
                break;
            }
            assert!(began.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }

        proxy.set(Network::Works);
        service.until_ready_is(true).await;
        let id = service.upload("chair", &[("a.glb", b"x")]).await;
        assert_eq!(service.analysed(id).await["upload_status"], "complete");
    }
}

#[tokio::test]
async fn a_database_that_is_some_seconds_late_is_not_away() {
    let dir = tempfile::tempdir().unwrap();
    let Some(proxy) = Proxy::start(dir.path()).await else {
        return;
    };
    let service = behind(&proxy).await;
    service.get("/api/v2/rawmodel").await.expect(200);
    proxy.set(Network::Late);
    let late = async {
        tokio::time::sleep(Duration::from_millis(2_800)).await;
        proxy.set(Network::Works);
    };
    let (answer, ()) = tokio::join!(service.get("/api/v2/rawmodel"), late);
    answer.expect(200);
    service.get("/api/v2/rawmodel").await.expect(200);
}

#[tokio::test]
async fn a_server_without_connections_is_not_away_and_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let Some(direct) = database_url(dir.path()).await else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    let mut database = TestDatabase::at(&direct).await;
    let role = url::Url::parse(&direct).unwrap().path()[1..].to_owned();
    database
        .run_text(&format!("CREATE ROLE {role} LOGIN SUPERUSER"))
        .await;
    database
        .run_text(&format!(
            "ALTER DATABASE {role} OWNER TO {role}; ALTER ROLE {role} NOSUPERUSER"
        ))
        .await;
    let mut url = url::Url::parse(&direct).unwrap();
    url.set_username(&role).unwrap();
    let start = async || {
        let dir = tempfile::tempdir().unwrap();
        let mut config =
            ServiceConfig::new(dir.path().join("data"), script(dir.path(), COPYING_WORKER));
        config.records = RecordsAt::Postgres(url.as_str().parse().unwrap());
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
        let started = Service::start(config).await;
        started.map(|service| Fixture {
            dir,
            service,
            http: http_client(),
            bucket: None,
        })
    };
    let service = start().await.unwrap();
    service.until_ready_is(true).await;
    database
        .run_text(&format!("ALTER ROLE {role} CONNECTION LIMIT 0"))
        .await;
    let end =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_database()";
    database.run(end).await;
    let words =
        "has no connection left: let max_connections of the server allow 17 for each process";
    let deadline = Instant::now() + PATIENCE;
    loop {
        let parts = service.until_ready_is(false).await;
        let sentence = parts["records"].as_str().unwrap();
        assert!(!sentence.contains("cannot be reached"), "{sentence}");
        if sentence.contains(words) {
            break;
        }
        assert!(Instant::now() < deadline, "{sentence}");
    }
    let refused = start().await.map(drop).unwrap_err();
    assert!(format!("{refused:?}").contains("ServerFull"), "{refused:?}");
    database
        .run_text(&format!("ALTER ROLE {role} CONNECTION LIMIT -1"))
        .await;
    service.until_ready_is(true).await;
    service.get("/api/v2/rawmodel").await.expect(200);
}

#[tokio::test]
async fn after_an_outage_the_process_of_a_job_has_one_lease_to_renew_it() {
    let dir = tempfile::tempdir().unwrap();
    let Some(one) = Proxy::start(dir.path()).await else {
        return;
    };
    let other = Proxy::start(dir.path()).await.unwrap();
    let lease = Duration::from_secs(6);
    let start = async |proxy: &Proxy, bucket| {
        let url = proxy.url.clone();
        Fixture::with(WAITING_WORKER, |config| {
            config.records = RecordsAt::Postgres(url.parse().unwrap());
            config.job_lease = lease;
            config.bucket = bucket;
        })
        .await
    };
    let works = start(&one, None).await;
    let rapid = works.optimize_one().await;
    works.until_runs(1).await;
    let waits = start(&other, works.bucket_config()).await;
    waits.get("/api/v2/rawmodel").await.expect(200);
    one.set(Network::Cut);
    other.set(Network::Cut);
    // Its lease has expired by the clock of the database.
    tokio::time::sleep(lease + Duration::from_secs(2)).await;
    other.set(Network::Works);
    tokio::time::sleep(Duration::from_millis(500)).await;
    one.set(Network::Works);
    tokio::time::sleep(lease * 2).await;
    let mut database = TestDatabase::at(&one.direct).await;
    let attempts = "SELECT attempts FROM jobs WHERE state = 'running'";
    assert_eq!(database.number(attempts).await, 1, "it still has its job");
    works.go();
    assert_eq!(works.optimized(rapid).await["optimization_status"], "done");
    assert_eq!(waits.runs().len(), 0);
}

#[tokio::test]
async fn a_change_in_flight_when_the_database_goes_away_promises_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let Some(proxy) = Proxy::start(dir.path()).await else {
        return;
    };
    let service = behind(&proxy).await;
    let mut lock = TestDatabase::at(&proxy.direct).await;
    lock.run("BEGIN").await;
    lock.run("UPDATE users SET id = id").await;
    let body = json!({ "model_name": "a", "filenames": ["a.glb"] });
    let change = service.post("/api/v2/rawmodel/api-upload/start", body);
    let cutting = async {
        let mut eye = TestDatabase::at(&proxy.direct).await;
        let deadline = Instant::now() + PATIENCE;
        while eye.number(LOCK_WAITS).await == 0 {
            assert!(Instant::now() < deadline, "the change never waits");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        proxy.set(Network::Silent);
    };
    let (refused, ()) = tokio::join!(change, cutting);
    let refused = refused.expect(503);
    assert_eq!(refused.headers.get("retry-after"), None, "{refused:?}");
    lock.run("ROLLBACK").await;
}

#[tokio::test]
async fn changes_that_wait_for_a_locked_account_leave_connections_to_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let Some(proxy) = Proxy::start(dir.path()).await else {
        return;
    };
    let service = behind(&proxy).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    service.analysed(id).await;
    let mut lock = TestDatabase::at(&proxy.direct).await;
    lock.run("BEGIN").await;
    lock.run("UPDATE users SET id = id").await;
    let changes = (0..40).map(|_| {
        let body = json!({ "model_name": "a", "filenames": ["a.glb"] });
        service.post("/api/v2/rawmodel/api-upload/start", body)
    });
    let changes = futures_util::future::join_all(changes);
    let reading = async {
        let began = Instant::now();
        let mut eye = TestDatabase::at(&proxy.direct).await;
        while eye.number(LOCK_WAITS).await == 0 {
            assert!(began.elapsed() < PATIENCE, "no change waits");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(eye.number(LOCK_WAITS).await, 1, "one connection waits");
        service.get("/api/v2/rawmodel").await.expect(200);
        assert_eq!(service.readiness().await["parts"]["records"], "ok");
    };
    let (answers, ()) = tokio::join!(changes, reading);
    for answer in answers {
        // The database gives up a lock after ten seconds, as those do that wait in the service.
        assert_eq!(answer.status.as_u16(), 503, "{}", answer.text());
    }
    lock.run("ROLLBACK").await;
    let body = json!({ "model_name": "a", "filenames": ["a.glb"] });
    let start = service.post("/api/v2/rawmodel/api-upload/start", body);
    start.await.expect(200);
}

#[tokio::test]
async fn a_storage_that_is_away_is_a_503_and_the_reason_of_a_waiting_job() {
    let Some(mut bucket) = TestBucket::start_own_or_skip() else {
        return;
    };
    let in_bucket = bucket::config(&bucket);
    let service = Fixture::with(COPYING_WORKER, |config| config.bucket = Some(in_bucket)).await;
    let (id, started) = service.begin("chair", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    bucket.stop();
    let began = Instant::now();
    let refused = service.complete(id).await.expect(503);
    assert!(began.elapsed() < Duration::from_secs(25));
    assert_eq!(refused.header("retry-after"), "2");
    assert_eq!(
        refused.json()["message"],
        "The service cannot reach its file storage at the moment; try again later."
    );
    bucket.restart();
    service.complete(id).await.expect(200);
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete", "{asset}");

    bucket.stop();
    let rapid = service.optimize(id).await;
    service
        .until_waits(rapid, "the file storage of the service does not answer")
        .await;
    bucket.restart();
    service.until_done(rapid).await;
}

/// A service whose bucket is behind a relay.
async fn behind_relay(bucket: &TestBucket, relay: &Relay) -> Fixture {
    let storage = bucket.endpoint.strip_prefix("http://").unwrap();
    relay.to(storage.parse().unwrap());
    let mut in_bucket = bucket::config(bucket);
    in_bucket.address = bucket.url_at(&relay.url()).parse().unwrap();
    Fixture::with(COPYING_WORKER, |config| {
        config.bucket = Some(in_bucket);
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await
}

impl Fixture {
    /// Waits until a rapid model says that it waits, and why. That has cost no attempt.
    async fn until_waits(&self, rapid: u64, reason: &str) {
        let path = format!("/api/v2/rapidmodel/{rapid}");
        // While it is tried again, it has the reason of the process and an attempt that does not count in the end.
        let waits = |record: &Value| {
            let data = &record["data"];
            data["waits_because"].is_string() && data["job_status"]["status"] != "executing"
        };
        let record = self.until(&path, waits).await["data"].clone();
        let said = record["waits_because"].as_str().unwrap();
        assert!(said.contains(reason), "{said}");
        assert_eq!(record["processing_step"], said);
        assert_eq!(record["optimization_status"], "sent_to_queue");
        assert_eq!(record["progress"], 0);
        assert_eq!(record["job_status"]["attempts"], 0, "{record}");
    }

    /// Waits for the end of a rapid model, which succeeds at the first attempt that counts.
    async fn until_done(&self, rapid: u64) {
        let record = self.optimized(rapid).await;
        assert_eq!(record["optimization_status"], "done", "{record}");
        assert_eq!(record["job_status"]["attempts"], 1);
        assert_eq!(record.get("waits_because"), None);
    }
}

#[tokio::test]
async fn a_full_bucket_pauses_paid_jobs_which_keep_their_attempts() {
    let Some(bucket) = TestBucket::start_own_or_skip() else {
        return;
    };
    let relay = Relay::start();
    let service = behind_relay(&bucket, &relay).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let before = service.points().await;
    // The answer of a storage with a quota; 507 is repeated by the storage library for some seconds.
    let full = RelayFault::Storage(403, "QuotaExceeded");
    relay.fault("PUT", "", full, usize::MAX);
    let rapid = service.optimize(id).await;
    let reason = "the file storage of the service is full; continues automatically as soon as the operator of the service has made room";
    service.until_waits(rapid, reason).await;
    let parts = service.until_ready_is(false).await;
    let jobs = parts["jobs"].as_str().unwrap();
    assert!(
        jobs.contains("the file storage of the service is full"),
        "{jobs}"
    );
    // One that this process has not even tried waits for the same.
    let other = service.optimize(id).await;
    service.until_waits(other, reason).await;
    relay.mend();
    service.until_done(rapid).await;
    service.until_done(other).await;
    assert_eq!(service.points().await, before - 2);
}
