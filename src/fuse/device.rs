//! The device through which a drive is mounted.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

/// Whether this process may mount through the kernel's FUSE device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuseDevice {
    Ready,
    Missing,
    /// It is there, but its permissions keep this user out: udev gives it to everybody, many containers to root alone.
    Forbidden,
    /// It cannot be opened for another reason.
    Broken(io::ErrorKind),
}

impl FuseDevice {
    /// Opens the device of this machine for a moment.
    pub fn of_this_machine() -> FuseDevice {
        FuseDevice::at(Path::new("/dev/fuse"))
    }

    fn at(path: &Path) -> FuseDevice {
        match File::options().read(true).write(true).open(path) {
            Ok(_) => FuseDevice::Ready,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => FuseDevice::Missing,
                io::ErrorKind::PermissionDenied => FuseDevice::Forbidden,
                other => FuseDevice::Broken(other),
            },
        }
    }
}

/// What is wrong and what to do.
impl fmt::Display for FuseDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FuseDevice::Ready => f.write_str("/dev/fuse can be opened"),
            FuseDevice::Missing => f.write_str(
                "this machine has no /dev/fuse: run `modprobe fuse`, or give the container \
                 `--device /dev/fuse --cap-add SYS_ADMIN`",
            ),
            FuseDevice::Forbidden => f.write_str(
                "this user may not open /dev/fuse: run `chmod 666 /dev/fuse` as root, as udev does",
            ),
            FuseDevice::Broken(kind) => write!(f, "/dev/fuse cannot be opened: {kind}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_and_one_that_cannot_be_opened_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("fuse");
        assert_eq!(FuseDevice::at(&file), FuseDevice::Missing);
        assert!(matches!(FuseDevice::at(dir.path()), FuseDevice::Broken(_)));
        std::fs::write(&file, "").unwrap();
        assert_eq!(FuseDevice::at(&file), FuseDevice::Ready);
    }
}
