//! Events: sent to the webhooks of their user, each once, without retries.
//!
//! `emit` queues an event and returns. If the queue is full, the event is dropped. A slow receiver does not delay
//! others. The result of each call is stored with the webhook.

mod post;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::ids::hex;
use super::records::{Records, WebhookRow};
use crate::service::causes::chain;
use crate::wire::{Event, EventData, EventStatus, EventType, UserId};
use post::Poster;

/// Maximum number of queued events.
const QUEUE: usize = 1_024;

/// Maximum number of calls in flight.
const MOST_CALLS: usize = 32;

/// Time that calls in flight get when the service stops.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// A queued event and its receivers.
#[derive(Debug)]
pub struct Notice {
    to: Receivers,
    event: Event,
}

#[derive(Debug)]
enum Receivers {
    AllOf(UserId),
    One(Box<WebhookRow>),
}

#[derive(Clone)]
pub struct Events {
    queue: mpsc::Sender<Notice>,
    clock: Clock,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// A queue and its receiving end for [`deliver`].
    pub fn new(clock: Clock) -> (Events, mpsc::Receiver<Notice>) {
        let (queue, notices) = mpsc::channel(QUEUE);
        (Events { queue, clock }, notices)
    }

    /// Sends an event to all webhooks of `user`.
    pub fn emit(&self, user: UserId, event_type: EventType, data: EventData) {
        self.send(Receivers::AllOf(user), event_type, data);
    }

    /// Sends a test event to one webhook.
    pub fn test(&self, webhook: WebhookRow) {
        let data = EventData {
            status: Some(EventStatus::Successful),
            message: Some("This is a test event.".to_owned()),
            ..EventData::default()
        };
        let event_type = EventType::Other("test".to_owned());
        self.send(Receivers::One(Box::new(webhook)), event_type, data);
    }

    fn send(&self, to: Receivers, event_type: EventType, data: EventData) {
        let event = Event {
            event_type,
            timestamp: Some(self.clock.now().into()),
            data,
            other: Default::default(),
        };
        if self.queue.try_send(Notice { to, event }).is_err() {
            tracing::warn!("an event is dropped: the queue is full");
        }
    }
}

/// Sends events until the service stops.
pub async fn deliver(
    records: Records,
    stop: CancellationToken,
    mut notices: mpsc::Receiver<Notice>,
) {
    let poster = Arc::new(Poster::default());
    let mut calls = JoinSet::new();
    loop {
        let notice = tokio::select! {
            () = stop.cancelled() => break,
            Some(notice) = notices.recv() => notice,
        };
        let webhooks = match notice.to {
            Receivers::One(webhook) => vec![*webhook],
            Receivers::AllOf(user) => records.webhooks().list(user).await.unwrap_or_else(|error| {
                tracing::error!(error = %chain(&error), "an event is dropped: the webhooks cannot be read");
                Vec::new()
            }),
        };
        let body = Bytes::from(serde_json::to_vec(&notice.event).expect("an event can be written"));
        for webhook in webhooks {
            while calls.len() >= MOST_CALLS {
                calls.join_next().await;
            }
            calls.spawn(call(
                records.clone(),
                Arc::clone(&poster),
                webhook,
                body.clone(),
            ));
        }
        while calls.try_join_next().is_some() {}
    }
    let rest = async { while calls.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_MOMENT, rest).await.is_err() {
        calls.shutdown().await;
    }
}

async fn call(records: Records, poster: Arc<Poster>, webhook: WebhookRow, body: Bytes) {
    let signature = (!webhook.secret.is_empty()).then(|| sign(&webhook.secret, &body));
    let status = match poster
        .post(&webhook.url, webhook.verify_ssl, signature, body)
        .await
    {
        Ok(status) => Some(status),
        Err(error) => {
            tracing::info!(webhook = %webhook.id, error = %chain(&error), "a webhook could not be called");
            None
        }
    };
    if let Err(error) = records.webhooks().note_call(webhook.id, status).await {
        tracing::error!(webhook = %webhook.id, error = %chain(&error), "the result of a call could not be recorded");
    }
}

/// The signature of a body: HMAC-SHA-256 in hexadecimal digits.
fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}
