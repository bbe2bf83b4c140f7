//! Jobs for several models: resolves the paths in the text of such a job to ids.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::RawModels;
use crate::drive::tree::Tree;
use crate::drive::values::local::DropFolder;
use crate::drive::values::node::{Home, Model};
use crate::outbox::{Jobs, OwnerFolder};

/// Resolves the model paths in a text of `jobs/`. Unknown paths and invalid texts are reported when the text is
/// sent.
pub async fn find_models(tree: &Arc<Tree>, name: &str) -> DriveResult<()> {
    let Some(job) = tree
        .outbox()
        .jobs()
        .get(&DropFolder::Jobs.in_outbox(), name)
    else {
        return Ok(());
    };
    let Ok(paths) = Jobs::paths_in(name, &job.text) else {
        return Ok(());
    };
    if paths.is_empty() {
        return Ok(());
    }
    let mut owners = BTreeMap::new();
    for path in paths {
        let found = match name_in(&path) {
            Some(model) => RawModels::find(tree, model).await,
            None => Err(DriveError::NotFound),
        };
        match found {
            Ok(node) => {
                let model = node.model_folder().or_else(|| node.owner(tree));
                if let Some(Model::Raw(home)) = model {
                    owners.insert(path, owner_in_outbox(tree, home));
                }
            }
            Err(DriveError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tree.outbox().jobs().set_paths(name, owners)?)
}

fn owner_in_outbox(tree: &Tree, home: Home) -> OwnerFolder {
    match (tree.catalog().asset_of(home), home) {
        (Some(asset), _) | (None, Home::Found(asset)) => OwnerFolder::Asset(asset),
        (None, Home::Made(draft)) => OwnerFolder::Draft(draft),
    }
}

/// The model name in a path: the component after `rawmodels/`, or a bare name.
fn name_in(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    let mut parts = path.rsplit('/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    match parts.next() {
        None => Some(name),
        Some(parent) => (parent == "rawmodels").then_some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_model_whatever_the_mount_is_called() {
        for path in [
            "chair",
            "rawmodels/chair",
            "../rawmodels/chair/",
            "/home/me/assets/rawmodels/chair",
        ] {
            assert_eq!(name_in(path), Some("chair"), "{path}");
        }
        for path in ["", "/", "rapidmodels/chair", "rawmodels/chair/chair.glb"] {
            assert_eq!(name_in(path), None, "{path}");
        }
    }
}
