//! Which blobs exist: those of files, those that are being stored, and those that nothing refers to.
//!
//! A key is recorded as pending before the first byte is stored. The commit that gives the blob to a file removes
//! this record, and fails if the janitor has removed it before. So at each moment a blob is pending, or it belongs to
//! a file, or it is a stray; and a stray never gets a file.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::database::{MAX_ROWS, Result, Tx, places, rows};
use super::error::RecordsError;
use super::groups::BlobRecords;
use super::sql::{Statement, Value, sql};
use crate::service::ids::random_name;

/// How long bytes may be stored before a file gets them, counted from the last renewal. After that the janitor removes
/// them.
const PENDING_LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// Bytes that are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub blob: String,
    pub size: u64,
    /// MD5, in hexadecimal digits.
    pub md5: String,
    pub crc32: u32,
}

/// The recorded key of a blob that is about to be stored.
#[derive(Debug)]
pub struct FreshBlob(String);

impl FreshBlob {
    pub fn key(&self) -> &str {
        &self.0
    }
}

/// A new key; the first two digits spread the blobs over folders.
fn new_key() -> String {
    let name = random_name();
    format!("{}/{name}", &name[..2])
}

/// Gives pending blobs to files in this transaction, at most [`MAX_ROWS`].
pub(super) async fn take(tx: &mut Tx, blobs: &[&str]) -> Result<()> {
    match tx.run(no_longer_pending(blobs)).await? {
        taken if taken < blobs.len() as u64 => Err(RecordsError::BlobExpired),
        _ => Ok(()),
    }
}

fn no_longer_pending(blobs: &[impl Value]) -> Statement {
    let places = places(1, blobs.len());
    let delete = format!("DELETE FROM pending_blobs WHERE blob IN ({places})");
    sql!(delete).bind_all(blobs)
}

impl BlobRecords<'_> {
    /// Records a new key.
    pub async fn fresh(self) -> Result<FreshBlob> {
        let mut keys = self.fresh_keys(1).await?;
        Ok(keys.pop().expect("one key was requested"))
    }

    /// Records `count` new keys.
    pub async fn fresh_keys(self, count: usize) -> Result<Vec<FreshBlob>> {
        let fresh: Vec<FreshBlob> = (0..count).map(|_| FreshBlob(new_key())).collect();
        for fresh in fresh.chunks(MAX_ROWS) {
            let rows = rows(fresh.len(), "now_micros()", 1, 1);
            let insert = format!("INSERT INTO pending_blobs (created_at, blob) VALUES {rows}");
            let insert = sql!(insert).bind_all(fresh.iter().map(|blob| &blob.0));
            self.database.run(insert).await?;
        }
        Ok(fresh)
    }

    /// Gives up blobs that were stored and get no file.
    pub async fn give_up(self, blobs: &[String]) -> Result<()> {
        for blobs in blobs.chunks(MAX_ROWS) {
            self.database.run(no_longer_pending(blobs)).await?;
        }
        Ok(())
    }

    /// Keeps a blob pending, because its bytes are still being received.
    pub async fn renew(self, blob: &FreshBlob) -> Result<()> {
        let update = "UPDATE pending_blobs SET created_at = now_micros() WHERE blob = $1";
        self.database.run(sql!(update, blob.0)).await.map(drop)
    }

    /// Gives up all pending blobs: those of a process that has ended, if no other shares the records.
    pub async fn give_up_all(self) -> Result<()> {
        let delete = "DELETE FROM pending_blobs";
        self.database.run(sql!(delete)).await.map(drop)
    }

    /// Gives up the blobs that have been pending for too long at `now`; returns their number.
    pub async fn give_up_expired(self, now: Timestamp) -> Result<u64> {
        let delete = "DELETE FROM pending_blobs WHERE created_at < $1";
        let before = now - PENDING_LIFETIME;
        self.database.run(sql!(delete, before)).await
    }

    /// Those of `blobs` that are neither pending nor owned by a file.
    pub async fn unowned(self, blobs: &[String]) -> Result<Vec<String>> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        // One statement, so that a blob that is being committed is seen as pending or as owned.
        let (first, second) = (places(1, blobs.len()), places(1 + blobs.len(), blobs.len()));
        let text = format!(
            "SELECT blob FROM files WHERE blob IN ({first}) \
             UNION ALL SELECT blob FROM pending_blobs WHERE blob IN ({second})"
        );
        let query = sql!(text).bind_all(blobs).bind_all(blobs);
        let owned: Vec<String> = self.database.all(query).await?;
        let owned: HashSet<String> = owned.into_iter().collect();
        let unowned = blobs.iter().filter(|blob| !owned.contains(*blob));
        Ok(unowned.cloned().collect())
    }

    /// Notes blobs that nothing refers to; a blob that is noted already keeps its time.
    pub async fn note_strays(self, blobs: &[String], now: Timestamp) -> Result<()> {
        for blobs in blobs.chunks(MAX_ROWS) {
            let rows = rows(blobs.len(), "$1", 2, 1);
            let insert = format!(
                "INSERT INTO stray_blobs (since, blob) VALUES {rows} ON CONFLICT DO NOTHING"
            );
            let insert = sql!(insert, now).bind_all(blobs);
            self.database.run(insert).await?;
        }
        Ok(())
    }

    /// The strays that were noted at `until` or before, oldest first, at most `most`, without the first `skipped`.
    pub async fn strays(
        self,
        until: Timestamp,
        most: usize,
        skipped: usize,
    ) -> Result<Vec<String>> {
        let query = "SELECT blob FROM stray_blobs WHERE since <= $1 ORDER BY since, blob \
                     LIMIT $2 OFFSET $3";
        let (most, skipped) = (most as u64, skipped as u64);
        self.database.all(sql!(query, until, most, skipped)).await
    }

    /// Forgets strays whose bytes are removed.
    pub async fn forget_strays(self, blobs: &[String]) -> Result<()> {
        for blobs in blobs.chunks(MAX_ROWS) {
            let places = places(1, blobs.len());
            let delete = format!("DELETE FROM stray_blobs WHERE blob IN ({places})");
            self.database.run(sql!(delete).bind_all(blobs)).await?;
        }
        Ok(())
    }
}
