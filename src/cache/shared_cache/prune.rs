//! Keeps a folder of chunks below its limit: the oldest go. Several mounts prune in turn, by a claim.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::claim_file::{age, claim_file, remove};
use super::store::{Claimed, Holder};

/// Age from which temporary files count as left behind by a killed mount, and are deleted.
const LEFT_OVER: Duration = Duration::from_secs(3600);

/// Each mount measures the folder after writing this many bytes.
pub(super) fn step(limit: u64) -> u64 {
    limit / 64
}

/// Who has pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pruned {
    ByUs,
    /// Another mount is pruning. It may have measured the folder before the last writes of this one.
    ByAnother,
}

/// Removes the oldest chunks down to three quarters of the limit, if the folder is over seven eighths of it. The rest
/// is what other mounts may write before they measure.
pub(super) fn prune(root: &Path, limit: u64) -> io::Result<Pruned> {
    let claim = root.join("prune.claim");
    // The owner of the prune claim is never read.
    match claim_file(&claim, Holder(0), Permissions::from_mode(0o600))? {
        Claimed::By(_) => return Ok(Pruned::ByAnother),
        Claimed::Ours => {}
    }
    let pruned = prune_claimed(root, limit);
    remove(&claim)?;
    pruned.map(|()| Pruned::ByUs)
}

struct StoredChunk {
    modified: SystemTime,
    len: u64,
    path: PathBuf,
}

fn prune_claimed(root: &Path, limit: u64) -> io::Result<()> {
    let mut found = Vec::new();
    for folder in fs::read_dir(root)? {
        let folder = folder?;
        if folder.file_type()?.is_dir() {
            measure(&folder.path(), &mut found)?;
        }
    }
    let mut used: u64 = found.iter().map(|found| found.len).sum();
    if used <= limit / 8 * 7 {
        return Ok(());
    }
    found.sort_by_key(|found| found.modified);
    for StoredChunk { len, path, .. } in found {
        if used <= limit / 4 * 3 {
            break;
        }
        remove(&path)?;
        used -= len;
    }
    Ok(())
}

/// Collects the chunks of a folder and removes what killed mounts left in it.
fn measure(folder: &Path, found: &mut Vec<StoredChunk>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            // Another mount removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if path.extension().is_some() && age(&metadata) > Some(LEFT_OVER) {
            remove(&path)?;
        } else if metadata.is_file() {
            found.push(StoredChunk {
                modified: metadata.modified()?,
                len: metadata.len(),
                path,
            });
        }
    }
    Ok(())
}
