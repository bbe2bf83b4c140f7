//! Imports: the steps from an upload to a complete asset.
//!
//! Only this module changes the states of assets: `incomplete` → `waiting` → (`unzipping` →) `analysing` → `complete`
//! or a failure. Completing an upload and queueing its analysis are one commit. The end of an analysis and its result
//! are one commit, too.

use super::database::{Result, Tx, retried};
use super::deliveries::{self, NewEvent};
use super::files::{self, Area, NewFile};
use super::groups::ImportRecords;
use super::jobs::{self, JobKind, JobTarget, Lease};
use super::sql::sql;
use crate::wire::{AssetId, ModelId, UploadStatus, UserId};

/// Result of completing an upload.
#[derive(Debug, PartialEq, Eq)]
pub enum Completion {
    /// The analysis is queued.
    Started,
    /// It was complete before; nothing changed.
    Before,
    /// These files were not received yet; nothing changed.
    Missing(Vec<String>),
    /// The files do not fit into the account; nothing changed.
    NoRoom,
    Gone,
}

/// How an analysis ended.
#[derive(Debug)]
pub struct AnalysisEnd {
    /// `Complete` or a failure.
    pub status: UploadStatus,
    /// Whether error.log contains errors.
    pub has_errors: bool,
    pub error_message: Option<String>,
    /// The model's format, if it differs from what the names suggest.
    pub format: Option<String>,
    /// The model file, if it differs from what the names suggest.
    pub main_file: Option<String>,
    /// The statistics, as JSON text.
    pub metadata: Option<String>,
    pub files: Vec<NewFile>,
    /// Exit code and error of the worker, as JSON.
    pub output: String,
    /// What webhooks are sent.
    pub events: Vec<NewEvent>,
}

pub(super) async fn set_status(tx: &mut Tx, asset: AssetId, status: UploadStatus) -> Result<()> {
    let update = "UPDATE assets SET upload_status = $2 WHERE id = $1";
    tx.run(sql!(update, asset, status)).await.map(drop)
}

pub(super) async fn status_of(
    tx: &mut Tx,
    user: UserId,
    asset: AssetId,
) -> Result<Option<UploadStatus>> {
    let query = "SELECT upload_status FROM assets WHERE id = $1 AND user_id = $2";
    tx.optional(sql!(query, asset, user)).await
}

/// Why an upload cannot be completed in its state; `None` if it can.
pub(super) async fn refused_completion(
    tx: &mut Tx,
    user: UserId,
    asset: AssetId,
) -> Result<Option<Completion>> {
    Ok(match status_of(tx, user, asset).await? {
        None => Some(Completion::Gone),
        Some(UploadStatus::Incomplete) => None,
        Some(_) => Some(Completion::Before),
    })
}

/// Completes an upload: queues its analysis and commits.
pub(super) async fn start_analysis(mut tx: Tx, user: UserId, asset: AssetId) -> Result<Completion> {
    set_status(&mut tx, asset, UploadStatus::Waiting).await?;
    jobs::add(&mut tx, JobKind::Analyse, user, &[JobTarget::asset(asset)]).await?;
    tx.commit().await?;
    Ok(Completion::Started)
}

impl ImportRecords<'_> {
    /// Completes an upload and queues its analysis, or returns why that is impossible.
    pub async fn start(self, user: UserId, asset: AssetId) -> Result<Completion> {
        let mut tx = self.database.begin_locking(user).await?;
        if let Some(refused) = refused_completion(&mut tx, user, asset).await? {
            return Ok(refused);
        }
        let query = sql!(
            "SELECT name FROM files WHERE owner_kind = 'asset' AND owner_id = $1 AND area = 'source' \
             AND blob IS NULL ORDER BY id",
            asset,
        );
        let missing: Vec<String> = tx.all(query).await?;
        if !missing.is_empty() {
            return Ok(Completion::Missing(missing));
        }
        start_analysis(tx, user, asset).await
    }

    /// Queues the analysis of a failed import again; false if the import has not failed.
    pub async fn retry(self, user: UserId, asset: AssetId) -> Result<bool> {
        let mut tx = self.database.begin_locking(user).await?;
        let status = status_of(&mut tx, user, asset).await?;
        if !status.is_some_and(|status| status.is_failure()) {
            return Ok(false);
        }
        let update = sql!(
            "UPDATE assets SET upload_status = $2, has_errors = 0, error_message = NULL WHERE id = $1",
            asset,
            UploadStatus::Waiting,
        );
        tx.run(update).await?;
        jobs::add(&mut tx, JobKind::Analyse, user, &[JobTarget::asset(asset)]).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Changes the state of an asset during its analysis and adds events; false if the attempt has lost its job.
    pub async fn set_status(
        self,
        lease: Lease,
        (user, asset): (UserId, AssetId),
        status: &UploadStatus,
        events: &[NewEvent],
    ) -> Result<bool> {
        let mut tx = self.database.begin_locking(user).await?;
        if !jobs::is_running(&mut tx, lease).await? {
            return Ok(false);
        }
        let update = "UPDATE assets SET upload_status = $2 WHERE id = $1";
        let is_changed = tx.run(sql!(update, asset, status)).await? > 0;
        if is_changed {
            deliveries::add(&mut tx, user, events).await?;
        }
        tx.commit().await?;
        Ok(is_changed)
    }

    /// Records the result of an analysis together with the end of its job. Returns the replaced blobs; `None` if the
    /// asset was deleted or the attempt has lost its job: then the new files have no owner.
    pub async fn end(
        self,
        lease: Lease,
        user: UserId,
        asset: AssetId,
        end: &AnalysisEnd,
    ) -> Result<Option<Vec<String>>> {
        retried!({
            let mut tx = self.database.begin_locking(user).await?;
            let (state, step) = jobs::outcome(end.status == UploadStatus::Complete);
            if !jobs::end(&mut tx, lease, state, step, &end.output).await? {
                return Ok(None);
            }
            let update = sql!(
                "UPDATE assets SET upload_status = $2, has_errors = $3, error_message = $4, metadata = $5, \
                 format = COALESCE($6, format), main_file = COALESCE($7, main_file) WHERE id = $1",
                asset,
                end.status,
                end.has_errors,
                end.error_message,
                end.metadata,
                end.format,
                end.main_file,
            );
            if tx.run(update).await? == 0 {
                return Ok(None);
            }
            let owner = ModelId::Asset(asset);
            let made = [Area::Analysis, Area::Render, Area::Turntable];
            let replaced = files::remove(&mut tx, user, &[owner], &made).await?;
            // Also beyond the quota: the upload was accepted, and its user did not ask for these files. The next upload is
            // refused.
            files::add(&mut tx, user, owner, &end.files).await?;
            deliveries::add(&mut tx, user, &end.events).await?;
            tx.commit().await?;
            Ok(Some(replaced))
        })
    }
}
