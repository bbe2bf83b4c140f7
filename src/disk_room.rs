//! Checks for free disk space, before work begins and for the health check. Recognizes errors that a full disk has caused.

use std::error::Error;
use std::io;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;

/// A disk with less free space counts as full: no result fits.
const MIN_FREE_BYTES: u64 = 1 << 20;

/// Fails if the disk of `folder` is full, has no inode left or cannot be written.
pub fn check_room(folder: &Path) -> io::Result<()> {
    let disk = rustix::fs::statvfs(folder)?;
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(io::ErrorKind::ReadOnlyFilesystem.into());
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    // Some file systems count no inodes.
    let has_inode = disk.f_files == 0 || disk.f_favail > 0;
    match free >= MIN_FREE_BYTES && has_inode {
        true => Ok(()),
        false => Err(io::ErrorKind::StorageFull.into()),
    }
}

/// Whether a full disk or a disk quota is among the causes of an error.
pub fn is_disk_full(error: &(dyn Error + 'static)) -> bool {
    disk_error(error).is_some_and(|error| {
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    })
}

/// The error of the disk among the causes of an error.
pub fn disk_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(error) = next {
        found = error.downcast_ref::<io::Error>().or(found);
        next = error.source();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn a_full_disk_is_found_behind_other_errors() {
        assert!(is_disk_full(&Outer(io::ErrorKind::StorageFull.into())));
        assert!(is_disk_full(&Outer(io::Error::from_raw_os_error(
            libc::ENOSPC
        ))));
        assert!(is_disk_full(&Outer(io::Error::from_raw_os_error(
            libc::EDQUOT
        ))));
        assert!(!is_disk_full(&Outer(io::ErrorKind::NotFound.into())));
        assert!(!is_disk_full(&std::fmt::Error));
    }

    #[test]
    fn a_folder_that_does_not_exist_has_no_room() {
        assert!(check_room(Path::new("/nowhere/at/all")).is_err());
        assert!(check_room(Path::new("/proc")).is_err(), "it has no space");
        assert!(check_room(&std::env::temp_dir()).is_ok());
    }
}
