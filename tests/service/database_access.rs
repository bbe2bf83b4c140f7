//! How services log in to PostgreSQL: rotated passwords, roles without rights to change tables, and sessions that end.

use std::fs;
use std::time::{Duration, Instant};

use assetfs::service::{PostgresServer, RecordsAt, Service, ServiceConfig, ServiceError};
use serde_json::json;
use url::Url;

use super::skip::skipped;
use super::support::{COPYING_WORKER, Fixture, http_client, settings};
use super::test_records::{TestDatabase, database_url};

/// Time for a state to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A database with a role that may log in over TCP by password.
struct Access {
    dir: tempfile::TempDir,
    owner: TestDatabase,
    /// The URL of the owner of the database.
    owner_url: String,
    /// The URL of the role.
    url: String,
    role: String,
}

impl Access {
    /// `None` and a skip without a server.
    async fn new() -> Option<Access> {
        let dir = tempfile::tempdir().unwrap();
        let Some(owner_url) = database_url(&dir.path().join("data")).await else {
            skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
            return None;
        };
        let mut owner = TestDatabase::at(&owner_url).await;
        let direct = Url::parse(&owner_url).unwrap();
        let role = format!("{}_user", &direct.path()[1..]);
        let create = format!("CREATE ROLE {role} LOGIN PASSWORD 'first'");
        owner.run_text(&create).await;
        let port = direct.port().unwrap();
        let url = format!(
            "postgres://{role}@127.0.0.1:{port}{}?sslmode=disable",
            direct.path()
        );
        Some(Access {
            dir,
            owner,
            owner_url,
            url,
            role,
        })
    }

    /// Makes the tables, as the owner of the database.
    async fn make_tables(&mut self) {
        let mut config = settings(self.dir.path(), COPYING_WORKER, None).await;
        config.records = RecordsAt::Postgres(self.owner_url.parse().unwrap());
        Service::start(config).await.unwrap().shutdown().await;
        let role = &self.role;
        let grant = format!(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}; \
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"
        );
        self.owner.run_text(&grant).await;
    }

    async fn config(&self, server: PostgresServer) -> ServiceConfig {
        let mut config = settings(self.dir.path(), COPYING_WORKER, None).await;
        config.records = RecordsAt::Postgres(server);
        config
    }

    async fn start(self, server: PostgresServer) -> (Fixture, TestDatabase) {
        let config = self.config(server).await;
        let service = Fixture {
            service: Service::start(config).await.unwrap(),
            dir: self.dir,
            http: http_client(),
            bucket: None,
        };
        (service, self.owner)
    }
}

/// Ends all sessions of other users than the one that asks.
const END_SESSIONS: &str = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity \
    WHERE datname = current_database() AND usename <> current_user";

#[tokio::test]
async fn a_rotated_password_is_read_again_without_a_restart() {
    let Some(mut access) = Access::new().await else {
        return;
    };
    access.make_tables().await;
    let file = access.dir.path().join("password");
    fs::write(&file, "first\n").unwrap();
    let server: PostgresServer = access.url.parse().unwrap();
    let server = server.with_password_file(&file).unwrap();
    let role = access.role.clone();
    let (service, mut owner) = access.start(server).await;
    service.get("/api/v2/rawmodel").await.expect(200);

    owner
        .run_text(&format!("ALTER ROLE {role} PASSWORD 'second'"))
        .await;
    assert!(owner.number(END_SESSIONS).await > 0);
    // The file has the old password still: that passes, so it is no fault of the service.
    service.get("/api/v2/rawmodel").await.expect(503);
    fs::write(&file, "second\n").unwrap();
    let began = Instant::now();
    while service.get("/api/v2/rawmodel").await.status != 200 {
        assert!(began.elapsed() < PATIENCE, "the file is not read again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    assert_eq!(service.analysed(id).await["upload_status"], "complete");
}

#[tokio::test]
async fn a_role_that_may_change_no_table_runs_a_service_on_tables_that_are_there() {
    let Some(mut access) = Access::new().await else {
        return;
    };
    let server: PostgresServer = access.url.parse().unwrap();
    let server = server.with_password("first");
    let config = access.config(server.clone()).await;
    let refused = Service::start(config).await.unwrap_err();
    let ServiceError::Records(error) = &refused else {
        panic!("{refused:?}");
    };
    let said = error.to_string();
    assert!(
        said.contains("start `assetfs serve` once as the owner"),
        "{said}"
    );

    access.make_tables().await;
    let (service, _owner) = access.start(server).await;
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    assert_eq!(service.analysed(id).await["upload_status"], "complete");
    let rapid = service.optimize(id).await;
    assert_eq!(
        service.optimized(rapid).await["optimization_status"],
        "done"
    );
    let path = format!("/api/v2/rawmodel/{id}");
    service.delete(&path).await.expect(200);
    service.get(&path).await.expect(404);
}

#[tokio::test]
async fn a_session_that_the_server_ends_in_a_request_is_a_503() {
    let Some(mut access) = Access::new().await else {
        return;
    };
    access.make_tables().await;
    let server: PostgresServer = access.url.parse().unwrap();
    let owner_url = access.owner_url.clone();
    let (service, mut owner) = access.start(server.with_password("first")).await;
    let mut holder = TestDatabase::at(&owner_url).await;
    holder
        .run_text("BEGIN; LOCK TABLE assets IN ACCESS EXCLUSIVE MODE")
        .await;
    let body = json!({ "model_name": "chair", "filenames": ["a.glb"] });
    let start = service.post("/api/v2/rawmodel/api-upload/start", body.clone());
    let cut = async {
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity \
            WHERE wait_event_type = 'Lock' AND datname = current_database()";
        let began = Instant::now();
        while owner.number(waiting).await == 0 {
            assert!(
                began.elapsed() < PATIENCE,
                "the request waits for the table"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        owner.number(END_SESSIONS).await
    };
    let (answer, ended) = tokio::join!(start, cut);
    assert!(ended > 0);
    let said = answer.expect(503).text();
    assert!(
        !said.contains("terminating") && !said.contains("57P01"),
        "{said}"
    );

    holder.run_text("ROLLBACK").await;
    let began = Instant::now();
    let again = || service.post("/api/v2/rawmodel/api-upload/start", body.clone());
    while again().await.status != 200 {
        assert!(began.elapsed() < PATIENCE, "new connections are opened");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
