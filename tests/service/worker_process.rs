//! Worker processes on other machines: `assetfs engine-worker --records … --files …` beside a service without workers.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use assetfs::service::RecordsAt;
use serde_json::Value;

use super::s3::TestBucket;
use super::skip::skipped;
use super::support::{Fixture, WAITING_WORKER};
use super::test_records::{TestDatabase, database_url};

/// A service that does no jobs itself, with its records in PostgreSQL and its files in a bucket.
pub struct Fleet {
    service: Fixture,
    pub bucket: TestBucket,
    /// The database.
    pub url: String,
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
    pub async fn start() -> Option<Fleet> {
        let dir = tempfile::tempdir().unwrap();
        let Some(url) = database_url(dir.path()).await else {
            skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
            return None;
        };
        let bucket = TestBucket::start();
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
        self.worker_with(name, &["--drain", drain]).0
    }

    /// The same with these options; also returns what it prints next.
    fn worker_with(&self, name: &str, options: &[&str]) -> (Worker, BufReader<ChildStdout>) {
        let mut command = self.command(name);
        command
            .args(options)
            .args(["--slots", "1", "--memory", "256M"]);
        let log = self.dir().join(format!("{name}.log"));
        command.stderr(fs::File::create(&log).unwrap());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with("Taking up to 1 job"), "{line:?}");
        (Worker { child, log }, stdout)
    }

    fn command(&self, name: &str) -> Command {
        self.command_at(name, &self.bucket.url())
    }

    fn command_at(&self, name: &str, files: &str) -> Command {
        let mut command = self.program("engine-worker", &self.url, files);
        command.arg("--work-dir").arg(self.dir().join(name));
        command
    }

    /// A service or a worker on these records and files.
    pub fn program(&self, program: &str, records: &str, files: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assetfs"));
        command
            .args([program, "--records", records, "--files", files])
            .args(["--job-lease", "2s", "--engine-program"])
            .arg(self.dir().join("worker.sh"))
            .envs(self.bucket.variables());
        command
    }

    pub fn dir(&self) -> &Path {
        self.service.dir.path()
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
    let first = fleet.service.optimize(asset).await;
    fleet.service.until_runs(1).await;
    let second = fleet.service.optimize(asset).await;
    worker.terminate();
    // It has handled the signal.
    worker.says("Taking no more jobs").await;
    fleet.service.go();
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
    let rapid = fleet.service.optimize(asset).await;
    fleet.service.until_runs(1).await;
    worker.terminate();
    assert!(worker.ended().await);
    let given_back = fleet.record(rapid).await;
    assert_eq!(given_back["job_status"]["status"], "queued");
    assert_eq!(given_back["job_status"]["attempts"], 0, "it did not fail");
    let _other = fleet.worker("two", "10m");
    fleet.service.until_runs(2).await;
    fleet.service.go();
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
    let rapid = fleet.service.optimize(asset).await;
    fleet.service.until_runs(1).await;
    drop(worker);
    let _other = fleet.worker("one", "10m");
    fleet.service.until_runs(2).await;
    fleet.service.go();
    let done = fleet.service.optimized(rapid).await;
    assert_eq!(done["optimization_status"], "done", "{done}");
    assert_eq!(done["job_status"]["attempts"], 2);
    assert_eq!(fleet.points().await, 1);
}

#[tokio::test]
async fn a_worker_says_how_it_is() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    let (mut worker, mut stdout) = fleet.worker_with("one", &["--admin-listen", "127.0.0.1:0"]);
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let address = line.strip_prefix("Health and metrics: ").expect(&line);
    let address = address.split("/readyz").next().unwrap();
    let ask = async |path: &str| {
        let request = fleet.service.http.get(format!("{address}{path}"));
        fleet.service.send(request).await
    };
    assert_eq!(ask("/livez").await.expect(200).text(), "ok\n");
    let ready = ask("/readyz").await.expect(200).text();
    assert_eq!(
        ready,
        "records: ok\nfiles: ok\nclock: ok\nmemory: ok\njobs: ok\nprocess: ok\n"
    );
    ask("/api/v2/rawmodel").await.expect(404);
    fleet.service.optimize_one().await;
    fleet.service.until_runs(1).await;
    let wanted = [
        "slots 1",
        "leases_held 1",
        "job_attempts_total 2",
        "leases_lost_total 0",
    ];
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let text = ask("/metrics").await.expect(200).text();
        for line in wanted {
            let line = format!("assetfs_service_{line}");
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        // The database has confirmed the lease.
        let kept = "assetfs_service_leases_kept_timestamp_seconds 1";
        if text.lines().any(|line| line.starts_with(kept)) {
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    worker.terminate();
    worker.says("Taking no more jobs").await;
    let ready = ask("/readyz").await.expect(503).text();
    assert!(ready.contains("process: this process is ending"), "{ready}");
    fleet.service.go();
    assert!(worker.ended().await);
}

#[tokio::test]
async fn a_worker_ends_although_the_storage_does_not_answer() {
    let Some(fleet) = Fleet::start().await else {
        return;
    };
    if !fleet.bucket.is_own() {
        skipped("the storage in ASSETFS_TEST_S3 is not stopped by a test");
        return;
    }
    let (mut worker, _) = fleet.worker_with("one", &["--drain", "1s"]);
    fleet.service.optimize_one().await;
    fleet.service.until_runs(1).await;
    fleet.bucket.signal("STOP");
    // The job has ended, and its result cannot be stored.
    fleet.service.go();
    tokio::time::sleep(Duration::from_secs(1)).await;
    worker.terminate();
    let began = Instant::now();
    assert!(worker.ended().await);
    let time = began.elapsed();
    fleet.bucket.signal("CONT");
    assert!(time < Duration::from_secs(31), "{time:?}");
    let _other = fleet.worker("two", "10m");
    fleet.service.until_runs(2).await;
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
