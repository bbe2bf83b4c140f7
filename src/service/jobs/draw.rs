//! Draws the pictures of results that were recorded without them, one model at a time.
//!
//! The engine makes the result once more, which takes less time for a small model than one picture, and compares it with
//! the source. The pictures count only if the files are the same as those of the result. One process does all results
//! of a model that wait, so the source is drawn once for them; it ends with them, because models may be from different
//! users.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::collect::{collect_from, discard};
use super::error::JobError;
use super::faults::{back_off, fault_of};
use super::optimize_task::task_of;
use super::renewal::renewal_pause;
use super::work_folder::{Prepared, WorkFolder};
use crate::disk_room::check_room;
use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::records::{
    Area, DrawingEnd, DrawingRow, JobRow, NewFile, RapidRow, RecordsError,
};
use crate::service::workers::{KeptTask, KeptWorker, Outcome, TaskFolders, WorkerError, Workers};
use crate::wire::{AssetId, ModelId};
use assetfs_engine::job::{Report, Task};

/// Maximum number of results that one process draws.
const MAX_TOGETHER: u64 = 16;

/// Draws what waits, until the service stops.
pub async fn draw(app: Arc<App>) {
    let Some(workers) = &app.drawing_workers else {
        return;
    };
    let mut failures = 0;
    while !app.stop.is_cancelled() && !app.draining.is_cancelled() {
        match draw_next(&app, workers).await {
            Ok(true) => failures = 0,
            Ok(false) => {
                failures = 0;
                tokio::select! {
                    () = app.draining.cancelled() => {}
                    () = app.queue.drawing_added() => {}
                    () = until_others_may_have_died(&app) => {}
                }
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(error = %chain(&error), "pictures could not be drawn now");
                tokio::select! {
                    () = app.draining.cancelled() => {}
                    () = tokio::time::sleep(back_off(failures)) => {}
                }
            }
        }
    }
}

/// Until the claim of another process that shares the records may have expired.
async fn until_others_may_have_died(app: &App) {
    match app.records.is_shared() {
        true => tokio::time::sleep(app.config.job_lease).await,
        false => std::future::pending().await,
    }
}

/// Draws what has waited longest; false if nothing waits.
async fn draw_next(app: &App, workers: &Workers) -> Result<bool, JobError> {
    let drawings = app.records.drawings();
    let claimed = drawings.claim(MAX_TOGETHER, app.config.job_lease).await?;
    let Some(first) = claimed.first() else {
        return Ok(false);
    };
    let drawing = AssertUnwindSafe(draw_together(app, workers, &claimed)).catch_unwind();
    let drawn = tokio::select! {
        drawn = drawing => drawn.unwrap_or(Err(JobError::Panicked)),
        never = renew(app, first.asset) => match never {},
    };
    // Those that are done wait no more.
    for drawing in &claimed {
        if drawn.is_err() || app.draining.is_cancelled() {
            app.records.drawings().release(drawing.rapid).await?;
        }
    }
    drawn.map(|()| true)
}

async fn renew(app: &App, asset: AssetId) -> Infallible {
    let lease = app.config.job_lease;
    loop {
        tokio::time::sleep(renewal_pause(lease, app.records.is_shared())).await;
        if let Err(error) = app.records.drawings().renew(asset, lease).await {
            tracing::warn!(error = %chain(&error), "the claim on results without pictures could not be renewed");
        }
    }
}

/// Draws results of one model.
async fn draw_together(
    app: &App,
    workers: &Workers,
    claimed: &[DrawingRow],
) -> Result<(), JobError> {
    let mut of_model = ModelDrawing {
        app,
        workers,
        place: None,
        worker: None,
    };
    for drawing in claimed {
        if app.draining.is_cancelled() {
            return Ok(());
        }
        let rapids = app.records.rapids();
        let Some(rapid) = rapids.get(drawing.user, drawing.rapid).await? else {
            // It was deleted by a version that knows no drawings, or just now.
            app.records.drawings().give_up(drawing.rapid).await?;
            continue;
        };
        let attempts = u64::from(app.config.worker_limits.attempts);
        let Some(job) = rapid.job.as_ref().filter(|_| drawing.attempts < attempts) else {
            give_up(app, drawing, "drawing them failed too often").await?;
            continue;
        };
        app.records.drawings().begin(drawing.rapid).await?;
        let drawn = of_model.draw(drawing, &rapid, job).await;
        let counts = match &drawn {
            Ok(Drawn::Stopped) => false,
            Ok(_) => true,
            Err(error) => fault_of(app, job, error).await.is_none(),
        };
        if !counts {
            app.records.drawings().uncount(drawing.rapid).await?;
        }
        match drawn? {
            Drawn::Kept => {}
            Drawn::Failed(reason) => give_up(app, drawing, &reason).await?,
            Drawn::Stopped => return Ok(()),
        }
    }
    Ok(())
}

/// How drawing went.
enum Drawn {
    /// The pictures are recorded, or the result was deleted meanwhile.
    Kept,
    Failed(String),
    Stopped,
}

/// Draws the results of one model, in one process.
struct ModelDrawing<'a> {
    app: &'a App,
    workers: &'a Workers,
    /// Laid out for the first result.
    place: Option<WorkFolder>,
    /// Kept from one result to the next.
    worker: Option<KeptWorker>,
}

impl ModelDrawing<'_> {
    async fn draw(
        &mut self,
        drawing: &DrawingRow,
        rapid: &RapidRow,
        job: &JobRow,
    ) -> Result<Drawn, JobError> {
        let app = self.app;
        if self.place.is_none() {
            match WorkFolder::lay_out(app, job, &app.stop).await? {
                Prepared::Ready(place) => self.place = Some(place),
                Prepared::Stopped => return Ok(Drawn::Stopped),
                Prepared::Refused { reason, .. } => return Ok(Drawn::Failed(reason)),
            }
        }
        let place = self.place.as_ref().expect("it was laid out above");
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => {
                let folders = TaskFolders {
                    input_dir: place.input(),
                    output_dir: place.output(),
                };
                self.workers.start_kept(&folders).await?
            }
        };
        let output_dir = place.output().join(rapid.id.to_string());
        let task = KeptTask {
            task: Task::Optimize(task_of(place, rapid, output_dir)),
            source: Some(rapid.asset.to_string()),
        };
        let running = self.workers.run_kept(worker, &task, |_| (), &app.stop);
        let (outcome, worker) = running.await?;
        self.worker = worker;
        match outcome {
            Outcome::Done(Some(report)) => keep(app, place, drawing, &report).await,
            Outcome::Done(None) => Ok(Drawn::Failed("the engine reported nothing".to_owned())),
            // A program that the worker started may not say that the disk was full.
            Outcome::Failed(_) if check_room(&app.work_dir).is_err() => {
                Err(WorkerError::DiskFull.into())
            }
            Outcome::Failed(failure) => Ok(Drawn::Failed(failure.reason)),
            Outcome::Stopped => Ok(Drawn::Stopped),
        }
    }
}

/// Records the pictures of a result, if they are of this result.
async fn keep(
    app: &App,
    place: &WorkFolder,
    drawing: &DrawingRow,
    report: &Report,
) -> Result<Drawn, JobError> {
    let output = place.output().join(drawing.rapid.to_string());
    let files = collect_from(app, &output).await?;
    let (exports, pictures): (Vec<NewFile>, Vec<NewFile>) = files
        .into_iter()
        .partition(|file| file.area == Area::Export);
    let is_same = are_stored(app, drawing, &exports).await;
    discard(app, &exports).await;
    if !is_same? {
        discard(app, &pictures).await;
        let reason = "the engine made another result this time";
        return Ok(Drawn::Failed(reason.to_owned()));
    }
    let end = DrawingEnd {
        report: Some(serde_json::to_string(report).expect("a report can be written")),
        files: pictures,
    };
    match app.records.drawings().end(drawing, &end).await {
        Ok(Some(replaced)) => {
            app.files.remove(&replaced).await;
            app.events.tell_drawn(drawing.asset, drawing.rapid);
            Ok(Drawn::Kept)
        }
        Ok(None) => {
            discard(app, &end.files).await;
            Ok(Drawn::Kept)
        }
        Err(RecordsError::NoRoom { .. }) => {
            discard(app, &end.files).await;
            let reason = "the account has no storage left for them";
            Ok(Drawn::Failed(reason.to_owned()))
        }
        // The janitor removes the blobs if they have no record.
        Err(error) => Err(error.into()),
    }
}

/// Whether these are the files of the result.
async fn are_stored(
    app: &App,
    drawing: &DrawingRow,
    exports: &[NewFile],
) -> Result<bool, RecordsError> {
    let stored = app
        .records
        .files()
        .list(&[ModelId::Rapid(drawing.rapid)])
        .await?;
    let mut before: Vec<(String, String)> = stored
        .into_iter()
        .filter(|file| file.area == Area::Export)
        .map(|file| (file.name, file.md5))
        .collect();
    let mut now: Vec<(String, String)> = exports
        .iter()
        .map(|file| (file.name.clone(), file.bytes.md5.clone()))
        .collect();
    before.sort_unstable();
    now.sort_unstable();
    Ok(before == now)
}

async fn give_up(app: &App, drawing: &DrawingRow, reason: &str) -> Result<(), JobError> {
    tracing::warn!(rapid = %drawing.rapid, reason, "a result stays without pictures");
    app.records.drawings().give_up(drawing.rapid).await?;
    Ok(())
}
