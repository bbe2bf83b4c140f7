//! Conversions of assets to other formats: what was asked for, and how it ended.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, Tx, key, optional_count};
use super::files::{self, Area, NewFile};
use super::jobs::{self, JobKind, JobState, Lease};
use crate::formats;
use crate::wire::{AssetId, ModelId, UploadStatus, UserId};

/// One conversion and the job behind it.
#[derive(Debug, Clone)]
pub struct ConversionRow {
    pub formats: Vec<String>,
    /// The error, if it failed.
    pub message: Option<String>,
    /// How far it is.
    pub state: JobState,
    /// 0 to 100.
    pub progress: u64,
}

fn conversion_row(row: &SqliteRow) -> sqlx::Result<ConversionRow> {
    let formats: String = row.try_get("formats")?;
    let state: Option<String> = row.try_get("state")?;
    let status: String = row.try_get("status")?;
    Ok(ConversionRow {
        formats: formats.split(',').map(str::to_owned).collect(),
        message: row.try_get("message")?,
        state: JobState::from_text(&state.unwrap_or(status)),
        progress: optional_count(row, "progress")?.unwrap_or(0),
    })
}

/// Result of starting a conversion.
#[derive(Debug, PartialEq, Eq)]
pub enum Conversion {
    /// It is queued.
    Queued,
    /// The asset has one of the formats, or is being converted to it; these are all that it has.
    Existing(Vec<String>),
    /// The asset is not complete.
    NotComplete,
    /// There is no such asset.
    Gone,
}

/// Whether an asset has the format that was uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uploaded {
    /// It has.
    Counts,
    /// A viewer cannot show the upload as it is, so the format does not count.
    NotShown,
}

/// The formats that an asset was or is being converted to.
async fn existing_formats(tx: &mut Tx, asset: AssetId) -> Result<Vec<String>> {
    let rows = sqlx::query(
        "SELECT name FROM files WHERE owner_kind = 'asset' AND owner_id = $1 AND area = $2",
    )
    .bind(key(asset.0))
    .bind(Area::Converted.text())
    .fetch_all(&mut **tx)
    .await?;
    let mut existing = Vec::new();
    for row in &rows {
        existing.push(formats::extension(row.try_get("name")?));
    }
    let rows = sqlx::query(
        "SELECT c.formats, COALESCE(j.state, c.status) AS state FROM conversions c \
         LEFT JOIN jobs j ON j.conversion_id = c.id WHERE c.asset_id = $1",
    )
    .bind(key(asset.0))
    .fetch_all(&mut **tx)
    .await?;
    for row in &rows {
        let state: String = row.try_get("state")?;
        if JobState::from_text(&state) != JobState::Failed {
            let asked: String = row.try_get("formats")?;
            existing.extend(asked.split(',').map(str::to_owned));
        }
    }
    Ok(existing)
}

/// Conversions of base assets to other formats.
#[derive(Clone, Copy)]
pub struct ConversionRecords<'a> {
    pub(super) database: &'a Database,
}

impl ConversionRecords<'_> {
    /// Asks for a conversion and queues its job, or says why not.
    pub async fn start(
        self,
        user: UserId,
        asset: AssetId,
        asked: &[String],
        uploaded: Uploaded,
    ) -> Result<Conversion> {
        let mut tx = self.database.begin().await?;
        let row =
            sqlx::query("SELECT upload_status, format FROM assets WHERE id = $1 AND user_id = $2")
                .bind(key(asset.0))
                .bind(key(user.0))
                .fetch_optional(&mut *tx)
                .await?;
        let Some(row) = row else {
            return Ok(Conversion::Gone);
        };
        if row.try_get::<String, _>("upload_status")? != UploadStatus::Complete.as_str() {
            return Ok(Conversion::NotComplete);
        }
        let mut existing = existing_formats(&mut tx, asset).await?;
        if uploaded == Uploaded::Counts {
            existing.push(row.try_get("format")?);
        }
        let written = formats::written();
        existing.retain(|format| written.contains(&format.as_str()));
        existing.sort_unstable();
        existing.dedup();
        if asked.iter().any(|format| existing.contains(format)) {
            return Ok(Conversion::Existing(existing));
        }
        let row = sqlx::query(
            "INSERT INTO conversions (asset_id, formats, status, created_at, updated_at) \
             VALUES ($1, $2, 'queued', $3, $3) RETURNING id",
        )
        .bind(key(asset.0))
        .bind(asked.join(","))
        .bind(self.database.now())
        .fetch_one(&mut *tx)
        .await?;
        let id: i64 = row.try_get("id")?;
        jobs::add(&mut tx, JobKind::Convert, user, asset, None, Some(id)).await?;
        tx.commit().await?;
        Ok(Conversion::Queued)
    }

    /// The conversions of an asset, oldest first.
    pub async fn list(self, asset: AssetId) -> Result<Vec<ConversionRow>> {
        let rows = sqlx::query(
            "SELECT c.*, j.state, j.progress FROM conversions c \
             LEFT JOIN jobs j ON j.conversion_id = c.id WHERE c.asset_id = $1 ORDER BY c.id",
        )
        .bind(key(asset.0))
        .fetch_all(&self.database.reader)
        .await?;
        Ok(rows
            .iter()
            .map(conversion_row)
            .collect::<sqlx::Result<_>>()?)
    }

    /// One conversion.
    pub async fn get(self, conversion: u64) -> Result<Option<ConversionRow>> {
        let row = sqlx::query(
            "SELECT c.*, j.state, j.progress FROM conversions c \
             LEFT JOIN jobs j ON j.conversion_id = c.id WHERE c.id = $1",
        )
        .bind(key(conversion))
        .fetch_optional(&self.database.reader)
        .await?;
        Ok(row.as_ref().map(conversion_row).transpose()?)
    }

    /// Records the end of a conversion together with the end of its job. Returns the blobs that it
    /// replaced, or none when the conversion is gone or the attempt has lost its job: then the new files have no owner.
    pub async fn end(
        self,
        lease: Lease,
        (user, asset, conversion): (UserId, AssetId, u64),
        failure: Option<&str>,
        files: &[NewFile],
        output: &str,
    ) -> Result<Option<Vec<String>>> {
        let mut tx = self.database.begin().await?;
        let state = match failure {
            None => JobState::Finished,
            Some(_) => JobState::Failed,
        };
        if !jobs::end(&mut tx, lease, state, "Done", output).await? {
            return Ok(None);
        }
        let done = sqlx::query(
            "UPDATE conversions SET status = $2, message = $3, updated_at = $4 WHERE id = $1",
        )
        .bind(key(conversion))
        .bind(state.text())
        .bind(failure)
        .bind(self.database.now())
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(None);
        }
        let owner = ModelId::Asset(asset);
        let replaced = files::remove_named(&mut tx, user, owner, files).await?;
        files::add(&mut tx, user, owner, files).await?;
        tx.commit().await?;
        Ok(Some(replaced))
    }
}
