//! Converts an asset to other formats: an optimization that only changes the format.

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::collect::{collect, discard, settle};
use super::work_folder::{Prepared, WorkFolder};
use super::{Done, JobError, fail_orphaned, run_worker};
use crate::service::app::App;
use crate::service::names::file_stem;
use crate::service::records::{Area, JobRow, NewFile};
use crate::service::workers::{Failure, Outcome};
use assetfs_engine::job::{OptimizeTask, Task};

/// Runs one conversion.
pub async fn run(app: &App, job: &JobRow, stop: &CancellationToken) -> Result<Done, JobError> {
    let conversion = match job.conversion {
        Some(conversion) => app.records.conversions().get(conversion).await?,
        None => None,
    };
    let asset = app.records.assets().get(job.user, job.asset).await?;
    let (Some(conversion), Some(asset)) = (conversion, asset) else {
        return fail_orphaned(app, job).await;
    };
    let place = match WorkFolder::lay_out(app, job, stop).await? {
        Prepared::Ready(place) => place,
        Prepared::Stopped => return Ok(Done::Stopped),
        Prepared::Refused { reason, .. } => {
            fail(app, job, &reason).await?;
            return Ok(Done::Recorded);
        }
    };
    let task = Task::Optimize(OptimizeTask {
        input_dir: place.input(),
        files: place.files.clone(),
        output_dir: place.output(),
        config: config(&conversion.formats),
        export_name: None,
        base_name: file_stem(&asset.name),
        scale: asset.scale_factor,
    });
    match run_worker(app, &app.workers, job, &task, stop).await? {
        Outcome::Stopped => Ok(Done::Stopped),
        Outcome::Failed(failure) => {
            end(app, job, Some(&failure), Vec::new()).await?;
            Ok(Done::Recorded)
        }
        Outcome::Done(_) => {
            let all = collect(app, &place).await?;
            let (mut exports, others): (Vec<NewFile>, Vec<NewFile>) =
                all.into_iter().partition(|file| file.area == Area::Export);
            discard(app, &others).await;
            for file in &mut exports {
                file.area = Area::Converted;
            }
            end(app, job, None, exports).await?;
            Ok(Done::Recorded)
        }
    }
}

fn config(formats: &[String]) -> Map<String, Value> {
    let exports: Vec<Value> = formats
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    let mut config = Map::new();
    config.insert("schema".to_owned(), json!("2.5"));
    config.insert(
        "compressionAndExport".to_owned(),
        json!({ "fileExports": exports }),
    );
    config
}

pub async fn fail(app: &App, job: &JobRow, reason: &str) -> Result<(), JobError> {
    end(app, job, Some(&Failure::of(reason)), Vec::new()).await
}

async fn end(
    app: &App,
    job: &JobRow,
    failure: Option<&Failure>,
    files: Vec<NewFile>,
) -> Result<(), JobError> {
    let Some(conversion) = job.conversion else {
        return Ok(());
    };
    let reason = failure.map(|failure| failure.reason.as_str());
    let of = (job.user, job.asset, conversion);
    let ended = app
        .records
        .conversions()
        .end(job.lease(), of, reason, &files, &Failure::output(failure))
        .await;
    if settle(app, job.lease(), ended, &files).await? {
        app.metrics.job_ended(job.kind, failure.is_none());
    }
    Ok(())
}
