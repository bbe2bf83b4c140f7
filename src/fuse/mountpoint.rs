//! Mount points: listing and checking them, and unmounting.
//!
//! Uses the kernel's mount table; independent of the drive.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use super::session::SUBTYPE;

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
    #[error("{} is in use: {detail}; close the programs that use it (`fuser -vm {}` lists them) and try again", shell_quoted(.path), shell_quoted(.path))]
    Busy {
        path: PathBuf,
        /// Message of the kernel or of fusermount3.
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
    let path = resolve(path)?;
    Ok(mounts()?
        .into_iter()
        .filter(|mounted| path.starts_with(mounted))
        .max_by_key(|mounted| mounted.as_os_str().len()))
}

/// The absolute path with symbolic links resolved, as far as it exists.
fn resolve(path: &Path) -> io::Result<PathBuf> {
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
    let dead = matches!(fs::metadata(path), Err(e) if e.raw_os_error() == Some(libc::ENOTCONN));
    detach(
        path,
        if dead {
            Detach::Lazily
        } else {
            Detach::IfUnused
        },
    )
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
        Err(rustix::io::Errno::BUSY) => {
            let detail = "files or folders in it are open".to_owned();
            return Err(MountPointError::Busy {
                path: path.to_owned(),
                detail,
            });
        }
        Err(error) => return Err(io_error(path)(error.into())),
    }
    let mut fusermount = Command::new("fusermount3");
    fusermount
        .arg("-u")
        .args((how == Detach::Lazily).then_some("-z"))
        .arg("--")
        .arg(path);
    let output = fusermount.output().map_err(io_error(path))?;
    if output.status.success() {
        return Ok(());
    }
    let detail = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(MountPointError::Busy {
        path: path.to_owned(),
        detail,
    })
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

fn mount_table() -> io::Result<Vec<DriveMount>> {
    Ok(parse_mounts(&fs::read("/proc/self/mountinfo")?))
}

/// The minor number of the device of the drive that is mounted last at a path: the number of its connection.
pub(super) fn mount_minor(root: &Path) -> io::Result<Option<u32>> {
    let mut newest_first = mount_table()?.into_iter().rev();
    let found = newest_first.find(|mount| mount.root == root);
    Ok(found.and_then(|mount| mount.minor))
}

/// A drive in the mount table.
#[derive(Debug, PartialEq)]
struct DriveMount {
    root: PathBuf,
    minor: Option<u32>,
    /// The user that mounted it.
    user: Option<u32>,
}

/// Reads /proc/self/mountinfo (proc_pid_mountinfo(5)): the third field is the device, the fifth the mount point; after
/// ` - ` come type, source and the options of the file system.
fn parse_mounts(table: &[u8]) -> Vec<DriveMount> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            let dash = fields.iter().position(|field| *field == b"-")?;
            let kind = fields.get(dash + 1)?.strip_prefix(b"fuse")?;
            let source = *fields.get(dash + 2)?;
            // If the kernel does not support subtypes, the source names the program.
            let is_ours = match kind.strip_prefix(b".") {
                Some(subtype) => subtype == SUBTYPE.as_bytes(),
                None => kind.is_empty() && source == SUBTYPE.as_bytes(),
            };
            is_ours.then(|| DriveMount {
                root: PathBuf::from(unescape(fields.get(4).copied().unwrap_or_default())),
                minor: fields.get(2).copied().and_then(minor_in),
                user: fields.get(dash + 3).copied().and_then(user_in),
            })
        })
        .collect()
}

/// The minor number of a device: `0:50`.
fn minor_in(device: &[u8]) -> Option<u32> {
    let (_, minor) = std::str::from_utf8(device).ok()?.split_once(':')?;
    minor.parse().ok()
}

/// The user in the options of a FUSE file system: `rw,user_id=1000,group_id=1000`.
fn user_in(options: &[u8]) -> Option<u32> {
    let options = std::str::from_utf8(options).ok()?;
    options
        .split(',')
        .find_map(|option| option.strip_prefix("user_id=")?.parse().ok())
}

/// A path for use in a shell, quoted if necessary.
pub fn shell_quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    // Inside single quotes a shell reads every character as it is, except the quote itself.
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Decodes octal escapes such as `\040` for a space.
fn unescape(field: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match octal {
            Some(code) if byte == b'\\' => {
                plain.push(code);
                rest = &tail[3..];
            }
            _ => {
                plain.push(byte);
                rest = tail;
            }
        }
    }
    OsString::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_mounts_are_found_in_the_mount_table_with_who_mounted_them() {
        let table = b"36 35 98:0 / / rw - ext4 /dev/root rw\n\
            40 36 0:50 / /mnt/my\\040assets rw,nosuid - fuse.assetfs assetfs rw,user_id=1000,group_id=100\n\
            41 36 0:51 / /mnt/root rw - fuse assetfs rw,user_id=0,group_id=0\n\
            42 36 0:52 / /mnt/fstab rw - fuse.assetfs https://a.example rw,user_id=0,group_id=0\n\
            43 36 0:53 / /mnt/other rw - fuse.rclone assetfs rw,user_id=0\n";
        let found = parse_mounts(table);
        let found: Vec<_> = found
            .iter()
            .map(|mount| (mount.root.to_str().unwrap(), mount.user, mount.minor))
            .collect();
        assert_eq!(
            found,
            [
                ("/mnt/my assets", Some(1000), Some(50)),
                ("/mnt/root", Some(0), Some(51)),
                ("/mnt/fstab", Some(0), Some(52))
            ]
        );
    }

    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        for path in [
            "/mnt/assets",
            "/mnt/my assets",
            "/mnt/it's",
            "/mnt/$HOME`x`\\\"",
            "/mnt/a\nb",
            "",
            "/mnt/übung",
        ] {
            let line = format!("printf %s {}", shell_quoted(Path::new(path)));
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), path);
        }
        assert_eq!(shell_quoted(Path::new("/mnt/assets")), "/mnt/assets");
    }

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
}
