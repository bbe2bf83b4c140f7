//! Tests: attempts that have lost their job, and commits whose result is unknown.

mod bucket;
#[path = "../../../tests/support/s3.rs"]
mod test_bucket;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::collect::{settle, store_text};
use super::error::JobError;
use super::faults::{back_off, pause_after};
use super::work;
use crate::service::files::FilesError;
use crate::service::infra_fault::InfraFault;
use crate::service::records::{
    AnalysisEnd, AssetRow, Attempt, Heartbeat, JobRow, JobState, Lost, NewAsset, NewFile,
    RecordsAt, RecordsError, Stored,
};
use crate::service::test_records::{TestDatabase, database_url};
use crate::service::{RunningService, Service, ServiceConfig, WorkerCommand};
use crate::skip::skipped;
use crate::wire::{AssetId, UploadStatus, UserId};
use assetfs_engine::job::Progress;

const LEASE: Duration = Duration::from_secs(60);

/// A service without workers, and one asset that waits for its analysis.
struct Waiting {
    _dir: tempfile::TempDir,
    service: RunningService,
    user: UserId,
    asset: AssetId,
}

impl Waiting {
    async fn start() -> Waiting {
        Waiting::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut ServiceConfig)) -> Waiting {
        let dir = tempfile::tempdir().unwrap();
        let worker = WorkerCommand {
            program: "/bin/true".into(),
            args: Vec::new(),
        };
        let data = dir.path().join("data");
        let mut config = ServiceConfig::new(&data, worker);
        if let Some(url) = database_url(&data).await {
            config.records = RecordsAt::Postgres(url.parse().unwrap());
        }
        config.workers = 0;
        change(&mut config);
        let service = Service::start(config).await.unwrap();
        let token = service.token.id().unwrap();
        let user = service
            .app
            .records
            .tokens()
            .get(token)
            .await
            .unwrap()
            .unwrap()
            .user;
        let new = NewAsset {
            name: "chair",
            filenames: &[],
            is_zip: false,
            format: "glb",
            main_file: "",
            start_key: None,
            join_key: None,
            token,
        };
        let records = &service.app.records;
        let asset = records.assets().create(user, &new).await.unwrap().asset;
        records.imports().start(user, asset).await.unwrap();
        Waiting {
            _dir: dir,
            service,
            user,
            asset,
        }
    }

    /// Another asset with a file, which waits for its analysis, too.
    async fn add_asset(&self) -> AssetId {
        let app = &self.service.app;
        let new = NewAsset {
            name: "table",
            filenames: &["a.glb".to_owned()],
            is_zip: false,
            format: "glb",
            main_file: "a.glb",
            start_key: None,
            join_key: None,
            token: self.service.token.id().unwrap(),
        };
        let begun = app.records.assets().create(self.user, &new).await.unwrap();
        let asset = begun.asset;
        let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"bytes"))]);
        let blob = app.records.blobs().fresh().await.unwrap();
        let stored = app.files.receive(&blob, body, u64::MAX).await.unwrap();
        let uploads = app.records.uploads();
        uploads.publish(begun.files[0].1, &stored).await.unwrap();
        app.records.imports().start(self.user, asset).await.unwrap();
        asset
    }

    async fn claim(&self) -> JobRow {
        let claimed = self.service.app.records.jobs().claim(LEASE).await.unwrap();
        claimed.expect("a job waits")
    }

    async fn asset(&self) -> AssetRow {
        let records = &self.service.app.records;
        records
            .assets()
            .get(self.user, self.asset)
            .await
            .unwrap()
            .unwrap()
    }

    async fn file(&self, text: &str) -> NewFile {
        let app = &self.service.app;
        store_text(app, "error.log", text.to_owned()).await.unwrap()
    }

    async fn end(&self, job: &JobRow, file: &NewFile) -> Result<Option<Vec<String>>, RecordsError> {
        let end = AnalysisEnd {
            status: UploadStatus::Complete,
            has_errors: false,
            error_message: None,
            format: None,
            main_file: None,
            metadata: None,
            files: vec![file.clone()],
            output: "{}".to_owned(),
            events: Vec::new(),
        };
        let records = &self.service.app.records;
        records
            .imports()
            .end(job.lease(), self.user, self.asset, &end)
            .await
    }

    async fn is_stored(&self, file: &NewFile) -> bool {
        let files = &self.service.app.files;
        let Stored { blob, size, .. } = &file.bytes;
        files.read(blob, 0..*size).await.is_ok()
    }
}

fn half() -> Progress {
    Progress {
        percent: 50,
        step: "half".to_owned(),
        phase: None,
        memory_bytes: 0,
    }
}

/// The error of a COMMIT whose reply is lost.
fn lost_answer() -> RecordsError {
    RecordsError::Database(sqlx::Error::WorkerCrashed)
}

#[tokio::test]
async fn an_attempt_that_lost_its_job_changes_nothing() {
    let waiting = Waiting::start().await;
    let records = &waiting.service.app.records;
    let lost = waiting.claim().await;
    let (failed, queued) = records
        .jobs()
        .recover(Lost::Expired, 3, LEASE)
        .await
        .unwrap();
    assert_eq!((failed.len(), queued), (0, 0), "its lease holds");
    let (_, queued) = records.jobs().recover(Lost::All, 3, LEASE).await.unwrap();
    assert_eq!(queued, 1);
    let now = waiting.claim().await;
    assert_eq!((lost.id, lost.fence + 1), (now.id, now.fence));

    let old = lost.lease();
    let heartbeat = Heartbeat {
        lease: old,
        progress: Some(half()),
    };
    assert_eq!(
        records
            .jobs()
            .renew_leases(&[heartbeat], LEASE)
            .await
            .unwrap(),
        []
    );
    assert!(!records.jobs().renew_lease(old, LEASE).await.unwrap());
    let analysing = UploadStatus::Analysing;
    let shown = records
        .imports()
        .set_status(old, (waiting.user, waiting.asset), &analysing, &[]);
    assert!(!shown.await.unwrap());
    let requeued = records
        .jobs()
        .requeue(old, Attempt::Failed { reason: "late" });
    requeued.await.unwrap();
    records.jobs().fail(old, "{}").await.unwrap();
    let late = waiting.file("of the lost attempt").await;
    assert_eq!(waiting.end(&lost, &late).await.unwrap(), None);
    assert_eq!(waiting.asset().await.status, UploadStatus::Waiting);

    let file = waiting.file("of the attempt that has it").await;
    assert!(
        records
            .jobs()
            .renew_lease(now.lease(), LEASE)
            .await
            .unwrap()
    );
    assert!(waiting.end(&now, &file).await.unwrap().is_some());
    assert!(!records.jobs().was_ended(old).await.unwrap());
    assert!(records.jobs().was_ended(now.lease()).await.unwrap());
    assert_eq!(waiting.end(&now, &file).await.unwrap(), None, "once");
}

#[tokio::test]
async fn one_of_several_recoverers_fails_a_job_without_attempts() {
    let waiting = Waiting::start().await;
    let jobs = || waiting.service.app.records.jobs();
    let lost = jobs().claim(Duration::ZERO).await.unwrap().unwrap();
    let recovered = join_all((0..8).map(|_| jobs().recover(Lost::Expired, 1, LEASE))).await;
    let mut claimed = Vec::new();
    for found in recovered {
        let (failed, queued) = found.unwrap();
        assert_eq!(queued, 0);
        claimed.extend(failed);
    }
    let [failing] = claimed.as_slice() else {
        panic!("claimed {} times", claimed.len());
    };
    assert_eq!((failing.id, failing.fence), (lost.id, lost.fence + 1));
    let late = waiting.file("of the lost attempt").await;
    assert_eq!(waiting.end(&lost, &late).await.unwrap(), None);
    // A recoverer that dies before it has recorded the failure is recovered, too.
    let (failed, _) = jobs().recover(Lost::All, 1, LEASE).await.unwrap();
    assert_eq!(failed[0].fence, lost.fence + 2);
    jobs().fail(failed[0].lease(), "{}").await.unwrap();
    let (failed, _) = jobs().recover(Lost::All, 1, LEASE).await.unwrap();
    assert!(failed.is_empty());
}

#[tokio::test]
async fn a_lost_answer_to_a_commit_costs_no_byte() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    let file = waiting.file("the result").await;
    let files = std::slice::from_ref(&file);
    // The commit had no effect: the job is tried again, and the janitor removes the bytes.
    let settled = settle(app, job.lease(), Err(lost_answer()), files).await;
    assert!(settled.is_err());
    assert!(waiting.is_stored(&file).await);
    // The commit had an effect: the files have their owner.
    waiting.end(&job, &file).await.unwrap().unwrap();
    let settled = settle(app, job.lease(), Err(lost_answer()), files).await;
    assert!(settled.unwrap());
    assert!(waiting.is_stored(&file).await);
}

#[tokio::test]
async fn the_janitor_removes_only_what_nothing_refers_to() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    let clean = async |now| app.files.clean(&app.records, now).await.unwrap();
    let job = waiting.claim().await;
    let owned = waiting.file("with an owner").await;
    waiting.end(&job, &owned).await.unwrap().unwrap();
    let pending = waiting.file("not committed yet").await;
    let stray = waiting.file("without an owner").await;
    let blobs = app.records.blobs();
    blobs
        .give_up(std::slice::from_ref(&stray.bytes.blob))
        .await
        .unwrap();
    let now = Timestamp::now();
    assert_eq!(clean(now).await, 1);
    assert!(!waiting.is_stored(&stray).await);
    assert!(waiting.is_stored(&pending).await, "a commit may follow");
    // Nobody commits it any more.
    assert_eq!(clean(now + SignedDuration::from_hours(23)).await, 0);
    assert_eq!(clean(now + SignedDuration::from_hours(25)).await, 1);
    assert!(!waiting.is_stored(&pending).await);
    assert!(waiting.is_stored(&owned).await);
}

#[tokio::test]
async fn a_commit_after_the_janitor_gave_the_bytes_up_fails() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    let late = waiting.file("took more than a day").await;
    let later = Timestamp::now() + SignedDuration::from_hours(25);
    assert_eq!(app.files.clean(&app.records, later).await.unwrap(), 1);
    let ended = waiting.end(&job, &late).await;
    assert!(matches!(ended, Err(RecordsError::BlobExpired)), "{ended:?}");
    assert_eq!(waiting.asset().await.status, UploadStatus::Waiting);
    let again = waiting.file("the next attempt").await;
    assert!(waiting.end(&job, &again).await.unwrap().is_some());
}

#[tokio::test]
async fn a_job_whose_commit_has_no_reply_counts_as_ended() {
    let dir = tempfile::tempdir().unwrap();
    let Some(url) = database_url(dir.path()).await else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    let proxy = CommitProxy::start(&url).await;
    let waiting = Waiting::start_with(|config| {
        config.records = RecordsAt::Postgres(proxy.url.parse().unwrap());
    })
    .await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    let file = waiting.file("the result").await;
    *proxy.loses_commit_of.lock().unwrap() = Some(file.bytes.blob.clone());
    let ended = waiting.end(&job, &file).await;
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(*proxy.loses_commit_of.lock().unwrap(), None, "it was lost");
    let files = std::slice::from_ref(&file);
    let is_owned = settle(app, job.lease(), ended, files).await.unwrap();
    assert!(is_owned);
    assert!(waiting.is_stored(&file).await);
    assert_eq!(waiting.asset().await.status, UploadStatus::Complete);
}

#[tokio::test]
async fn a_locked_job_keeps_no_other_lease_from_being_renewed() {
    let waiting = Waiting::start().await;
    let records = &waiting.service.app.records;
    let Some(url) = database_url(&waiting.service.app.config.data_dir).await else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    let mut database = TestDatabase::at(&url).await;
    for _ in 0..2 {
        // More jobs of the same kind.
        let copy = "INSERT INTO jobs (key, kind, user_id, asset_id, state, attempts, progress, step, created_at, updated_at) \
            SELECT key || 'x', kind, user_id, asset_id, 'queued', 0, 0, '', created_at, updated_at FROM jobs ORDER BY id LIMIT 1";
        assert_eq!(database.run(copy).await, 1);
    }
    let jobs = [
        waiting.claim().await,
        waiting.claim().await,
        waiting.claim().await,
    ];
    database.run("BEGIN").await;
    let lock = "UPDATE jobs SET id = id WHERE id = (SELECT MIN(id) FROM jobs)";
    assert_eq!(database.run(lock).await, 1);
    let heartbeats = jobs.each_ref().map(|job| Heartbeat {
        lease: job.lease(),
        progress: Some(half()),
    });
    let mut kept = records
        .jobs()
        .renew_leases(&heartbeats, LEASE)
        .await
        .unwrap();
    kept.sort();
    assert_eq!(kept, [jobs[1].id, jobs[2].id]);
    database.run("ROLLBACK").await;
    assert_eq!(
        records
            .jobs()
            .renew_leases(&heartbeats, LEASE)
            .await
            .unwrap()
            .len(),
        3
    );
    let noted = "SELECT COUNT(*) FROM jobs WHERE progress = 50 AND step = 'half'";
    assert_eq!(database.number(noted).await, 3);
}

#[tokio::test]
async fn a_panic_ends_the_attempt_and_frees_the_slot() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    app.queue.panics.store(true, Ordering::SeqCst);
    let working = tokio::spawn(work(Arc::clone(app)));
    let deadline = Instant::now() + LEASE;
    let ended = async || {
        let analysis = app.records.jobs().latest_analysis(waiting.asset).await;
        analysis.unwrap().filter(|job| job.finished_at.is_some())
    };
    let job = loop {
        if let Some(job) = ended().await {
            break job;
        }
        assert!(Instant::now() < deadline, "the slot does not go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(job.attempts, 2, "the first one panicked");
    assert_eq!(app.queue.running_count(), 0, "no lease is renewed any more");
    app.stop.cancel();
    working.await.unwrap();
}

#[test]
fn a_slot_rests_longer_after_each_failure_and_a_minute_at_most() {
    let seconds = [1, 2, 3, 6, 7, 100, u32::MAX].map(|failures| back_off(failures).as_secs());
    assert_eq!(seconds, [1, 2, 4, 32, 60, 60, 60]);
}

#[test]
fn a_job_pauses_longer_after_each_fault_and_five_minutes_at_most() {
    let seconds = [0, 1, 2, 8, 9, 64, u64::MAX].map(|faults| pause_after(faults).as_secs());
    assert_eq!(seconds, [1, 2, 4, 256, 300, 300, 300]);
}

/// A worker that ends as one whose disk is full, until the file `room` exists.
const FULL_DISK: &str = r#"#!/bin/sh
cat > /dev/null
test -e "$(dirname "$0")/room" || exit 28
"#;

#[tokio::test]
async fn a_full_disk_costs_no_attempt_and_pauses_the_process_until_there_is_room() {
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("worker.sh");
    std::fs::write(&program, FULL_DISK).unwrap();
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let waiting = Waiting::start_with(|config| config.worker.program = program).await;
    let asset = waiting.add_asset().await;
    let app = &waiting.service.app;
    let working = tokio::spawn(work(Arc::clone(app)));
    let analysis = async || {
        let job = app.records.jobs().latest_analysis(asset).await;
        job.unwrap().unwrap()
    };
    // More faults than a job has attempts.
    let job = until("the job waits", async || {
        let job = analysis().await;
        (job.faults >= 2 && job.state == JobState::Queued).then_some(job)
    })
    .await;
    assert_eq!(job.attempts, 0);
    assert_eq!(
        job.step,
        "Waiting because the work disk of the service is full; continues automatically as soon as the operator of the service \
         has made room; nothing is lost"
    );
    let row = app.records.assets().get(waiting.user, asset).await;
    assert_eq!(row.unwrap().unwrap().status, UploadStatus::Waiting);
    let fault_pause = app.queue.fault_pause().expect("the process pauses");
    assert_eq!(fault_pause.fault, InfraFault::WorkDiskFull);
    std::fs::write(programs.path().join("room"), "").unwrap();
    let job = until("the job ends", async || {
        Some(analysis().await).filter(|job| job.finished_at.is_some())
    })
    .await;
    assert_eq!((job.state, job.attempts), (JobState::Finished, 1));
    until("the process goes on", async || {
        app.queue.fault_pause().is_none().then_some(())
    })
    .await;
    app.stop.cancel();
    working.await.unwrap();
}

#[tokio::test]
async fn a_failure_that_is_told_to_users_has_no_addresses() {
    let inside = std::io::Error::other("http://10.0.0.7:9000/bucket <Error><Code>X</Code></Error>");
    let errors = [
        JobError::Disk(inside),
        JobError::Panicked,
        JobError::Files(FilesError::Damaged {
            blob: "ab/cd".to_owned(),
        }),
        JobError::Records(lost_answer()),
    ];
    for error in errors {
        let said = error.for_users();
        assert!(!said.contains('/') && !said.contains('<'), "{said}");
    }
    let waiting = Waiting::start().await;
    let job = waiting.claim().await;
    let records = waiting.service.app.records.jobs();
    let fault = InfraFault::StorageFull;
    let pause = Duration::from_secs(60);
    let attempt = Attempt::Obstructed { fault, pause };
    records.requeue(job.lease(), attempt).await.unwrap();
    let later = records.claim(LEASE).await.unwrap();
    assert!(later.is_none(), "others have their turn for a minute");
}

#[tokio::test]
async fn a_process_is_ready_once_a_full_database_has_room_though_jobs_still_pause() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    let fault = InfraFault::DatabaseFull;
    let pause = Duration::from_secs(300);
    let attempt = Attempt::Obstructed { fault, pause };
    let requeued = app.records.jobs().requeue(job.lease(), attempt);
    requeued.await.unwrap();
    app.queue.pause_for_fault(fault, "it was full".to_owned());
    let jobs_failure = async || {
        let parts = crate::service::health::parts(app).await;
        let jobs = parts.into_iter().find(|part| part.name == "jobs");
        jobs.unwrap().failure
    };
    let said = jobs_failure().await.unwrap();
    assert!(said.contains("database is full (it was full)"), "{said}");
    let working = tokio::spawn(work(Arc::clone(app)));
    until("the process is ready", async || {
        jobs_failure().await.is_none().then_some(())
    })
    .await;
    let job = app.records.jobs().latest_analysis(waiting.asset).await;
    let job = job.unwrap().unwrap();
    assert_eq!((job.state, job.attempts), (JobState::Queued, 0));
    app.stop.cancel();
    working.await.unwrap();
}

async fn until<T>(what: &str, mut is_so: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LEASE;
    loop {
        if let Some(found) = is_so().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_new_job_is_announced_to_other_processes() {
    let waiting = Waiting::start().await;
    let records = &waiting.service.app.records;
    let Some(mut wakeups) = records.jobs().wakeups().await.unwrap() else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    waiting.service.app.queue.announce();
    let message = tokio::time::timeout(LEASE, wakeups.next()).await;
    message.expect("a message arrives").unwrap();
}

/// A proxy in front of a PostgreSQL server. It can pass on a COMMIT and end the connection instead of the reply.
struct CommitProxy {
    url: String,
    /// The reply to the commit of the transaction that names this blob is lost. Other
    /// commits, as of the service's own cleaning, are answered.
    loses_commit_of: Arc<Mutex<Option<String>>>,
}

impl CommitProxy {
    async fn start(url: &str) -> CommitProxy {
        let server = url::Url::parse(url).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut through = server.clone();
        through.set_host(Some("127.0.0.1")).unwrap();
        through
            .set_port(Some(listener.local_addr().unwrap().port()))
            .unwrap();
        let loses_commit_of = Arc::new(Mutex::new(None));
        let proxy = CommitProxy {
            url: through.into(),
            loses_commit_of: Arc::clone(&loses_commit_of),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let loses_commit_of = Arc::clone(&loses_commit_of);
                let server = server.clone();
                tokio::spawn(async move {
                    let port = server.port().unwrap_or(5432);
                    let host = server.host_str().unwrap();
                    let host = percent_encoding::percent_decode_str(host).decode_utf8_lossy();
                    if host.starts_with('/') {
                        let socket = format!("{host}/.s.PGSQL.{port}");
                        let server = UnixStream::connect(socket).await.unwrap();
                        pass_on(client, server, &loses_commit_of).await;
                    } else {
                        let server = TcpStream::connect((&*host, port)).await.unwrap();
                        pass_on(client, server, &loses_commit_of).await;
                    }
                });
            }
        });
        proxy
    }
}

async fn pass_on(
    mut client: TcpStream,
    mut server: impl AsyncRead + AsyncWrite + Unpin,
    loses_commit_of: &Mutex<Option<String>>,
) {
    let (mut sent, mut reply) = (vec![0; 65_536], vec![0; 65_536]);
    let mut names_the_blob = false;
    loop {
        tokio::select! {
            read = client.read(&mut sent) => {
                let Ok(len @ 1..) = read else { return };
                let has = |text: &str| {
                    sent[..len].windows(text.len()).any(|part| part == text.as_bytes())
                };
                names_the_blob |= loses_commit_of.lock().unwrap().as_deref().is_some_and(has);
                let is_lost = names_the_blob && has("COMMIT");
                server.write_all(&sent[..len]).await.unwrap();
                if is_lost {
                    *loses_commit_of.lock().unwrap() = None;
                    // The reply: the commit has an effect.
                    server.read_exact(&mut reply[..1]).await.unwrap();
                    return;
                }
            }
            read = server.read(&mut reply) => {
                let Ok(len @ 1..) = read else { return };
                if client.write_all(&reply[..len]).await.is_err() {
                    return;
                }
            }
        }
    }
}
