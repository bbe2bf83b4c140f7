//! What is known of the file systems of folders.

use std::path::Path;

/// True if the folder is on a file system of this machine: the kernel knows of every change, and one sync makes durable
/// what was written to it. Others may change on another machine.
pub(super) fn is_local(dir: &Path) -> bool {
    const LOCAL: [i64; 8] = [
        0xEF53,      // ext2 to ext4
        0x5846_5342, // XFS
        0x9123_683E, // Btrfs
        0xF2F5_2010, // F2FS
        0x2FC1_2FC1, // ZFS
        0xCA45_1A4E, // bcachefs
        0x0102_1994, // tmpfs
        0x794C_7630, // overlay
    ];
    rustix::fs::statfs(dir).is_ok_and(|it| LOCAL.contains(&it.f_type))
}
