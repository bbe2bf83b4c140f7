//! Deletion of models with everything that belongs to them.

use super::accounts;
use super::database::{MAX_ROWS, Result, Tx, places, retried};
use super::files::{self, Area};
use super::groups::ModelRecords;
use super::jobs::{JobId, JobState, Removal};
use super::sql::sql;
use super::tags;
use crate::wire::{ModelId, UserId};

impl ModelRecords<'_> {
    /// Deletes those of `models` that `user` has, with their files, tags, jobs, conversions and embeds. Rapid models
    /// stay when their asset is deleted. The point of an optimization that is still queued is given back.
    pub async fn delete(self, user: UserId, models: &[ModelId]) -> Result<Removal> {
        retried!({
            let mut tx = self.database.begin_locking(user).await?;
            let removal = remove_models(&mut tx, user, models).await?;
            tx.commit().await?;
            Ok(removal)
        })
    }
}

/// The same in a transaction that is alone with the account.
pub(super) async fn remove_models(
    tx: &mut Tx,
    user: UserId,
    models: &[ModelId],
) -> Result<Removal> {
    let mut removal = Removal::default();
    let is_asset = |model: &&ModelId| matches!(model, ModelId::Asset(_));
    let (assets, rapids): (Vec<_>, Vec<_>) = models.iter().partition(is_asset);
    for (models, rows) in [(assets, &ASSET_ROWS), (rapids, &RAPID_ROWS)] {
        for models in models.chunks(MAX_ROWS) {
            remove_some(tx, user, models, rows, &mut removal).await?;
        }
    }
    Ok(removal)
}

/// Statements that delete models of one kind and what belongs to them. Each ends before the ids of the models.
struct RowsOfModels {
    records: &'static str,
    others: &'static [&'static str],
    jobs: &'static str,
}

const ASSET_ROWS: RowsOfModels = RowsOfModels {
    records: "DELETE FROM assets WHERE user_id = $1 AND id IN",
    others: &[
        "DELETE FROM conversions WHERE asset_id IN",
        "DELETE FROM embeds WHERE asset_id IN",
        "DELETE FROM drawings WHERE asset_id IN",
    ],
    jobs: "DELETE FROM jobs WHERE rapid_id IS NULL AND asset_id IN",
};

const RAPID_ROWS: RowsOfModels = RowsOfModels {
    records: "DELETE FROM rapids WHERE user_id = $1 AND id IN",
    others: &[
        "DELETE FROM embeds WHERE rapid_id IN",
        "DELETE FROM drawings WHERE rapid_id IN",
    ],
    jobs: "DELETE FROM jobs WHERE rapid_id IN",
};

/// Deletes models of one kind, at most [`MAX_ROWS`].
async fn remove_some(
    tx: &mut Tx,
    user: UserId,
    models: &[&ModelId],
    rows: &RowsOfModels,
    removal: &mut Removal,
) -> Result<()> {
    let Some(first) = models.first() else {
        return Ok(());
    };
    let ids = places(2, models.len());
    let delete = sql!(format!("{} ({ids}) RETURNING id", rows.records), user);
    let delete = delete.bind_all(models.iter().map(|model| model.key()));
    let removed: Vec<u64> = tx.all(delete).await?;
    if removed.is_empty() {
        return Ok(());
    }
    removal.records += removed.len();
    let owners: Vec<ModelId> = removed.iter().map(|id| first.of_same_kind(*id)).collect();
    let blobs = files::remove(tx, user, &owners, Area::ALL).await?;
    removal.blobs.extend(blobs);
    tags::remove_all(tx, &owners).await?;
    let ids = places(1, removed.len());
    for statement in rows.others {
        let delete = sql!(format!("{statement} ({ids})")).bind_all(&removed);
        tx.run(delete).await?;
    }
    let delete = sql!(format!("{} ({ids}) RETURNING id, state", rows.jobs)).bind_all(&removed);
    let jobs: Vec<(JobId, JobState)> = tx.all(delete).await?;
    if matches!(first, ModelId::Rapid(_)) {
        let queued = jobs.iter().filter(|(_, state)| *state == JobState::Queued);
        accounts::refund(tx, user, queued.count() as u64).await?;
    }
    removal.jobs.extend(jobs.into_iter().map(|(id, _)| id));
    Ok(())
}
