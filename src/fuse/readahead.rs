//! The kernel's readahead for the mount. The default is 128 KiB, an eighth of the largest request; only root
//! can raise it, in sysfs. Without that the drive still reads ahead, but the kernel sends more requests.

use std::fs;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};

/// The size of the largest request. A larger value would slow down page faults in mappings of uncached files.
const READAHEAD_KIB: u32 = 1024;

/// Raises the readahead of the mount, if this process has the permission.
pub(super) fn raise(mount_point: &Path) {
    match device_of(mount_point) {
        Ok((major, minor)) => {
            let path = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
            if let Err(error) = fs::write(path, READAHEAD_KIB.to_string()) {
                tracing::debug!(%error, "could not raise the kernel's readahead");
            }
        }
        Err(error) => tracing::debug!(%error, "could not get the device of the mount"),
    }
}

/// The device number of the mount. Does not send a request to the drive, which could block.
fn device_of(mount_point: &Path) -> rustix::io::Result<(u32, u32)> {
    let folder = rustix::fs::openat(
        CWD,
        mount_point,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let status = rustix::fs::statx(
        folder,
        "",
        AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC,
        StatxFlags::empty(),
    )?;
    Ok((status.stx_dev_major, status.stx_dev_minor))
}
