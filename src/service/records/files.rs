//! Which files an asset or a rapid model has, and under which key the bytes of each are stored.
//!
//! A row whose bytes have not come yet has no blob. A blob never changes: new bytes are a new blob,
//! and the row moves over to it in one commit, so a reader sees the old bytes or the new ones.
//! Functions that replace or remove rows return the blobs that are no longer needed.

use std::fmt;

use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::accounts;
use super::database::{Database, Result, Tx, count, key, moment, places, stored};
use crate::wire::{AssetId, ModelId, RapidId, UserId};

/// A file that the service keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

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
            ModelId::Asset(id) => key(id.0),
            ModelId::Rapid(id) => key(id.0),
        }
    }

    pub(super) fn of_same_kind(self, id: u64) -> ModelId {
        match self {
            ModelId::Asset(_) => ModelId::Asset(AssetId(id)),
            ModelId::Rapid(_) => ModelId::Rapid(RapidId(id)),
        }
    }
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Area {
    /// Uploaded by the user.
    Source,
    /// Logs, statistics and the thumbnail.
    Analysis,
    /// A picture of one view.
    Render,
    /// A picture of the thumbnail that turns.
    Turntable,
    /// A result of an optimization.
    Export,
    /// A conversion of an asset.
    Converted,
    /// A material file of a converted asset.
    PbrMaterial,
    /// A quality-control picture of a converted asset.
    PbrQc,
    /// A quality-control report of an export.
    Qc,
}

impl Area {
    /// Every area.
    pub const ALL: [Area; 9] = [
        Area::Source,
        Area::Analysis,
        Area::Render,
        Area::Turntable,
        Area::Export,
        Area::Converted,
        Area::PbrMaterial,
        Area::PbrQc,
        Area::Qc,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Area::Source => "source",
            Area::Analysis => "analysis",
            Area::Render => "render",
            Area::Turntable => "turntable",
            Area::Export => "export",
            Area::Converted => "converted",
            Area::PbrMaterial => "pbr_material",
            Area::PbrQc => "pbr_qc",
            Area::Qc => "qc",
        }
    }
}

/// A file and where its bytes are.
#[derive(Debug, Clone)]
pub struct FileRow {
    pub id: FileId,
    /// The owner.
    pub owner: ModelId,
    /// What it is for.
    pub area: Area,
    /// Its name; `/` stands between folders.
    pub name: String,
    /// The key of its bytes; none while they are awaited.
    pub blob: Option<String>,
    pub size: u64,
    /// The MD5 of the bytes, in hexadecimal digits.
    pub md5: String,
    /// Their CRC-32, as archives need it.
    pub crc32: u32,
    /// When the bytes came.
    pub modified_at: Timestamp,
}

/// A file whose bytes are stored already and that is about to get its row.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// What it is for.
    pub area: Area,
    pub name: String,
    /// The key of its bytes.
    pub blob: String,
    pub size: u64,
    pub md5: String,
    pub crc32: u32,
}

fn file_row(row: &SqliteRow) -> sqlx::Result<FileRow> {
    let kind: String = row.try_get("owner_kind")?;
    let area: String = row.try_get("area")?;
    let owner_id = count(row, "owner_id")?;
    Ok(FileRow {
        id: FileId(count(row, "id")?),
        owner: if kind == ModelId::ASSET_KIND {
            ModelId::Asset(AssetId(owner_id))
        } else {
            ModelId::Rapid(RapidId(owner_id))
        },
        area: Area::ALL
            .into_iter()
            .find(|known| known.text() == area)
            .unwrap_or(Area::Source),
        name: row.try_get("name")?,
        blob: row.try_get("blob")?,
        size: count(row, "size")?,
        md5: row.try_get("md5")?,
        crc32: u32::try_from(count(row, "crc32")?).unwrap_or(0),
        modified_at: moment(row, "modified_at")?,
    })
}

/// Adds a file whose bytes are awaited.
pub(super) async fn expect(tx: &mut Tx, owner: ModelId, area: Area, name: &str) -> Result<FileId> {
    let row = sqlx::query(
        "INSERT INTO files (owner_kind, owner_id, area, name, blob, size, md5, crc32, modified_at) \
         VALUES ($1, $2, $3, $4, NULL, 0, '', 0, $5) RETURNING id",
    )
    .bind(owner.kind())
    .bind(owner.key())
    .bind(area.text())
    .bind(name)
    .bind(tx.now())
    .fetch_one(&mut **tx)
    .await?;
    Ok(FileId(count(&row, "id")?))
}

/// Removes the files of `owner` in `areas`; returns their blobs and counts their bytes as free.
pub(super) async fn remove(
    tx: &mut Tx,
    user: UserId,
    owner: ModelId,
    areas: &[Area],
) -> Result<Vec<String>> {
    let mut blobs = Vec::new();
    let mut freed = 0;
    for area in areas {
        let rows = sqlx::query(
            "DELETE FROM files WHERE owner_kind = $1 AND owner_id = $2 AND area = $3 RETURNING blob, size",
        )
        .bind(owner.kind())
        .bind(owner.key())
        .bind(area.text())
        .fetch_all(&mut **tx)
        .await?;
        for row in &rows {
            freed += row.try_get::<i64, _>("size")?;
            blobs.extend(row.try_get::<Option<String>, _>("blob")?);
        }
    }
    accounts::adjust_used(tx, user, -freed).await?;
    Ok(blobs)
}

/// Removes the files of `owner` that stand where `new` ones are to be; returns their blobs.
pub(super) async fn remove_named(
    tx: &mut Tx,
    user: UserId,
    owner: ModelId,
    new: &[NewFile],
) -> Result<Vec<String>> {
    let mut blobs = Vec::new();
    let mut freed = 0;
    for file in new {
        let row = sqlx::query(
            "DELETE FROM files WHERE owner_kind = $1 AND owner_id = $2 AND area = $3 AND name = $4 \
             RETURNING blob, size",
        )
        .bind(owner.kind())
        .bind(owner.key())
        .bind(file.area.text())
        .bind(&file.name)
        .fetch_optional(&mut **tx)
        .await?;
        if let Some(row) = row {
            freed += row.try_get::<i64, _>("size")?;
            blobs.extend(row.try_get::<Option<String>, _>("blob")?);
        }
    }
    accounts::adjust_used(tx, user, -freed).await?;
    Ok(blobs)
}

/// Adds files whose bytes are stored.
pub(super) async fn add(tx: &mut Tx, user: UserId, owner: ModelId, new: &[NewFile]) -> Result<()> {
    let mut added = 0;
    for file in new {
        sqlx::query(
            "INSERT INTO files (owner_kind, owner_id, area, name, blob, size, md5, crc32, modified_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(owner.kind())
        .bind(owner.key())
        .bind(file.area.text())
        .bind(&file.name)
        .bind(&file.blob)
        .bind(stored(file.size))
        .bind(&file.md5)
        .bind(i64::from(file.crc32))
        .bind(tx.now())
        .execute(&mut **tx)
        .await?;
        added += stored(file.size);
    }
    accounts::adjust_used(tx, user, added).await
}

/// Files of models.
#[derive(Clone, Copy)]
pub struct FileRecords<'a> {
    pub(super) database: &'a Database,
}

impl FileRecords<'_> {
    /// The file with this id.
    pub async fn get(self, file: FileId) -> Result<Option<FileRow>> {
        let row = sqlx::query("SELECT * FROM files WHERE id = $1")
            .bind(key(file.0))
            .fetch_optional(&self.database.reader)
            .await?;
        Ok(row.as_ref().map(file_row).transpose()?)
    }

    /// All files of `owners`, those whose bytes are awaited too, in the order they were named.
    pub async fn list(self, owners: &[ModelId]) -> Result<Vec<FileRow>> {
        let Some(first) = owners.first() else {
            return Ok(Vec::new());
        };
        let sql = format!(
            "SELECT * FROM files WHERE owner_kind = $1 AND owner_id IN ({}) ORDER BY id",
            places(2, owners.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(first.kind());
        for owner in owners {
            query = query.bind(owner.key());
        }
        let rows = query.fetch_all(&self.database.reader).await?;
        Ok(rows.iter().map(file_row).collect::<sqlx::Result<_>>()?)
    }

    /// Those of `blobs` that no file has.
    pub async fn unowned_blobs(self, blobs: &[String]) -> Result<Vec<String>> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT blob FROM files WHERE blob IN ({})",
            places(1, blobs.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for blob in blobs {
            query = query.bind(blob);
        }
        let mut owned = std::collections::HashSet::new();
        for row in &query.fetch_all(&self.database.reader).await? {
            owned.insert(row.try_get::<String, _>("blob")?);
        }
        Ok(blobs
            .iter()
            .filter(|blob| !owned.contains(*blob))
            .cloned()
            .collect())
    }
}
