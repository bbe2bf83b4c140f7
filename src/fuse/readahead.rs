//! How far the kernel reads ahead in a mount. It begins at 128 KiB, an eighth of the largest request;
//! only root can raise it, and only in sysfs. Where that is not allowed the drive reads ahead all the
//! same, and costs the kernel more requests for it.

use std::fs;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};

/// One of the largest requests. More would make each fault in a mapping of a cold file as long.
const READAHEAD_KIB: u32 = 1024;

/// Raises the readahead of the mount, where this process may.
pub(super) fn raise(mount_point: &Path) {
    match device_of(mount_point) {
        Ok((major, minor)) => {
            let path = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
            if let Err(error) = fs::write(path, READAHEAD_KIB.to_string()) {
                tracing::debug!(%error, "the kernel's readahead stays as it is");
            }
        }
        Err(error) => tracing::debug!(%error, "cannot tell the device of the mount"),
    }
}

/// The device number, asked for in a way that waits for no answer of the mounted drive.
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
