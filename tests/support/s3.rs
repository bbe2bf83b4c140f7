//! A bucket for one test. The program `s3s-fs` provides it, or the storage in `ASSETFS_TEST_S3`
//! (`ENDPOINT,KEY,SECRET`), in its bucket `assetfs-test`.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skip::skipped;

const BUCKET: &str = "assetfs-test";
const KEY: &str = "AKTEST";
const SECRET: &str = "SKTEST";

/// A bucket; drop ends its server.
pub struct TestBucket {
    server: Option<(Child, TempDir)>,
    pub endpoint: String,
    pub key: String,
    pub secret: String,
    /// The folder of this test in the bucket.
    prefix: String,
}

fn prefix() -> String {
    let random = tempfile::Builder::new()
        .prefix("t-")
        .tempdir()
        .expect("a folder");
    let name = random.path().file_name().expect("a name");
    name.to_str().expect("plain").replace('.', "")
}

/// The program in `PATH` or among the tools of the tests.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let tools = std::env::var_os("ASSETFS_TEST_TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| "target/test-tools".into());
    std::env::split_paths(&path)
        .chain([tools.join("bin")])
        .map(|dir| dir.join("s3s-fs"))
        .find(|program| program.is_file())
}

impl TestBucket {
    /// `None`, and the test is reported as skipped, if there is no server.
    #[track_caller]
    pub fn start_or_skip() -> Option<TestBucket> {
        if let Ok(given) = std::env::var("ASSETFS_TEST_S3") {
            let parts: Vec<&str> = given.split(',').collect();
            let [endpoint, key, secret] = parts[..] else {
                panic!("ASSETFS_TEST_S3 is ENDPOINT,KEY,SECRET");
            };
            return Some(TestBucket {
                server: None,
                endpoint: endpoint.to_owned(),
                key: key.to_owned(),
                secret: secret.to_owned(),
                prefix: prefix(),
            });
        }
        let Some(program) = program() else {
            skipped("s3s-fs is not installed");
            return None;
        };
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join(BUCKET)).expect("a bucket");
        let port = free_port();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--access-key", KEY, "--secret-key", SECRET])
            .arg(root.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("s3s-fs starts");
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "s3s-fs does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(TestBucket {
            server: Some((child, root)),
            endpoint: format!("http://127.0.0.1:{port}"),
            key: KEY.to_owned(),
            secret: SECRET.to_owned(),
            prefix: prefix(),
        })
    }

    /// Whether the storage knows its unfinished uploads; `s3s-fs` does not.
    pub fn lists_unfinished_uploads(&self) -> bool {
        self.server.is_none()
    }

    /// As `--files` names it.
    pub fn url(&self) -> String {
        self.url_at(&self.endpoint)
    }

    /// The same bucket at another address.
    pub fn url_at(&self, endpoint: &str) -> String {
        format!("s3://{BUCKET}/{}?endpoint={endpoint}", self.prefix)
    }

    /// The variables with its credentials.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [
            ("AWS_ACCESS_KEY_ID", self.key.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.secret.clone()),
        ]
    }
}

impl Drop for TestBucket {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.server {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
