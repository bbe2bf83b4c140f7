//! Uploaded bytes: whether they are accepted, and the commit that gives them to their file.
//!
//! Bytes are accepted while the upload of their asset is incomplete and while they fit into the account. Both are
//! checked before the bytes are read, and again in the commit.

use super::accounts;
use super::blobs::{self, Stored};
use super::database::Result;
use super::files::FileId;
use super::groups::UploadRecords;
use super::sql::{Value as _, record, sql};
use crate::wire::{AssetId, UploadStatus, UserId};

/// Result of storing uploaded bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Publish {
    /// Stored. The blob that the file had before must be removed.
    Done { replaced: Option<String> },
    /// The upload was completed meanwhile. Files of a complete asset do not change.
    Closed,
    /// The bytes do not fit into the account.
    NoRoom,
    /// The asset was deleted.
    Gone,
}

/// Whether bytes are accepted.
#[derive(Debug, PartialEq, Eq)]
pub enum UploadRoom {
    /// Up to this number of bytes.
    UpTo(u64),
    /// Not accepted; with the result that publishing would have.
    Refused(Publish),
}

record! {
    /// A file of an upload, its asset and its account.
    pub struct Target {
        pub asset: AssetId = "id",
        pub user: UserId = "user_id",
        pub status: UploadStatus = "upload_status",
        pub size: i64,
        pub blob: Option<String>,
        /// Bytes that still fit into the account; below zero if it is over its limit.
        pub free: i64,
    }
}

const TARGET: &str = "SELECT a.id, a.user_id, a.upload_status, f.size, f.blob, u.quota_bytes - u.used_bytes AS free \
     FROM files f JOIN assets a ON a.id = f.owner_id JOIN users u ON u.id = a.user_id \
     WHERE f.id = $1 AND f.owner_kind = 'asset' AND f.area = 'source'";

impl UploadRecords<'_> {
    /// Whether bytes for `file` are accepted: what [`Self::publish`] would decide now.
    pub async fn room(self, file: FileId) -> Result<UploadRoom> {
        let target: Option<Target> = self.database.optional(sql!(TARGET, file)).await?;
        Ok(match target {
            None => UploadRoom::Refused(Publish::Gone),
            Some(target) if target.status != UploadStatus::Incomplete => {
                UploadRoom::Refused(Publish::Closed)
            }
            Some(target) => UploadRoom::UpTo(u64::try_from(target.free + target.size).unwrap_or(0)),
        })
    }

    /// Gives `file` of an asset whose upload is under way its bytes.
    pub async fn publish(self, file: FileId, bytes: &Stored) -> Result<Publish> {
        let target: Option<Target> = self.database.optional(sql!(TARGET, file)).await?;
        let Some(Target { user, .. }) = target else {
            return Ok(Publish::Gone);
        };
        // Again, now that nobody else changes the account.
        let mut tx = self.database.begin_locking(user).await?;
        let target: Option<Target> = tx.optional(sql!(TARGET, file)).await?;
        let Some(target) = target else {
            return Ok(Publish::Gone);
        };
        if target.status != UploadStatus::Incomplete {
            return Ok(Publish::Closed);
        }
        let growth = bytes.size.stored() - target.size;
        if growth > target.free {
            return Ok(Publish::NoRoom);
        }
        blobs::take(&mut tx, &[&*bytes.blob]).await?;
        let update = sql!(
            "UPDATE files SET blob = $2, size = $3, md5 = $4, crc32 = $5, modified_at = $6 \
             WHERE id = $1",
            file,
            bytes.blob,
            bytes.size,
            bytes.md5,
            bytes.crc32,
            tx.now(),
        );
        tx.run(update).await?;
        let grow = "UPDATE assets SET size = size + $2 WHERE id = $1";
        tx.run(sql!(grow, target.asset, growth)).await?;
        accounts::adjust_used(&mut tx, target.user, growth).await?;
        tx.commit().await?;
        let replaced = target.blob;
        Ok(Publish::Done { replaced })
    }
}
