//! Starts of uploads: whether a request repeats an earlier one, joins the upload of another client, or begins a new one;
//! and uploads that are given up.
//!
//! Each is one transaction that is alone with the account. So an upload that a client has joined is not deleted by one
//! that gives it up, and of several clients at the same moment only the first makes an asset.

use super::assets::NewAsset;
use super::database::{Result, Tx, retried};
use super::files::{self, Area, FileId};
use super::groups::AssetRecords;
use super::jobs::Removal;
use super::removal::remove_models;
use super::sql::{record, sql};
use crate::service::ids::random_uuid;
use crate::wire::{AssetId, ModelId, UploadStatus, UserId};

/// How long after its start a complete upload is still joined: clients that begin at the same moment may be that far
/// apart.
const JOINED_COMPLETE_MICROS: i64 = 3600 * 1_000_000;

record! {
    /// The asset that an earlier start has created.
    pub struct EarlierStart {
        pub asset: AssetId = "id",
        pub join_key: Option<String>,
        pub is_joined: bool,
    }
}

/// An upload that a client has started.
#[derive(Debug)]
pub struct Begun {
    pub asset: AssetId,
    /// Its files by name. Those of an archive that was unpacked are not among them.
    pub files: Vec<(String, FileId)>,
    /// Whether another client has started it.
    pub joined: bool,
}

/// What becomes of an upload that its client gives up.
#[derive(Debug)]
pub enum Abandoned {
    Deleted(Removal),
    /// Another client has joined, so it stays.
    Joined,
    Gone,
}

impl AssetRecords<'_> {
    /// Creates an asset and its files, still without bytes; or returns the one that the same request has created, or
    /// another client with the same join key.
    pub async fn create(self, user: UserId, new: &NewAsset<'_>) -> Result<Begun> {
        let mut tx = self.database.begin_for(user).await?;
        let begun = match known(&mut tx, user, new).await? {
            Some((asset, joined)) => Begun {
                asset,
                files: expected_files(&mut tx, asset).await?,
                joined,
            },
            None => insert(&mut tx, user, new).await?,
        };
        tx.commit().await?;
        Ok(begun)
    }

    /// From now on nobody joins this upload: another model is its new version, so whoever sends it again wants it as a model.
    pub async fn is_replaced(self, user: UserId, asset: AssetId) -> Result<()> {
        let update = "UPDATE assets SET join_key = NULL WHERE id = $1 AND user_id = $2";
        self.database.run(sql!(update, asset, user)).await?;
        Ok(())
    }

    /// Deletes the asset of an upload that is given up. Once another client has joined it stays, unless its import has
    /// failed: then every client has its files.
    pub async fn abandon(self, user: UserId, asset: AssetId) -> Result<Abandoned> {
        retried!({
            let mut tx = self.database.begin_locking(user).await?;
            let query =
                "SELECT upload_status, is_joined FROM assets WHERE id = $1 AND user_id = $2";
            let found = tx.optional(sql!(query, asset, user)).await?;
            let Some((status, is_joined)): Option<(UploadStatus, bool)> = found else {
                return Ok(Abandoned::Gone);
            };
            if is_joined && !status.is_failure() {
                return Ok(Abandoned::Joined);
            }
            let removal = remove_models(&mut tx, user, &[ModelId::Asset(asset)]).await?;
            tx.commit().await?;
            Ok(Abandoned::Deleted(removal))
        })
    }
}

/// The asset of the same upload, and whether another client has started it.
async fn known(tx: &mut Tx, user: UserId, new: &NewAsset<'_>) -> Result<Option<(AssetId, bool)>> {
    let own = own_start(tx, user, new).await?;
    if let Some(own) = &own
        && own.join_key.as_deref() == new.join_key
    {
        return Ok(Some((own.asset, false)));
    }
    if let Some(asset) = joinable(tx, user, new).await? {
        let update = "UPDATE assets SET is_joined = 1 WHERE id = $1";
        tx.run(sql!(update, asset)).await?;
        return Ok(Some((asset, true)));
    }
    let Some(own) = own else {
        return Ok(None);
    };
    // The content has changed since the client asked first. It has sent nothing, because it had no reply.
    if own.is_joined {
        let update = "UPDATE assets SET start_key = NULL WHERE id = $1";
        tx.run(sql!(update, own.asset)).await?;
        return Ok(None);
    }
    let update = "UPDATE assets SET join_key = $2 WHERE id = $1";
    tx.run(sql!(update, own.asset, new.join_key)).await?;
    Ok(Some((own.asset, false)))
}

/// The asset that the same client has started with its idempotency key.
async fn own_start(tx: &mut Tx, user: UserId, new: &NewAsset<'_>) -> Result<Option<EarlierStart>> {
    let Some(key) = new.start_key else {
        return Ok(None);
    };
    let query = "SELECT id, join_key, is_joined FROM assets WHERE user_id = $1 AND start_key = $2";
    tx.optional(sql!(query, user, key)).await
}

/// The first upload with the join key that has not failed and that has begun lately, if it is complete.
async fn joinable(tx: &mut Tx, user: UserId, new: &NewAsset<'_>) -> Result<Option<AssetId>> {
    let Some(key) = new.join_key else {
        return Ok(None);
    };
    let since = tx.now() - JOINED_COMPLETE_MICROS;
    let query = "SELECT id, upload_status FROM assets WHERE user_id = $1 AND join_key = $2 \
         AND (upload_status <> 'complete' OR created_at > $3) ORDER BY id";
    let found: Vec<(AssetId, UploadStatus)> = tx.all(sql!(query, user, key, since)).await?;
    let mut wanted = found.iter().filter(|(_, status)| !status.is_failure());
    Ok(wanted.next().map(|(asset, _)| *asset))
}

async fn expected_files(tx: &mut Tx, asset: AssetId) -> Result<Vec<(String, FileId)>> {
    let query = "SELECT name, id FROM files WHERE owner_kind = 'asset' AND owner_id = $1 AND area = $2 ORDER BY id";
    tx.all(sql!(query, asset, Area::Source)).await
}

async fn insert(tx: &mut Tx, user: UserId, new: &NewAsset<'_>) -> Result<Begun> {
    let insert = sql!(
        "INSERT INTO assets (user_id, uuid, name, name_folded, is_zip, upload_status, format, \
         main_file, size, scale_factor, has_errors, created_at, start_key, join_key, token_id) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 1.0, 0, $9, $10, $11, $12) RETURNING id",
        user,
        random_uuid(),
        new.name,
        new.name.to_lowercase(),
        new.is_zip,
        UploadStatus::Incomplete,
        new.format,
        new.main_file,
        tx.now(),
        new.start_key,
        new.join_key,
        new.token,
    );
    let asset: AssetId = tx.one(insert).await?;
    let mut files = Vec::with_capacity(new.filenames.len());
    for name in new.filenames {
        let file = files::expect(tx, ModelId::Asset(asset), Area::Source, name).await?;
        files.push((name.clone(), file));
    }
    Ok(Begun {
        asset,
        files,
        joined: false,
    })
}
