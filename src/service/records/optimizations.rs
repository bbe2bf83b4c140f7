//! Start and end of optimizations. The rapid model, its job and its price are one commit.

use std::collections::{HashMap, HashSet};

use super::accounts;
use super::database::{MAX_ROWS, Result, Tx, places, retried, rows};
use super::deliveries::{self, NewEvent};
use super::drawings;
use super::files::{self, Area, NewFile};
use super::groups::OptimizationRecords;
use super::jobs::{self, JobKind, JobTarget, Lease};
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

/// The first asset of these optimizations that `user` does not have or that is not complete.
async fn first_incomplete(tx: &mut Tx, user: UserId, new: &[NewRapid]) -> Result<Option<AssetId>> {
    for new in new.chunks(MAX_ROWS) {
        let query = sql!(
            format!(
                "SELECT id FROM assets WHERE user_id = $1 AND upload_status = $2 AND id IN ({})",
                places(3, new.len())
            ),
            user,
            UploadStatus::Complete,
        );
        let complete = tx.all(query.bind_all(new.iter().map(|rapid| rapid.asset)));
        let complete: HashSet<AssetId> = complete.await?.into_iter().collect();
        let mut assets = new.iter().map(|rapid| rapid.asset);
        if let Some(asset) = assets.find(|asset| !complete.contains(asset)) {
            return Ok(Some(asset));
        }
    }
    Ok(None)
}

/// For each optimization of an asset of the account the newest rapid model that a request with the same key has made.
async fn made_before(tx: &mut Tx, new: &[NewRapid]) -> Result<Vec<Option<RapidId>>> {
    let asked = new
        .iter()
        .filter_map(|rapid| Some((rapid.asset, rapid.request_key.as_ref()?)));
    let asked: Vec<(AssetId, &String)> = asked.collect();
    let mut made: HashMap<(AssetId, String), RapidId> = HashMap::new();
    for asked in asked.chunks(MAX_ROWS) {
        let pairs: Vec<String> = (0..asked.len())
            .map(|pair| format!("({})", places(1 + 2 * pair, 2)))
            .collect();
        // SQLite keeps the order of a CROSS JOIN: it looks for each pair in the index.
        let mut query = sql!(format!(
            "WITH asked (asset, asked_key) AS (VALUES {}) SELECT id, asset_id, request_key \
             FROM asked CROSS JOIN rapids WHERE asset_id = asset AND request_key = asked_key",
            pairs.join(", ")
        ));
        for (asset, key) in asked {
            query = query.bind(asset).bind(*key);
        }
        let mut found: Vec<(RapidId, AssetId, String)> = tx.all(query).await?;
        found.sort_unstable_by_key(|(id, ..)| *id);
        made.extend(found.into_iter().map(|(id, asset, key)| ((asset, key), id)));
    }
    let of_rapid = |rapid: &NewRapid| {
        let key = (rapid.asset, rapid.request_key.clone()?);
        made.get(&key).copied()
    };
    Ok(new.iter().map(of_rapid).collect())
}

/// Creates rapid models with their tags and jobs; returns their ids in the order of `new`.
async fn queue(
    tx: &mut Tx,
    user: UserId,
    token: TokenId,
    new: &[&NewRapid],
) -> Result<Vec<RapidId>> {
    let mut ids = Vec::with_capacity(new.len());
    for new in new.chunks(MAX_ROWS) {
        ids.extend(insert(tx, user, token, new).await?);
    }
    let made = || ids.iter().zip(new);
    let tags = made().flat_map(|(id, rapid)| {
        let owner = ModelId::Rapid(*id);
        rapid.tags.iter().map(move |tag| (owner, tag))
    });
    tags::add(tx, user, &tags.collect::<Vec<_>>()).await?;
    let targets = made().map(|(id, rapid)| JobTarget {
        rapid: Some(*id),
        ..JobTarget::asset(rapid.asset)
    });
    jobs::add(tx, JobKind::Optimize, user, &targets.collect::<Vec<_>>()).await?;
    Ok(ids)
}

/// Inserts rapid models, at most [`MAX_ROWS`].
async fn insert(
    tx: &mut Tx,
    user: UserId,
    token: TokenId,
    new: &[&NewRapid],
) -> Result<Vec<RapidId>> {
    let rows = rows(new.len(), "$1, $2, $3, $4, $4", 5, 13);
    let mut insert = sql!(
        format!(
            "INSERT INTO rapids (user_id, token_id, status, created_at, updated_at, uuid, name, name_folded, asset_id, \
             asset_name, config, preset_id, preset_name, export_name, core_version, scale_factor, filename_rule, \
             request_key) VALUES {rows} RETURNING id, uuid"
        ),
        user,
        token,
        OptimizationStatus::SentToQueue,
        tx.now(),
    );
    let uuids: Vec<String> = new.iter().map(|_| random_uuid()).collect();
    for (new, uuid) in new.iter().zip(&uuids) {
        let (preset, preset_name) = new.preset.as_ref().map(|(id, name)| (id, name)).unzip();
        insert = insert
            .bind(uuid)
            .bind(&new.name)
            .bind(&new.name.to_lowercase());
        insert = insert
            .bind(&new.asset)
            .bind(&new.asset_name)
            .bind(&new.config);
        insert = insert
            .bind(&preset)
            .bind(&preset_name)
            .bind(&new.export_name);
        insert = insert.bind(&new.core_version).bind(&new.scale_factor);
        insert = insert.bind(&new.filename_rule).bind(&new.request_key);
    }
    // Rows come back in any order.
    let made: Vec<(RapidId, String)> = tx.all(insert).await?;
    let made: HashMap<String, RapidId> = made.into_iter().map(|(id, uuid)| (uuid, id)).collect();
    Ok(uuids.iter().map(|uuid| made[uuid]).collect())
}

impl OptimizationRecords<'_> {
    /// Accepts all optimizations or none: takes a point for each, creates the rapid models and queues their jobs. If
    /// an earlier request with the same key has made one, it is neither made nor paid again.
    pub async fn start(self, user: UserId, token: TokenId, new: &[NewRapid]) -> Result<Started> {
        retried!({
            let mut tx = self.database.begin_for(user).await?;
            if let Some(asset) = first_incomplete(&mut tx, user, new).await? {
                return Ok(Started::NotComplete(asset));
            }
            // The account is locked: no other request makes one of them meanwhile.
            let made = made_before(&mut tx, new).await?;
            let missing = new.iter().zip(&made).filter(|(_, made)| made.is_none());
            let missing: Vec<&NewRapid> = missing.map(|(rapid, _)| rapid).collect();
            let price = missing.len() as u64;
            if price > 0 && accounts::free_bytes(&mut tx, user).await? <= 0 {
                return Ok(Started::NoRoom);
            }
            let pay = "UPDATE users SET points = points - $2 WHERE id = $1 AND points >= $2";
            if tx.run(sql!(pay, user, price)).await? == 0 {
                let left = "SELECT points FROM users WHERE id = $1";
                let left = tx.one(sql!(left, user)).await?;
                return Ok(Started::NoPoints { left });
            }
            let queued = queue(&mut tx, user, token, &missing).await?;
            let count =
                "UPDATE tokens SET optimization_count = optimization_count + $2 WHERE id = $1";
            tx.run(sql!(count, token, price)).await?;
            tx.commit().await?;
            let mut queued = queued.into_iter();
            let ids = made
                .into_iter()
                .filter_map(|made| made.or_else(|| queued.next()));
            Ok(Started::Queued(ids.collect()))
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
            let replaced = files::remove(&mut tx, user, &[owner], Area::ALL).await?;
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
            accounts::refund(&mut tx, user, end.is_refunded.into()).await?;
            deliveries::add(&mut tx, user, &end.events).await?;
            tx.commit().await?;
            Ok(Some(replaced))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Records;
    use super::*;

    const USER: UserId = UserId(1);

    /// Records of a user with 10 points and four assets, of which the last is not complete.
    async fn records(dir: &std::path::Path) -> Records {
        let records = Records::of_test(dir).await;
        let user = "INSERT INTO users (id, email, password_hash, points, quota_bytes, used_bytes, created_at) \
            VALUES (1, 'me', '', 10, 1000000, 0, 0)";
        records.database.run(sql!(user)).await.unwrap();
        for (id, status) in [
            (1_u64, "complete"),
            (2, "complete"),
            (3, "complete"),
            (4, "waiting"),
        ] {
            let asset = sql!(
                "INSERT INTO assets (id, user_id, uuid, name, name_folded, is_zip, upload_status, format, main_file, \
                 size, scale_factor, has_errors, created_at) \
                 VALUES ($1, 1, '', 'a', 'a', 0, $2, 'glb', 'a.glb', 1, 1.0, 0, 0)",
                id,
                status,
            );
            records.database.run(asset).await.unwrap();
        }
        records
    }

    fn asked(asset: u64, key: &str, tags: &[&str]) -> NewRapid {
        NewRapid {
            asset: AssetId(asset),
            asset_name: "a".to_owned(),
            scale_factor: 1.0,
            name: format!("{asset} {key}"),
            config: "{}".to_owned(),
            preset: None,
            export_name: None,
            filename_rule: FilenameRule::default(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            core_version: "1.0.0".to_owned(),
            request_key: Some(key.to_owned()),
        }
    }

    async fn start(records: &Records, new: &[NewRapid]) -> Started {
        let optimizations = records.optimizations();
        optimizations.start(USER, TokenId(1), new).await.unwrap()
    }

    async fn points(records: &Records) -> u64 {
        let user = records.accounts().get(USER).await.unwrap();
        user.unwrap().points
    }

    #[tokio::test]
    async fn many_start_in_their_order_and_a_repeated_request_makes_what_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let records = records(dir.path()).await;
        let mut new = vec![
            asked(2, "k/0", &["red", "old"]),
            asked(1, "k/1", &[]),
            asked(2, "k/2", &["red"]),
        ];
        let Started::Queued(first) = start(&records, &new).await else {
            panic!("all are complete and paid");
        };
        assert_eq!((first.len(), points(&records).await), (3, 7));
        assert!(first.is_sorted());
        for (id, new) in first.iter().zip(&new) {
            let row = records.rapids().get(USER, *id).await.unwrap().unwrap();
            assert_eq!((row.asset, &row.name), (new.asset, &new.name));
            assert!(row.job.is_some());
        }
        let owners: Vec<ModelId> = first.iter().map(|id| ModelId::Rapid(*id)).collect();
        let tags = records.tags().list(&owners).await.unwrap();
        let names = |owner| {
            tags[&owner]
                .iter()
                .map(|tag| &*tag.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(owners[0]), ["red", "old"]);
        assert_eq!(names(owners[2]), ["red"]);
        assert!(!tags.contains_key(&owners[1]));

        new.insert(1, asked(3, "k/3", &[]));
        let Started::Queued(again) = start(&records, &new).await else {
            panic!("all are complete and paid");
        };
        assert_eq!([again[0], again[2], again[3]], first[..]);
        assert_eq!(points(&records).await, 6);
        for expected in first.iter().chain([&again[1]]) {
            let job = records.jobs().claim(Duration::from_mins(1)).await.unwrap();
            assert_eq!(job.unwrap().rapid, Some(*expected));
        }

        for asset in [4, 5] {
            let refused = start(&records, &[asked(1, "n/0", &[]), asked(asset, "n/1", &[])]).await;
            assert_eq!(refused, Started::NotComplete(AssetId(asset)));
        }
        let all: Vec<NewRapid> = (0..7).map(|at| asked(1, &format!("m/{at}"), &[])).collect();
        assert_eq!(start(&records, &all).await, Started::NoPoints { left: 6 });
        assert_eq!(points(&records).await, 6);
    }

    #[tokio::test]
    async fn of_many_deleted_models_those_that_are_queued_are_paid_back() {
        let dir = tempfile::tempdir().unwrap();
        let records = records(dir.path()).await;
        let new: Vec<NewRapid> = (0..4)
            .map(|at| asked(1, &format!("k/{at}"), &["red"]))
            .collect();
        let Started::Queued(ids) = start(&records, &new).await else {
            panic!("all are complete and paid");
        };
        let job = records.jobs().claim(Duration::from_mins(1)).await.unwrap();
        assert_eq!(job.unwrap().rapid, Some(ids[0]));
        let mut models: Vec<ModelId> = ids[..3].iter().map(|id| ModelId::Rapid(*id)).collect();
        models.extend([ModelId::Asset(AssetId(2)), ModelId::Rapid(RapidId(999))]);
        let foreign = records.models().delete(UserId(2), &models).await.unwrap();
        assert_eq!((foreign.records, foreign.jobs.len()), (0, 0));
        let removal = records.models().delete(USER, &models).await.unwrap();
        assert_eq!((removal.records, removal.jobs.len()), (4, 3));
        assert_eq!(points(&records).await, 8, "one of the three runs");
        let rapids: Vec<ModelId> = ids.iter().map(|id| ModelId::Rapid(*id)).collect();
        let tagged = records.tags().list(&rapids).await.unwrap();
        assert!(tagged.into_keys().eq([rapids[3]]));
        assert!(records.rapids().get(USER, ids[3]).await.unwrap().is_some());
        assert!(
            records
                .assets()
                .get(USER, AssetId(2))
                .await
                .unwrap()
                .is_none()
        );
        assert!(
            records
                .assets()
                .get(USER, AssetId(1))
                .await
                .unwrap()
                .is_some()
        );
    }
}
