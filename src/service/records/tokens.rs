//! API tokens. Only a hash of a secret is here.

use jiff::Timestamp;

use super::TokenRecords;
use super::database::Result;
use super::sql::{record, sql};
use crate::wire::{TokenId, UserId};

record! {
    /// A token; its secret is known by its hash only.
    #[derive(Debug, Clone)]
    pub struct TokenRow {
        /// Its id, the part of the text before the bar.
        pub id: TokenId,
        /// The owner.
        pub user: UserId = "user_id",
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
}

impl TokenRecords<'_> {
    /// Makes a token.
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
        let query = sql!("SELECT * FROM tokens WHERE id = $1", token);
        self.database.optional(query).await
    }

    /// The tokens of `user`, oldest first.
    pub async fn list(self, user: UserId) -> Result<Vec<TokenRow>> {
        let query = "SELECT * FROM tokens WHERE user_id = $1 ORDER BY id";
        self.database.all(sql!(query, user)).await
    }

    /// Deletes a token of `user`; false if there is none.
    pub async fn delete(self, user: UserId, token: TokenId) -> Result<bool> {
        let delete = "DELETE FROM tokens WHERE id = $1 AND user_id = $2";
        Ok(self.database.run(sql!(delete, token, user)).await? > 0)
    }

    /// Notes that a token was used.
    pub async fn note_use(self, token: TokenId) -> Result<()> {
        let update = "UPDATE tokens SET last_used_at = $2 WHERE id = $1";
        let now = self.database.now();
        self.database.run(sql!(update, token, now)).await.map(drop)
    }
}
