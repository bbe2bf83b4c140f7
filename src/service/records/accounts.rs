//! Users and their tokens. Of a password and of a token's secret only a hash is here.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::{JobId, Records, Removal, Result, Tx, count, key, moment, optional_moment, stored};
use crate::wire::{TokenId, UserId};

/// An account that is about to be made.
#[derive(Debug)]
pub struct NewUser<'a> {
    /// What the user logs in with.
    pub email: &'a str,
    /// The hash of the password.
    pub password_hash: &'a str,
    /// The points to begin with.
    pub points: u64,
    /// The bytes the account may store.
    pub quota_bytes: u64,
}

/// An account.
#[derive(Debug, Clone)]
pub struct UserRow {
    /// Its id.
    pub id: UserId,
    /// What the user logs in with.
    pub email: String,
    /// The hash of the password.
    pub password_hash: String,
    /// Points left.
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

/// A token; its secret is known by its hash only.
#[derive(Debug, Clone)]
pub struct TokenRow {
    /// Its id, the part of the text before the bar.
    pub id: TokenId,
    /// Whose it is.
    pub user: UserId,
    /// What it is for.
    pub name: String,
    /// The hash of the secret.
    pub secret_hash: String,
    /// Optimizations that were started with it.
    pub optimization_count: u64,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
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

fn token_row(row: &SqliteRow) -> sqlx::Result<TokenRow> {
    Ok(TokenRow {
        id: TokenId(count(row, "id")?),
        user: UserId(count(row, "user_id")?),
        name: row.try_get("name")?,
        secret_hash: row.try_get("secret_hash")?,
        optimization_count: count(row, "optimization_count")?,
        last_used_at: optional_moment(row, "last_used_at")?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
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

impl Records {
    /// Makes an account.
    ///
    /// # Errors
    /// When the database fails, or the e-mail address is taken.
    pub async fn create_user(&self, new: &NewUser<'_>) -> Result<UserId> {
        let row = sqlx::query(
            "INSERT INTO users (email, password_hash, points, quota_bytes, used_bytes, created_at) \
             VALUES ($1, $2, $3, $4, 0, $5) RETURNING id",
        )
        .bind(new.email)
        .bind(new.password_hash)
        .bind(stored(new.points))
        .bind(stored(new.quota_bytes))
        .bind(self.now())
        .fetch_one(&self.writer)
        .await?;
        Ok(UserId(count(&row, "id")?))
    }

    /// The account with this id.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn user(&self, user: UserId) -> Result<Option<UserRow>> {
        let row = sqlx::query("SELECT * FROM users WHERE id = $1")
            .bind(key(user.0))
            .fetch_optional(&self.reader)
            .await?;
        Ok(row.as_ref().map(user_row).transpose()?)
    }

    /// The account that logs in with `email`.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn user_by_email(&self, email: &str) -> Result<Option<UserRow>> {
        let row = sqlx::query("SELECT * FROM users WHERE email = $1")
            .bind(email)
            .fetch_optional(&self.reader)
            .await?;
        Ok(row.as_ref().map(user_row).transpose()?)
    }

    /// Whether there is any account.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn has_users(&self) -> Result<bool> {
        let row = sqlx::query("SELECT COUNT(*) AS n FROM users")
            .fetch_one(&self.reader)
            .await?;
        Ok(count(&row, "n")? > 0)
    }

    /// Sets what every account may store, as the service was started with it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn set_quota(&self, quota_bytes: u64) -> Result<()> {
        sqlx::query("UPDATE users SET quota_bytes = $1 WHERE quota_bytes <> $1")
            .bind(stored(quota_bytes))
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    /// Makes a token.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn create_token(
        &self,
        user: UserId,
        name: &str,
        secret_hash: &str,
    ) -> Result<TokenId> {
        let mut tx = self.begin_for(user).await?;
        let row = sqlx::query(
            "INSERT INTO tokens (user_id, name, secret_hash, optimization_count, created_at, updated_at) \
             VALUES ($1, $2, $3, 0, $4, $4) RETURNING id",
        )
        .bind(key(user.0))
        .bind(name)
        .bind(secret_hash)
        .bind(self.now())
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(TokenId(count(&row, "id")?))
    }

    /// The token with this id, whoever has it: what a request is checked against.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn token(&self, token: TokenId) -> Result<Option<TokenRow>> {
        let row = sqlx::query("SELECT * FROM tokens WHERE id = $1")
            .bind(key(token.0))
            .fetch_optional(&self.reader)
            .await?;
        Ok(row.as_ref().map(token_row).transpose()?)
    }

    /// The tokens of `user`, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn tokens(&self, user: UserId) -> Result<Vec<TokenRow>> {
        let rows = sqlx::query("SELECT * FROM tokens WHERE user_id = $1 ORDER BY id")
            .bind(key(user.0))
            .fetch_all(&self.reader)
            .await?;
        Ok(rows.iter().map(token_row).collect::<sqlx::Result<_>>()?)
    }

    /// Deletes a token of `user`; tells whether there was one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn delete_token(&self, user: UserId, token: TokenId) -> Result<bool> {
        let done = sqlx::query("DELETE FROM tokens WHERE id = $1 AND user_id = $2")
            .bind(key(token.0))
            .bind(key(user.0))
            .execute(&self.writer)
            .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Notes that a token was used.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn touch_token(&self, token: TokenId) -> Result<()> {
        sqlx::query("UPDATE tokens SET last_used_at = $2 WHERE id = $1")
            .bind(key(token.0))
            .bind(self.now())
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    /// Deletes an account with all it has. What is made for it at the same time is deleted too, or not made.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn delete_user(&self, user: UserId) -> Result<Removal> {
        let mut tx = self.begin().await?;
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
            .execute(&self.writer)
            .await?;
        Ok(removal)
    }
}
