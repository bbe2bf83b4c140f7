//! Removes what is not needed any more: files without an owner, counts of requests from the past, and tokens of sign-ins that
//! have expired. Reserves disk space again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::app::App;
use super::causes::chain;
use super::new_token::remove_expired;

/// Time between two rounds.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// Cleans now and every hour, until the service stops.
pub async fn clean(app: Arc<App>) {
    let cleaning = async {
        loop {
            clean_once(&app, Timestamp::now()).await;
            tokio::time::sleep(PAUSE).await;
        }
    };
    app.stop.run_until_cancelled(cleaning).await;
}

pub(super) async fn clean_once(app: &App, now: Timestamp) {
    if may_remove(app, now).await {
        remove_files(app, now).await;
    }
    app.records.keep_reserve();
    if let Err(error) = app.records.rates().tidy().await {
        tracing::warn!(error = %chain(&error), "old counts of requests could not be removed");
    }
    match remove_expired(&app.records, now).await {
        Ok(0) => {}
        Ok(tokens) => tracing::info!(tokens, "expired tokens of sign-ins removed"),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "expired tokens of sign-ins could not be removed")
        }
    }
}

/// Whether these records hold the files, and have held them for long enough.
async fn may_remove(app: &App, now: Timestamp) -> bool {
    match app.bucket_fence.renew(&app.files, &app.records).await {
        Ok(true) => {}
        Ok(false) => {
            tracing::error!(
                "another copy of these records has taken the files over: nothing is removed. End the processes of one copy"
            );
            return false;
        }
        Err(error) => {
            tracing::warn!(error = %chain(&error), "it is unknown who holds the files: nothing is removed");
            return false;
        }
    }
    match app.records.epochs().is_new_owner(now).await {
        Ok(is_new) => !is_new,
        Err(error) => {
            tracing::warn!(error = %chain(&error), "it is unknown whether the files were adopted in the last 24 hours: nothing is removed");
            false
        }
    }
}

async fn remove_files(app: &App, now: Timestamp) {
    match app.files.clean(&app.records, now).await {
        Ok(0) => {}
        Ok(files) => tracing::info!(files, "files without an owner removed"),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "files without an owner could not be removed")
        }
    }
}
