//! What the mount tests share: a service process, a mount process, folders that clean up after
//! themselves, and models to copy.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assetfs::engine::sample::{ChairDetail, write_chair_with};
use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub const ASSETFS: &str = env!("CARGO_BIN_EXE_assetfs");
/// Longest time anything may take before a test calls it a hang.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Returns from the test, saying so, where nothing can be mounted.
#[macro_export]
macro_rules! needs_fuse {
    () => {
        if let Err(why) = $crate::support::fuse_works() {
            let thread = std::thread::current();
            eprintln!("SKIPPED {}: {why}", thread.name().unwrap_or("this test"));
            return;
        }
    };
}

/// Returns from the test, saying so, where a program is missing.
#[macro_export]
macro_rules! needs_program {
    ($name:expr) => {
        if !$crate::support::has_program($name) {
            let thread = std::thread::current();
            eprintln!(
                "SKIPPED {}: {} is not installed",
                thread.name().unwrap_or("this test"),
                $name
            );
            return;
        }
    };
}

pub fn fuse_works() -> Result<(), String> {
    fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .map(drop)
        .map_err(|error| format!("/dev/fuse cannot be opened ({error})"))
}

pub fn has_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}

/// A sample model beside the project, or `None` with a loud word where there is none.
pub fn sample(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/samples")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "SKIPPED part of {:?}: no sample {name}",
        std::thread::current().name()
    );
    None
}

/// The real model that copies are tried with: the flight helmet, or the generated chair where the
/// samples are missing.
pub fn model(scratch: &Path) -> PathBuf {
    sample("02-flight-helmet").unwrap_or_else(|| small_chair(scratch))
}

/// The generated chair with little detail, in a folder `chair`.
pub fn small_chair(scratch: &Path) -> PathBuf {
    let dir = scratch.join("chair");
    write_chair_with(&dir, ChairDetail::Small).expect("the chair is written");
    dir
}

/// `assetfs serve` as a process of its own.
pub struct ServeProcess {
    child: Child,
    listen: String,
    log: PathBuf,
    pub base_url: String,
    pub token_file: PathBuf,
}

/// What a service says once it listens.
fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped"))
        .read_line(&mut line)
        .expect("it speaks");
    line
}

impl ServeProcess {
    pub fn start(data: &Path, extra: &[&str]) -> ServeProcess {
        let log = data.with_extension("log");
        let mut child = Command::new(ASSETFS)
            .args(["serve", "--json"])
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(extra)
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("assetfs serve starts");
        let said: Value = serde_json::from_str(&first_line(&mut child)).expect("it speaks JSON");
        ServeProcess {
            child,
            log,
            listen: said["listen"].as_str().expect("an address").to_owned(),
            base_url: said["base_url"].as_str().expect("a URL").to_owned(),
            token_file: said["token_file"].as_str().expect("a path").into(),
        }
    }

    /// The address behind the public URL.
    pub fn listens_on(&self) -> String {
        self.listen.clone()
    }

    pub fn token(&self) -> String {
        fs::read_to_string(&self.token_file)
            .expect("the token file is there")
            .trim()
            .to_owned()
    }

    /// Has it read its plan of faults again.
    pub fn hang_up(&self) {
        run(Command::new("kill").args(["-HUP", &self.child.id().to_string()]));
    }

    /// Ends it without a word; what it has stays.
    pub fn stop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child");
    }

    /// Starts it anew at the same address.
    pub fn start_again(&mut self) {
        let mut child = Command::new(ASSETFS)
            .args(["serve", "--json", "--no-pictures", "--listen", &self.listen])
            .arg("--data")
            .arg(self.token_file.parent().expect("its folder"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("assetfs serve starts");
        first_line(&mut child);
        self.child = child;
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    /// How many planned faults were met so far.
    pub fn chaos_fired(&self) -> usize {
        self.log()
            .lines()
            .filter(|line| line.contains("chaos"))
            .count()
    }

    /// One GET of the API, as curl would do it.
    pub fn get(&self, path: &str) -> Value {
        get_json(&format!("http://{}/{path}", self.listen), &self.token())
    }

    /// The base assets of the account.
    pub fn assets(&self) -> Vec<Value> {
        self.get("api/v2/rawmodel?itemsPerPage=50")["data"]
            .as_array()
            .expect("a list")
            .clone()
    }
}

impl Drop for ServeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request with the bearer token; gives the body of an answer that is no failure.
pub fn request(method: reqwest::Method, url: &str, token: &str) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let reply = reqwest::Client::new()
            .request(method, url)
            .bearer_auth(token)
            .header("accept", "application/json")
            .send()
            .await
            .expect("the service answers");
        assert!(reply.status().is_success(), "{url}: {}", reply.status());
        reply.text().await.expect("a body")
    })
}

/// A GET with the bearer token.
pub fn get_json(url: &str, token: &str) -> Value {
    let text = request(reqwest::Method::GET, url, token);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON from {url}: {text}"))
}

/// The status of a GET with the bearer token; 0 where no answer comes.
pub fn status_of(url: &str, token: &str) -> u16 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let request = reqwest::Client::new().get(url).bearer_auth(token);
        request
            .send()
            .await
            .map_or(0, |reply| reply.status().as_u16())
    })
}

/// The bytes behind a signed URL.
pub fn fetch(url: &str) -> Vec<u8> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let reply = reqwest::get(url).await.expect("the storage answers");
        assert!(reply.status().is_success(), "{}", reply.status());
        reply.bytes().await.expect("a body").to_vec()
    })
}

/// A POST of JSON with the bearer token.
pub fn post_json(url: &str, token: &str, body: &Value) -> Value {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let request = reqwest::Client::new().post(url).bearer_auth(token);
        let request = request
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(body.to_string());
        let reply = request.send().await.expect("the service answers");
        assert!(reply.status().is_success(), "{url}: {}", reply.status());
        let text = reply.text().await.expect("a body");
        serde_json::from_str(&text).expect("JSON")
    })
}

/// One mounted drive over one service, with folders of its own.
pub struct Fixture {
    // Dropped in this order: the mount before the service before the folders.
    mount: Option<MountPoint>,
    pub service: ServeProcess,
    pub scratch: TempDir,
}

/// A mount that is taken away with the value.
pub struct MountPoint(pub PathBuf);

/// Another machine with the same account.
pub struct SecondMachine {
    // Unmounted before its folder goes.
    _mount: MountPoint,
    dir: TempDir,
}

impl SecondMachine {
    /// Where its drive is.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("mnt")
    }
}

fn scratch() -> TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("assetfs-test").tempdir().expect("a folder")
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        let unmounted = Command::new(ASSETFS)
            .args(["unmount", "--now"])
            .arg(&self.0)
            .output();
        if !unmounted.is_ok_and(|output| output.status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).output();
        }
    }
}

impl Fixture {
    /// A service and a drive mounted over it, quick to settle.
    pub fn new() -> Fixture {
        Fixture::with(&[], &[])
    }

    pub fn with(serve: &[&str], mount: &[&str]) -> Fixture {
        let mut fixture = Fixture::unmounted(serve);
        fixture.mount(mount);
        fixture
    }

    /// The service alone.
    pub fn unmounted(serve: &[&str]) -> Fixture {
        Fixture::over(scratch(), serve)
    }

    /// The service alone, with a plan of faults.
    pub fn unmounted_with_chaos(plan: &str, serve: &[&str]) -> Fixture {
        let scratch = scratch();
        let path = scratch.path().join("chaos.toml");
        fs::write(&path, plan).expect("written");
        let chaos = path.to_str().expect("a plain path");
        let args = [serve, &["--chaos", chaos]].concat();
        Fixture::over(scratch, &args)
    }

    /// A drive over a service that draws all pictures, which takes its time.
    pub fn with_pictures() -> Fixture {
        let scratch = scratch();
        let service = ServeProcess::start(&scratch.path().join("service"), &[]);
        let mut fixture = Fixture {
            mount: None,
            service,
            scratch,
        };
        fixture.mount(&[]);
        fixture
    }

    fn over(scratch: TempDir, serve: &[&str]) -> Fixture {
        let args = [serve, &["--no-pictures"]].concat();
        let service = ServeProcess::start(&scratch.path().join("service"), &args);
        Fixture {
            mount: None,
            service,
            scratch,
        }
    }

    /// How many planned faults were met so far.
    pub fn chaos_fired(&self) -> usize {
        self.service.chaos_fired()
    }

    /// The same account mounted once more, as another machine would: nothing local is shared.
    pub fn second_machine(&self) -> SecondMachine {
        let dir = scratch();
        let place = |name: &str| dir.path().join(name);
        run(Command::new(ASSETFS)
            .arg("mount")
            .arg(place("mnt"))
            .args(["--base-url", &self.service.base_url])
            .arg("--state-dir")
            .arg(place("state"))
            .arg("--cache-dir")
            .arg(place("cache"))
            .env("ASSETFS_TOKEN", self.service.token())
            .env("ASSETFS_SETTLE", "300ms")
            .env("ASSETFS_REFRESH", "1s"));
        SecondMachine {
            _mount: MountPoint(place("mnt")),
            dir,
        }
    }

    /// Where the drive is, or will be.
    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("mnt")
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    /// The mount command with this fixture's folders.
    pub fn mount_command(&self, extra: &[&str]) -> Command {
        let mut command = Command::new(ASSETFS);
        command
            .arg("mount")
            .arg(self.root())
            .args(["--base-url", &self.service.base_url])
            .arg("--state-dir")
            .arg(self.scratch.path().join("state"))
            .arg("--cache-dir")
            .arg(self.scratch.path().join("cache"))
            .arg("--log-file")
            .arg(self.scratch.path().join("mount.log"))
            .args(extra)
            .env("ASSETFS_TOKEN", self.service.token())
            .env("ASSETFS_SETTLE", "300ms")
            .env("ASSETFS_REFRESH", "1s")
            .env("ASSETFS_LOG", "assetfs=debug");
        command
    }

    /// Mounts, also after an earlier mount was unmounted or died.
    pub fn mount(&mut self, extra: &[&str]) {
        self.mount_with(extra, &[]);
    }

    /// The same, with variables of its own.
    pub fn mount_with(&mut self, extra: &[&str], variables: &[(&str, &str)]) {
        // What it would unmount when dropped is the new mount.
        std::mem::forget(self.mount.take());
        let mut command = self.mount_command(extra);
        let output = command.envs(variables.iter().copied()).output();
        let output = output.expect("assetfs runs");
        assert!(
            output.status.success(),
            "mount failed: {}",
            text(&output.stderr)
        );
        self.mount = Some(MountPoint(self.root()));
    }

    /// The process behind the mount.
    pub fn pid(&self) -> u32 {
        u32::try_from(self.status()["pid"].as_u64().expect("a pid")).expect("a pid")
    }

    /// What the mount says of itself.
    pub fn status(&self) -> Value {
        let status = fs::read(self.path(".assetfs/status.json")).expect("the drive answers");
        serde_json::from_slice(&status).expect("JSON")
    }

    /// Ends the process behind the mount without a word, and waits until it is gone.
    pub fn kill_mount(&self) {
        let pid = self.pid();
        run(Command::new("kill").args(["-9", &pid.to_string()]));
        self.wait_until_dead();
    }

    /// Waits until the process behind the mount is gone, and the kernel knows.
    pub fn wait_until_dead(&self) {
        const ENOTCONN: i32 = 107;
        wait_until("the mount is dead", || {
            let asked = fs::read(self.path(".assetfs/status.json"));
            asked.is_err_and(|error| error.raw_os_error() == Some(ENOTCONN))
        });
    }

    /// Copies the small chair to `rawmodels/chair`; gives the folder that it was copied from.
    pub fn copy_chair(&self) -> PathBuf {
        let source = small_chair(self.scratch.path());
        run(Command::new("cp")
            .arg("-r")
            .args([&source, &self.path("rawmodels/chair")]));
        source
    }

    /// The same, and waits until it is complete.
    pub fn add_chair(&self) -> PathBuf {
        let source = self.copy_chair();
        self.wait("rawmodels/chair");
        source
    }

    /// Copies the real model to `rawmodels/model` and waits until it is complete.
    pub fn add_model(&self) {
        let source = model(self.scratch.path());
        run(Command::new("cp")
            .arg("-r")
            .args([&source, &self.path("rawmodels/model")]));
        self.wait("rawmodels/model");
    }

    /// `assetfs wait`, which must end well.
    pub fn wait(&self, below: &str) {
        let output = self.try_wait(below);
        assert!(
            output.status.success(),
            "wait {below}: {} {}\n{}",
            text(&output.stdout),
            text(&output.stderr),
            self.log_tail()
        );
    }

    pub fn try_wait(&self, below: &str) -> Output {
        Command::new(ASSETFS)
            .arg("wait")
            .arg(self.path(below))
            .args(["--timeout", "110s"])
            .output()
            .expect("assetfs runs")
    }

    pub fn why(&self, below: &str) -> String {
        let output = Command::new(ASSETFS)
            .arg("why")
            .arg(self.path(below))
            .output()
            .expect("assetfs runs");
        text(&output.stdout)
    }

    /// The end of the mount's log, for messages of failures.
    pub fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.scratch.path().join("mount.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// The one asset of the account, which must be the only one.
    pub fn only_asset(&self) -> Value {
        let assets = self.service.assets();
        assert_eq!(assets.len(), 1, "exactly one asset: {assets:#?}");
        assets.into_iter().next().expect("one")
    }

    /// Names of the files that the service has of an asset, sorted.
    pub fn uploaded_names(&self, asset: &Value) -> Vec<String> {
        let downloads = self
            .service
            .get(&format!("api/v2/rawmodel/{}/downloads", asset["id"]));
        let mut names: Vec<_> = downloads
            .as_object()
            .expect("a map")
            .keys()
            .cloned()
            .collect();
        names.sort();
        names
    }
}

/// Runs a command that must end well; gives its standard output.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}: {}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs a line of shell in a folder.
pub fn shell(dir: &Path, line: &str) -> String {
    run(Command::new("bash").args(["-euc", line]).current_dir(dir))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits for a condition; a test that would hang fails instead.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The files directly in a folder, sorted.
pub fn file_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().expect("a type").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Asserts that every file of `source` is in `copy` with the same bytes, and no other file.
pub fn assert_same_files(source: &Path, copy: &Path) {
    assert_eq!(file_names(source), file_names(copy));
    for name in file_names(source) {
        let (left, right) = (read(source.join(&name)), read(copy.join(&name)));
        assert!(
            left == right,
            "{name} differs: {} and {} bytes",
            left.len(),
            right.len()
        );
    }
}

pub fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// True where a name exists in a folder, without following it.
pub fn exists(path: impl AsRef<Path>) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The triangle count that the JSON chunk of a GLB, or a glTF file, tells.
pub fn triangles_of(model: &Path) -> u64 {
    let bytes = read(model);
    let json: Value = if model.extension() == Some(OsStr::new("glb")) {
        let len = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
        serde_json::from_slice(&bytes[20..20 + len]).expect("a JSON chunk")
    } else {
        serde_json::from_slice(&bytes).expect("JSON")
    };
    let accessor_count = |index: &Value| {
        json["accessors"][index.as_u64().expect("an index") as usize]["count"]
            .as_u64()
            .expect("a count")
    };
    let meshes = json["meshes"].as_array().expect("meshes");
    meshes
        .iter()
        .flat_map(|mesh| mesh["primitives"].as_array().expect("primitives"))
        .map(|primitive| match primitive.get("indices") {
            Some(indices) => accessor_count(indices) / 3,
            None => accessor_count(&primitive["attributes"]["POSITION"]) / 3,
        })
        .sum()
}
