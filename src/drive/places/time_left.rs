//! The status of a job that runs, with the time that it still takes, as far as earlier jobs tell.

use std::time::Instant;

use crate::drive::tree::Tree;
use crate::drive::values::node::Model;
use crate::outbox::{ItemStatus, JobInfo};

/// The status of a job of a model.
pub(super) fn with_time_left(tree: &Tree, model: Option<Model>, job: &JobInfo) -> ItemStatus {
    match job.status {
        ItemStatus::Running { percent, .. } => {
            let size = source_size(tree, model);
            let seconds_left = tree.estimates().seconds_left(job, size, Instant::now());
            ItemStatus::Running {
                percent,
                seconds_left,
            }
        }
        _ => job.status.clone(),
    }
}

/// The bytes of a source model, once they are known.
pub fn source_size(tree: &Tree, model: Option<Model>) -> Option<u64> {
    let Model::Raw(home) = model? else {
        return None;
    };
    let asset = tree.catalog().asset_of(home)?;
    tree.catalog().asset(asset)?.size
}
