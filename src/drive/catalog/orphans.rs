//! Orphans: uploads whose start the service never answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::data::known::Orphans;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveError;
use crate::drive::status::OrphanStatus;

/// Age after which the list of orphans is requested again.
const ORPHANS_TTL: Duration = Duration::from_secs(30);
/// How long reading the status waits for the list.
const ORPHANS_PATIENCE: Duration = Duration::from_secs(2);

/// Requests the orphans if the list is old, and waits a limited time for it.
pub async fn refresh_orphans(catalog: &Arc<Catalog>) {
    let starts = catalog.outbox.orphans().start_numbers();
    let is_young = catalog.known().orphans.as_ref().is_some_and(|orphans| {
        orphans.starts == starts && orphans.received.elapsed() < ORPHANS_TTL
    });
    if is_young {
        return;
    }
    let fetch_end = catalog.join_flight(FlightKey::Orphans, |shared| async move {
        let orphans = shared
            .outbox
            .orphans()
            .find()
            .await
            .map_err(DriveError::from)?;
        let found = orphans.into_iter().map(|orphan| OrphanStatus {
            id: orphan.id.0,
            name: orphan.name,
            since: orphan
                .created
                .map(|created| crate::wire::Timestamp::from(created).iso_offset()),
            not_deleted_because: None,
        });
        shared.known().orphans = Some(Orphans {
            found: found.collect(),
            received: Instant::now(),
            starts,
        });
        Ok(())
    });
    if let Ok(Err(error)) = tokio::time::timeout(ORPHANS_PATIENCE, fetch_end).await {
        tracing::debug!(error = %error, "orphans could not be listed");
    }
}
