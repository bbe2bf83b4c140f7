//! Requests to the service: one in flight for each object, with a deadline, and without long waits while the
//! service is away.

use std::time::Duration;

use crate::client::ClientError;
use crate::drive::catalog::flight::FlightEnd;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::history::{HistoryEvent, HistoryKind};

/// Maximum wait for a newer version of a known object.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while the service is away.
const PATIENCE_OFFLINE: Duration = Duration::from_millis(250);

/// Runs work that waits for the local disk on a blocking thread.
pub(in crate::drive) async fn blocking(
    catalog: &Catalog,
    work: impl FnOnce() -> DriveResult<()> + Send + 'static,
) -> DriveResult<()> {
    catalog
        .runtime
        .spawn_blocking(work)
        .await
        .unwrap_or_else(|_| {
            Err(DriveError::Local(
                "internal error; the log has details".into(),
            ))
        })
}

/// Maximum wait for a newer version of a known object; shorter while the service is away.
pub(in crate::drive) fn patience(catalog: &Catalog) -> Duration {
    let offline = catalog.offline.lock();
    let is_offline = offline.is_ok_and(|offline| offline.is_some());
    if is_offline {
        PATIENCE_OFFLINE
    } else {
        PATIENCE
    }
}

/// Completes when the service has been unreachable for a short time.
pub(in crate::drive) async fn out_of_reach(catalog: &Catalog) {
    catalog.client.out_of_reach().await;
    tokio::time::sleep(PATIENCE_OFFLINE).await;
}

/// Waits for a fetch: to its end if nothing is known, else a limited time. Then a failure that does not prove
/// the object gone keeps what is known.
pub(in crate::drive) async fn landed(
    catalog: &Catalog,
    landing: FlightEnd,
    is_known: bool,
) -> DriveResult<()> {
    if !is_known {
        return landing.await;
    }
    match landing.within(patience(catalog)).await {
        Some(Err(error)) if !error.leaves_the_tree_as_it_was() => Err(error),
        Some(_) | None => Ok(()),
    }
}

/// Sends a request with the deadline and records whether the service was reachable.
pub(in crate::drive) async fn asked<T>(
    catalog: &Catalog,
    request: impl Future<Output = Result<T, ClientError>>,
) -> DriveResult<T> {
    // The client has its own retries and timeouts; this limit is the last resort for one page or record.
    let limit = catalog.config.deadline;
    let reply = match tokio::time::timeout(limit, request).await {
        Ok(reply) => reply.map_err(DriveError::from),
        Err(_) => Err(DriveError::TimedOut(format!(
            "the service did not answer within {} s; try again later",
            limit.as_secs()
        ))),
    };
    remember_reach(catalog, &reply);
    reply
}

fn remember_reach<T>(catalog: &Catalog, reply: &DriveResult<T>) {
    let mut offline = catalog.offline.lock().expect("the lock is never poisoned");
    let mut change = None;
    match reply {
        Err(
            DriveError::Unreachable(why)
            | DriveError::TimedOut(why)
            | DriveError::AccessDenied(why),
        ) => {
            if offline.is_none() {
                tracing::warn!(why, "the service cannot be reached; known data are shown");
                change = Some((HistoryKind::Offline, Some(why.clone())));
            }
            *offline = Some(why.clone());
        }
        Err(_) => {}
        Ok(_) => {
            if offline.take().is_some() {
                tracing::info!("the service can be reached again");
                change = Some((HistoryKind::Online, None));
            }
        }
    }
    drop(offline);
    if let Some((kind, reason)) = change {
        catalog.failures.history().note(HistoryEvent {
            kind,
            reason,
            ..HistoryEvent::default()
        });
    }
}
