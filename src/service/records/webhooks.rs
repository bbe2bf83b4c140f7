//! Webhooks, and the results of their calls.

use std::fmt;

use jiff::Timestamp;

use super::database::Result;
use super::groups::WebhookRecords;
use super::sql::{columns, record, sql};
use crate::wire::{UserId, WebhookId};

/// `Debug` omits the secret.
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

impl fmt::Debug for NewWebhook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewWebhook").finish_non_exhaustive()
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
        let columns = columns::<WebhookRow>("");
        let query = format!("SELECT {columns} FROM webhooks WHERE user_id = $1 ORDER BY id");
        self.database.all(sql!(query, user)).await
    }

    /// Deletes a webhook of `user`; false if there is none.
    pub async fn delete(self, user: UserId, webhook: WebhookId) -> Result<bool> {
        let delete = "DELETE FROM webhooks WHERE id = $1 AND user_id = $2";
        Ok(self.database.run(sql!(delete, webhook, user)).await? > 0)
    }

    /// Records the result of a call: the status of the reply, or `None` without a reply.
    pub async fn note_call(self, webhook: WebhookId, status: Option<u16>) -> Result<()> {
        let good = status.is_some_and(|status| (200..300).contains(&status));
        let update = sql!(
            "UPDATE webhooks SET last_called_at = $2, last_status = $3, failed_calls = failed_calls + $4, \
             notified_at = CASE WHEN $4 = 0 THEN $2 ELSE notified_at END, updated_at = $2 WHERE id = $1",
            webhook,
            self.database.now(),
            u64::from(status.unwrap_or(0)),
            !good,
        );
        self.database.run(update).await.map(drop)
    }
}
