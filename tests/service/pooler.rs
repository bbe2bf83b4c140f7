//! PgBouncer in front of the records: what works, and what a process says that cannot work with it.

use std::error::Error as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assetfs::service::{RecordsAt, Service, ServiceConfig};
use url::Url;

use super::skip::{has_program_or_skips, skipped};
use super::support::{COPYING_WORKER, Fixture, settings};
use super::test_records::database_url;

/// A PgBouncer in front of the server of the tests; drop ends it.
struct Pooler {
    child: Child,
    _dir: tempfile::TempDir,
    /// The URL of the database behind it.
    url: String,
}

impl Pooler {
    /// `None` and a skip without a server or the program.
    async fn start(data: &Path, mode: &str, ignored_parameters: &str) -> Option<Pooler> {
        let Some(direct) = database_url(data).await else {
            skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
            return None;
        };
        if !has_program_or_skips("pgbouncer") {
            return None;
        }
        let direct = Url::parse(&direct).unwrap();
        // Over its socket the server asks for no password.
        let folder = percent_encoding::percent_decode_str(direct.host_str().unwrap());
        let folder = folder.decode_utf8().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let dir = tempfile::tempdir().unwrap();
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(dir.path(), readable).unwrap();
        let file = dir.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={folder} port={} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 20\n\
             ignore_startup_parameters = {ignored_parameters}\n",
            direct.port().unwrap()
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new("pgbouncer");
        if rustix::process::geteuid().is_root() {
            // It does not run as root.
            command.args(["-u", "nobody"]);
        }
        let child = command
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "pgbouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        let database = direct.path();
        Some(Pooler {
            child,
            _dir: dir,
            url: format!("postgres://postgres@127.0.0.1:{port}{database}?sslmode=disable"),
        })
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn behind(pooler: &Pooler, dir: &Path) -> ServiceConfig {
    let mut config = settings(dir, COPYING_WORKER, None).await;
    config.records = RecordsAt::Postgres(pooler.url.parse().unwrap());
    config
}

#[tokio::test]
async fn a_service_works_behind_a_pooler_that_keeps_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let parameters = "extra_float_digits, options";
    let Some(pooler) = Pooler::start(dir.path(), "session", parameters).await else {
        return;
    };
    let url = pooler.url.clone();
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.records = RecordsAt::Postgres(url.parse().unwrap());
    })
    .await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let rapid = service.optimize(asset).await;
    assert_eq!(
        service.optimized(rapid).await["optimization_status"],
        "done"
    );
    service.service.shutdown().await;
}

#[tokio::test]
async fn a_pooler_that_mixes_sessions_or_refuses_parameters_is_refused_with_what_to_set() {
    for (mode, parameters) in [
        ("transaction", "extra_float_digits, options"),
        ("session", ""),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let Some(pooler) = Pooler::start(dir.path(), mode, parameters).await else {
            return;
        };
        let started = Service::start(behind(&pooler, dir.path()).await).await;
        let Err(refused) = started else {
            panic!("a service starts with pool_mode = {mode}");
        };
        let mut said = refused.to_string();
        let mut cause = refused.source();
        while let Some(error) = cause {
            said += &format!(": {error}");
            cause = error.source();
        }
        assert!(
            said.contains("pool_mode = session")
                && said.contains("ignore_startup_parameters = extra_float_digits, options"),
            "{mode}: {said}"
        );
    }
}
