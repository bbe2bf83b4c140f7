//! The drives in the kernel's table of mounts. Reading it sends no request to a drive.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::session::SUBTYPE;

pub(super) fn mount_table() -> io::Result<Vec<DriveMount>> {
    Ok(parse_mounts(&fs::read("/proc/self/mountinfo")?))
}

/// The minor device number of the drive that was mounted last at a path. It is also the number of its FUSE connection.
pub fn mount_minor(root: &Path) -> io::Result<Option<u32>> {
    let mut newest_first = mount_table()?.into_iter().rev();
    let found = newest_first.find(|mount| mount.root == root);
    Ok(found.and_then(|mount| mount.minor))
}

/// What was mounted last at a path, also if the process of the drive has ended.
pub fn mount_source(root: &Path) -> io::Result<Option<String>> {
    let mut newest_first = mount_table()?.into_iter().rev();
    let found = newest_first.find(|mount| mount.root == root);
    Ok(found.and_then(|mount| mount.source.into_string().ok()))
}

/// Who is let into a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountAccess {
    /// The user that mounted it.
    pub user: Option<u32>,
    /// True if others are let in.
    pub lets_others_in: bool,
}

/// Who is let into the drive that was mounted last at a path. Nobody is known to be if nothing is mounted there.
pub fn mount_access(root: &Path) -> io::Result<MountAccess> {
    let mut newest_first = mount_table()?.into_iter().rev();
    let found = newest_first.find(|mount| mount.root == root);
    Ok(MountAccess {
        user: found.as_ref().and_then(|mount| mount.user),
        lets_others_in: found.is_some_and(|mount| mount.lets_others_in),
    })
}

/// A drive in the mount table.
#[derive(Debug, PartialEq)]
pub(super) struct DriveMount {
    /// The number of the mount, which no other mount has in any namespace.
    pub(super) id: Option<u32>,
    pub(super) root: PathBuf,
    /// The minor number of the device: the number of the connection.
    pub(super) minor: Option<u32>,
    /// The user that mounted it.
    pub(super) user: Option<u32>,
    /// True if other users are let in.
    pub(super) lets_others_in: bool,
    /// What was mounted: see [`super::MountOptions::source`].
    pub(super) source: OsString,
}

/// Reads /proc/self/mountinfo (proc_pid_mountinfo(5)): the first field is the number, the third the device, the fifth the
/// mount point; after ` - ` come type, source and the options of the file system.
pub(super) fn parse_mounts(table: &[u8]) -> Vec<DriveMount> {
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
                id: fields.first().copied().and_then(number_in),
                root: PathBuf::from(unescape(fields.get(4).copied().unwrap_or_default())),
                minor: fields.get(2).copied().and_then(minor_in),
                user: fields.get(dash + 3).copied().and_then(user_in),
                lets_others_in: fields.get(dash + 3).is_some_and(|options| {
                    options
                        .split(|it| *it == b',')
                        .any(|it| it == b"allow_other")
                }),
                source: unescape(source),
            })
        })
        .collect()
}

fn number_in(field: &[u8]) -> Option<u32> {
    std::str::from_utf8(field).ok()?.parse().ok()
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
            41 36 0:51 / /mnt/root rw - fuse assetfs rw,user_id=0,group_id=0,default_permissions,allow_other\n\
            42 36 0:52 / /mnt/fstab rw - fuse.assetfs https://a.example rw,user_id=0,group_id=0\n\
            43 36 0:53 / /mnt/other rw - fuse.rclone assetfs rw,user_id=0\n";
        let found = parse_mounts(table);
        let found: Vec<_> = found
            .iter()
            .map(|mount| {
                (
                    mount.root.to_str().unwrap(),
                    mount.user,
                    mount.lets_others_in,
                    mount.minor,
                    mount.id,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("/mnt/my assets", Some(1000), false, Some(50), Some(40)),
                ("/mnt/root", Some(0), true, Some(51), Some(41)),
                ("/mnt/fstab", Some(0), false, Some(52), Some(42))
            ]
        );
    }
}
