//! Files that clients send straight to the storage: frozen when the upload is completed, and taken in by its
//! analysis.
//!
//! The service does not see these bytes arrive. Completing checks names and room against what the storage has, and
//! records the version of each file. The analysis copies exactly these versions, so nothing that is sent later
//! becomes part of the asset.

use std::collections::HashMap;

use super::accounts;
use super::blobs::{self, Stored};
use super::database::{Result, places};
use super::files::FileId;
use super::groups::IncomingRecords;
use super::imports::{Completion, refused_completion, start_analysis};
use super::jobs::{self, Lease};
use super::sql::{Value as _, record, sql};
use crate::wire::{AssetId, UserId};

record! {
    /// A file that a client has sent.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Arrived {
        pub file: FileId = "file_id",
        /// Identifies the version that was sent last.
        pub etag: String,
        pub size: u64,
    }
}

/// Why the storage keeps a sent file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// Its upload is not complete.
    Open,
    /// The analysis will copy it.
    Frozen,
    /// The analysis has ended without it.
    Refused,
}

record! {
    /// A file without bytes.
    pub struct AwaitedFile {
        pub id: FileId,
        pub name: String,
        pub size: i64,
    }
}

impl IncomingRecords<'_> {
    /// Completes an upload with the files that `arrived` and queues its analysis, or returns why that is impossible.
    pub async fn complete(
        self,
        user: UserId,
        asset: AssetId,
        arrived: &[Arrived],
    ) -> Result<Completion> {
        let mut tx = self.database.begin_locking(user).await?;
        if let Some(refused) = refused_completion(&mut tx, user, asset).await? {
            return Ok(refused);
        }
        let query = sql!(
            "SELECT id, name, size FROM files WHERE owner_kind = 'asset' AND owner_id = $1 \
             AND area = 'source' AND blob IS NULL ORDER BY id",
            asset,
        );
        let awaited: Vec<AwaitedFile> = tx.all(query).await?;
        let of_file = |file| arrived.iter().find(|arrived| arrived.file == file);
        let missing = awaited.iter().filter(|file| of_file(file.id).is_none());
        let missing: Vec<String> = missing.map(|file| file.name.clone()).collect();
        if !missing.is_empty() {
            return Ok(Completion::Missing(missing));
        }
        let mut growth = 0;
        for file in &awaited {
            let Some(frozen) = of_file(file.id) else {
                continue;
            };
            let size = frozen.size.stored();
            growth += size - file.size;
            let insert = "INSERT INTO incoming_files (file_id, etag, size) VALUES ($1, $2, $3)";
            tx.run(sql!(insert, file.id, frozen.etag, size)).await?;
            let update = "UPDATE files SET size = $2 WHERE id = $1";
            tx.run(sql!(update, file.id, size)).await?;
        }
        if growth > accounts::free_bytes(&mut tx, user).await? {
            return Ok(Completion::NoRoom);
        }
        let grow = "UPDATE assets SET size = size + $2 WHERE id = $1";
        tx.run(sql!(grow, asset, growth)).await?;
        accounts::adjust_used(&mut tx, user, growth).await?;
        start_analysis(tx, user, asset).await
    }

    /// The versions of an asset's files that are not taken in yet.
    pub async fn frozen(self, asset: AssetId) -> Result<HashMap<FileId, Arrived>> {
        let query = sql!(
            "SELECT i.file_id, i.etag, i.size FROM incoming_files i JOIN files f ON f.id = i.file_id \
             WHERE f.owner_kind = 'asset' AND f.owner_id = $1",
            asset,
        );
        let frozen: Vec<Arrived> = self.database.all(query).await?;
        Ok(frozen.into_iter().map(|it| (it.file, it)).collect())
    }

    /// Gives a file the blob that its frozen version was copied to; false if the attempt has lost its job.
    pub async fn take_in(
        self,
        lease: Lease,
        user: UserId,
        file: FileId,
        bytes: &Stored,
    ) -> Result<bool> {
        let mut tx = self.database.begin_locking(user).await?;
        if !jobs::is_running(&mut tx, lease).await? {
            return Ok(false);
        }
        let update = sql!(
            "UPDATE files SET blob = $2, size = $3, md5 = $4, crc32 = $5, modified_at = $6 \
             WHERE id = $1 AND blob IS NULL",
            file,
            bytes.blob,
            bytes.size,
            bytes.md5,
            bytes.crc32,
            tx.now(),
        );
        if tx.run(update).await? == 0 {
            return Ok(false);
        }
        blobs::take(&mut tx, &[&*bytes.blob]).await?;
        let delete = "DELETE FROM incoming_files WHERE file_id = $1";
        tx.run(sql!(delete, file)).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Those of `files` whose bytes the service still needs from where clients sent them.
    pub async fn awaited(self, files: &[FileId]) -> Result<HashMap<FileId, Awaited>> {
        if files.is_empty() {
            return Ok(HashMap::new());
        }
        let text = format!(
            "SELECT f.id, CAST(CASE WHEN i.file_id IS NULL THEN 0 WHEN EXISTS (SELECT 1 FROM jobs j \
             WHERE j.asset_id = f.owner_id AND j.state IN ('queued', 'running')) THEN 1 ELSE 2 END AS BIGINT) \
             FROM files f LEFT JOIN incoming_files i ON i.file_id = f.id \
             WHERE f.blob IS NULL AND f.id IN ({})",
            places(1, files.len())
        );
        let query = sql!(text).bind_all(files);
        let rows: Vec<(FileId, i64)> = self.database.all(query).await?;
        let awaited = rows.into_iter().map(|(file, state)| match state {
            0 => (file, Awaited::Open),
            1 => (file, Awaited::Frozen),
            _ => (file, Awaited::Refused),
        });
        Ok(awaited.collect())
    }

    /// Forgets the versions of files that were deleted before their analysis.
    pub async fn forget_deleted(self) -> Result<()> {
        let delete = "DELETE FROM incoming_files WHERE NOT EXISTS \
             (SELECT 1 FROM files WHERE files.id = incoming_files.file_id)";
        self.database.run(sql!(delete)).await.map(drop)
    }
}
