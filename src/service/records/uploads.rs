//! The bytes of uploads: whether they are welcome, and the moment they become a file's.
//!
//! Bytes are welcome while the upload of their asset is under way and while they fit. Both are asked
//! before the bytes are read, and decided in the commit that gives them to their file.

use sqlx::Row as _;

use super::accounts;
use super::database::{Database, Result, count, key, stored};
use super::files::FileId;
use crate::service::files::Stored;
use crate::wire::{UploadStatus, UserId};

/// Result of storing uploaded bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Publish {
    /// The file has them; the blob that it had before must be removed.
    Done {
        /// That blob.
        replaced: Option<String>,
    },
    /// The upload was completed meanwhile: the files of an asset do not change.
    Closed,
    /// They do not fit into the account.
    NoRoom,
    /// The asset is gone.
    Gone,
}

/// Whether bytes are welcome.
#[derive(Debug, PartialEq, Eq)]
pub enum Welcome {
    /// So many of them.
    UpTo(u64),
    /// They are not, and this is what publishing them would come to.
    Not(Publish),
}

/// Uploads of files.
#[derive(Clone, Copy)]
pub struct UploadRecords<'a> {
    pub(super) database: &'a Database,
}

impl UploadRecords<'_> {
    /// Whether bytes for `file` are welcome: what [`Self::publish`] would decide now.
    pub async fn welcome(self, file: FileId) -> Result<Welcome> {
        let row = sqlx::query(
            "SELECT a.upload_status, f.size, u.quota_bytes - u.used_bytes AS free \
             FROM files f JOIN assets a ON a.id = f.owner_id JOIN users u ON u.id = a.user_id \
             WHERE f.id = $1 AND f.owner_kind = 'asset' AND f.area = 'source'",
        )
        .bind(key(file.0))
        .fetch_optional(&self.database.reader)
        .await?;
        let Some(row) = row else {
            return Ok(Welcome::Not(Publish::Gone));
        };
        if row.try_get::<String, _>("upload_status")? != UploadStatus::Incomplete.as_str() {
            return Ok(Welcome::Not(Publish::Closed));
        }
        let room = row.try_get::<i64, _>("free")? + row.try_get::<i64, _>("size")?;
        Ok(Welcome::UpTo(u64::try_from(room).unwrap_or(0)))
    }

    /// Gives `file` of an asset whose upload is under way its bytes.
    pub async fn publish(self, file: FileId, bytes: &Stored) -> Result<Publish> {
        let mut tx = self.database.begin().await?;
        let row = sqlx::query(
            "SELECT a.id, a.user_id, a.upload_status, f.size, f.blob, u.quota_bytes - u.used_bytes AS free \
             FROM files f JOIN assets a ON a.id = f.owner_id JOIN users u ON u.id = a.user_id \
             WHERE f.id = $1 AND f.owner_kind = 'asset' AND f.area = 'source'",
        )
        .bind(key(file.0))
        .fetch_optional(&mut *tx)
        .await?;
        let Some(row) = row else {
            return Ok(Publish::Gone);
        };
        if row.try_get::<String, _>("upload_status")? != UploadStatus::Incomplete.as_str() {
            return Ok(Publish::Closed);
        }
        let growth = stored(bytes.size) - row.try_get::<i64, _>("size")?;
        if growth > row.try_get::<i64, _>("free")? {
            return Ok(Publish::NoRoom);
        }
        sqlx::query(
            "UPDATE files SET blob = $2, size = $3, md5 = $4, crc32 = $5, modified_at = $6 \
             WHERE id = $1",
        )
        .bind(key(file.0))
        .bind(&bytes.blob)
        .bind(stored(bytes.size))
        .bind(&bytes.md5)
        .bind(i64::from(bytes.crc32))
        .bind(self.database.now())
        .execute(&mut *tx)
        .await?;
        sqlx::query("UPDATE assets SET size = size + $2 WHERE id = $1")
            .bind(row.try_get::<i64, _>("id")?)
            .bind(growth)
            .execute(&mut *tx)
            .await?;
        accounts::adjust_used(&mut tx, UserId(count(&row, "user_id")?), growth).await?;
        let replaced = row.try_get("blob")?;
        tx.commit().await?;
        Ok(Publish::Done { replaced })
    }
}
