//! Values of the account (points, storage left), stored across mounts so that they are answered offline too.

use std::sync::Arc;

use tokio::time::Instant;

use crate::client::{ClientError, Priority};
use crate::drive::catalog::asking::{send_with_deadline, wait_for_fetch};
use crate::drive::catalog::change::Change;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::flight::FlightEnd;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::AccountFile;

const TABLE: &str = "account";

/// A value of the account, at most as old as the refresh time; the last known value while the service is away.
pub async fn account_value(catalog: &Arc<Catalog>, file: AccountFile) -> DriveResult<u64> {
    let known = known_account_value(catalog, file);
    if let Some((value, Some(received))) = known
        && received.elapsed() < catalog.config.refresh
    {
        return Ok(value);
    }
    wait_for_fetch(catalog, join_account_fetch(catalog, file), known.is_some()).await?;
    let known = known_account_value(catalog, file);
    known.map(|(value, _)| value).ok_or(DriveError::NotFound)
}

/// The last known value, without waiting. An old value is refreshed in the background.
pub fn account_value_at_hand(catalog: &Arc<Catalog>, file: AccountFile) -> Option<u64> {
    let known = known_account_value(catalog, file);
    let is_fresh =
        matches!(known, Some((_, Some(received))) if received.elapsed() < catalog.config.refresh);
    if !is_fresh {
        drop(join_account_fetch(catalog, file));
    }
    known.map(|(value, _)| value)
}

/// An upload or a deletion changed the free space: the next read requests it.
pub fn room_changed(catalog: &Arc<Catalog>) {
    if known_account_value(catalog, AccountFile::StorageLeft).is_some() {
        drop(join_account_fetch(catalog, AccountFile::StorageLeft));
    }
}

/// An optimization was paid: the next read requests the points.
pub fn mark_points_stale(catalog: &Catalog) {
    if let Some((_, asked_at)) = catalog.known().account.get_mut(&AccountFile::Points) {
        *asked_at = None;
    }
}

fn join_account_fetch(catalog: &Arc<Catalog>, file: AccountFile) -> FlightEnd {
    catalog.join_flight(FlightKey::Account(file), |shared| async move {
        let (client, now) = (&shared.client, Priority::Interactive);
        let value = match file {
            AccountFile::Points => {
                send_with_deadline(&shared, client.account().points(now))
                    .await?
                    .rapidpoints
            }
            AccountFile::StorageLeft => {
                let reply = send_with_deadline(&shared, client.account().storage_left(now)).await?;
                let no_number = || ClientError::Protocol {
                    what: "get the storage left".to_owned(),
                    reason: "it names no number of bytes".to_owned(),
                };
                reply.storage_left.ok_or_else(no_number)?
            }
        };
        if file == AccountFile::StorageLeft {
            shared.outbox.storage_is_left(value);
        }
        let before = shared
            .known()
            .account
            .insert(file, (value, Some(Instant::now())));
        if before.map(|(value, _)| value) != Some(value) {
            if let Err(error) = shared.meta.relaxed().put(TABLE, file.name(), &value) {
                tracing::warn!(error = %error, "could not store a value of the account");
            }
            shared.report(Change::Account);
        }
        Ok(())
    })
}

fn known_account_value(catalog: &Catalog, file: AccountFile) -> Option<(u64, Option<Instant>)> {
    if let Some(known) = catalog.known().account.get(&file) {
        return Some(*known);
    }
    let stored: u64 = catalog.meta.get(TABLE, file.name()).ok().flatten()?;
    if file == AccountFile::StorageLeft {
        catalog.outbox.storage_is_left(stored);
    }
    catalog.known().account.insert(file, (stored, None));
    Some((stored, None))
}
