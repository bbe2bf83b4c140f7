//! The files of assets and rapid models, and the blob of each file.
//!
//! A row whose bytes were not received yet has no blob. A blob never changes. New bytes are a new blob, and one
//! commit changes the row, so a reader sees either the old bytes or the new ones. Functions that replace or remove
//! rows return the blobs that are no longer needed.

use std::fmt;

use jiff::Timestamp;

use super::accounts;
use super::blobs::{self, Stored};
use super::database::{MAX_ROWS, Result, Tx, places, rows};
use super::error::RecordsError;
use super::groups::FileRecords;
use super::sql::{Column, Row, Value as _, ids, record, select_from, sql, words};
use crate::wire::{AssetId, ModelId, RapidId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

ids!(FileId);

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A model as the owner of files and tags in the database.
impl ModelId {
    pub(in crate::service) const ASSET_KIND: &'static str = "asset";
    pub(in crate::service) const RAPID_KIND: &'static str = "rapid";

    pub(super) fn kind(self) -> &'static str {
        match self {
            ModelId::Asset(_) => ModelId::ASSET_KIND,
            ModelId::Rapid(_) => ModelId::RAPID_KIND,
        }
    }

    pub(super) fn key(self) -> i64 {
        match self {
            ModelId::Asset(id) => id.stored(),
            ModelId::Rapid(id) => id.stored(),
        }
    }

    pub(super) fn of_same_kind(self, id: u64) -> ModelId {
        match self {
            ModelId::Asset(_) => ModelId::Asset(AssetId(id)),
            ModelId::Rapid(_) => ModelId::Rapid(RapidId(id)),
        }
    }
}

words! {
    /// The purpose of a file.
    pub enum Area {
        /// Uploaded by the user.
        Source = "source",
        /// Logs, statistics and the thumbnail.
        Analysis = "analysis",
        /// A rendered view.
        Render = "render",
        /// A frame of the rotating thumbnail.
        Turntable = "turntable",
        /// A result of an optimization.
        Export = "export",
        /// A conversion of an asset.
        Converted = "converted",
        /// A material file of a converted asset.
        PbrMaterial = "pbr_material",
        /// A quality-control picture of a converted asset.
        PbrQc = "pbr_qc",
        /// A quality-control report of an export.
        Qc = "qc",
    }
    else Source
}

record! {
    #[derive(Debug, Clone)]
    pub struct FileRow {
        pub id: FileId,
        pub owner: ModelId => owner_of("owner_kind", "owner_id"),
        pub area: Area,
        /// Path in its area, separated by `/`.
        pub name: String,
        /// `None` until the bytes are received.
        pub blob: Option<String>,
        pub size: u64,
        /// In hexadecimal digits.
        pub md5: String,
        /// For archives.
        pub crc32: u32,
        /// When the bytes were received.
        pub modified_at: Timestamp,
    }
}

impl FileRow {
    /// Its bytes, if they are received.
    pub fn stored(&self) -> Option<Stored> {
        Some(Stored {
            blob: self.blob.clone()?,
            size: self.size,
            md5: self.md5.clone(),
            crc32: self.crc32,
        })
    }
}

/// A stored file without a row.
#[derive(Debug, Clone)]
pub struct NewFile {
    pub area: Area,
    pub name: String,
    pub bytes: Stored,
}

fn owner_of(row: &Row) -> sqlx::Result<ModelId> {
    let kind: String = Column::read(row, "owner_kind")?;
    Ok(if kind == ModelId::ASSET_KIND {
        ModelId::Asset(Column::read(row, "owner_id")?)
    } else {
        ModelId::Rapid(Column::read(row, "owner_id")?)
    })
}

/// Adds a file whose bytes were not received yet.
pub(super) async fn expect(tx: &mut Tx, owner: ModelId, area: Area, name: &str) -> Result<FileId> {
    let insert = sql!(
        "INSERT INTO files (owner_kind, owner_id, area, name, blob, size, md5, crc32, modified_at) \
         VALUES ($1, $2, $3, $4, NULL, 0, '', 0, $5) RETURNING id",
        owner.kind(),
        owner.key(),
        area,
        name,
        tx.now(),
    );
    tx.one(insert).await
}

/// Removes the files of `owners`, which are of one kind, in `areas`; returns their blobs and counts their bytes as free.
pub(super) async fn remove(
    tx: &mut Tx,
    user: UserId,
    owners: &[ModelId],
    areas: &[Area],
) -> Result<Vec<String>> {
    let Some(first) = owners.first() else {
        return Ok(Vec::new());
    };
    let (ids, words) = (
        places(2, owners.len()),
        places(2 + owners.len(), areas.len()),
    );
    let delete = sql!(
        format!(
            "DELETE FROM files WHERE owner_kind = $1 AND owner_id IN ({ids}) AND area IN ({words}) RETURNING size, blob"
        ),
        first.kind(),
    );
    let delete = delete.bind_all(owners.iter().map(|owner| owner.key()));
    let removed = tx.all(delete.bind_all(areas)).await?;
    count_removed(tx, user, removed).await
}

/// Removes the files of `owner` that have the areas and names of `new` ones; returns their blobs.
pub(super) async fn remove_named(
    tx: &mut Tx,
    user: UserId,
    owner: ModelId,
    new: &[NewFile],
) -> Result<Vec<String>> {
    let mut removed = Vec::new();
    for file in new {
        let delete = sql!(
            "DELETE FROM files WHERE owner_kind = $1 AND owner_id = $2 AND area = $3 AND name = $4 \
             RETURNING size, blob",
            owner.kind(),
            owner.key(),
            file.area,
            file.name,
        );
        removed.extend(tx.optional(delete).await?);
    }
    count_removed(tx, user, removed).await
}

/// Counts the bytes of removed files, given as size and blob, as free; returns the blobs.
async fn count_removed(
    tx: &mut Tx,
    user: UserId,
    removed: Vec<(i64, Option<String>)>,
) -> Result<Vec<String>> {
    let freed: i64 = removed.iter().map(|(size, _)| size).sum();
    accounts::adjust_used(tx, user, -freed).await?;
    Ok(removed.into_iter().filter_map(|(_, blob)| blob).collect())
}

/// Adds files whose bytes are stored.
pub(super) async fn add(tx: &mut Tx, user: UserId, owner: ModelId, new: &[NewFile]) -> Result<()> {
    for new in new.chunks(MAX_ROWS) {
        let taken: Vec<&str> = new.iter().map(|file| &*file.bytes.blob).collect();
        blobs::take(tx, &taken).await?;
        let rows = rows(new.len(), "$1, $2, $3", 4, 6);
        let mut insert = sql!(
            format!(
                "INSERT INTO files (owner_kind, owner_id, modified_at, area, name, blob, size, md5, crc32) VALUES {rows}"
            ),
            owner.kind(),
            owner.key(),
            tx.now(),
        );
        for file in new {
            let bytes = &file.bytes;
            insert = insert.bind(&file.area).bind(&file.name).bind(&bytes.blob);
            insert = insert.bind(&bytes.size).bind(&bytes.md5).bind(&bytes.crc32);
        }
        tx.run(insert).await?;
    }
    accounts::adjust_used(tx, user, size_of(new)).await
}

fn size_of(files: &[NewFile]) -> i64 {
    files.iter().map(|file| file.bytes.size.stored()).sum()
}

/// Adds what a user has asked a job for, if it fits into the account.
pub(super) async fn add_result(
    tx: &mut Tx,
    user: UserId,
    owner: ModelId,
    new: &[NewFile],
) -> Result<()> {
    let needed = size_of(new);
    let free = accounts::free_bytes(tx, user).await?;
    if needed > free {
        let unsigned = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        return Err(RecordsError::NoRoom {
            needed: unsigned(needed),
            left: unsigned(free),
        });
    }
    add(tx, user, owner, new).await
}

impl FileRecords<'_> {
    pub async fn get(self, file: FileId) -> Result<Option<FileRow>> {
        let query = select_from::<FileRow>("files WHERE id = $1");
        self.database.optional(sql!(query, file)).await
    }

    /// All files of `owners`, including those without bytes, in the order of their creation.
    pub async fn list(self, owners: &[ModelId]) -> Result<Vec<FileRow>> {
        let Some(first) = owners.first() else {
            return Ok(Vec::new());
        };
        let ids = places(2, owners.len());
        let rest = format!("files WHERE owner_kind = $1 AND owner_id IN ({ids}) ORDER BY id");
        let query = sql!(select_from::<FileRow>(&rest), first.kind());
        let keys = owners.iter().map(|owner| owner.key());
        self.database.all(query.bind_all(keys)).await
    }
}
