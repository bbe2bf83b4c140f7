//! Commands for the block cache of a running mount: clear, verify, pin, unpin.

use std::sync::Arc;

use crate::drive::catalog::run_blocking;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::resolve;
use crate::drive::tree::Tree;

/// Deletes all cached blocks. Pins stay, and what they cover is fetched again in the background.
pub async fn clear_cache(tree: &Tree) -> DriveResult<()> {
    let cache = tree.cache().clone();
    run_blocking(tree.catalog(), move || {
        cache.clear();
        Ok(())
    })
    .await
}

/// Starts comparing all cached blocks with their checksums; the status shows the result.
pub fn verify_cache(tree: &Arc<Tree>) {
    if tree.verification().begin() {
        let shared = Arc::clone(tree);
        tree.runtime().spawn_blocking(move || {
            let report = shared.cache().verify();
            shared.verification().end(report);
        });
    }
}

pub async fn pin(tree: &Arc<Tree>, path: &str) -> DriveResult<()> {
    let prefix = resolve(tree, path).await?.cache_name(tree)?;
    let cache = tree.cache().clone();
    run_blocking(tree.catalog(), move || cache.pin(&prefix).map_err(local)).await
}

pub async fn unpin(tree: &Arc<Tree>, path: &str) -> DriveResult<()> {
    let prefix = resolve(tree, path).await?.cache_name(tree)?;
    let cache = tree.cache().clone();
    run_blocking(tree.catalog(), move || cache.unpin(&prefix).map_err(local)).await
}

fn local(error: crate::cache::CacheError) -> DriveError {
    DriveError::Local(error.to_string())
}
