//! Which files are registered. The kernel opens a registered file again with the flags of whoever opens the file of the drive,
//! and asks for no permission then. So what is registered is opened here, with the rights of the user alone, through a
//! read-only mount that only this process has: nobody can write through it, whatever the flags.
//!
//! All checks are by descriptor. The path of a descriptor is only a hint where to look for the file below a folder.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlinkat};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::process::Uid;

use super::{confinement, kernel};

/// `/dev/fuse`.
const DEVICE: (u32, u32) = (10, 229);
/// File systems for disks, memory and containers (`linux/magic.h`). Others, such as `/proc`, have files that show more to whoever
/// has the capability, with which the kernel reads registered files.
const FILE_SYSTEMS: &[u32] = &[
    0x0000_EF53, // ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0xF2F5_2010, // F2FS
    0xCA45_1A4E, // bcachefs
    0x2FC1_2FC1, // ZFS
    0x0102_1994, // tmpfs
    0x794C_7630, // overlayfs
];
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The kind of a file.
fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Fails unless this is a descriptor of the FUSE device.
pub fn check_device(device: BorrowedFd<'_>) -> Result<(), Errno> {
    let stat = fstat(device)?;
    let number = (
        rustix::fs::major(stat.st_rdev),
        rustix::fs::minor(stat.st_rdev),
    );
    match kind(&stat) == FileType::CharacterDevice && number == DEVICE {
        true => Ok(()),
        false => Err(Errno::NODEV),
    }
}

/// A folder of the user that files are registered from.
pub struct GivenFolder {
    given: OwnedFd,
    /// The same folder, in a read-only mount of its own.
    mount: OwnedFd,
}

impl GivenFolder {
    /// Checks that it belongs to the user and that nobody else can change it.
    pub fn check(given: OwnedFd, user: Uid) -> Result<GivenFolder, Errno> {
        let stat = fstat(&given)?;
        if kind(&stat) != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        if stat.st_uid != user.as_raw() || stat.st_mode & WRITABLE_BY_OTHERS != 0 {
            return Err(Errno::ACCESS);
        }
        let magic = rustix::fs::fstatfs(&given)?.f_type;
        if !FILE_SYSTEMS.iter().any(|it| i64::from(*it) == magic) {
            return Err(Errno::OPNOTSUPP);
        }
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = confinement::with_capability(|| {
            let mount = open_tree(&given, c"", flags)?;
            kernel::set_read_only(&mount)?;
            Ok(mount)
        })?;
        Ok(GivenFolder { given, mount })
    }

    /// Opens a file below this folder: through no link, and in no other mount.
    fn open(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let base = path_of(self.given.as_fd())?;
        let below = path.strip_prefix(base).map_err(|_| Errno::XDEV)?;
        let inside = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        // Without O_NONBLOCK a pipe that took the name would be waited for.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        openat2(&self.mount, below, flags, Mode::empty(), inside)
    }
}

/// The given file, opened again through the read-only mount of a folder.
pub fn reopened(
    given: BorrowedFd<'_>,
    folders: &[GivenFolder],
    user: Uid,
) -> Result<OwnedFd, Errno> {
    let flags = rustix::fs::fcntl_getfl(given)?;
    if flags.contains(OFlags::PATH) || flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
        return Err(Errno::ACCESS);
    }
    let wanted = fstat(given)?;
    if kind(&wanted) != FileType::RegularFile
        || wanted.st_uid != user.as_raw()
        || wanted.st_nlink != 1
    {
        return Err(Errno::PERM);
    }
    let path = path_of(given)?;
    for folder in folders {
        let Ok(file) = folder.open(&path) else {
            continue;
        };
        // The name may be another file's by now.
        let found = fstat(&file)?;
        if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino) {
            return Ok(file);
        }
    }
    Err(Errno::PERM)
}

/// Where the kernel says that a descriptor leads.
fn path_of(descriptor: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let target = readlinkat(CWD, link, Vec::new())?;
    Ok(Path::new(std::ffi::OsStr::from_bytes(target.as_bytes())).to_owned())
}
