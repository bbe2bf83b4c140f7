//! Worker processes on other machines: `assetfs engine-worker --records … --files …` beside a service without workers.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assetfs::service::RecordsAt;
use serde_json::{Value, json};

use super::s3::TestBucket;
use super::skip::skipped;
use super::support::Fixture;
use super::test_records::{TestDatabase, database_url};

/// Copies the model; optimizing records its run first and waits until a file exists.
const WAITING_WORKER: &str = r#"
task=$(cat)
here=$(dirname "$0")
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
case "$task" in
*'"task":"optimize"'*)
  echo $$ >> "$here/runs"
  while ! test -e "$here/go"; do sleep 0.02; done
  mkdir -p "$out/exports"; echo x > "$out/exports/chair.glb" ;;
esac
"#;

/// A service that does no jobs itself, with its records in PostgreSQL and its files in a bucket.
struct Fleet {
    service: Fixture,
    bucket: TestBucket,
    url: String,
}

/// A worker process; drop kills it.
struct Worker {
    child: Child,
    log: PathBuf,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn terminate(&self) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits until it has written this to standard error.
    async fn says(&self, words: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !fs::read_to_string(&self.log).unwrap().contains(words) {
            assert!(Instant::now() < deadline, "the worker never says {words:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for its end; true if it succeeded.
    async fn ended(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(Instant::now() < deadline, "the worker does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Fleet {
    /// Reports a skipped test and returns `None` if there is no database server or no storage.
    async fn start() -> Option<Fleet> {
        let dir = tempfile::tempdir().unwrap();
        let Some(url) = database_url(dir.path()).await else {
            skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
            return None;
        };
        let bucket = TestBucket::start_or_skip()?;
        let service = Fixture::with(WAITING_WORKER, |config| {
            config.records = RecordsAt::Postgres(url.parse().unwrap());
            config.bucket = Some(super::bucket::config(&bucket));
            config.workers = 0;
            config.job_lease = Duration::from_secs(2);
        });
        let service = service.await;
        Some(Fleet {
            service,
            bucket,
            url,
        })
    }

    /// Starts a worker that runs one job at a time. Returns when it takes jobs.
    fn worker(&self, name: &str, drain: &str) -> Worker {
        let mut command = self.command(name);
        command.args(["--drain", drain, "--slots", "1", "--memory", "256M"]);
        let log = self.dir().join(format!("{name}.log"));
        command.stderr(fs::File::create(&log).unwrap());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with("Taking up to 1 job"), "{line:?}");
        Worker { child, log }
    }

    fn command(&self, name: &str) -> Command {
        self.command_at(name, &self.bucket.url())
    }

    fn command_at(&self, name: &str, files: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assetfs"));
        command
            .args(["engine-worker", "--records", &self.url, "--files"])
            .arg(files)
            .args(["--job-lease", "2s", "--engine-program"])
            .arg(self.dir().join("worker.sh"))
            .arg("--work-dir")
            .arg(self.dir().join(name))
            .envs(self.bucket.variables());
        command
    }

    fn dir(&self) -> &Path {
        self.service.dir.path()
    }

    async fn optimize(&self, asset: u64) -> u64 {
        let path = format!("/api/v2/rawmodel/optimize/{asset}");
        let asked = self.service.post(&path, json!({})).await.expect(200);
        asked.json()["id"].as_u64().unwrap()
    }

    /// Lets the workers finish.
    fn go(&self) {
        std::fs::write(self.dir().join("go"), "").unwrap();
    }

    /// Waits until this many optimizations have begun.
    async fn runs(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let runs = std::fs::read_to_string(self.dir().join("runs")).unwrap_or_default();
            if runs.lines().count() == count {
                return;
            }
            assert!(Instant::now() < deadline, "never {count} runs: {runs:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn record(&self, rapid: u64) -> Value {
        let path = format!("/api/v2/rapidmodel/{rapid}");
        self.service.get(&path).await.json()["data"].clone()
    }

    async fn points(&self) -> i64 {
        let points = "SELECT 1000000 - points FROM users";
        TestDatabase::at(&self.url).await.number(points).await
    }
}

#[tokio::test]
async fn a_draining_worker_finishes_its_job_and_takes_no_other() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    let mut worker = fleet.worker("one", "10m");
    let asset = fleet.service.upload("chair", &[("a.glb", b"x")]).await;
    let first = fleet.optimize(asset).await;
    fleet.runs(1).await;
    let second = fleet.optimize(asset).await;
    worker.terminate();
    // It has handled the signal.
    worker.says("Taking no more jobs").await;
    fleet.go();
    assert!(worker.ended().await);
    let done = fleet.record(first).await;
    assert_eq!(done["optimization_status"], "done", "{done}");
    assert_eq!(fleet.record(second).await["job_status"]["status"], "queued");
    let _other = fleet.worker("two", "10m");
    let done = fleet.service.optimized(second).await;
    assert_eq!(done["optimization_status"], "done", "{done}");
    let url = done["downloads"]["all"]["chair.glb"].as_str().unwrap();
    assert_eq!(fleet.service.read(url).await.expect(200).text(), "x\n");
    assert_eq!(fleet.points().await, 2);
}

#[tokio::test]
async fn a_worker_gives_its_job_back_when_the_time_to_drain_is_over() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    let mut worker = fleet.worker("one", "100ms");
    let asset = fleet.service.upload("chair", &[("a.glb", b"x")]).await;
    let rapid = fleet.optimize(asset).await;
    fleet.runs(1).await;
    worker.terminate();
    assert!(worker.ended().await);
    let given_back = fleet.record(rapid).await;
    assert_eq!(given_back["job_status"]["status"], "queued");
    assert_eq!(given_back["job_status"]["attempts"], 0, "it did not fail");
    let _other = fleet.worker("two", "10m");
    fleet.runs(2).await;
    fleet.go();
    let done = fleet.service.optimized(rapid).await;
    assert_eq!(done["optimization_status"], "done", "{done}");
    assert_eq!(fleet.points().await, 1);
}

#[tokio::test]
async fn the_job_of_a_killed_worker_is_done_by_another_one() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    let worker = fleet.worker("one", "10m");
    let asset = fleet.service.upload("chair", &[("a.glb", b"x")]).await;
    let rapid = fleet.optimize(asset).await;
    fleet.runs(1).await;
    drop(worker);
    let _other = fleet.worker("one", "10m");
    fleet.runs(2).await;
    fleet.go();
    let done = fleet.service.optimized(rapid).await;
    assert_eq!(done["optimization_status"], "done", "{done}");
    assert_eq!(done["job_status"]["attempts"], 2);
    assert_eq!(fleet.points().await, 1);
}

#[tokio::test]
async fn a_worker_that_cannot_work_says_why_and_ends() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    let refused = |change: &dyn Fn(&mut Command)| {
        let mut command = fleet.command("refused");
        change(&mut command);
        let output = command.output().unwrap();
        assert!(!output.status.success());
        assert_eq!(output.stdout, b"", "it took no job");
        String::from_utf8(output.stderr).unwrap()
    };
    let greedy = refused(&|command| {
        command.args(["--slots", "1000", "--memory", "1T"]);
    });
    assert!(greedy.contains("run fewer jobs at a time"), "{greedy}");
    let wrong = refused(&|command| {
        command.env("AWS_SECRET_ACCESS_KEY", "wrong");
    });
    assert!(wrong.contains("check AWS_SECRET_ACCESS_KEY"), "{wrong}");
    let elsewhere = fleet.bucket.url().replacen("?", "typo?", 1);
    let output = fleet.command_at("typo", &elsewhere).output().unwrap();
    assert!(!output.status.success());
    let empty = String::from_utf8(output.stderr).unwrap();
    assert!(empty.contains("the records have no files in"), "{empty}");
    // It has not claimed that storage, so it is refused again.
    let again = fleet.command_at("typo", &elsewhere).output().unwrap();
    assert_eq!(String::from_utf8(again.stderr).unwrap(), empty);
    let _worker = fleet.worker("busy", "1s");
    let twice = fleet.command("busy").output().unwrap();
    let twice = String::from_utf8(twice.stderr).unwrap();
    assert!(twice.contains("is in use by"), "{twice}");
}
