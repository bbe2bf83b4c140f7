//! A bucket for one test. `examples/s3.rs` provides it, or the storage in `ASSETFS_TEST_S3` (`ENDPOINT,KEY,SECRET`), in its
//! bucket `assetfs-test`.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
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

/// `examples/s3.rs`, which is built with the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let built = test.ancestors().nth(2).expect("target/debug");
    let program = built.join("examples/s3");
    assert!(
        program.is_file(),
        "{} is not there: build it with `cargo build --workspace --examples`",
        program.display()
    );
    program
}

impl TestBucket {
    /// A storage that the test may stop. `None`, and the test is reported as skipped, for the one in `ASSETFS_TEST_S3`.
    #[track_caller]
    pub fn start_own_or_skip() -> Option<TestBucket> {
        let bucket = TestBucket::start();
        if !bucket.is_own() {
            skipped("the storage in ASSETFS_TEST_S3 is not stopped by a test");
            return None;
        }
        Some(bucket)
    }

    pub fn start() -> TestBucket {
        if let Ok(given) = std::env::var("ASSETFS_TEST_S3") {
            let parts: Vec<&str> = given.split(',').collect();
            let [endpoint, key, secret] = parts[..] else {
                panic!("ASSETFS_TEST_S3 is ENDPOINT,KEY,SECRET");
            };
            return TestBucket {
                server: None,
                endpoint: endpoint.to_owned(),
                key: key.to_owned(),
                secret: secret.to_owned(),
                prefix: prefix(),
            };
        }
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join(BUCKET)).expect("a bucket");
        let port = free_port();
        let child = serve(port, root.path());
        TestBucket {
            server: Some((child, root)),
            endpoint: format!("http://127.0.0.1:{port}"),
            key: KEY.to_owned(),
            secret: SECRET.to_owned(),
            prefix: prefix(),
        }
    }

    /// Whether this test may stop the server.
    pub fn is_own(&self) -> bool {
        self.server.is_some()
    }

    /// Stops the server with SIGSTOP: connections are accepted by the kernel and never answered. SIGCONT continues it.
    pub fn signal(&self, signal: &str) {
        let (child, _) = self.server.as_ref().expect("a server of this test");
        let sent = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Ends the server; its objects stay.
    pub fn stop(&mut self) {
        let (child, _) = self.server.as_mut().expect("a server of this test");
        child.kill().expect("the server is killed");
        child.wait().expect("the server ends");
    }

    /// Starts the server again, at the same address.
    pub fn restart(&mut self) {
        let port = self.endpoint.rsplit(':').next().expect("a port");
        let port = port.parse().expect("a port");
        let (child, root) = self.server.as_mut().expect("a server of this test");
        *child = serve(port, root.path());
    }

    /// The keys of all objects.
    pub fn objects(&self) -> Vec<String> {
        let (_, root) = self.server.as_ref().expect("a server of this test");
        let files = files_below(&root.path().join(BUCKET));
        files
            .iter()
            .map(|file| file.display().to_string())
            .collect()
    }

    /// Makes all objects `days` old.
    pub fn age(&self, days: u64) {
        let (_, root) = self.server.as_ref().expect("a server of this test");
        let then = std::time::SystemTime::now() - Duration::from_secs(days * 86_400);
        for path in files_below(&root.path().join(BUCKET)) {
            let file = std::fs::File::options().write(true).open(&path);
            file.expect("an object").set_modified(then).expect("a time");
        }
    }

    /// Whether the storage knows its unfinished uploads; `examples/s3.rs` does not.
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

/// Starts the server and waits until it listens.
fn serve(port: u16, root: &Path) -> Child {
    let child = Command::new(program())
        .args([&format!("127.0.0.1:{port}"), KEY, SECRET])
        .arg(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "the server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

/// A port that nothing listens at.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
