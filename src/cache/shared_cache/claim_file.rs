//! Claim files: which mount fetches a chunk, or prunes.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::store::{Claimed, Holder};

/// A claim that is older belongs to a dead mount.
pub(super) const OLD_CLAIM: Duration = Duration::from_secs(60);

/// A file to read. Something else than a file is not opened, so that nothing waits for it.
pub(super) fn open(path: &Path) -> io::Result<Option<(File, fs::Metadata)>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => {
            let metadata = file.metadata()?;
            Ok(metadata.is_file().then_some((file, metadata)))
        }
        // ESTALE: another machine replaced or removed it.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle
            ) || error.raw_os_error() == Some(libc::ELOOP) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The age of a file; `None` if its time is in the future.
pub(super) fn age(metadata: &fs::Metadata) -> Option<Duration> {
    SystemTime::now()
        .duration_since(metadata.modified().ok()?)
        .ok()
}

/// Creates the claim file, unless a claim that is not old exists. The time may come from the clock of another machine: a claim
/// from the future counts as old if it is as far away.
pub(super) fn claim_file(
    path: &Path,
    holder: Holder,
    permissions: Permissions,
) -> io::Result<Claimed> {
    for _ in 0..2 {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(mut file) => {
                file.set_permissions(permissions)?;
                file.write_all(holder.to_string().as_bytes())?;
                return Ok(Claimed::Ours);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        // Its mount may remove it at any time.
        let Some((mut file, metadata)) = open(path)? else {
            continue;
        };
        let modified = metadata.modified()?;
        let now = SystemTime::now();
        let difference = now
            .duration_since(modified)
            .unwrap_or_else(|error| error.duration());
        if difference < OLD_CLAIM {
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            return Ok(Claimed::By(Holder::read(&text)));
        }
        remove(path)?;
    }
    Ok(Claimed::By(Holder(0)))
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(super) fn claim_path(path: &Path) -> PathBuf {
    path.with_extension("claim")
}
