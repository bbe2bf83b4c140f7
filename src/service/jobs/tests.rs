//! Tests: attempts that have lost their job, and commits whose result is unknown.

use std::time::{Duration, SystemTime};

use super::collect::{settle, store_text};
use crate::service::records::{
    AnalysisEnd, AssetRow, JobRow, Lost, NewAsset, NewFile, RecordsAt, RecordsError,
};
use crate::service::test_records::database_url;
use crate::service::{RunningService, Service, ServiceConfig, WorkerCommand};
use crate::wire::{AssetId, UploadStatus, UserId};

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
        };
        let records = &service.app.records;
        let (asset, _) = records.assets().create(user, &new).await.unwrap();
        records.imports().start(user, asset).await.unwrap();
        Waiting {
            _dir: dir,
            service,
            user,
            asset,
        }
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
        };
        let records = &self.service.app.records;
        records
            .imports()
            .end(job.lease(), self.user, self.asset, &end)
            .await
    }

    async fn is_stored(&self, file: &NewFile) -> bool {
        let files = &self.service.app.files;
        files.read(&file.blob, 0..file.size).await.is_ok()
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
    let (failed, queued) = records.jobs().recover(Lost::Expired, 3).await.unwrap();
    assert_eq!((failed.len(), queued), (0, 0), "its lease holds");
    let (_, queued) = records.jobs().recover(Lost::All, 3).await.unwrap();
    assert_eq!(queued, 1);
    let now = waiting.claim().await;
    assert_eq!((lost.id, lost.fence + 1), (now.id, now.fence));

    let old = lost.lease();
    assert!(!records.jobs().note_progress(old, 50, "late").await.unwrap());
    assert!(!records.jobs().renew_lease(old, LEASE).await.unwrap());
    let analysing = UploadStatus::Analysing;
    let shown = records
        .imports()
        .set_status(old, (waiting.user, waiting.asset), &analysing);
    assert!(!shown.await.unwrap());
    records.jobs().requeue(old).await.unwrap();
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
async fn a_lost_answer_to_a_commit_costs_no_byte() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    let file = waiting.file("the result").await;
    let files = std::slice::from_ref(&file);
    // The commit had no effect: the job is tried again, and the sweep removes the bytes.
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
async fn the_sweep_takes_only_what_is_old_and_has_no_owner() {
    let waiting = Waiting::start().await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    let owned = waiting.file("with an owner").await;
    waiting.end(&job, &owned).await.unwrap().unwrap();
    let stray = waiting.file("without an owner").await;
    let now = SystemTime::now();
    assert_eq!(app.files.sweep(&app.records, now).await.unwrap(), 0);
    assert!(waiting.is_stored(&stray).await, "young");
    let later = now + Duration::from_secs(2 * 3_600);
    assert_eq!(app.files.sweep(&app.records, later).await.unwrap(), 1);
    assert!(!waiting.is_stored(&stray).await);
    assert!(waiting.is_stored(&owned).await);
}
