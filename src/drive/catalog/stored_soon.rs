//! Makes what is known of the service durable soon. Listings are written without a sync each time, which would cost more
//! than the listing itself; without this task a kill would take back everything since the last sync.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::catalog::asking::run_blocking;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveError;

/// How much of what was learned a kill may take back.
const AT_MOST: Duration = Duration::from_secs(5);

/// Syncs the store while there is something to sync.
pub async fn store_soon(catalog: Arc<Catalog>) {
    loop {
        tokio::time::sleep(AT_MOST.min(catalog.config.refresh)).await;
        if !catalog.meta.has_relaxed() {
            continue;
        }
        let meta = catalog.meta.clone();
        let stored = run_blocking(&catalog, move || {
            let flushed = meta.flush();
            flushed.map_err(|error| DriveError::Local(error.to_string()))
        });
        if let Err(error) = stored.await {
            tracing::warn!(%error, "what is known of the service is not stored yet");
        }
    }
}
