//! Webhooks.

use std::fmt;

use jiff::Timestamp;

use super::database::Result;
use super::deliveries::{self, NewEvent};
use super::groups::WebhookRecords;
use super::sql::{columns, record, select_from, sql};
use crate::wire::{UserId, WebhookId};

pub struct NewWebhook<'a> {
    pub url: &'a str,
    /// The key that signs events; empty for none.
    pub secret: &'a str,
    /// Whether the receiver's certificate is checked.
    pub verify_ssl: bool,
}

record! {
    /// `Debug` omits the secret.
    #[derive(Clone)]
    pub struct WebhookRow {
        pub id: WebhookId,
        pub user: UserId = "user_id",
        pub url: String,
        /// The key that signs events; empty for none.
        pub secret: String,
        /// Whether the receiver's certificate is checked.
        pub verify_ssl: bool,
        /// The HTTP status of the last call; 0 if there was no reply.
        pub last_status: Option<u64>,
        pub failed_calls: u64,
        pub last_called_at: Option<Timestamp>,
        /// When the receiver last accepted an event.
        pub notified_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl fmt::Debug for WebhookRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookRow")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl WebhookRecords<'_> {
    /// Creates a webhook; `None` if the user already has `most`.
    pub async fn create(
        self,
        user: UserId,
        new: &NewWebhook<'_>,
        most: u32,
    ) -> Result<Option<WebhookRow>> {
        let mut tx = self.database.begin_for(user).await?;
        let count = "SELECT COUNT(*) FROM webhooks WHERE user_id = $1";
        let existing: u64 = tx.one(sql!(count, user)).await?;
        if existing >= u64::from(most) {
            return Ok(None);
        }
        let columns = columns::<WebhookRow>("");
        let insert = sql!(
            format!(
                "INSERT INTO webhooks (user_id, url, secret, verify_ssl, failed_calls, created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, 0, $5, $5) RETURNING {columns}"
            ),
            user,
            new.url,
            new.secret,
            new.verify_ssl,
            tx.now(),
        );
        let webhook = tx.one(insert).await?;
        tx.commit().await?;
        Ok(Some(webhook))
    }

    /// The webhooks of `user`, oldest first.
    pub async fn list(self, user: UserId) -> Result<Vec<WebhookRow>> {
        let query = select_from::<WebhookRow>("webhooks WHERE user_id = $1 ORDER BY id");
        self.database.all(sql!(query, user)).await
    }

    /// Deletes a webhook of `user` and the events that wait for it; false if there is none.
    pub async fn delete(self, user: UserId, webhook: WebhookId) -> Result<bool> {
        let mut tx = self.database.begin_locking(user).await?;
        let delete = "DELETE FROM webhooks WHERE id = $1 AND user_id = $2";
        if tx.run(sql!(delete, webhook, user)).await? == 0 {
            return Ok(false);
        }
        let delete = "DELETE FROM deliveries WHERE webhook_id = $1";
        tx.run(sql!(delete, webhook)).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Adds an event for one webhook of `user`; `None` if there is no such webhook.
    pub async fn add_event(
        self,
        user: UserId,
        webhook: WebhookId,
        event: &NewEvent,
    ) -> Result<Option<WebhookRow>> {
        let mut tx = self.database.begin_locking(user).await?;
        let query = select_from::<WebhookRow>("webhooks WHERE id = $1 AND user_id = $2");
        let found = tx.optional(sql!(query, webhook, user)).await?;
        deliveries::insert(&mut tx, user, Some(webhook), event).await?;
        tx.commit().await?;
        Ok(found)
    }
}
