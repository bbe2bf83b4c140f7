//! Accounts. Only a hash of a password is here.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, Tx, count, key, stored};
use super::jobs::{JobId, Removal};
use crate::wire::UserId;

/// An account that is about to be made.
#[derive(Debug)]
pub struct NewUser<'a> {
    /// What the user logs in with.
    pub email: &'a str,
    pub password_hash: &'a str,
    /// The points to begin with.
    pub points: u64,
    /// The bytes the account may store.
    pub quota_bytes: u64,
}

/// An account.
#[derive(Debug, Clone)]
pub struct UserRow {
    pub id: UserId,
    /// What the user logs in with.
    pub email: String,
    pub password_hash: String,
    pub points: u64,
    /// Bytes it may store.
    pub quota_bytes: u64,
    /// Bytes it stores.
    pub used_bytes: u64,
}

impl UserRow {
    /// Bytes that still fit.
    pub fn storage_left(&self) -> u64 {
        self.quota_bytes.saturating_sub(self.used_bytes)
    }
}

fn user_row(row: &SqliteRow) -> sqlx::Result<UserRow> {
    Ok(UserRow {
        id: UserId(count(row, "id")?),
        email: row.try_get("email")?,
        password_hash: row.try_get("password_hash")?,
        points: count(row, "points")?,
        quota_bytes: count(row, "quota_bytes")?,
        used_bytes: count(row, "used_bytes")?,
    })
}

/// Counts `delta` bytes more for `user`, or less when it is negative.
pub(super) async fn adjust_used(tx: &mut Tx, user: UserId, delta: i64) -> Result<()> {
    sqlx::query(
        "UPDATE users SET used_bytes = CASE WHEN used_bytes + $2 < 0 THEN 0 ELSE used_bytes + $2 END \
         WHERE id = $1",
    )
    .bind(key(user.0))
    .bind(delta)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Accounts.
#[derive(Clone, Copy)]
pub struct AccountRecords<'a> {
    pub(super) database: &'a Database,
}

impl AccountRecords<'_> {
    /// Makes an account.
    ///
    /// # Errors
    /// When the database fails, or the e-mail address is taken.
    pub async fn create(self, new: &NewUser<'_>) -> Result<UserId> {
        let row = sqlx::query(
            "INSERT INTO users (email, password_hash, points, quota_bytes, used_bytes, created_at) \
             VALUES ($1, $2, $3, $4, 0, $5) RETURNING id",
        )
        .bind(new.email)
        .bind(new.password_hash)
        .bind(stored(new.points))
        .bind(stored(new.quota_bytes))
        .bind(self.database.now())
        .fetch_one(&self.database.writer)
        .await?;
        Ok(UserId(count(&row, "id")?))
    }

    /// The account with this id.
    pub async fn get(self, user: UserId) -> Result<Option<UserRow>> {
        let row = sqlx::query("SELECT * FROM users WHERE id = $1")
            .bind(key(user.0))
            .fetch_optional(&self.database.reader)
            .await?;
        Ok(row.as_ref().map(user_row).transpose()?)
    }

    /// The account that logs in with `email`.
    pub async fn get_by_email(self, email: &str) -> Result<Option<UserRow>> {
        let row = sqlx::query("SELECT * FROM users WHERE email = $1")
            .bind(email)
            .fetch_optional(&self.database.reader)
            .await?;
        Ok(row.as_ref().map(user_row).transpose()?)
    }

    /// Whether there is any account.
    pub async fn is_any(self) -> Result<bool> {
        let row = sqlx::query("SELECT COUNT(*) AS n FROM users")
            .fetch_one(&self.database.reader)
            .await?;
        Ok(count(&row, "n")? > 0)
    }

    /// Sets what every account may store, as the service was started with it.
    pub async fn set_quota(self, quota_bytes: u64) -> Result<()> {
        sqlx::query("UPDATE users SET quota_bytes = $1 WHERE quota_bytes <> $1")
            .bind(stored(quota_bytes))
            .execute(&self.database.writer)
            .await?;
        Ok(())
    }

    /// Deletes an account with all it has. What is made for it at the same time is deleted too, or not made.
    pub async fn delete(self, user: UserId) -> Result<Removal> {
        let mut tx = self.database.begin().await?;
        let mut removal = Removal::default();
        let rows = sqlx::query("DELETE FROM jobs WHERE user_id = $1 RETURNING id")
            .bind(key(user.0))
            .fetch_all(&mut *tx)
            .await?;
        for row in &rows {
            removal.jobs.push(JobId(count(row, "id")?));
        }
        let rows = sqlx::query(
            "DELETE FROM files WHERE \
             (owner_kind = 'asset' AND owner_id IN (SELECT id FROM assets WHERE user_id = $1)) OR \
             (owner_kind = 'rapid' AND owner_id IN (SELECT id FROM rapids WHERE user_id = $1)) \
             RETURNING blob",
        )
        .bind(key(user.0))
        .fetch_all(&mut *tx)
        .await?;
        for row in &rows {
            removal
                .blobs
                .extend(row.try_get::<Option<String>, _>("blob")?);
        }
        for statement in [
            "DELETE FROM conversions WHERE asset_id IN (SELECT id FROM assets WHERE user_id = $1)",
            "DELETE FROM tags WHERE user_id = $1",
            "DELETE FROM assets WHERE user_id = $1",
            "DELETE FROM rapids WHERE user_id = $1",
            "DELETE FROM tokens WHERE user_id = $1",
            "DELETE FROM presets WHERE user_id = $1",
            "DELETE FROM embeds WHERE user_id = $1",
            "DELETE FROM webhooks WHERE user_id = $1",
            "DELETE FROM settings WHERE name = 'theme:' || $1",
            "DELETE FROM users WHERE id = $1",
        ] {
            sqlx::query(statement)
                .bind(key(user.0))
                .execute(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        // The write-ahead log still has the pages as they were.
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&self.database.writer)
            .await?;
        Ok(removal)
    }
}
