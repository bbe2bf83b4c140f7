//! Free space: what the account has left, limited by the staging disk. Also answered offline.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::catalog::{account_value, account_value_at_hand};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::FileSystemStatus;
use crate::drive::tree::Tree;
use crate::drive::values::node::AccountFile;

const BLOCK_SIZE: u32 = 4096;
/// The service has no limit on files, but `df -i` needs a number. The disk of the staged files may have less.
const FILES_FREE: u64 = 1 << 32;
/// Timeout of the first request for the account's space.
const PATIENCE: Duration = Duration::from_secs(2);

pub async fn statfs(tree: &Arc<Tree>) -> DriveResult<FileSystemStatus> {
    let staging = rustix::fs::statvfs(&tree.config().staging_dir).map_err(|error| {
        DriveError::Local(format!(
            "the free space of the staging folder cannot be read: {error}"
        ))
    })?;
    let staging_left = staging.f_bavail.saturating_mul(staging.f_frsize);
    let left = match account_value_at_hand(tree.catalog(), AccountFile::StorageLeft) {
        Some(left) => left,
        None => tree
            .within(
                PATIENCE,
                "the service",
                account_value(tree.catalog(), AccountFile::StorageLeft),
            )
            .await
            .unwrap_or(staging_left),
    };
    let (used, files) = {
        let known = tree.catalog().known();
        let used: u64 = known.assets.rows().filter_map(|row| row.size).sum();
        (used, known.assets.len() + known.rapids.len())
    };
    let files_free = files_free(staging.f_files, staging.f_favail);
    let blocks = |bytes: u64| bytes / u64::from(BLOCK_SIZE);
    Ok(FileSystemStatus {
        block_size: BLOCK_SIZE,
        blocks: blocks(left.saturating_add(used)),
        blocks_free: blocks(left),
        blocks_available: blocks(left.min(staging_left)),
        files: (files as u64).saturating_add(files_free),
        files_free,
        name_max: 255,
    })
}

/// How many files can still be made, where the staging folder's file system has a table of so many inodes.
fn files_free(inodes: u64, available: u64) -> u64 {
    match inodes {
        // Some file systems have no table of inodes, and report none.
        0 => FILES_FREE,
        _ => FILES_FREE.min(available),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_of_inodes_leaves_no_file_and_no_table_leaves_many() {
        assert_eq!(files_free(1000, 0), 0);
        assert_eq!(files_free(1000, 7), 7);
        assert_eq!(files_free(0, 0), FILES_FREE);
    }
}
