//! The stale results that can be run again: those whose text is not under way in the outbox already. A request that was sent,
//! or is to be sent, is known there before the service lists its result.

use crate::drive::catalog::{StaleCheck, StaleText, stale_texts};
use crate::drive::tree::Tree;
use crate::drive::values::local::DropFolder;
use crate::outbox::{JobInfo, text_stem};

/// The stale texts that no job is making again.
pub fn runnable_texts(tree: &Tree) -> Vec<StaleText> {
    let check = StaleCheck::new(tree.catalog());
    let mut stale = stale_texts(tree.catalog(), &check);
    stale.retain(|it| !is_under_way(tree, it));
    stale
}

/// The text of a drop folder with that name, whatever its extension.
pub fn text_in(tree: &Tree, folder: DropFolder, text: &str) -> Option<JobInfo> {
    let jobs = tree.outbox().jobs().in_folder(&folder.in_outbox());
    let mut jobs = jobs.into_iter();
    jobs.find(|job| text_stem(&job.name) == text)
}

/// True from the moment at which it was asked for again. A request without an answer counts: running it again could pay twice.
fn is_under_way(tree: &Tree, stale: &StaleText) -> bool {
    let Some(job) = text_in(tree, DropFolder::Optimize(stale.model), &stale.text) else {
        return false;
    };
    // The result of a job that has ended may not be listed yet.
    job.state.is_under_way() || job.rapid.is_some_and(|rapid| rapid > stale.result)
}
