//! Events for webhooks: added in the commit of what caused them, sent later by any service that shares the records.
//!
//! One process at a time sends the events of a webhook: it holds a lease, which each recorded call renews. An event
//! that was not accepted waits and is sent again, for a day. Times are by the clock of the database.

use std::time::Duration;

use jiff::Timestamp;

use super::database::{Result, Tx};
use super::files::Area;
use super::groups::DeliveryRecords;
use super::shared::PoolKind;
use super::sql::{Column, Record, Row, columns, ids, micros, record, sql};
use super::webhooks::WebhookRow;
use crate::wire::{EventData, EventType, UserId, WebhookId};

/// How long an event that is not accepted is sent again.
const LIFETIME: Duration = Duration::from_hours(24);

/// How long events that were delivered, or given up, are kept.
const DELIVERED_KEPT: Duration = Duration::from_hours(24);
const GIVEN_UP_KEPT: Duration = Duration::from_hours(7 * 24);

/// Maximum number of events of a webhook that wait, and of those that ended either way. The oldest beyond are removed.
const MAX_ROWS: u64 = 10_000;

/// An event for the webhooks of an account.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// An event with an id that exists already is not added.
    pub id: String,
    pub event_type: EventType,
    pub data: EventData,
    /// The files of the rapid model whose links the event has. They are signed when it is sent.
    pub links: Option<Area>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryId(pub u64);

ids!(DeliveryId);

record! {
    /// An event that waits for its webhook.
    #[derive(Debug, Clone)]
    pub struct DeliveryRow {
        pub id: DeliveryId,
        /// The id of the event.
        pub event: String,
        pub event_type: String,
        /// What it says, as JSON text.
        pub data: String,
        /// The files of the rapid model whose links it has.
        pub links: Option<Area>,
        /// How often it was sent.
        pub attempts: u64,
        pub created_at: Timestamp,
    }
}

/// The right to send the events of a webhook until its lease expires.
#[derive(Debug)]
pub struct WebhookLease {
    pub webhook: WebhookRow,
    /// The number of the claim.
    fence: u64,
    /// Calls that failed since the last one that did not.
    pub failures: u64,
}

impl Record for WebhookLease {
    fn read(row: &Row, prefix: &str) -> sqlx::Result<WebhookLease> {
        Ok(WebhookLease {
            webhook: WebhookRow::read(row, prefix)?,
            fence: Column::read(row, "fence")?,
            failures: Column::read(row, "failures_in_row")?,
        })
    }
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The HTTP status of the reply, or `None` without a reply.
    pub status: Option<u16>,
    /// If the call failed: the pause until the event is sent again; `None` if it is not.
    pub retry_after: Option<Duration>,
    /// If the call failed: the pause of the webhook.
    pub pause: Duration,
    /// How long the lease is renewed for if the call succeeded.
    pub lease: Duration,
}

/// What recording a call led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// Whether the lease is still held. A failed call ends it.
    pub goes_on: bool,
    /// Whether the event is not sent again although no call succeeded.
    pub is_given_up: bool,
}

/// The events that wait.
#[derive(Debug, Clone, Copy)]
pub struct EventLoad {
    pub waiting: u64,
    /// The events of the last days that were given up.
    pub given_up: u64,
    /// How long the oldest waiting event has existed.
    pub oldest_wait: Duration,
}

impl Call {
    pub fn is_accepted(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

/// Adds events for all webhooks of `user`, which the transaction has locked.
pub(super) async fn add(tx: &mut Tx, user: UserId, events: &[NewEvent]) -> Result<()> {
    for event in events {
        insert(tx, user, None, event).await?;
    }
    Ok(())
}

/// Adds an event for one webhook of `user`, or for all. Returns the number of receivers.
pub(super) async fn insert(
    tx: &mut Tx,
    user: UserId,
    webhook: Option<WebhookId>,
    event: &NewEvent,
) -> Result<u64> {
    let insert = sql!(
        "INSERT INTO deliveries (event, webhook_id, user_id, event_type, data, links, state, attempts, \
         due_at, expires_at, created_at) \
         SELECT $1, id, user_id, $2, $3, $4, 'waiting', 0, now_micros(), now_micros() + $5, $6 \
         FROM webhooks WHERE user_id = $7 AND ($8 IS NULL OR id = $8) ORDER BY id \
         ON CONFLICT (webhook_id, event) DO NOTHING",
        event.id,
        event.event_type.as_str(),
        serde_json::to_string(&event.data).expect("an event can be written"),
        event.links,
        micros(LIFETIME),
        tx.now(),
        user,
        webhook,
    );
    tx.run(insert).await
}

impl DeliveryRecords<'_> {
    /// Claims a webhook with an event to send, for the time `lease`: the one that was served least recently.
    pub async fn claim(self, lease: Duration) -> Result<Option<WebhookLease>> {
        let columns = columns::<WebhookRow>("");
        let update = sql!(
            format!(
                "UPDATE webhooks SET fence = fence + 1, lease_until = now_micros() + $1 \
                 WHERE id = (SELECT w.id FROM webhooks w \
                 WHERE w.lease_until <= now_micros() AND w.paused_until <= now_micros() \
                 AND EXISTS (SELECT 1 FROM deliveries d WHERE d.state = 'waiting' AND d.webhook_id = w.id \
                 AND d.due_at <= now_micros()) \
                 ORDER BY w.lease_until, w.id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING {columns}, fence, failures_in_row"
            ),
            micros(lease),
        );
        self.database.in_pool(PoolKind::Leases).change(update).await
    }

    /// The oldest event that is to be sent now.
    pub async fn next(self, held: &WebhookLease) -> Result<Option<DeliveryRow>> {
        let columns = columns::<DeliveryRow>("");
        let query = sql!(
            format!(
                "SELECT {columns} FROM deliveries WHERE state = 'waiting' AND webhook_id = $1 \
                 AND due_at <= now_micros() ORDER BY id LIMIT 1"
            ),
            held.webhook.id,
        );
        self.database.optional(query).await
    }

    /// Records a call. If it succeeded, the lease is renewed, else it ends.
    pub async fn note(
        self,
        held: &WebhookLease,
        delivery: DeliveryId,
        call: Call,
    ) -> Result<Noted> {
        let is_accepted = call.is_accepted();
        let mut tx = self.database.begin().await?;
        let update = sql!(
            "UPDATE webhooks SET last_called_at = $2, last_status = $3, failed_calls = failed_calls + $4, \
             notified_at = CASE WHEN $4 = 0 THEN $2 ELSE notified_at END, updated_at = $2, \
             failures_in_row = CASE WHEN $4 = 0 THEN 0 ELSE failures_in_row + 1 END, \
             paused_until = CASE WHEN $4 = 0 THEN 0 ELSE now_micros() + $5 END, \
             lease_until = CASE WHEN fence <> $6 THEN lease_until ELSE now_micros() + $7 END \
             WHERE id = $1 RETURNING fence",
            held.webhook.id,
            tx.now(),
            u64::from(call.status.unwrap_or(0)),
            !is_accepted,
            micros(call.pause),
            held.fence,
            micros(if is_accepted {
                call.lease
            } else {
                Duration::ZERO
            }),
        );
        let fence: Option<u64> = tx.optional(update).await?;
        let update = sql!(
            "UPDATE deliveries SET attempts = attempts + 1, due_at = now_micros() + $3, \
             state = CASE WHEN $2 = 1 THEN 'delivered' WHEN now_micros() + $3 > expires_at THEN 'given_up' \
             ELSE 'waiting' END, \
             ended_at = CASE WHEN $2 = 1 OR now_micros() + $3 > expires_at THEN now_micros() ELSE NULL END \
             WHERE id = $1 AND state = 'waiting' RETURNING state",
            delivery,
            is_accepted,
            micros(call.retry_after.unwrap_or(LIFETIME * 2)),
        );
        let state: Option<String> = tx.optional(update).await?;
        tx.commit().await?;
        Ok(Noted {
            goes_on: is_accepted && fence == Some(held.fence),
            is_given_up: state.as_deref() == Some("given_up"),
        })
    }

    /// Ends a lease.
    pub async fn release(self, held: &WebhookLease) -> Result<()> {
        let update = sql!(
            "UPDATE webhooks SET lease_until = now_micros() WHERE id = $1 AND fence = $2",
            held.webhook.id,
            held.fence,
        );
        let released = self.database.in_pool(PoolKind::Leases).run(update);
        released.await.map(drop)
    }

    /// Ends all leases: their process has ended.
    pub async fn release_all(self) -> Result<()> {
        let update = sql!("UPDATE webhooks SET lease_until = 0 WHERE lease_until > 0");
        self.database.run(update).await.map(drop)
    }

    /// Removes old rows. Returns the number of events that are removed although they wait, because there are too many.
    pub async fn tidy(self) -> Result<u64> {
        let old = sql!(
            "DELETE FROM deliveries WHERE (state = 'delivered' AND ended_at < now_micros() - $1) \
             OR (state = 'given_up' AND ended_at < now_micros() - $2) \
             OR webhook_id NOT IN (SELECT id FROM webhooks)",
            micros(DELIVERED_KEPT),
            micros(GIVEN_UP_KEPT),
        );
        self.database.run(old).await?;
        let mut removed = 0;
        for (ended, state) in [(true, "state <> 'waiting'"), (false, "state = 'waiting'")] {
            let surplus = sql!(
                format!(
                    "DELETE FROM deliveries WHERE id IN (SELECT id FROM (SELECT id, ROW_NUMBER() OVER \
                     (PARTITION BY webhook_id ORDER BY id DESC) AS place FROM deliveries WHERE {state}) AS placed \
                     WHERE place > $1)"
                ),
                MAX_ROWS,
            );
            let rows = self.database.run(surplus).await?;
            removed += if ended { 0 } else { rows };
        }
        Ok(removed)
    }

    /// Counts the events that wait and those that were given up.
    pub async fn load(self) -> Result<EventLoad> {
        let count =
            "SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM deliveries WHERE state = $1";
        let (waiting, oldest): (u64, i64) = self.database.one(sql!(count, "waiting")).await?;
        let (given_up, _): (u64, i64) = self.database.one(sql!(count, "given_up")).await?;
        let age = self.database.now().saturating_sub(oldest);
        Ok(EventLoad {
            waiting,
            given_up,
            oldest_wait: match waiting {
                0 => Duration::ZERO,
                _ => Duration::from_micros(age.try_into().unwrap_or(0)),
            },
        })
    }
}
