//! Events: sent to the webhooks of their user.
//!
//! An event is recorded in the transaction of what caused it (`records::NewEvent`). Any service that shares the records
//! sends it. One process at a time serves a webhook and sends its events one after another, so a slow receiver delays
//! no other. An event is sent once. With `retry_webhooks`, an event that was not accepted is retried for a day. After a
//! failed call the webhook pauses. If the process is killed between a call and its record, the event is sent twice; the
//! receiver recognizes it by its id, which is in a header.

mod post;
mod receivers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::app::App;
use super::ids::{hex, random_uuid};
use super::records::{Call, DeliveryRow, NewEvent, RecordsError, WebhookLease};
use crate::backoff::Backoff;
use crate::service::causes::chain;
use crate::wire::{Downloads, EventData, EventStatus, EventType, ModelId, RapidId};
use post::{DEADLINE, Message, Poster};
pub use receivers::Receivers;

/// Maximum number of webhooks that are served at the same time.
const MAX_AT_ONCE: usize = 32;

/// Number of events that a webhook gets before others have their turn.
const EVENTS_PER_TURN: usize = 32;

/// How long a process that was killed keeps others from sending to a webhook.
const LEASE: Duration = DEADLINE.saturating_add(Duration::from_secs(10));

/// The pauses after calls that failed.
const PAUSES: Backoff = Backoff::doubling(Duration::from_secs(2), Duration::from_mins(5));

/// How often waiting events are looked for, on average; another process may have added one.
const EVENT_POLL_INTERVAL: Duration = Duration::from_secs(4);

/// Time between two removals of old rows.
const TIDY_PAUSE: Duration = Duration::from_mins(10);

/// Time that calls in flight get when the service stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// An event of what happens now.
pub fn event_of_now(event_type: EventType, data: EventData) -> NewEvent {
    NewEvent {
        id: format!("{}.{event_type}", random_uuid()),
        event_type,
        data,
        links: None,
    }
}

/// The event that tests a webhook.
pub fn test_event() -> NewEvent {
    let data = EventData {
        status: Some(EventStatus::Successful),
        message: Some("This is a test event.".to_owned()),
        ..EventData::default()
    };
    event_of_now(EventType::Other("test".to_owned()), data)
}

/// Ends the leases that the last process of these records held when it died. If other processes share the records, the
/// leases expire.
///
/// # Errors
/// If the records fail.
pub async fn recover(app: &App) -> Result<(), RecordsError> {
    match app.records.is_shared() {
        true => Ok(()),
        false => app.records.deliveries().release_all().await,
    }
}

/// Sends events until the service stops.
pub async fn deliver(app: Arc<App>) {
    let poster = Arc::new(Poster::new(Receivers::of(&app.config)));
    let mut turns = JoinSet::new();
    // When the pauses end that began in this process.
    let mut pauses = BinaryHeap::<Reverse<Instant>>::new();
    while !app.stop.is_cancelled() {
        let is_full = turns.len() >= MAX_AT_ONCE;
        let claimed = match is_full {
            true => Ok(None),
            false => app.records.deliveries().claim(LEASE).await,
        };
        match claimed {
            Ok(Some(held)) => {
                turns.spawn(serve(Arc::clone(&app), Arc::clone(&poster), held));
                continue;
            }
            Ok(None) => {}
            Err(error) => report(&error, "the events cannot be read"),
        }
        let now = Instant::now();
        while pauses.peek().is_some_and(|Reverse(end)| *end <= now) {
            pauses.pop();
        }
        let mut next_look = now + EVENT_POLL_INTERVAL.mul_f64(rand::random_range(0.5..1.5));
        if let Some(Reverse(end)) = pauses.peek() {
            next_look = next_look.min(*end);
        }
        tokio::select! {
            () = app.stop.cancelled() => {}
            Some(ended) = turns.join_next() => pauses.extend(ended.into_iter().flatten().map(Reverse)),
            () = app.events.wake.notified(), if !is_full => {}
            () = sleep_until(next_look) => {}
        }
    }
    let rest = async { while turns.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_GRACE, rest).await.is_err() {
        turns.shutdown().await;
    }
}

/// Removes old events until the service stops.
pub async fn tidy(app: Arc<App>) {
    while !app.stop.is_cancelled() {
        match app.records.deliveries().tidy().await {
            Ok(0) => {}
            Ok(events) => {
                app.metrics.events_given_up(events);
                tracing::warn!(
                    events,
                    "the oldest waiting events are given up: too many wait for their webhooks"
                );
            }
            Err(error) => report(&error, "old events could not be removed"),
        }
        tokio::select! {
            () = app.stop.cancelled() => {}
            () = tokio::time::sleep(TIDY_PAUSE) => {}
        }
    }
}

/// Logs an error of the records. While the database is away, the log says so anyway.
fn report(error: &RecordsError, what: &str) {
    if !error.is_away() {
        tracing::error!(error = %chain(error), "{what}");
    }
}

/// Sends the events of a webhook, one after another. Returns when to look for its events again after a failed call.
async fn serve(app: Arc<App>, poster: Arc<Poster>, mut held: WebhookLease) -> Vec<Instant> {
    for _ in 0..EVENTS_PER_TURN {
        if app.stop.is_cancelled() {
            break;
        }
        match send_next(&app, &poster, &mut held).await {
            Ok(Sent::GoesOn) => {}
            // The lease has ended.
            Ok(Sent::Ended) => return Vec::new(),
            Ok(Sent::Pauses(ends)) => return ends,
            // The lease expires.
            Err(error) => {
                report(&error, "an event could not be sent");
                return Vec::new();
            }
        }
    }
    end_turn(&app, &held).await;
    Vec::new()
}

/// What a webhook does after a look for its next event.
enum Sent {
    /// It gets the next event.
    GoesOn,
    /// There is no event, or another process serves the webhook.
    Ended,
    /// The call failed: when the webhook gets other events, and when it gets this one again.
    Pauses(Vec<Instant>),
}

async fn end_turn(app: &App, held: &WebhookLease) {
    if let Err(error) = app.records.deliveries().release(held).await {
        report(&error, "the lease of a webhook could not be ended");
    }
}

/// Sends the next event of a webhook.
async fn send_next(
    app: &App,
    poster: &Poster,
    held: &mut WebhookLease,
) -> Result<Sent, RecordsError> {
    let Some(delivery) = app.records.deliveries().next(held).await? else {
        end_turn(app, held).await;
        return Ok(Sent::Ended);
    };
    let webhook = &held.webhook;
    let body = body_of(app, &delivery).await?;
    let message = Message {
        event: delivery.event.clone(),
        signature: (!webhook.secret.is_empty()).then(|| sign(&webhook.secret, &body)),
        body,
    };
    let answer = poster.post(&webhook.url, webhook.verify_ssl, message).await;
    let retry_after = pause_after(delivery.attempts);
    let call = Call {
        status: answer.as_ref().ok().copied(),
        retry_after: app.config.retry_webhooks.then_some(retry_after),
        pause: pause_after(held.failures),
        lease: LEASE,
    };
    let noted = app
        .records
        .deliveries()
        .note(held, delivery.id, call)
        .await?;
    app.metrics.event_sent(call.is_accepted());
    if call.is_accepted() {
        held.failures = 0;
        return Ok(match noted.goes_on {
            true => Sent::GoesOn,
            false => Sent::Ended,
        });
    }
    let reason = match answer {
        Ok(status) => format!("the receiver answered with the status {status}"),
        Err(error) => chain(&error),
    };
    let (webhook, event, attempt) = (webhook.id, &delivery.event, delivery.attempts + 1);
    if noted.is_given_up {
        app.metrics.events_given_up(1);
        tracing::error!(%webhook, event, attempt, reason, "a webhook did not accept an event: it is not sent again");
    } else {
        let seconds = retry_after.as_secs();
        tracing::warn!(%webhook, event, attempt, reason, seconds, "a webhook did not accept an event: it is sent again");
    }
    let now = Instant::now();
    let pauses = [Some(call.pause), call.retry_after];
    Ok(Sent::Pauses(
        pauses
            .into_iter()
            .flatten()
            .map(|pause| now + pause)
            .collect(),
    ))
}

/// The pause after so many earlier failures and one more. It is random, so that calls do not fall together.
fn pause_after(failures: u64) -> Duration {
    let failures = u32::try_from(failures).unwrap_or(u32::MAX);
    let pause = PAUSES.after(failures.saturating_add(1));
    pause.mul_f64(rand::random_range(0.75..1.25))
}

/// What the receiver gets. Its links are signed now, so they work in a late attempt, too.
async fn body_of(app: &App, delivery: &DeliveryRow) -> Result<Bytes, RecordsError> {
    let mut data: Value = serde_json::from_str(&delivery.data).unwrap_or_default();
    if delivery.links.is_some() {
        let rapid = data["rapidmodel_id"].as_u64().unwrap_or_default();
        data["rapidmodel"] = json!(links(app, RapidId(rapid), delivery).await?);
    }
    let event = json!({
        "event_type": delivery.event_type,
        "timestamp": crate::wire::Timestamp::from(delivery.created_at),
        "data": data,
    });
    Ok(Bytes::from(event.to_string()))
}

async fn links(
    app: &App,
    rapid: RapidId,
    delivery: &DeliveryRow,
) -> Result<Downloads, RecordsError> {
    let files = app.records.files().list(&[ModelId::Rapid(rapid)]).await?;
    Ok(files
        .into_iter()
        .filter(|file| Some(file.area) == delivery.links)
        .filter_map(|file| Some((file.name.clone(), app.download_url(&file)?)))
        .collect())
}

/// The signature of a body: HMAC-SHA-256 in hexadecimal digits.
fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_after_failed_calls_double_from_two_seconds_to_about_five_minutes() {
        for (failures, least, most) in [
            (0, 1.5, 2.5),
            (1, 3.0, 5.0),
            (2, 6.0, 10.0),
            (20, 225.0, 375.0),
            (u64::MAX, 225.0, 375.0),
        ] {
            for _ in 0..100 {
                let pause = pause_after(failures).as_secs_f64();
                assert!((least..=most).contains(&pause), "{failures}: {pause}");
            }
        }
    }
}
