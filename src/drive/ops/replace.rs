//! New versions of models. The outbox moves the name when the new version is complete.

use crate::drive::catalog::first_version;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::refusals;
use crate::drive::tree::Tree;
use crate::drive::values::names::ends_in_id;
use crate::outbox::{DraftInfo, Replaced};
use crate::wire::AssetId;

/// Makes the draft of that name in `rawmodels/` the new version of an asset.
pub fn replace(tree: &Tree, asset: AssetId, draft: &str, remove_old: bool) -> DriveResult<()> {
    let found = tree.outbox().drafts().find(draft);
    let is_version = |found: &DraftInfo| {
        let replaced = found.replaces.as_ref();
        replaced.is_some_and(|replaced| replaced.asset == asset)
    };
    // A version that is being uploaded has an asset already. Only whether the old version is deleted can still change.
    let found = found
        .filter(|found| is_version(found) || tree.catalog().asset_of_draft(found.id).is_none());
    let Some(found) = found else {
        return Err(DriveError::Invalid(format!(
            "there is no draft {draft} in rawmodels/; copy the new version in, then name it here"
        )));
    };
    let replaced = Replaced {
        remove_old,
        ..replaced_by_next(tree, asset)?
    };
    if remove_old && tree.config().no_delete {
        return Err(refusals::no_delete());
    }
    let was_counted = found.replaces.is_some_and(|replaced| replaced.remove_old);
    let is_counted = remove_old && !was_counted;
    let limit = tree.config().delete_limit;
    if is_counted && !tree.deletions().count(limit, 1) {
        return Err(refusals::delete_limit(limit, 1));
    }
    let made = tree.outbox().uploads().make_version(found.id, &replaced);
    if is_counted && made.is_err() {
        tree.deletions().uncount(1);
    }
    Ok(made?)
}

/// What the next version of an asset replaces.
pub fn replaced_by_next(tree: &Tree, asset: AssetId) -> DriveResult<Replaced> {
    let name = tree.catalog().model_name(tree.catalog().home_of(asset));
    let name = name.ok_or(DriveError::NotFound)?;
    // A name with an id always means that one model.
    if ends_in_id(&name) {
        return Err(DriveError::Invalid(format!(
            "{name} always means the model with this id, so it cannot be replaced; replace the model that has the name without the id"
        )));
    }
    let known = tree.catalog().asset(asset);
    Ok(Replaced {
        asset,
        first_version: first_version(tree.catalog(), asset),
        model_name: known.map_or_else(|| name.clone(), |known| known.name),
        name,
        remove_old: false,
    })
}
