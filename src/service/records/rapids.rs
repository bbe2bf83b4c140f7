//! Records of rapid models, each with its job.

use jiff::Timestamp;

use super::database::{MAX_ROWS, Result, places};
use super::groups::RapidRecords;
use super::jobs::{self, JobId, JobRow, JobState};
use super::listings::{Listing, ModelColumns};
use super::search::{ModelState, PageOf, PageRequest, Search};
use super::sql::{Column, Record as _, Row, columns, columns_as, record, sql};
use super::tokens::{OF_TOKEN, TOKEN_NAME, token_name};
use crate::wire::{
    AssetId, FilenameRule, ModelId, NOTE_PREFIX, OptimizationStatus, PresetId, RapidId, UserId,
};

record! {
    /// A rapid model and its job.
    #[derive(Debug, Clone)]
    pub struct RapidRow {
        pub id: RapidId,
        pub uuid: String,
        pub name: String,
        /// The source asset, which may be deleted.
        pub asset: AssetId = "asset_id",
        /// The name of the source asset.
        pub asset_name: String,
        pub status: OptimizationStatus,
        pub config: String,
        pub preset: Option<PresetId> = "preset_id",
        pub preset_name: Option<String>,
        /// The requested name of the exported files.
        pub export_name: Option<String>,
        /// The rule for their names if none was requested.
        pub filename_rule: FilenameRule,
        pub core_version: String,
        /// The scale of the asset when the optimization was started.
        pub scale_factor: f64,
        /// The worker's report, as JSON text.
        pub report: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// The name of the token that requested it, until that is deleted.
        pub made_by: Option<String> => token_name(),
        pub job: Option<JobRow> => job_of(),
    }
}

record! {
    /// What a result was made with, if a drive has noted that its text names a preset.
    #[derive(Debug)]
    pub struct NotedRapid {
        pub id: RapidId,
        pub config: String,
        /// The tag of the drive.
        pub note: String,
    }
}

impl RapidRow {
    /// The rapid model as it was when the optimization was accepted.
    pub fn into_accepted(mut self) -> RapidRow {
        if let Some(job) = &mut self.job {
            job.state = JobState::Queued;
            job.attempts = 0;
            job.resume_at = None;
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

/// A query for rapid models: their columns, the name of their token, and those of their jobs as `j_…`.
fn select(condition: &str) -> String {
    let (columns, of_job) = (columns::<RapidRow>("t."), columns_as::<JobRow>("j.", "j_"));
    format!(
        "SELECT {columns}, {TOKEN_NAME}, {of_job} FROM rapids t LEFT JOIN jobs j ON j.rapid_id = t.id \
         {OF_TOKEN} {condition}"
    )
}

const LISTING: Listing<RapidRow> = Listing {
    select: || select(""),
    table: "rapids",
    id: |row| row.id.0,
    tags: Some(ModelId::RAPID_KIND),
    filter: None,
    model: Some(ModelColumns {
        state: |state| match state {
            ModelState::Ready => "t.status = 'done'",
            ModelState::Failed => "t.status = 'failed'",
            ModelState::Busy => "t.status NOT IN ('done', 'failed')",
            ModelState::Unfinished => "1 = 0",
        },
        format: [
            "EXISTS (SELECT 1 FROM files f WHERE f.owner_kind = 'rapid' AND f.owner_id = t.id \
             AND f.area = 'export' AND lower(f.name) LIKE '%.' || ",
            ")",
        ],
        size: "(SELECT COALESCE(SUM(f.size), 0) FROM files f WHERE f.owner_kind = 'rapid' \
             AND f.owner_id = t.id AND f.area = 'export')",
    }),
};

fn job_of(row: &Row) -> sqlx::Result<Option<JobRow>> {
    let id: Option<JobId> = Column::read(row, "j_id")?;
    id.map(|_| JobRow::read(row, "j_")).transpose()
}

impl RapidRecords<'_> {
    /// One rapid model of `user`.
    pub async fn get(self, user: UserId, rapid: RapidId) -> Result<Option<RapidRow>> {
        let query = select("WHERE t.id = $1 AND t.user_id = $2");
        self.database.optional(sql!(query, rapid, user)).await
    }

    /// One page of the rapid models of `user`, newest first.
    pub async fn list(
        self,
        user: UserId,
        search: &Search,
        page: PageRequest,
    ) -> Result<PageOf<RapidRow>> {
        LISTING
            .page(self.database, (user, None), search, page)
            .await
    }

    /// All rapid models of `user` that were made from `asset`, oldest first.
    pub async fn list_of_asset(self, user: UserId, asset: AssetId) -> Result<Vec<RapidRow>> {
        let query = select("WHERE t.asset_id = $1 AND t.user_id = $2 ORDER BY t.id");
        self.database.all(sql!(query, asset, user)).await
    }

    /// The rapid models of `user` that were requested since `since` and are not done, oldest first.
    pub async fn list_unfinished(self, user: UserId, since: Timestamp) -> Result<Vec<RapidRow>> {
        let query = select(
            "WHERE t.user_id = $1 AND t.created_at >= $2 AND t.status <> 'done' ORDER BY t.id",
        );
        self.database.all(sql!(query, user, since)).await
    }

    /// The results of `user` whose texts name a preset, as drives have noted.
    pub async fn list_noted(self, user: UserId) -> Result<Vec<NotedRapid>> {
        let query = "SELECT t.id, t.config, g.name AS note FROM rapids t \
             JOIN tags g ON g.owner_kind = 'rapid' AND g.owner_id = t.id \
             WHERE t.user_id = $1 AND t.status = 'done' AND g.name LIKE $2 ORDER BY g.id";
        let pattern = format!("{NOTE_PREFIX}config=%;preset%");
        self.database.all(sql!(query, user, pattern.as_str())).await
    }

    /// The ids of the results of `user` that were made of these assets.
    pub async fn ids_of_assets(self, user: UserId, assets: &[AssetId]) -> Result<Vec<RapidId>> {
        let mut found = Vec::new();
        for assets in assets.chunks(MAX_ROWS) {
            let ids = places(2, assets.len());
            let query = format!(
                "SELECT id FROM rapids WHERE user_id = $1 AND status = 'done' AND asset_id IN ({ids})"
            );
            let rows: Vec<RapidId> = self
                .database
                .all(sql!(query, user).bind_all(assets))
                .await?;
            found.extend(rows);
        }
        Ok(found)
    }

    /// The ids of the rapid models of an asset, oldest first.
    pub async fn ids_of_asset(self, asset: AssetId) -> Result<Vec<RapidId>> {
        let query = "SELECT id FROM rapids WHERE asset_id = $1 ORDER BY id";
        self.database.all(sql!(query, asset)).await
    }
}
