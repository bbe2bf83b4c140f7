//! About how long the running jobs of the caller still take, for the page. A job takes as long as one of its kind that ended, with
//! the same configuration and a source of about the same size.

use std::collections::BTreeMap;

use axum::Json;
use serde_json::json;

use super::request::{ApiCall, JsonReply};
use crate::service::records::{JobKind, TimedJob};
use crate::time_left::seconds_left;

/// The seconds that are left, by the ids of the models that are imported and of the results that are made.
pub const TIME_LEFT: &str = "/page/time_left.json";

pub async fn list(call: ApiCall) -> JsonReply {
    let jobs = call.records().jobs().list_timed(call.user).await?;
    let now = call.app.clock.now();
    let (mut models, mut results) = (BTreeMap::new(), BTreeMap::new());
    for job in jobs.iter().filter(|job| job.finished_at.is_none()) {
        let alike = jobs.iter().filter(|other| is_alike(job, other));
        let ended = alike.filter_map(|other| {
            let took = other.finished_at?.duration_since(other.started_at);
            Some((other.size, took.as_secs_f64()))
        });
        let elapsed = now.duration_since(job.started_at).as_secs_f64();
        let Some(left) = seconds_left(ended, job.size, elapsed) else {
            continue;
        };
        match (job.kind, job.rapid) {
            (JobKind::Analyse, _) => {
                models.insert(job.asset, left);
            }
            (JobKind::Optimize, Some(rapid)) => {
                results.insert(rapid, left);
            }
            _ => {}
        }
    }
    Ok(Json(json!({ "models": models, "results": results })))
}

fn is_alike(one: &TimedJob, other: &TimedJob) -> bool {
    one.kind == other.kind && one.format == other.format && one.config == other.config
}
