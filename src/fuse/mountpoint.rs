//! Mount points: listing and checking them, and unmounting.
//!
//! Uses the kernel's mount table; independent of the drive.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::mount_table::mount_table;
use super::shell::shell_quoted;
use super::users::{named, users};

/// How long the unmount of a drive in use is retried: programs that only look at it (a file manager, `assetfs status`)
/// keep a file open for a moment.
const BUSY_RETRY_TIME: Duration = Duration::from_secs(1);

/// Why a folder cannot be mounted on or unmounted.
#[derive(Debug, Error)]
pub enum MountPointError {
    /// The parent folder is missing too.
    #[error("{} and its parent folder do not exist; create the parent folder first", .0.display())]
    Missing(PathBuf),
    #[error("{} is not a folder; choose an empty folder", .0.display())]
    NotAFolder(PathBuf),
    /// The mount would hide its content.
    #[error("{} is not empty; choose an empty folder, or use `-o nonempty` to hide its content", .0.display())]
    NotEmpty(PathBuf),
    /// An assetfs drive is mounted there and responds.
    #[error("a drive is already mounted at {}; unmount it with `assetfs unmount {}`", shell_quoted(.0), shell_quoted(.0))]
    Mounted(PathBuf),
    /// Another kind of mount is there and does not respond.
    #[error("the mount at {} does not respond and is not an assetfs drive; unmount it first", .0.display())]
    ForeignDeadMount(PathBuf),
    #[error("no assetfs drive is mounted at {}", .0.display())]
    NotMounted(PathBuf),
    /// Files or folders in it are open.
    #[error("{} is in use: {users} files or folders in it open; close them and try again", shell_quoted(.path))]
    Busy {
        path: PathBuf,
        /// The programs that have, as far as this user may see them.
        users: String,
    },
    #[error(
        "the drive at {path} was mounted by the user with the number {owner}, who alone may unmount it; as root: \
         `umount {path}`", path = shell_quoted(.path)
    )]
    OfAnotherUser { path: PathBuf, owner: u32 },
    #[error("fusermount3, which unmounts {}, is missing: run `apt install fuse3`", shell_quoted(.0))]
    NoHelper(PathBuf),
    /// fusermount3 finds its mounts there.
    #[error(
        "fusermount3 cannot unmount {} without /etc/mtab; as root: `ln -s /proc/self/mounts /etc/mtab`, and try again",
        shell_quoted(.0)
    )]
    NoMountList(PathBuf),
    #[error("{} cannot be unmounted: {detail}", shell_quoted(.path))]
    Refused {
        path: PathBuf,
        /// The message of fusermount3.
        detail: String,
    },
    /// An operation failed.
    #[error("{}", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> MountPointError + '_ {
    move |source| MountPointError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Prepares `path` as a mount point: creates it if only the last component is missing, unmounts an
/// assetfs mount whose process died, and refuses a folder with files. Returns the absolute path.
pub fn prepare_mount_point(path: &Path, cover_files: bool) -> Result<PathBuf, MountPointError> {
    let path = std::path::absolute(path).map_err(io_error(path))?;
    if is_dead(&path) {
        clear_dead_mount(&path)?;
    }
    match fs::metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(&path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => MountPointError::Missing(path.clone()),
                _ => io_error(&path)(error),
            })?;
        }
        Err(error) => return Err(io_error(&path)(error)),
        Ok(_) => {}
    }
    let path = path.canonicalize().map_err(io_error(&path))?;
    if !path.is_dir() {
        return Err(MountPointError::NotAFolder(path));
    }
    if mounts().map_err(io_error(&path))?.contains(&path) {
        return Err(MountPointError::Mounted(path));
    }
    if !cover_files
        && fs::read_dir(&path)
            .map_err(io_error(&path))?
            .next()
            .is_some()
    {
        return Err(MountPointError::NotEmpty(path));
    }
    Ok(path)
}

/// Whether the process of the mount has died. Uses `statfs`, because the kernel may answer `stat` from
/// its cache.
fn is_dead(path: &Path) -> bool {
    matches!(rustix::fs::statfs(path), Err(rustix::io::Errno::NOTCONN))
}

fn clear_dead_mount(path: &Path) -> Result<(), MountPointError> {
    if !mounts()
        .map_err(io_error(path))?
        .iter()
        .any(|mounted| mounted == path)
    {
        return Err(MountPointError::ForeignDeadMount(path.to_owned()));
    }
    tracing::info!(path = %path.display(), "unmounting a drive whose process died");
    detach(path, Detach::Lazily)
}

/// Finds the assetfs mount that contains `path`. Also works for missing paths and dead mounts, because
/// it only compares names.
pub fn find_mount(path: &Path) -> io::Result<Option<PathBuf>> {
    let path = resolved(path)?;
    Ok(mounts()?
        .into_iter()
        .filter(|mounted| path.starts_with(mounted))
        .max_by_key(|mounted| mounted.as_os_str().len()))
}

/// The absolute path with symbolic links resolved, as far as it exists.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    for ancestor in absolute.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = absolute
                .strip_prefix(ancestor)
                .expect("an ancestor is a prefix");
            return Ok(if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            });
        }
    }
    Ok(absolute)
}

/// Unmounts `path`; fails if it is in use.
pub fn unmount(path: &Path) -> Result<(), MountPointError> {
    if !mounts()
        .map_err(io_error(path))?
        .iter()
        .any(|mounted| mounted == path)
    {
        return Err(MountPointError::NotMounted(path.to_owned()));
    }
    let how = match is_dead(path) {
        true => Detach::Lazily,
        false => Detach::IfUnused,
    };
    let begun = Instant::now();
    loop {
        match detach(path, how) {
            Err(MountPointError::Busy { .. }) if begun.elapsed() < BUSY_RETRY_TIME => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// Detaches the mount at `path` from the tree at once (lazy unmount); open files stay usable.
pub fn detach_now(path: &Path) -> Result<(), MountPointError> {
    detach(path, Detach::Lazily)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Detach {
    IfUnused,
    Lazily,
}

/// Root calls the kernel; other users need the setuid program fusermount3.
fn detach(path: &Path, how: Detach) -> Result<(), MountPointError> {
    use rustix::mount::UnmountFlags;
    let flags = match how {
        Detach::IfUnused => UnmountFlags::NOFOLLOW,
        Detach::Lazily => UnmountFlags::NOFOLLOW | UnmountFlags::DETACH,
    };
    match rustix::mount::unmount(path, flags) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::PERM) => {}
        Err(rustix::io::Errno::BUSY) => return Err(busy(path)),
        Err(error) => return Err(io_error(path)(error.into())),
    }
    let mut fusermount = Command::new("fusermount3");
    fusermount
        .arg("-u")
        .args((how == Detach::Lazily).then_some("-z"))
        .arg("--")
        .arg(path);
    let output = fusermount.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => MountPointError::NoHelper(path.to_owned()),
        _ => io_error(path)(error),
    })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(why_refused(path, &output.stderr)),
    }
}

fn busy(path: &Path) -> MountPointError {
    let users = match users(path).as_slice() {
        [] => "a program has".to_owned(),
        [one] => format!("{} has", named(*one)),
        several => {
            let named: Vec<String> = several.iter().map(|pid| named(*pid)).collect();
            format!("{} have", named.join(", "))
        }
    };
    MountPointError::Busy {
        path: path.to_owned(),
        users,
    }
}

/// The reason of fusermount3, whose exit code does not say it.
fn why_refused(path: &Path, stderr: &[u8]) -> MountPointError {
    let user = rustix::process::geteuid().as_raw();
    let owner = mount_table().ok().and_then(|mounts| {
        let found = mounts.into_iter().rev().find(|mount| mount.root == path)?;
        found.user
    });
    let detail = String::from_utf8_lossy(stderr).trim().to_owned();
    match owner {
        Some(owner) if owner != user => MountPointError::OfAnotherUser {
            path: path.to_owned(),
            owner,
        },
        _ if !Path::new("/etc/mtab").exists() => MountPointError::NoMountList(path.to_owned()),
        // The kernel's words for EBUSY, which the program passes on.
        _ if detail.contains("busy") => busy(path),
        _ => MountPointError::Refused {
            path: path.to_owned(),
            detail,
        },
    }
}

/// The mount points of all assetfs drives on this machine, of every user.
pub fn mounts() -> io::Result<Vec<PathBuf>> {
    Ok(mount_table()?.into_iter().map(|mount| mount.root).collect())
}

/// The mount points of the drives that this user mounted.
pub fn own_mounts() -> io::Result<Vec<PathBuf>> {
    let user = rustix::process::geteuid().as_raw();
    let own = mount_table()?
        .into_iter()
        .filter(|mount| mount.user == Some(user));
    Ok(own.map(|mount| mount.root).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_mount_point_is_created_and_a_nonempty_one_refused() {
        let dir = tempfile::tempdir().unwrap();
        let made = prepare_mount_point(&dir.path().join("new"), false).unwrap();
        assert!(made.is_dir());
        fs::write(made.join("file"), "x").unwrap();
        assert!(matches!(
            prepare_mount_point(&made, false),
            Err(MountPointError::NotEmpty(_))
        ));
        assert!(prepare_mount_point(&made, true).is_ok());
        assert!(matches!(
            prepare_mount_point(&made.join("file"), true),
            Err(MountPointError::NotAFolder(_))
        ));
        assert!(matches!(
            prepare_mount_point(&made.join("a/b"), false),
            Err(MountPointError::Missing(_))
        ));
    }

    #[test]
    fn each_cause_why_a_drive_stays_mounted_has_a_sentence_with_what_to_do() {
        let path = || PathBuf::from("/mnt/my drive");
        let owner = 4242;
        for (error, parts) in [
            (
                MountPointError::OfAnotherUser {
                    path: path(),
                    owner,
                },
                ["number 4242", "as root: `umount '/mnt/my drive'`"],
            ),
            (
                MountPointError::NoHelper(path()),
                ["fusermount3", "apt install fuse3"],
            ),
            (
                MountPointError::NoMountList(path()),
                ["'/mnt/my drive'", "ln -s /proc/self/mounts /etc/mtab"],
            ),
        ] {
            let said = error.to_string();
            for part in parts {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }
}
