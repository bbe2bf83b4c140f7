//! Start and end of optimizations. The rapid model, its job and its price are one commit.

use super::accounts;
use super::database::{Result, Tx, retried};
use super::deliveries::{self, NewEvent};
use super::drawings;
use super::files::{self, Area, NewFile};
use super::groups::OptimizationRecords;
use super::jobs::{self, JobKind, Lease};
use super::sql::sql;
use super::tags;
use crate::service::ids::random_uuid;
use crate::wire::{
    AssetId, FilenameRule, ModelId, OptimizationStatus, PresetId, RapidId, TokenId, UploadStatus,
    UserId,
};

#[derive(Debug, Clone)]
pub struct NewRapid {
    pub asset: AssetId,
    pub asset_name: String,
    pub scale_factor: f64,
    pub name: String,
    pub config: String,
    /// The preset and its name.
    pub preset: Option<(PresetId, String)>,
    /// The requested name of the exported files.
    pub export_name: Option<String>,
    /// The preset's rule for names of exported files.
    pub filename_rule: FilenameRule,
    pub tags: Vec<String>,
    pub core_version: String,
    /// Idempotency key: of requests for an asset with the same key only the first makes a rapid model.
    pub request_key: Option<String>,
}

/// Result of starting optimizations.
#[derive(Debug, PartialEq, Eq)]
pub enum Started {
    Queued(Vec<RapidId>),
    /// Not enough points; nothing changed.
    NoPoints {
        left: u64,
    },
    /// This asset was deleted or is not complete; nothing changed.
    NotComplete(AssetId),
    /// The account has no storage left for a result; nothing changed.
    NoRoom,
}

/// When the pictures of a result come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PicturesOfResult {
    /// With it, or never.
    Here,
    /// They are drawn later, from this asset.
    Later(AssetId),
}

/// How an optimization ended.
#[derive(Debug)]
pub struct OptimizationEnd {
    /// Done or failed.
    pub status: OptimizationStatus,
    /// The worker's report, as JSON text.
    pub report: Option<String>,
    pub files: Vec<NewFile>,
    /// Exit code and error of the worker, as JSON.
    pub output: String,
    /// Whether its point is given back.
    pub is_refunded: bool,
    pub pictures: PicturesOfResult,
    /// What webhooks are sent.
    pub events: Vec<NewEvent>,
}

async fn insert(tx: &mut Tx, user: UserId, token: TokenId, new: &NewRapid) -> Result<RapidId> {
    let (preset, preset_name) = new.preset.as_ref().map(|(id, name)| (id, name)).unzip();
    let insert = sql!(
        "INSERT INTO rapids (user_id, token_id, uuid, name, name_folded, asset_id, asset_name, status, \
         config, preset_id, preset_name, export_name, core_version, scale_factor, created_at, updated_at, \
         filename_rule, request_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16, $17) RETURNING id",
        user,
        token,
        random_uuid(),
        new.name,
        new.name.to_lowercase(),
        new.asset,
        new.asset_name,
        OptimizationStatus::SentToQueue,
        new.config,
        preset,
        preset_name,
        new.export_name,
        new.core_version,
        new.scale_factor,
        tx.now(),
        new.filename_rule,
        new.request_key,
    );
    tx.one(insert).await
}

/// The rapid model that an earlier request with the same key has made.
async fn made_before(tx: &mut Tx, user: UserId, new: &NewRapid) -> Result<Option<RapidId>> {
    let Some(key) = &new.request_key else {
        return Ok(None);
    };
    let query = sql!(
        "SELECT id FROM rapids WHERE asset_id = $1 AND request_key = $2 AND user_id = $3 \
         ORDER BY id DESC LIMIT 1",
        new.asset,
        key,
        user,
    );
    tx.optional(query).await
}

impl OptimizationRecords<'_> {
    /// Accepts all optimizations or none: takes a point for each, creates the rapid models and queues their jobs. If
    /// an earlier request with the same key has made one, it is neither made nor paid again.
    pub async fn start(self, user: UserId, token: TokenId, new: &[NewRapid]) -> Result<Started> {
        retried!({
            let mut tx = self.database.begin_for(user).await?;
            for rapid in new {
                let query = sql!(
                    "SELECT id FROM assets WHERE id = $1 AND user_id = $2 AND upload_status = $3",
                    rapid.asset,
                    user,
                    UploadStatus::Complete,
                );
                if tx.optional::<AssetId>(query).await?.is_none() {
                    return Ok(Started::NotComplete(rapid.asset));
                }
            }
            // The account is locked: no other request makes one of them meanwhile.
            let mut ids = Vec::with_capacity(new.len());
            for rapid in new {
                ids.push(made_before(&mut tx, user, rapid).await?);
            }
            let price = ids.iter().filter(|made| made.is_none()).count() as u64;
            if price > 0 && accounts::free_bytes(&mut tx, user).await? <= 0 {
                return Ok(Started::NoRoom);
            }
            let pay = "UPDATE users SET points = points - $2 WHERE id = $1 AND points >= $2";
            if tx.run(sql!(pay, user, price)).await? == 0 {
                let left = "SELECT points FROM users WHERE id = $1";
                let left = tx.one(sql!(left, user)).await?;
                return Ok(Started::NoPoints { left });
            }
            for (made, rapid) in ids.iter_mut().zip(new) {
                if made.is_some() {
                    continue;
                }
                let id = insert(&mut tx, user, token, rapid).await?;
                tags::add(&mut tx, user, ModelId::Rapid(id), &rapid.tags).await?;
                jobs::add(
                    &mut tx,
                    JobKind::Optimize,
                    user,
                    rapid.asset,
                    Some(id),
                    None,
                )
                .await?;
                *made = Some(id);
            }
            let count =
                "UPDATE tokens SET optimization_count = optimization_count + $2 WHERE id = $1";
            tx.run(sql!(count, token, price)).await?;
            tx.commit().await?;
            Ok(Started::Queued(ids.into_iter().flatten().collect()))
        })
    }

    /// Records the result of an optimization together with the end of its job. Returns the replaced blobs; `None` if
    /// the rapid model was deleted or the attempt has lost its job: then the new files have no owner.
    pub async fn end(
        self,
        lease: Lease,
        user: UserId,
        rapid: RapidId,
        end: &OptimizationEnd,
    ) -> Result<Option<Vec<String>>> {
        retried!({
            let mut tx = self.database.begin_locking(user).await?;
            let (state, step) = jobs::outcome(end.status == OptimizationStatus::Done);
            if !jobs::end(&mut tx, lease, state, step, &end.output).await? {
                return Ok(None);
            }
            let update = sql!(
                "UPDATE rapids SET status = $2, report = $3, updated_at = $4 WHERE id = $1",
                rapid,
                end.status,
                end.report,
                tx.now(),
            );
            if tx.run(update).await? == 0 {
                return Ok(None);
            }
            let owner = ModelId::Rapid(rapid);
            let replaced = files::remove(&mut tx, user, owner, Area::ALL).await?;
            match end.status {
                OptimizationStatus::Done => {
                    files::add_result(&mut tx, user, owner, &end.files).await?
                }
                // The reason of a failure is always stored.
                _ => files::add(&mut tx, user, owner, &end.files).await?,
            }
            if let PicturesOfResult::Later(asset) = end.pictures {
                drawings::add(&mut tx, user, asset, rapid).await?;
            }
            if end.is_refunded {
                accounts::refund(&mut tx, user).await?;
            }
            deliveries::add(&mut tx, user, &end.events).await?;
            tx.commit().await?;
            Ok(Some(replaced))
        })
    }
}
