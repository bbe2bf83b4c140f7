//! Wakes the other processes that share the records when there are new jobs or events, and is woken by them.
//!
//! Both are best effort: jobs and events are also found by polling.

use std::sync::Arc;
use std::time::Duration;

use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::records::{Added, RecordsError};

/// Minimum time between two messages of this process. What is added in this time shares one.
const MESSAGE_PAUSE: Duration = Duration::from_millis(20);

/// Time until a broken connection is opened again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Exchanges messages with the other processes until the service stops.
pub async fn exchange_wakeups(app: Arc<App>) {
    if !app.records.is_shared() {
        return;
    }
    tokio::select! {
        () = app.stop.cancelled() => {}
        () = announce(&app) => {}
        () = listen(&app) => {}
    }
}

async fn announce(app: &App) {
    loop {
        let added = tokio::select! {
            () = app.queue.added() => Added::Jobs,
            () = app.events.added() => Added::Events,
        };
        if let Err(error) = app.records.jobs().announce(added).await {
            tracing::warn!(error = %chain(&error), "other processes could not be woken: they find new jobs and events when they poll");
        }
        tokio::time::sleep(MESSAGE_PAUSE).await;
    }
}

async fn listen(app: &App) {
    loop {
        if let Err(error) = forward(app).await
            && !error.is_away()
        {
            tracing::warn!(error = %chain(&error), "messages of other processes cannot be received: polling finds new jobs and events");
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

async fn forward(app: &App) -> Result<(), RecordsError> {
    let Some(mut wakeups) = app.records.jobs().wakeups().await? else {
        return Ok(());
    };
    loop {
        let added = wakeups.next().await?;
        if added != Some(Added::Events) {
            app.queue.wake();
        }
        if added != Some(Added::Jobs) {
            app.events.wake();
        }
    }
}
