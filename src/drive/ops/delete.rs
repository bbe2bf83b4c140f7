//! Deleting on the service: models, alone or many with few requests, and embeds. A deletion is refused while the
//! listing may be old, and beyond the limit of deletions a minute.

use std::sync::Arc;

use crate::drive::catalog::{
    asset_gone, embed_gone, is_stale, keep_for_good, model_path, rapid_gone, refresh_listing,
    room_changed, send_with_deadline, shown_as,
};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::history::{HistoryEvent, HistoryKind};
use crate::drive::places::{Node, refusals};
use crate::drive::tree::Tree;
use crate::drive::values::node::{ListingKind, Model};
use crate::wire::{AssetId, EmbedId, ModelId, RapidId};

/// Maximum number of models in one delete request.
const DELETED_AT_ONCE: usize = 50;

/// Deletes models with few requests: all of them, or none if they are more than the limit allows. For a number that a user
/// has confirmed there is no limit.
pub async fn delete_many(
    tree: &Arc<Tree>,
    subjects: Vec<ModelId>,
    is_confirmed: bool,
) -> DriveResult<()> {
    for subject in &subjects {
        check_may_hide(tree, shown_as(tree.catalog(), *subject), false).await?;
    }
    let shared = Arc::clone(tree);
    tree.detached(async move {
        match is_confirmed {
            true => delete_uncounted(&shared, &subjects, &mut 0).await,
            false => delete_counted(&shared, &subjects).await,
        }
    })
    .await
}

pub(super) async fn delete_on_service(tree: &Arc<Tree>, model: Model) -> DriveResult<()> {
    let subject = match model {
        Model::Raw(home) => {
            ModelId::Asset(tree.catalog().asset_of(home).ok_or(DriveError::NotFound)?)
        }
        Model::Rapid(rapid) => ModelId::Rapid(rapid),
    };
    delete_counted(tree, &[subject]).await
}

/// All deletions of models that nobody has confirmed go through this function. They are counted before the service is asked, so
/// that concurrent deletions share one limit; afterwards those that failed are subtracted.
async fn delete_counted(tree: &Arc<Tree>, subjects: &[ModelId]) -> DriveResult<()> {
    let limit = tree.config().delete_limit;
    if !tree.deletions().count(limit, subjects.len()) {
        return Err(refusals::delete_limit(limit, subjects.len()));
    }
    let mut deleted = 0;
    let outcome = delete_uncounted(tree, subjects, &mut deleted).await;
    tree.deletions().uncount(subjects.len() - deleted);
    outcome
}

async fn delete_uncounted(
    tree: &Arc<Tree>,
    subjects: &[ModelId],
    deleted: &mut usize,
) -> DriveResult<()> {
    let mut assets = Vec::new();
    let mut rapids = Vec::new();
    for subject in subjects {
        match subject {
            ModelId::Asset(asset) => assets.push(*asset),
            ModelId::Rapid(rapid) => rapids.push(*rapid),
        }
    }
    let outcome = delete_in_parts(tree, (&assets, &rapids), deleted).await;
    if *deleted > 0 {
        room_changed(tree.catalog());
        keep_for_good(tree.catalog()).await?;
    }
    outcome
}

async fn delete_in_parts(
    tree: &Arc<Tree>,
    (assets, rapids): (&[AssetId], &[RapidId]),
    deleted: &mut usize,
) -> DriveResult<()> {
    for part in assets.chunks(DELETED_AT_ONCE) {
        match delete_assets(tree, part).await {
            // One of them is gone already, and the reply does not say which: delete them one by one.
            Err(DriveError::NotFound) if part.len() > 1 => {
                for asset in part {
                    ok_if_gone(delete_assets(tree, &[*asset]).await)?;
                    *deleted += forget(tree, [ModelId::Asset(*asset)]);
                }
            }
            outcome => {
                ok_if_gone(outcome)?;
                *deleted += forget(tree, part.iter().copied().map(ModelId::Asset));
            }
        }
    }
    for part in rapids.chunks(DELETED_AT_ONCE) {
        match delete_rapids(tree, part).await {
            Err(DriveError::NotFound) if part.len() > 1 => {
                for rapid in part {
                    ok_if_gone(delete_rapids(tree, &[*rapid]).await)?;
                    *deleted += forget(tree, [ModelId::Rapid(*rapid)]);
                }
            }
            outcome => {
                ok_if_gone(outcome)?;
                *deleted += forget(tree, part.iter().copied().map(ModelId::Rapid));
            }
        }
    }
    Ok(())
}

/// Notes that models are deleted; returns how many.
fn forget(tree: &Arc<Tree>, subjects: impl IntoIterator<Item = ModelId>) -> usize {
    let mut count = 0;
    for subject in subjects {
        note_deleted(tree, shown_as(tree.catalog(), subject));
        match subject {
            ModelId::Asset(asset) => asset_gone(tree.catalog(), asset),
            ModelId::Rapid(rapid) => rapid_gone(tree.catalog(), rapid),
        }
        count += 1;
    }
    count
}

/// Already deleted by someone else: a success.
fn ok_if_gone(outcome: DriveResult<()>) -> DriveResult<()> {
    match outcome {
        Err(DriveError::NotFound) => Ok(()),
        outcome => outcome,
    }
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
async fn delete_assets(tree: &Arc<Tree>, assets: &[AssetId]) -> DriveResult<()> {
    tree.outbox().deletions().begin(assets).await?;
    let calls = tree.client().assets();
    let reply = match assets {
        [asset] => send_with_deadline(tree.catalog(), calls.delete(*asset)).await,
        assets => send_with_deadline(tree.catalog(), calls.delete_many(assets)).await,
    };
    match &reply {
        Ok(()) => {}
        Err(DriveError::NotFound) if assets.len() == 1 => {}
        Err(_) => tree.outbox().deletions().refused(assets).await?,
    }
    reply
}

async fn delete_rapids(tree: &Arc<Tree>, rapids: &[RapidId]) -> DriveResult<()> {
    let calls = tree.client().rapids();
    match rapids {
        [rapid] => send_with_deadline(tree.catalog(), calls.delete(*rapid)).await,
        rapids => send_with_deadline(tree.catalog(), calls.delete_many(rapids)).await,
    }
}

pub(super) async fn delete_embed(tree: &Arc<Tree>, embed: EmbedId) -> DriveResult<()> {
    if tree.config().no_delete {
        return Err(refusals::no_delete());
    }
    let shared = Arc::clone(tree);
    tree.detached(async move {
        match send_with_deadline(shared.catalog(), shared.client().embeds().delete(embed)).await {
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
    check_may_hide(tree, model, true).await
}

/// Like [`check_may_delete`], for a part of a model. To remove a part deletes nothing on the service, so the limit applies
/// only if it `begins` the deletion of the whole model.
pub(super) async fn check_may_hide(
    tree: &Arc<Tree>,
    model: Model,
    begins: bool,
) -> DriveResult<()> {
    if tree.config().no_delete {
        return Err(refusals::no_delete());
    }
    let which = match model {
        Model::Rapid(_) => ListingKind::Rapids,
        Model::Raw(_) => ListingKind::Assets,
    };
    if refresh_listing(tree.catalog(), which).await.is_err() || is_stale(tree.catalog(), which) {
        return Err(refusals::stale_delete());
    }
    let limit = tree.config().delete_limit;
    if begins && tree.deletions().is_over_limit(limit) {
        return Err(refusals::delete_limit(limit, 1));
    }
    Ok(())
}

/// True for a file that was uploaded as part of its model: removing one begins the deletion of the model. A file that the service or a
/// job has made is only hidden.
pub(super) fn is_own_file(node: &Node) -> bool {
    let remote = node.service_file().map(|(folder, _)| folder);
    let remote = remote.or_else(|| node.service_folder());
    node.draft_entry().is_some() || remote.is_some_and(|folder| folder.name().is_none())
}
