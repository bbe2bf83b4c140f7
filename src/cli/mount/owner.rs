//! Who owns the files of a drive, and what others may do with them: `--uid`, `--gid`, `--umask`, `--dmask`, `--fmask`, as
//! other file systems without owners have them.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::MountArgs;
use crate::cli::WrongUse;
use crate::cli::settings::{PermissionMask, Profile};

/// The owner and the permissions that files and folders show, unless they were set for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileOwner {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) folder_permissions: u16,
    pub(super) file_permissions: u16,
}

impl FileOwner {
    pub(super) fn chosen(args: &MountArgs, profile: &Profile, others: bool) -> Result<FileOwner> {
        const USUAL: PermissionMask = PermissionMask(0o022);
        let own = rustix::process::geteuid().as_raw();
        let uid = args.uid.or(profile.uid).unwrap_or(own);
        if uid != own && !others {
            let text = format!(
                "the files would belong to the user {uid}, but only the user that mounts may use this drive; add \
                 --allow-other (-o allow_other)"
            );
            return Err(WrongUse(text).into());
        }
        let group = rustix::process::getegid().as_raw();
        let all = args.umask.or(profile.umask).unwrap_or(USUAL);
        let folders = args.dmask.or(profile.dmask).unwrap_or(all);
        let files = args.fmask.or(profile.fmask).unwrap_or(all);
        Ok(FileOwner {
            uid,
            gid: args.gid.or(profile.gid).unwrap_or(group),
            folder_permissions: 0o777 & !folders.0,
            file_permissions: 0o666 & !files.0,
        })
    }
}
