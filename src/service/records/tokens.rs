//! API tokens. Secrets are stored as hashes.

use jiff::Timestamp;

use super::database::Result;
use super::groups::TokenRecords;
use super::sql::{Column, Row, record, select_from, sql};
use crate::wire::{TokenId, UserId};

record! {
    #[derive(Debug, Clone)]
    pub struct TokenRow {
        /// The part of the token's text before `|`.
        pub id: TokenId,
        pub user: UserId = "user_id",
        pub name: String,
        pub secret_hash: String,
        /// Number of optimizations that were started with it.
        pub optimization_count: u64,
        /// Precise to the minute.
        pub last_used_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

/// The column, and the join of a query whose first table is `t`, for the name of the token by which a model was made.
pub(super) const TOKEN_NAME: &str = "k.name AS token_name";
pub(super) const OF_TOKEN: &str = "LEFT JOIN tokens k ON k.id = t.token_id";

pub(super) fn token_name(row: &Row) -> sqlx::Result<Option<String>> {
    Column::read(row, "token_name")
}

impl TokenRecords<'_> {
    pub async fn create(self, user: UserId, name: &str, secret_hash: &str) -> Result<TokenId> {
        let mut tx = self.database.begin_for(user).await?;
        let insert = sql!(
            "INSERT INTO tokens (user_id, name, secret_hash, optimization_count, created_at, updated_at) \
             VALUES ($1, $2, $3, 0, $4, $4) RETURNING id",
            user,
            name,
            secret_hash,
            tx.now(),
        );
        let token = tx.one(insert).await?;
        tx.commit().await?;
        Ok(token)
    }

    /// The token with this id, of any user; used to authenticate requests.
    pub async fn get(self, token: TokenId) -> Result<Option<TokenRow>> {
        let query = select_from::<TokenRow>("tokens WHERE id = $1");
        self.database.optional(sql!(query, token)).await
    }

    /// The tokens of `user`, oldest first.
    pub async fn list(self, user: UserId) -> Result<Vec<TokenRow>> {
        let query = select_from::<TokenRow>("tokens WHERE user_id = $1 ORDER BY id");
        self.database.all(sql!(query, user)).await
    }

    /// Deletes a token of `user`; false if there is none.
    pub async fn delete(self, user: UserId, token: TokenId) -> Result<bool> {
        let delete = "DELETE FROM tokens WHERE id = $1 AND user_id = $2";
        Ok(self.database.run(sql!(delete, token, user)).await? > 0)
    }

    /// Deletes the tokens of `user` with this name but the `count` that were used or created last.
    pub async fn keep_latest(self, user: UserId, name: &str, count: u32) -> Result<()> {
        let delete = "DELETE FROM tokens WHERE user_id = $1 AND name = $2 AND id NOT IN (\
                      SELECT id FROM tokens WHERE user_id = $1 AND name = $2 \
                      ORDER BY COALESCE(last_used_at, created_at) DESC, id DESC LIMIT $3)";
        let delete = sql!(delete, user, name, u64::from(count));
        self.database.run(delete).await.map(drop)
    }

    /// Deletes the tokens of all users with this name that were made and used last before a time; returns how many.
    pub async fn remove_unused(self, name: &str, before: Timestamp) -> Result<u64> {
        let delete =
            "DELETE FROM tokens WHERE name = $1 AND COALESCE(last_used_at, created_at) < $2";
        self.database
            .run(sql!(delete, name, before.as_microsecond()))
            .await
    }

    /// Updates the time of last use.
    pub async fn note_use(self, token: TokenId) -> Result<()> {
        let update = "UPDATE tokens SET last_used_at = $2 WHERE id = $1";
        let now = self.database.now();
        self.database.run(sql!(update, token, now)).await.map(drop)
    }
}
