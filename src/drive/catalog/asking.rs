//! Requests to the service: one in flight for each object, with a deadline, and without long waits while the
//! service is away.
//!
//! If the service does not answer, the first request waits for the whole deadline. From then on, a task sends requests
//! until there is an answer, and all other requests fail after 250 ms.

use std::sync::Arc;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::client::{ClientError, Priority};
use crate::drive::catalog::data::reach::{ReachChange, ServiceOutage};
use crate::drive::catalog::flight::FlightEnd;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::history::{HistoryEvent, HistoryKind};

/// Maximum wait for a newer version of a known object.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while the service is away.
const PATIENCE_OFFLINE: Duration = Duration::from_millis(250);
/// The longest pause between two requests to a service that does not answer.
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// Runs work that waits for the local disk on a blocking thread.
pub async fn run_blocking(
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
pub fn patience(catalog: &Catalog) -> Duration {
    match catalog.reach.away() {
        Some(_) => PATIENCE_OFFLINE,
        None => PATIENCE,
    }
}

/// Completes when the service has been unreachable for a short time.
pub async fn until_unreachable(catalog: &Catalog) {
    catalog.client.out_of_reach().await;
    tokio::time::sleep(PATIENCE_OFFLINE).await;
}

/// Waits for a fetch: without a limit if the object is unknown, else for a limited time. If the fetch of a known object
/// fails or takes too long, the known data stay valid, unless the error proves that the object is gone.
pub async fn wait_for_fetch(
    catalog: &Catalog,
    fetch_end: FlightEnd,
    is_known: bool,
) -> DriveResult<()> {
    if !is_known {
        return fetch_end.await;
    }
    match fetch_end.within(patience(catalog)).await {
        Some(Err(error)) if !error.may_still_exist() => Err(error),
        Some(_) | None => Ok(()),
    }
}

/// Sends a request with the deadline and records whether the service was reachable. While the service is known to be
/// silent, the deadline is short.
pub async fn send_with_deadline<T>(
    catalog: &Catalog,
    request: impl Future<Output = Result<T, ClientError>>,
) -> DriveResult<T> {
    if let Some(ServiceOutage::Silent(why)) = catalog.reach.away() {
        let reply = tokio::time::timeout(PATIENCE_OFFLINE, request).await;
        return match reply {
            Err(_) => Err(DriveError::TimedOut(why)),
            Ok(reply) => remembered(catalog, reply),
        };
    }
    // The client has its own retries and timeouts; this limit is the last resort for one page or record.
    let limit = catalog.config.deadline;
    match tokio::time::timeout(limit, request).await {
        Ok(reply) => remembered(catalog, reply),
        Err(_) => {
            let why = format!(
                "the service did not answer within {} s; try again later",
                limit.as_secs()
            );
            remember_reach(catalog, Some(ServiceOutage::Silent(why.clone())));
            Err(DriveError::TimedOut(why))
        }
    }
}

/// Notes what a reply says of the service, and returns it.
fn remembered<T>(catalog: &Catalog, reply: Result<T, ClientError>) -> DriveResult<T> {
    match &reply {
        Ok(_) => remember_reach(catalog, None),
        // Other errors say nothing of the service as a whole.
        Err(error) => {
            if let Some(outage) = ServiceOutage::of_request(error) {
                remember_reach(catalog, Some(outage));
            }
        }
    }
    reply.map_err(DriveError::from)
}

/// Notes that the service did not answer before the drive was opened.
pub fn note_away(catalog: &Catalog) {
    let away = catalog.config.away.as_ref();
    if let Some(outage) = away.and_then(ServiceOutage::from_error) {
        remember_reach(catalog, Some(outage));
    }
}

/// Notes whether the service was reachable, here and in the event log.
fn remember_reach(catalog: &Catalog, met: Option<ServiceOutage>) {
    let (kind, reason) = match catalog.reach.note(met) {
        Some(ReachChange::Lost(why)) => (HistoryKind::Offline, Some(why)),
        Some(ReachChange::Back) => (HistoryKind::Online, None),
        None => return,
    };
    catalog.failures.history().note(HistoryEvent {
        kind,
        reason,
        ..HistoryEvent::default()
    });
}

/// Whenever the service does not answer, sends requests until it does. Runs until the drive ends.
pub async fn probe_until_reachable(catalog: Arc<Catalog>) {
    loop {
        catalog.reach.until_lost().await;
        let mut pauses = Backoff::doubling(PATIENCE_OFFLINE, MAX_PAUSE);
        while let Some(ServiceOutage::Unreachable(_) | ServiceOutage::Silent(_)) =
            catalog.reach.away()
        {
            // Probe at once: the failed request may have been slow for a reason of its own.
            let question = catalog.client.account().storage_left(Priority::Background);
            let reply = tokio::time::timeout(catalog.config.deadline, question).await;
            // Any reply, even an error, shows that the service answers. A timeout changes nothing.
            if let Ok(reply) = reply {
                let met = reply
                    .err()
                    .and_then(|error| ServiceOutage::of_request(&error));
                let is_over = met.is_none();
                remember_reach(&catalog, met);
                if is_over {
                    break;
                }
            }
            tokio::time::sleep(pauses.next_pause()).await;
        }
    }
}
