//! Wakes idle workers of other processes that share the records, and is woken by them.
//!
//! Both are best effort: a worker also polls the queue.

use std::sync::Arc;
use std::time::Duration;

use crate::service::app::App;
use crate::service::causes::chain;
use crate::service::records::RecordsError;

/// Minimum time between two messages of this process. Later jobs of this time share one.
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
        app.queue.added().await;
        if let Err(error) = app.records.jobs().announce().await {
            tracing::warn!(error = %chain(&error), "other processes could not be told of a job: they find it when they poll");
        }
        tokio::time::sleep(MESSAGE_PAUSE).await;
    }
}

async fn listen(app: &App) {
    loop {
        if let Err(error) = forward(app).await
            && !error.is_away()
        {
            tracing::warn!(error = %chain(&error), "messages about jobs of other processes cannot be received: polling finds the jobs");
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

async fn forward(app: &App) -> Result<(), RecordsError> {
    let Some(mut wakeups) = app.records.jobs().wakeups().await? else {
        return Ok(());
    };
    loop {
        wakeups.next().await?;
        app.queue.wake();
    }
}
