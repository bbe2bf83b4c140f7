//! Base assets: made, found, listed, deleted. How an upload becomes a complete asset is in `imports`.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, count, flag, key, moment, stored};
use super::files::{self, Area, FileId, NewFile};
use super::jobs::{JobId, Removal};
use super::search::{Listing, PageOf, PageRequest, Search};
use super::tags;
use crate::service::ids::random_uuid;
use crate::wire::{AssetId, ModelId, UploadStatus, UserId};

/// An upload that is about to begin.
#[derive(Debug)]
pub struct NewAsset<'a> {
    /// The name of the asset.
    pub name: &'a str,
    /// The files that will come.
    pub filenames: &'a [String],
    /// Whether the one file is an archive to be unpacked.
    pub is_zip: bool,
    /// The file format, judged by the names.
    pub format: &'a str,
    /// The file that is the model.
    pub main_file: &'a str,
}

/// A base asset.
#[derive(Debug, Clone)]
pub struct AssetRow {
    pub id: AssetId,
    pub uuid: String,
    pub name: String,
    /// Whether an archive was uploaded.
    pub is_zip: bool,
    /// Its state.
    pub status: UploadStatus,
    /// The file format.
    pub format: String,
    /// The file that is the model.
    pub main_file: String,
    /// Bytes of the uploaded files.
    pub size: u64,
    /// The scale that the user set; 1 at first.
    pub scale_factor: f64,
    /// Whether error.log has errors.
    pub has_errors: bool,
    /// What went wrong.
    pub error_message: Option<String>,
    /// What the analysis found, as JSON text.
    pub metadata: Option<String>,
    /// When the upload began.
    pub created_at: Timestamp,
}

const LISTING: Listing = Listing {
    columns: "t.*",
    tables: "assets t",
    counted: "assets t",
    tags: Some(ModelId::ASSET_KIND),
    filter: None,
};

fn asset_row(row: &SqliteRow) -> sqlx::Result<AssetRow> {
    let status: String = row.try_get("upload_status")?;
    Ok(AssetRow {
        id: AssetId(count(row, "id")?),
        uuid: row.try_get("uuid")?,
        name: row.try_get("name")?,
        is_zip: flag(row, "is_zip")?,
        status: UploadStatus::from_word(&status),
        format: row.try_get("format")?,
        main_file: row.try_get("main_file")?,
        size: count(row, "size")?,
        scale_factor: row.try_get("scale_factor")?,
        has_errors: flag(row, "has_errors")?,
        error_message: row.try_get("error_message")?,
        metadata: row.try_get("metadata")?,
        created_at: moment(row, "created_at")?,
    })
}

/// Base assets.
#[derive(Clone, Copy)]
pub struct AssetRecords<'a> {
    pub(super) database: &'a Database,
}

impl AssetRecords<'_> {
    /// Begins an upload: the asset and its files, whose bytes are awaited. The ids of the files are in
    /// the order of their names in `new`.
    pub async fn create(self, user: UserId, new: &NewAsset<'_>) -> Result<(AssetId, Vec<FileId>)> {
        let mut tx = self.database.begin_for(user).await?;
        let row = sqlx::query(
            "INSERT INTO assets (user_id, uuid, name, name_folded, is_zip, upload_status, format, \
             main_file, size, scale_factor, has_errors, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 1.0, 0, $9) RETURNING id",
        )
        .bind(key(user.0))
        .bind(random_uuid())
        .bind(new.name)
        .bind(new.name.to_lowercase())
        .bind(i64::from(new.is_zip))
        .bind(UploadStatus::Incomplete.as_str())
        .bind(new.format)
        .bind(new.main_file)
        .bind(self.database.now())
        .fetch_one(&mut *tx)
        .await?;
        let asset = AssetId(count(&row, "id")?);
        let mut ids = Vec::with_capacity(new.filenames.len());
        for name in new.filenames {
            ids.push(files::expect(&mut tx, ModelId::Asset(asset), Area::Source, name).await?);
        }
        tx.commit().await?;
        Ok((asset, ids))
    }

    /// Adds complete assets with one file each, as if they had been uploaded and analysed.
    pub async fn add_complete(self, user: UserId, new: &[(String, NewFile)]) -> Result<()> {
        let mut tx = self.database.begin().await?;
        for (name, file) in new {
            let row = sqlx::query(
                "INSERT INTO assets (user_id, uuid, name, name_folded, is_zip, upload_status, format, \
                 main_file, size, scale_factor, has_errors, created_at) \
                 VALUES ($1, $2, $3, $4, 0, $5, 'glb', $6, $7, 1.0, 0, $8) RETURNING id",
            )
            .bind(key(user.0))
            .bind(random_uuid())
            .bind(name)
            .bind(name.to_lowercase())
            .bind(UploadStatus::Complete.as_str())
            .bind(&file.name)
            .bind(stored(file.size))
            .bind(tx.now())
            .fetch_one(&mut *tx)
            .await?;
            let owner = ModelId::Asset(AssetId(count(&row, "id")?));
            files::add(&mut tx, user, owner, std::slice::from_ref(file)).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// One asset of `user`.
    pub async fn get(self, user: UserId, asset: AssetId) -> Result<Option<AssetRow>> {
        let row = sqlx::query("SELECT * FROM assets WHERE id = $1 AND user_id = $2")
            .bind(key(asset.0))
            .bind(key(user.0))
            .fetch_optional(&self.database.reader)
            .await?;
        Ok(row.as_ref().map(asset_row).transpose()?)
    }

    /// One page of the assets of `user`, newest first.
    pub async fn list(
        self,
        user: UserId,
        search: &Search,
        page: PageRequest,
    ) -> Result<PageOf<AssetRow>> {
        LISTING
            .page(self.database, (user.0, 0), search, page, asset_row)
            .await
    }

    /// Sets the scale of an asset of `user`.
    pub async fn set_scale(self, user: UserId, asset: AssetId, scale_factor: f64) -> Result<()> {
        sqlx::query("UPDATE assets SET scale_factor = $3 WHERE id = $1 AND user_id = $2")
            .bind(key(asset.0))
            .bind(key(user.0))
            .bind(scale_factor)
            .execute(&self.database.writer)
            .await?;
        Ok(())
    }

    /// Deletes those of `assets` that `user` has, with their files, tags, jobs and conversions. The
    /// rapid models made from them stay.
    pub async fn delete(self, user: UserId, assets: &[AssetId]) -> Result<Removal> {
        let mut tx = self.database.begin().await?;
        let mut removal = Removal::default();
        for &asset in assets {
            let done = sqlx::query("DELETE FROM assets WHERE id = $1 AND user_id = $2")
                .bind(key(asset.0))
                .bind(key(user.0))
                .execute(&mut *tx)
                .await?;
            if done.rows_affected() == 0 {
                continue;
            }
            let owner = ModelId::Asset(asset);
            removal.records += 1;
            removal
                .blobs
                .extend(files::remove(&mut tx, user, owner, &Area::ALL).await?);
            tags::remove_all(&mut tx, owner).await?;
            for statement in [
                "DELETE FROM conversions WHERE asset_id = $1",
                "DELETE FROM embeds WHERE asset_id = $1",
            ] {
                sqlx::query(statement)
                    .bind(key(asset.0))
                    .execute(&mut *tx)
                    .await?;
            }
            let rows = sqlx::query(
                "DELETE FROM jobs WHERE asset_id = $1 AND rapid_id IS NULL RETURNING id",
            )
            .bind(key(asset.0))
            .fetch_all(&mut *tx)
            .await?;
            for row in &rows {
                removal.jobs.push(JobId(count(row, "id")?));
            }
        }
        tx.commit().await?;
        Ok(removal)
    }
}
