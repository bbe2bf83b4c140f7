//! API tokens. Only a hash of a secret is here.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, count, key, moment, optional_moment};
use crate::wire::{TokenId, UserId};

/// A token; its secret is known by its hash only.
#[derive(Debug, Clone)]
pub struct TokenRow {
    /// Its id, the part of the text before the bar.
    pub id: TokenId,
    /// The owner.
    pub user: UserId,
    /// What it is for.
    pub name: String,
    pub secret_hash: String,
    /// Optimizations that were started with it.
    pub optimization_count: u64,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
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

/// API tokens.
#[derive(Clone, Copy)]
pub struct TokenRecords<'a> {
    pub(super) database: &'a Database,
}

impl TokenRecords<'_> {
    /// Makes a token.
    pub async fn create(self, user: UserId, name: &str, secret_hash: &str) -> Result<TokenId> {
        let mut tx = self.database.begin_for(user).await?;
        let row = sqlx::query(
            "INSERT INTO tokens (user_id, name, secret_hash, optimization_count, created_at, updated_at) \
             VALUES ($1, $2, $3, 0, $4, $4) RETURNING id",
        )
        .bind(key(user.0))
        .bind(name)
        .bind(secret_hash)
        .bind(self.database.now())
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(TokenId(count(&row, "id")?))
    }

    /// The token with this id, of any user; used to authenticate requests.
    pub async fn get(self, token: TokenId) -> Result<Option<TokenRow>> {
        let row = sqlx::query("SELECT * FROM tokens WHERE id = $1")
            .bind(key(token.0))
            .fetch_optional(&self.database.reader)
            .await?;
        Ok(row.as_ref().map(token_row).transpose()?)
    }

    /// The tokens of `user`, oldest first.
    pub async fn list(self, user: UserId) -> Result<Vec<TokenRow>> {
        let rows = sqlx::query("SELECT * FROM tokens WHERE user_id = $1 ORDER BY id")
            .bind(key(user.0))
            .fetch_all(&self.database.reader)
            .await?;
        Ok(rows.iter().map(token_row).collect::<sqlx::Result<_>>()?)
    }

    /// Deletes a token of `user`; false if there is none.
    pub async fn delete(self, user: UserId, token: TokenId) -> Result<bool> {
        let done = sqlx::query("DELETE FROM tokens WHERE id = $1 AND user_id = $2")
            .bind(key(token.0))
            .bind(key(user.0))
            .execute(&self.database.writer)
            .await?;
        Ok(done.rows_affected() > 0)
    }

    /// Notes that a token was used.
    pub async fn note_use(self, token: TokenId) -> Result<()> {
        sqlx::query("UPDATE tokens SET last_used_at = $2 WHERE id = $1")
            .bind(key(token.0))
            .bind(self.database.now())
            .execute(&self.database.writer)
            .await?;
        Ok(())
    }
}
