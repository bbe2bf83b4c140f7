//! Conversions of assets to other formats.

use jiff::Timestamp;

use super::accounts;
use super::database::{Result, Tx, retried};
use super::files::{self, Area, NewFile};
use super::groups::ConversionRecords;
use super::jobs::{self, JobKind, JobState, JobTarget, Lease};
use super::sql::{Column, Record, Row, sql};
use crate::wire::{AssetId, ModelId, UploadStatus, UserId};
use assetfs_formats::{self as formats, FileFormat};

/// One conversion and the job behind it.
#[derive(Debug, Clone)]
pub struct ConversionRow {
    pub formats: Vec<String>,
    /// The error, if it failed.
    pub message: Option<String>,
    pub state: JobState,
    /// 0 to 100.
    pub progress: u64,
}

/// A conversion among those of all models of an account.
#[derive(Debug, Clone)]
pub struct UnfinishedConversion {
    pub asset: AssetId,
    /// The name of the model.
    pub name: String,
    pub created_at: Timestamp,
    pub conversion: ConversionRow,
}

impl Record for UnfinishedConversion {
    fn read(row: &Row, prefix: &str) -> sqlx::Result<UnfinishedConversion> {
        Ok(UnfinishedConversion {
            asset: Column::read(row, "asset_id")?,
            name: Column::read(row, "name")?,
            created_at: Column::read(row, "created_at")?,
            conversion: ConversionRow::read(row, prefix)?,
        })
    }
}

impl Record for ConversionRow {
    fn read(row: &Row, _: &str) -> sqlx::Result<ConversionRow> {
        let formats: String = Column::read(row, "formats")?;
        let progress: Option<u64> = Column::read(row, "progress")?;
        Ok(ConversionRow {
            formats: formats.split(',').map(str::to_owned).collect(),
            message: Column::read(row, "message")?,
            state: Column::read(row, "state")?,
            progress: progress.unwrap_or(0),
        })
    }
}

/// A query for conversions with the state of their jobs.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT c.asset_id, c.formats, c.message, c.created_at, COALESCE(j.state, c.status) AS state, j.progress, \
             a.name FROM conversions c LEFT JOIN assets a ON a.id = c.asset_id LEFT JOIN jobs j ON j.conversion_id = c.id ",
            $condition
        )
    };
}

/// Result of starting a conversion.
#[derive(Debug, PartialEq, Eq)]
pub enum Conversion {
    Queued,
    /// The asset has one of the formats or is being converted to it. Contains all its formats.
    Existing(Vec<String>),
    NotComplete,
    /// The account has no storage left for a result.
    NoRoom,
    Gone,
}

/// Whether the format of the upload counts as a format of the asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uploaded {
    Counts,
    /// It does not count, because a viewer cannot show the upload itself.
    NotShown,
}

/// The formats that an asset was or is being converted to.
async fn existing_formats(tx: &mut Tx, asset: AssetId) -> Result<Vec<String>> {
    let converted = sql!(
        "SELECT name FROM files WHERE owner_kind = 'asset' AND owner_id = $1 AND area = $2",
        asset,
        Area::Converted,
    );
    let names: Vec<String> = tx.all(converted).await?;
    let rows: Vec<ConversionRow> = tx
        .all(sql!(select!("WHERE c.asset_id = $1"), asset))
        .await?;
    let asked = rows.into_iter().filter(|row| row.state != JobState::Failed);
    let converted = names.iter().map(|name| formats::extension(name));
    Ok(converted.chain(asked.flat_map(|row| row.formats)).collect())
}

impl ConversionRecords<'_> {
    /// Creates a conversion and queues its job, or returns why that is impossible.
    pub async fn start(
        self,
        user: UserId,
        asset: AssetId,
        asked: &[String],
        uploaded: Uploaded,
    ) -> Result<Conversion> {
        let mut tx = self.database.begin_locking(user).await?;
        let query = "SELECT upload_status, format FROM assets WHERE id = $1 AND user_id = $2";
        let row: Option<(UploadStatus, String)> = tx.optional(sql!(query, asset, user)).await?;
        let Some((status, format)) = row else {
            return Ok(Conversion::Gone);
        };
        if status != UploadStatus::Complete {
            return Ok(Conversion::NotComplete);
        }
        if accounts::free_bytes(&mut tx, user).await? <= 0 {
            return Ok(Conversion::NoRoom);
        }
        let mut existing = existing_formats(&mut tx, asset).await?;
        if uploaded == Uploaded::Counts {
            existing.push(format);
        }
        existing.retain(|format| FileFormat::NAMES.contains(&format.as_str()));
        existing.sort_unstable();
        existing.dedup();
        if asked.iter().any(|format| existing.contains(format)) {
            return Ok(Conversion::Existing(existing));
        }
        let insert = sql!(
            "INSERT INTO conversions (asset_id, formats, status, created_at, updated_at) \
             VALUES ($1, $2, 'queued', $3, $3) RETURNING id",
            asset,
            asked.join(","),
            tx.now(),
        );
        let id = tx.one(insert).await?;
        let target = JobTarget {
            conversion: Some(id),
            ..JobTarget::asset(asset)
        };
        jobs::add(&mut tx, JobKind::Convert, user, &[target]).await?;
        tx.commit().await?;
        Ok(Conversion::Queued)
    }

    /// The conversions of an asset, oldest first.
    pub async fn list(self, asset: AssetId) -> Result<Vec<ConversionRow>> {
        let query = select!("WHERE c.asset_id = $1 ORDER BY c.id");
        self.database.all(sql!(query, asset)).await
    }

    /// The conversions of an account since `since` that are not finished, newest first: failed ones, too.
    pub async fn list_unfinished(
        self,
        user: UserId,
        since: Timestamp,
    ) -> Result<Vec<UnfinishedConversion>> {
        let query = select!(
            "WHERE a.user_id = $1 AND c.created_at >= $2 AND COALESCE(j.state, c.status) <> $3 \
             ORDER BY c.id DESC LIMIT 100"
        );
        let finished = JobState::Finished;
        self.database.all(sql!(query, user, since, finished)).await
    }

    /// One conversion.
    pub async fn get(self, conversion: u64) -> Result<Option<ConversionRow>> {
        let query = select!("WHERE c.id = $1");
        self.database.optional(sql!(query, conversion)).await
    }

    /// Records the result of a conversion together with the end of its job. Returns the replaced blobs; `None` if the
    /// conversion was deleted or the attempt has lost its job: then the new files have no owner.
    pub async fn end(
        self,
        lease: Lease,
        (user, asset, conversion): (UserId, AssetId, u64),
        failure: Option<&str>,
        files: &[NewFile],
        output: &str,
    ) -> Result<Option<Vec<String>>> {
        retried!({
            let mut tx = self.database.begin_locking(user).await?;
            let state = match failure {
                None => JobState::Finished,
                Some(_) => JobState::Failed,
            };
            if !jobs::end(&mut tx, lease, state, "Done", output).await? {
                return Ok(None);
            }
            let update = sql!(
                "UPDATE conversions SET status = $2, message = $3, updated_at = $4 WHERE id = $1",
                conversion,
                state,
                failure,
                tx.now(),
            );
            if tx.run(update).await? == 0 {
                return Ok(None);
            }
            let owner = ModelId::Asset(asset);
            let replaced = files::remove_named(&mut tx, user, owner, files).await?;
            files::add_result(&mut tx, user, owner, files).await?;
            tx.commit().await?;
            Ok(Some(replaced))
        })
    }
}
