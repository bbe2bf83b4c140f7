//! Polls conversions that were requested here until they end, with growing pauses.

use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::client::Priority;
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::maps::file_map;
use crate::drive::catalog::models::keep_detail;
use crate::drive::catalog::parts::Catalog;
use crate::drive::failures::{OperationKind, Outcome};
use crate::drive::values::node::{Model, RemoteFolder};
use crate::wire::{AssetId, ConversionJob, ConversionStatus};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(15);
/// Maximum time that a conversion is polled.
const MAX_LOOKS: u32 = 300;

/// Starts polling, so that converted files are shown as soon as they exist.
pub fn watch_conversions(catalog: &Arc<Catalog>, asset: AssetId) {
    catalog.spawn(|shared| async move {
        let mut pauses = Backoff::doubling(FIRST_PAUSE, MAX_PAUSE);
        for _ in 0..MAX_LOOKS {
            tokio::time::sleep(pauses.next_pause()).await;
            if poll_conversions(&shared, asset).await {
                break;
            }
        }
    });
}

/// The conversions that failed, but for those whose formats a later try has made or makes.
fn failed_for_good(jobs: &[ConversionJob]) -> Vec<&ConversionJob> {
    let is_made = |format: &String| {
        let mut others = jobs.iter();
        others.any(|it| it.status != ConversionStatus::Failed && it.makes(format))
    };
    let failed = jobs.iter();
    let failed = failed.filter(|job| job.status == ConversionStatus::Failed);
    failed
        .filter(|job| !job.formats.iter().all(is_made))
        .collect()
}

async fn poll_conversions(catalog: &Arc<Catalog>, asset: AssetId) -> bool {
    let assets = catalog.client.assets();
    let jobs = send_with_deadline(
        catalog,
        assets.processed_formats(asset, Priority::Background),
    )
    .await;
    let Ok(jobs) = jobs else { return false };
    let home = catalog.home_of(asset);
    let path = catalog.home_path(home);
    let failed = failed_for_good(&jobs);
    if failed.is_empty() {
        catalog.failures.clear_background_work(&path);
    }
    for job in failed {
        let formats = job.formats.join(", ");
        let reason = job.other.get("message").and_then(|it| it.as_str());
        let reason = reason.unwrap_or("the service does not say why");
        let why = format!("converting to {formats} failed: {reason}");
        catalog.failures.note(
            (&path, Some(Model::Raw(home))),
            OperationKind::BackgroundWork,
            Outcome::Failed,
            &why,
        );
    }
    let folder = RemoteFolder::AssetConverted(asset);
    catalog.maps.mark_stale(&catalog.meta, folder);
    if let Err(error) = file_map(catalog, folder).await {
        tracing::debug!(asset = %asset, error = %error, "converted files could not be listed");
    }
    let all_over = jobs.iter().all(ConversionJob::is_over);
    // Stored last: a reader that sees the conversion as finished must find its files.
    keep_detail(catalog, FlightKey::Formats(asset), &jobs);
    all_over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_that_failed_is_over_when_a_later_try_makes_its_formats() {
        let job = |status, formats: &[&str]| ConversionJob {
            status,
            formats: formats.iter().map(|it| (*it).to_owned()).collect(),
            ..ConversionJob::default()
        };
        let mut jobs = vec![job(ConversionStatus::Failed, &["obj", "usdz"])];
        jobs.push(job(ConversionStatus::Finished, &["OBJ"]));
        assert_eq!(failed_for_good(&jobs), [&jobs[0]]);
        jobs.push(job(ConversionStatus::Finished, &["usdz"]));
        assert!(failed_for_good(&jobs).is_empty());
    }
}
