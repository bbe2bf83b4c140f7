//! Rapid models: listed, shown and deleted, each with the job behind it.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, count, key, moment, optional_count, optional_moment};
use super::files::{self, Area};
use super::jobs::{self, JobId, JobKind, JobRow, JobState, Removal};
use super::presets::filename_rule;
use super::search::{Listing, PageOf, PageRequest, Search};
use super::tags;
use crate::wire::{AssetId, FilenameRule, ModelId, OptimizationStatus, PresetId, RapidId, UserId};

/// A rapid model and the job behind it.
#[derive(Debug, Clone)]
pub struct RapidRow {
    pub id: RapidId,
    pub uuid: String,
    pub name: String,
    /// The asset it was made from, which may be gone.
    pub asset: AssetId,
    /// The name that asset had.
    pub asset_name: String,
    /// How far it is.
    pub status: OptimizationStatus,
    pub config: String,
    /// The preset that it was made with.
    pub preset: Option<PresetId>,
    /// The name that preset had.
    pub preset_name: Option<String>,
    /// The name asked for the exported files.
    pub export_name: Option<String>,
    /// The rule for their names where none was asked for.
    pub filename_rule: FilenameRule,
    pub core_version: String,
    /// The scale of the asset when it was made.
    pub scale_factor: f64,
    /// What the worker reported, as JSON text.
    pub report: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The job behind it.
    pub job: Option<JobRow>,
}

impl RapidRow {
    /// The same as it was when it was accepted.
    pub fn into_accepted(mut self) -> RapidRow {
        if let Some(job) = &mut self.job {
            job.state = JobState::Queued;
            job.attempts = 0;
            job.progress = 0;
            job.step = jobs::QUEUED_STEP.to_owned();
            job.output = None;
            job.updated_at = job.created_at;
            job.started_at = None;
            job.finished_at = None;
        }
        self.status = OptimizationStatus::SentToQueue;
        self
    }
}

/// The columns of a rapid model, and its job's as `j_…`.
macro_rules! columns {
    () => {
        "t.*, j.id AS j_id, j.key AS j_key, j.state AS j_state, j.attempts AS j_attempts, j.fence AS j_fence, \
         j.progress AS j_progress, j.step AS j_step, j.output AS j_output, j.created_at AS j_created_at, \
         j.updated_at AS j_updated_at, j.started_at AS j_started_at, j.finished_at AS j_finished_at"
    };
}

macro_rules! tables {
    () => {
        "rapids t LEFT JOIN jobs j ON j.rapid_id = t.id"
    };
}

const LISTING: Listing = Listing {
    columns: columns!(),
    tables: tables!(),
    counted: "rapids t",
    tags: Some(ModelId::RAPID_KIND),
    filter: None,
};

fn rapid_row(row: &SqliteRow) -> sqlx::Result<RapidRow> {
    let status: String = row.try_get("status")?;
    let asset = AssetId(count(row, "asset_id")?);
    let user = UserId(count(row, "user_id")?);
    let id = RapidId(count(row, "id")?);
    let job = optional_count(row, "j_id")?
        .map(|job| job_behind(row, JobId(job), user, asset, id))
        .transpose()?;
    Ok(RapidRow {
        id,
        uuid: row.try_get("uuid")?,
        name: row.try_get("name")?,
        asset,
        asset_name: row.try_get("asset_name")?,
        status: OptimizationStatus::from_word(&status),
        config: row.try_get("config")?,
        preset: optional_count(row, "preset_id")?.map(PresetId),
        preset_name: row.try_get("preset_name")?,
        export_name: row.try_get("export_name")?,
        filename_rule: filename_rule(row)?,
        core_version: row.try_get("core_version")?,
        scale_factor: row.try_get("scale_factor")?,
        report: row.try_get("report")?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
        job,
    })
}

fn job_behind(
    row: &SqliteRow,
    id: JobId,
    user: UserId,
    asset: AssetId,
    rapid: RapidId,
) -> sqlx::Result<JobRow> {
    let state: String = row.try_get("j_state")?;
    Ok(JobRow {
        id,
        key: row.try_get("j_key")?,
        kind: JobKind::Optimize,
        user,
        asset,
        rapid: Some(rapid),
        conversion: None,
        state: JobState::from_text(&state),
        attempts: count(row, "j_attempts")?,
        fence: count(row, "j_fence")?,
        progress: count(row, "j_progress")?,
        step: row.try_get("j_step")?,
        output: row.try_get("j_output")?,
        created_at: moment(row, "j_created_at")?,
        updated_at: moment(row, "j_updated_at")?,
        started_at: optional_moment(row, "j_started_at")?,
        finished_at: optional_moment(row, "j_finished_at")?,
    })
}

/// Rapid models.
#[derive(Clone, Copy)]
pub struct RapidRecords<'a> {
    pub(super) database: &'a Database,
}

impl RapidRecords<'_> {
    /// One rapid model of `user`.
    pub async fn get(self, user: UserId, rapid: RapidId) -> Result<Option<RapidRow>> {
        let row = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM ",
            tables!(),
            " WHERE t.id = $1 AND t.user_id = $2"
        ))
        .bind(key(rapid.0))
        .bind(key(user.0))
        .fetch_optional(&self.database.reader)
        .await?;
        Ok(row.as_ref().map(rapid_row).transpose()?)
    }

    /// One page of the rapid models of `user`, newest first.
    pub async fn list(
        self,
        user: UserId,
        search: &Search,
        page: PageRequest,
    ) -> Result<PageOf<RapidRow>> {
        LISTING
            .page(self.database, (user.0, 0), search, page, rapid_row)
            .await
    }

    /// All rapid models of `user` that were made from `asset`, oldest first.
    pub async fn list_of_asset(self, user: UserId, asset: AssetId) -> Result<Vec<RapidRow>> {
        let rows = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM ",
            tables!(),
            " WHERE t.asset_id = $1 AND t.user_id = $2 ORDER BY t.id"
        ))
        .bind(key(asset.0))
        .bind(key(user.0))
        .fetch_all(&self.database.reader)
        .await?;
        Ok(rows.iter().map(rapid_row).collect::<sqlx::Result<_>>()?)
    }

    /// The rapid models of `user`, asked for since `since`, that are not done, oldest first.
    pub async fn list_unfinished(self, user: UserId, since: Timestamp) -> Result<Vec<RapidRow>> {
        let rows = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM ",
            tables!(),
            " WHERE t.user_id = $1 AND t.created_at >= $2 AND t.status <> 'done' ORDER BY t.id"
        ))
        .bind(key(user.0))
        .bind(since.as_microsecond())
        .fetch_all(&self.database.reader)
        .await?;
        Ok(rows.iter().map(rapid_row).collect::<sqlx::Result<_>>()?)
    }

    /// Deletes those of `rapids` that `user` has, with their files, tags, jobs and embeds.
    pub async fn delete(self, user: UserId, rapids: &[RapidId]) -> Result<Removal> {
        let mut tx = self.database.begin().await?;
        let mut removal = Removal::default();
        for &rapid in rapids {
            let done = sqlx::query("DELETE FROM rapids WHERE id = $1 AND user_id = $2")
                .bind(key(rapid.0))
                .bind(key(user.0))
                .execute(&mut *tx)
                .await?;
            if done.rows_affected() == 0 {
                continue;
            }
            let owner = ModelId::Rapid(rapid);
            removal.records += 1;
            removal
                .blobs
                .extend(files::remove(&mut tx, user, owner, &Area::ALL).await?);
            tags::remove_all(&mut tx, owner).await?;
            sqlx::query("DELETE FROM embeds WHERE rapid_id = $1")
                .bind(key(rapid.0))
                .execute(&mut *tx)
                .await?;
            let rows = sqlx::query("DELETE FROM jobs WHERE rapid_id = $1 RETURNING id")
                .bind(key(rapid.0))
                .fetch_all(&mut *tx)
                .await?;
            for row in &rows {
                removal.jobs.push(JobId(count(row, "id")?));
            }
        }
        tx.commit().await?;
        Ok(removal)
    }

    /// The ids of the rapid models made from an asset, oldest first.
    pub async fn ids_of_asset(self, asset: AssetId) -> Result<Vec<RapidId>> {
        let ids = self
            .database
            .ids(
                "SELECT id FROM rapids WHERE asset_id = $1 ORDER BY id",
                asset.0,
            )
            .await?;
        Ok(ids.into_iter().map(RapidId).collect())
    }
}
