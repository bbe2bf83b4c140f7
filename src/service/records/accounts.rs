//! Accounts. Passwords are stored as hashes.

use super::database::{Result, Tx, retried};
use super::groups::AccountRecords;
use super::jobs::{JobId, Removal};
use super::sql::{record, select_from, sql};
use crate::wire::UserId;

#[derive(Debug)]
pub struct NewUser<'a> {
    pub email: &'a str,
    pub password_hash: &'a str,
    pub points: u64,
    pub quota_bytes: u64,
}

record! {
    #[derive(Debug, Clone)]
    pub struct UserRow {
        pub id: UserId,
        pub email: String,
        pub password_hash: String,
        pub points: u64,
        pub quota_bytes: u64,
        pub used_bytes: u64,
    }
}

impl UserRow {
    pub fn storage_left(&self) -> u64 {
        self.quota_bytes.saturating_sub(self.used_bytes)
    }
}

/// Adds `delta` to the used bytes of `user`.
pub(super) async fn adjust_used(tx: &mut Tx, user: UserId, delta: i64) -> Result<()> {
    if delta == 0 {
        return Ok(());
    }
    let update = sql!(
        "UPDATE users SET used_bytes = CASE WHEN used_bytes + $2 < 0 THEN 0 ELSE used_bytes + $2 END \
         WHERE id = $1",
        user,
        delta,
    );
    tx.run(update).await.map(drop)
}

/// Bytes that still fit into the account; below zero if it is over its quota.
pub(super) async fn free_bytes(tx: &mut Tx, user: UserId) -> Result<i64> {
    let query = "SELECT quota_bytes - used_bytes FROM users WHERE id = $1";
    let free: Option<i64> = tx.optional(sql!(query, user)).await?;
    // The account was deleted, and its files are removed with it, so any size fits.
    Ok(free.unwrap_or(i64::MAX))
}

/// Gives back the points of so many optimizations.
pub(super) async fn refund(tx: &mut Tx, user: UserId, points: u64) -> Result<()> {
    if points == 0 {
        return Ok(());
    }
    let update = "UPDATE users SET points = points + $2 WHERE id = $1";
    tx.run(sql!(update, user, points)).await.map(drop)
}

impl AccountRecords<'_> {
    /// Creates an account if there is none at all. Of several processes that do this at the same time, one succeeds.
    pub async fn create_first(self, new: &NewUser<'_>) -> Result<Option<UserId>> {
        let mut tx = self.database.begin().await?;
        tx.lock_setting("first_account").await?;
        let accounts: u64 = tx.one(sql!("SELECT COUNT(*) FROM users")).await?;
        if accounts > 0 {
            return Ok(None);
        }
        let insert = sql!(
            "INSERT INTO users (email, password_hash, points, quota_bytes, used_bytes, created_at) \
             VALUES ($1, $2, $3, $4, 0, $5) RETURNING id",
            new.email,
            new.password_hash,
            new.points,
            new.quota_bytes,
            tx.now(),
        );
        let user = tx.one(insert).await?;
        tx.commit().await?;
        Ok(Some(user))
    }

    pub async fn get(self, user: UserId) -> Result<Option<UserRow>> {
        let query = select_from::<UserRow>("users WHERE id = $1");
        self.database.optional(sql!(query, user)).await
    }

    /// The account that logs in with `email`.
    pub async fn get_by_email(self, email: &str) -> Result<Option<UserRow>> {
        let query = select_from::<UserRow>("users WHERE email = $1");
        self.database.optional(sql!(query, email)).await
    }

    pub async fn is_any(self) -> Result<bool> {
        let accounts: u64 = self
            .database
            .one(sql!("SELECT COUNT(*) FROM users"))
            .await?;
        Ok(accounts > 0)
    }

    /// Sets the quota of all accounts that still have the quota of the last call. Accounts with another quota keep it. The
    /// first call sets the quota of all accounts.
    pub async fn follow_quota(self, quota_bytes: u64) -> Result<()> {
        const LAST: &str = "quota_option";
        let mut tx = self.database.begin().await?;
        tx.lock_setting(LAST).await?;
        let query = sql!("SELECT value FROM settings WHERE name = $1", LAST);
        let last: String = tx.one(query).await?;
        let last: Option<u64> = last.parse().ok();
        if last != Some(quota_bytes) {
            let update = "UPDATE users SET quota_bytes = $1 \
                WHERE CAST($2 AS BIGINT) IS NULL OR quota_bytes = $2";
            tx.run(sql!(update, quota_bytes, last)).await?;
            let note = "UPDATE settings SET value = $2 WHERE name = $1";
            tx.run(sql!(note, LAST, quota_bytes.to_string())).await?;
        }
        tx.commit().await
    }

    /// Deletes an account and everything in it. Objects that are created for it at the same time are deleted, too, or
    /// not created.
    pub async fn delete(self, user: UserId) -> Result<Removal> {
        let (blobs, jobs): (Vec<Option<String>>, Vec<JobId>) = retried!({
            let mut tx = self.database.begin_locking(user).await?;
            let delete_jobs = sql!("DELETE FROM jobs WHERE user_id = $1 RETURNING id", user);
            let jobs = tx.all(delete_jobs).await?;
            let delete_files = sql!(
                "DELETE FROM files WHERE \
                 (owner_kind = 'asset' AND owner_id IN (SELECT id FROM assets WHERE user_id = $1)) OR \
                 (owner_kind = 'rapid' AND owner_id IN (SELECT id FROM rapids WHERE user_id = $1)) \
                 RETURNING blob",
                user,
            );
            let blobs = tx.all(delete_files).await?;
            for statement in [
                "DELETE FROM conversions WHERE asset_id IN (SELECT id FROM assets WHERE user_id = $1)",
                "DELETE FROM tags WHERE user_id = $1",
                "DELETE FROM assets WHERE user_id = $1",
                "DELETE FROM rapids WHERE user_id = $1",
                "DELETE FROM drawings WHERE user_id = $1",
                "DELETE FROM tokens WHERE user_id = $1",
                "DELETE FROM presets WHERE user_id = $1",
                "DELETE FROM embeds WHERE user_id = $1",
                "DELETE FROM webhooks WHERE user_id = $1",
                "DELETE FROM deliveries WHERE user_id = $1",
                "DELETE FROM counts WHERE user_id = $1",
                "DELETE FROM listing_blocks WHERE user_id = $1",
                "DELETE FROM settings WHERE name = 'theme:' || $1",
                "DELETE FROM users WHERE id = $1",
            ] {
                tx.run(sql!(statement, user)).await?;
            }
            tx.commit().await?;
            Ok((blobs, jobs))
        })?;
        self.database.purge().await?;
        Ok(Removal {
            records: 1,
            blobs: blobs.into_iter().flatten().collect(),
            jobs,
        })
    }
}
