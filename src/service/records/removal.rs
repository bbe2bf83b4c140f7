//! Deletion of models with everything that belongs to them.

use super::accounts;
use super::database::{Result, Tx, retried};
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
    for &model in models {
        let (record, others, jobs): (_, &[_], _) = match model {
            ModelId::Asset(_) => (
                "DELETE FROM assets WHERE id = $1 AND user_id = $2",
                &[
                    "DELETE FROM conversions WHERE asset_id = $1",
                    "DELETE FROM embeds WHERE asset_id = $1",
                    "DELETE FROM drawings WHERE asset_id = $1",
                ],
                "DELETE FROM jobs WHERE asset_id = $1 AND rapid_id IS NULL RETURNING id, state",
            ),
            ModelId::Rapid(_) => (
                "DELETE FROM rapids WHERE id = $1 AND user_id = $2",
                &[
                    "DELETE FROM embeds WHERE rapid_id = $1",
                    "DELETE FROM drawings WHERE rapid_id = $1",
                ],
                "DELETE FROM jobs WHERE rapid_id = $1 RETURNING id, state",
            ),
        };
        if tx.run(sql!(record, model.key(), user)).await? == 0 {
            continue;
        }
        removal.records += 1;
        let blobs = files::remove(tx, user, model, Area::ALL).await?;
        removal.blobs.extend(blobs);
        tags::remove_all(tx, model).await?;
        for &statement in others {
            tx.run(sql!(statement, model.key())).await?;
        }
        let jobs: Vec<(JobId, JobState)> = tx.all(sql!(jobs, model.key())).await?;
        let waits = jobs.iter().any(|(_, state)| *state == JobState::Queued);
        if matches!(model, ModelId::Rapid(_)) && waits {
            accounts::refund(tx, user).await?;
        }
        removal.jobs.extend(jobs.into_iter().map(|(id, _)| id));
    }
    Ok(removal)
}
