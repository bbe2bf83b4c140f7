//! Converts types of the drive to types of the kernel and back: attributes, flags, callers. Pure.

use std::time::{Duration, SystemTime};

use fuser::{FileAttr, FileType, INodeNo, OpenAccMode, RenameFlags, Request, TimeOrNow};

use crate::drive::{
    Access, Attributes, Caller, FileKind, Ino, OpenFlags, RenameMode, SetTime, XattrMode,
};

/// Unit of `st_blocks`, independent of `st_blksize` (stat(2)).
const STAT_BLOCK_LEN_BYTES: u64 = 512;
/// A file takes whole blocks of this length, as on most disks. Samba's clients expect it of the size on disk.
const DISK_BLOCK_LEN_BYTES: u64 = 4096;
/// Value of `st_blksize`: the size of one kernel request.
const PREFERRED_IO_LEN_BYTES: u32 = 1 << 20;

pub(super) fn ino(number: INodeNo) -> Ino {
    Ino(number.0)
}

pub(super) fn caller(request: &Request) -> Caller {
    Caller {
        pid: request.pid(),
        uid: request.uid(),
        gid: request.gid(),
    }
}

pub(super) fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::Folder => FileType::Directory,
        FileKind::File => FileType::RegularFile,
        FileKind::Link => FileType::Symlink,
    }
}

pub(super) fn file_attr(attributes: &Attributes) -> FileAttr {
    FileAttr {
        ino: INodeNo(attributes.ino.0),
        size: attributes.size,
        blocks: match attributes.allocated {
            Some(bytes) => bytes / STAT_BLOCK_LEN_BYTES,
            None => {
                attributes.size.div_ceil(DISK_BLOCK_LEN_BYTES)
                    * (DISK_BLOCK_LEN_BYTES / STAT_BLOCK_LEN_BYTES)
            }
        },
        atime: attributes.mtime,
        mtime: attributes.mtime,
        ctime: attributes.ctime,
        crtime: SystemTime::UNIX_EPOCH,
        kind: file_type(attributes.kind),
        perm: attributes.perm,
        nlink: attributes.nlink,
        uid: attributes.uid,
        gid: attributes.gid,
        rdev: 0,
        blksize: PREFERRED_IO_LEN_BYTES,
        flags: 0,
    }
}

pub(super) fn open_flags(flags: fuser::OpenFlags) -> OpenFlags {
    let has = |bit: i32| flags.0 & bit != 0;
    OpenFlags {
        access: match flags.acc_mode() {
            OpenAccMode::O_RDONLY => Access::Read,
            OpenAccMode::O_WRONLY => Access::Write,
            OpenAccMode::O_RDWR => Access::ReadWrite,
        },
        truncate: has(libc::O_TRUNC),
        append: has(libc::O_APPEND),
        exclusive: has(libc::O_EXCL),
    }
}

/// `None` for unsupported flags.
pub(super) fn rename_mode(flags: RenameFlags) -> Option<RenameMode> {
    if flags.is_empty() {
        Some(RenameMode::Replace)
    } else if flags == RenameFlags::RENAME_NOREPLACE {
        Some(RenameMode::NoReplace)
    } else if flags == RenameFlags::RENAME_EXCHANGE {
        Some(RenameMode::Exchange)
    } else {
        None
    }
}

pub(super) fn set_time(time: TimeOrNow) -> SetTime {
    match time {
        TimeOrNow::SpecificTime(moment) => SetTime::At(as_sent(moment)),
        TimeOrNow::Now => SetTime::Now,
    }
}

/// The time that the kernel sent. It counts nanoseconds forward from the second, also before 1970; fuser 0.18 counts them
/// backward there.
fn as_sent(time: SystemTime) -> SystemTime {
    let Err(before) = time.duration_since(SystemTime::UNIX_EPOCH) else {
        return time;
    };
    let nanos = Duration::from_nanos(before.duration().subsec_nanos().into());
    let sent = time.checked_add(nanos).and_then(|it| it.checked_add(nanos));
    sent.unwrap_or(time)
}

pub(super) fn xattr_mode(flags: i32) -> XattrMode {
    match flags {
        libc::XATTR_CREATE => XattrMode::Create,
        libc::XATTR_REPLACE => XattrMode::Replace,
        _ => XattrMode::Any,
    }
}

/// The permission bits of a mode after applying the umask.
pub(super) fn permissions(mode: u32, umask: u32) -> u32 {
    mode & !umask & 0o7777
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_count_is_in_units_of_512_bytes_and_of_whole_blocks() {
        let attributes = Attributes {
            ino: Ino(7),
            kind: FileKind::File,
            size: 4097,
            allocated: None,
            perm: 0o644,
            nlink: 1,
            uid: 0,
            gid: 0,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
        };
        assert_eq!(file_attr(&attributes).blocks, 16);
        let sparse = Attributes {
            size: 1 << 30,
            allocated: Some(8192),
            ..attributes
        };
        assert_eq!(file_attr(&sparse).blocks, 16);
    }

    #[test]
    fn open_flags_keep_truncation_and_access() {
        let flags = open_flags(fuser::OpenFlags(libc::O_RDWR | libc::O_TRUNC));
        assert_eq!((flags.access, flags.truncate), (Access::ReadWrite, true));
        assert_eq!(open_flags(fuser::OpenFlags(0)), OpenFlags::READ);
    }

    #[test]
    fn a_time_before_1970_is_the_one_that_the_kernel_sent() {
        let epoch = SystemTime::UNIX_EPOCH;
        let at = |millis| epoch - Duration::from_millis(millis);
        // -1.5 s is the second -2 and half a second for the kernel, which fuser makes -2.5 s of.
        for (of_fuser, sent) in [(2500, 1500), (1750, 250), (3000, 3000)] {
            let time = set_time(TimeOrNow::SpecificTime(at(of_fuser)));
            assert_eq!(time, SetTime::At(at(sent)));
        }
        let after = epoch + Duration::from_millis(250);
        assert_eq!(set_time(TimeOrNow::SpecificTime(after)), SetTime::At(after));
    }

    #[test]
    fn umask_clears_bits() {
        assert_eq!(permissions(0o100666, 0o022), 0o644);
    }
}
