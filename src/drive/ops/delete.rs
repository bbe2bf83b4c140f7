//! Deleting on the service: models, alone or many with few requests, and embeds. A deletion is refused while the
//! listing may be old, and beyond the limit of deletions a minute.

use std::sync::Arc;

use crate::client::ClientError;
use crate::drive::catalog::{
    asked, asset_gone, embed_gone, is_stale, keep_for_good, model_path, rapid_gone, refreshed,
    room_changed, shown_as,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::history::{HistoryEvent, HistoryKind};
use crate::drive::places::refusals;
use crate::drive::tree::Tree;
use crate::drive::values::node::{ListingKind, Model};
use crate::wire::{AssetId, EmbedId, ModelId};

/// Maximum number of models in one delete request.
const DELETED_AT_ONCE: usize = 50;

/// Deletes models with few requests: all of them, or none if they are more than the limit allows.
pub(in crate::drive) async fn delete_many(
    tree: &Arc<Tree>,
    subjects: Vec<ModelId>,
) -> DriveResult<()> {
    for subject in &subjects {
        check_may_delete(tree, shown_as(tree.catalog(), *subject)).await?;
    }
    let limit = tree.config().delete_limit;
    if tree.deletions().would_be_over_limit(limit, subjects.len()) {
        return Err(refusals::delete_limit(limit));
    }
    let shared = Arc::clone(tree);
    tree.detached(async move { delete_in_bulk(&shared, &subjects).await })
        .await
}

async fn delete_in_bulk(tree: &Arc<Tree>, subjects: &[ModelId]) -> DriveResult<()> {
    let mut assets = Vec::new();
    let mut rapids = Vec::new();
    for subject in subjects {
        match subject {
            ModelId::Asset(asset) => assets.push(*asset),
            ModelId::Rapid(rapid) => rapids.push(*rapid),
        }
    }
    for assets in assets.chunks(DELETED_AT_ONCE) {
        delete_assets(tree, assets, tree.client().assets().delete_many(assets)).await?;
        for asset in assets {
            tree.deletions().count();
            note_deleted(tree, shown_as(tree.catalog(), ModelId::Asset(*asset)));
            asset_gone(tree.catalog(), *asset);
        }
    }
    for rapids in rapids.chunks(DELETED_AT_ONCE) {
        asked(tree.catalog(), tree.client().rapids().delete_many(rapids)).await?;
        for rapid in rapids {
            tree.deletions().count();
            note_deleted(tree, Model::Rapid(*rapid));
            rapid_gone(tree.catalog(), *rapid);
        }
    }
    keep_for_good(tree.catalog()).await
}

pub(super) async fn delete_on_service(tree: &Arc<Tree>, model: Model) -> DriveResult<()> {
    let reply = match model {
        Model::Raw(home) => {
            let asset = tree.catalog().asset_of(home).ok_or(DriveError::NotFound)?;
            delete_assets(tree, &[asset], tree.client().assets().delete(asset)).await
        }
        Model::Rapid(rapid) => asked(tree.catalog(), tree.client().rapids().delete(rapid)).await,
    };
    match reply {
        // Already deleted by someone else: a success.
        Ok(()) | Err(DriveError::NotFound) => {}
        Err(error) => return Err(error),
    }
    tree.deletions().count();
    note_deleted(tree, model);
    match model {
        Model::Raw(home) => {
            if let Some(asset) = tree.catalog().asset_of(home) {
                asset_gone(tree.catalog(), asset);
            }
        }
        Model::Rapid(rapid) => rapid_gone(tree.catalog(), rapid),
    }
    room_changed(tree.catalog());
    keep_for_good(tree.catalog()).await
}

fn note_deleted(tree: &Tree, model: Model) {
    let id = match model {
        Model::Raw(home) => tree.catalog().asset_of(home).map(|asset| asset.0),
        Model::Rapid(rapid) => Some(rapid.0),
    };
    tree.failures().history().note(HistoryEvent {
        kind: HistoryKind::Deleted,
        path: model_path(tree.catalog(), model),
        id,
        ..HistoryEvent::default()
    });
}

/// Deletes assets on the service; the journal records the intention before and a refusal after.
async fn delete_assets(
    tree: &Arc<Tree>,
    assets: &[AssetId],
    call: impl Future<Output = Result<(), ClientError>>,
) -> DriveResult<()> {
    tree.outbox().deletions().begin(assets).await?;
    let reply = asked(tree.catalog(), call).await;
    match &reply {
        Ok(()) => {}
        // Already deleted by someone else: a success.
        Err(DriveError::NotFound) if assets.len() == 1 => {}
        Err(_) => tree.outbox().deletions().refused(assets).await?,
    }
    reply
}

pub(super) async fn delete_embed(tree: &Arc<Tree>, embed: EmbedId) -> DriveResult<()> {
    if tree.config().no_delete {
        return Err(refusals::no_delete());
    }
    let shared = Arc::clone(tree);
    tree.detached(async move {
        match asked(shared.catalog(), shared.client().embeds().delete(embed)).await {
            // Already deleted by someone else: a success.
            Ok(()) | Err(DriveError::NotFound) => {}
            Err(error) => return Err(error),
        }
        embed_gone(shared.catalog(), embed);
        keep_for_good(shared.catalog()).await
    })
    .await
}

/// Refuses a deletion before anything is hidden.
pub(super) async fn check_may_delete(tree: &Arc<Tree>, model: Model) -> DriveResult<()> {
    if tree.config().no_delete {
        return Err(refusals::no_delete());
    }
    let which = match model {
        Model::Rapid(_) => ListingKind::Rapids,
        Model::Raw(_) => ListingKind::Assets,
    };
    if refreshed(tree.catalog(), which).await.is_err() || is_stale(tree.catalog(), which) {
        return Err(refusals::stale_delete());
    }
    let limit = tree.config().delete_limit;
    if tree.deletions().is_over_limit(limit) {
        return Err(refusals::delete_limit(limit));
    }
    Ok(())
}
