//! Webhooks, and how the calls to them went.

use std::fmt;

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{
    Database, Result, count, flag, key, moment, optional_count, optional_moment,
};
use crate::wire::{UserId, WebhookId};

/// A webhook that is about to be made. `Debug` leaves the secret out.
pub struct NewWebhook<'a> {
    /// Where events go.
    pub url: &'a str,
    /// The key that signs them; empty for none.
    pub secret: &'a str,
    /// Whether the receiver's certificate is checked.
    pub verify_ssl: bool,
}

/// A webhook. `Debug` leaves the secret out.
#[derive(Clone)]
pub struct WebhookRow {
    pub id: WebhookId,
    /// The owner.
    pub user: UserId,
    /// Where events go.
    pub url: String,
    /// The key that signs them; empty for none.
    pub secret: String,
    /// Whether the receiver's certificate is checked.
    pub verify_ssl: bool,
    /// The status that the last call got; 0 when there was no answer.
    pub last_status: Option<u64>,
    /// Calls that failed.
    pub failed_calls: u64,
    /// When it was last called.
    pub last_called_at: Option<Timestamp>,
    /// When an event was last accepted by the receiver.
    pub notified_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
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

fn webhook_row(row: &SqliteRow) -> sqlx::Result<WebhookRow> {
    Ok(WebhookRow {
        id: WebhookId(count(row, "id")?),
        user: UserId(count(row, "user_id")?),
        url: row.try_get("url")?,
        secret: row.try_get("secret")?,
        verify_ssl: flag(row, "verify_ssl")?,
        last_status: optional_count(row, "last_status")?,
        failed_calls: count(row, "failed_calls")?,
        last_called_at: optional_moment(row, "last_called_at")?,
        notified_at: optional_moment(row, "notified_at")?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
    })
}

/// Webhooks.
#[derive(Clone, Copy)]
pub struct WebhookRecords<'a> {
    pub(super) database: &'a Database,
}

impl WebhookRecords<'_> {
    /// Makes a webhook, unless the user has `most` already: then none.
    pub async fn create(
        self,
        user: UserId,
        new: &NewWebhook<'_>,
        most: u32,
    ) -> Result<Option<WebhookRow>> {
        let mut tx = self.database.begin_for(user).await?;
        let row = sqlx::query("SELECT COUNT(*) AS n FROM webhooks WHERE user_id = $1")
            .bind(key(user.0))
            .fetch_one(&mut *tx)
            .await?;
        if count(&row, "n")? >= u64::from(most) {
            return Ok(None);
        }
        let row = sqlx::query(
            "INSERT INTO webhooks (user_id, url, secret, verify_ssl, failed_calls, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, 0, $5, $5) RETURNING *",
        )
        .bind(key(user.0))
        .bind(new.url)
        .bind(new.secret)
        .bind(i64::from(new.verify_ssl))
        .bind(self.database.now())
        .fetch_one(&mut *tx)
        .await?;
        let webhook = webhook_row(&row)?;
        tx.commit().await?;
        Ok(Some(webhook))
    }

    /// The webhooks of `user`, oldest first.
    pub async fn list(self, user: UserId) -> Result<Vec<WebhookRow>> {
        let rows = sqlx::query("SELECT * FROM webhooks WHERE user_id = $1 ORDER BY id")
            .bind(key(user.0))
            .fetch_all(&self.database.reader)
            .await?;
        Ok(rows.iter().map(webhook_row).collect::<sqlx::Result<_>>()?)
    }

    /// Deletes a webhook of `user`; false if there is none.
    pub async fn delete(self, user: UserId, webhook: WebhookId) -> Result<bool> {
        let done = sqlx::query("DELETE FROM webhooks WHERE id = $1 AND user_id = $2")
            .bind(key(webhook.0))
            .bind(key(user.0))
            .execute(&self.database.writer)
            .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Notes how a call went: the status of the answer, none when there was no answer.
    pub async fn note_call(self, webhook: WebhookId, status: Option<u16>) -> Result<()> {
        let good = status.is_some_and(|status| (200..300).contains(&status));
        sqlx::query(
            "UPDATE webhooks SET last_called_at = $2, last_status = $3, failed_calls = failed_calls + $4, \
             notified_at = CASE WHEN $4 = 0 THEN $2 ELSE notified_at END, updated_at = $2 WHERE id = $1",
        )
        .bind(key(webhook.0))
        .bind(self.database.now())
        .bind(i64::from(status.unwrap_or(0)))
        .bind(i64::from(!good))
        .execute(&self.database.writer)
        .await?;
        Ok(())
    }
}
