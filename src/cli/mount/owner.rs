//! Who owns the files of a drive, and what others may do with them: `--uid`, `--gid`, `--umask`, `--dmask`, `--fmask`, as
//! other file systems without owners have them.

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::cli::exit::WrongUse;
use crate::cli::settings::{PermissionMask, Profile};

/// The options.
#[derive(Debug, Default, Args)]
pub(super) struct OwnerArgs {
    /// User that the files belong to, by number [default: the one that mounts]
    #[arg(long, env = "ASSETFS_UID", value_name = "NUMBER")]
    pub(super) uid: Option<u32>,
    /// Group that the files belong to, by number [default: the one that mounts]
    #[arg(long, env = "ASSETFS_GID", value_name = "NUMBER")]
    pub(super) gid: Option<u32>,
    /// Permissions that folders and files do not have, as for umask(1) [default: 022]
    #[arg(long, env = "ASSETFS_UMASK", value_name = "MASK")]
    pub(super) umask: Option<PermissionMask>,
    /// The same for folders alone [default: --umask]
    #[arg(long, env = "ASSETFS_DMASK", value_name = "MASK")]
    pub(super) dmask: Option<PermissionMask>,
    /// The same for files alone [default: --umask]
    #[arg(long, env = "ASSETFS_FMASK", value_name = "MASK")]
    pub(super) fmask: Option<PermissionMask>,
}

/// The owner and the permissions that files and folders show, unless they were set for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileOwner {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) folder_permissions: u16,
    pub(super) file_permissions: u16,
}

impl FileOwner {
    pub(super) fn chosen(args: &OwnerArgs, profile: &Profile, others: bool) -> Result<FileOwner> {
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
        let gid = args.gid.or(profile.gid).unwrap_or(group);
        // The system calls take this number for "no change".
        for (option, id) in [("uid", uid), ("gid", gid)] {
            if id == u32::MAX {
                return Err(WrongUse(format!(
                    "{option}={id} stands for no user and no group; name a user or group that exists"
                ))
                .into());
            }
        }
        let all = args.umask.or(profile.umask).unwrap_or(USUAL);
        let folders = args.dmask.or(profile.dmask).unwrap_or(all);
        let files = args.fmask.or(profile.fmask).unwrap_or(all);
        Ok(FileOwner {
            uid,
            gid,
            folder_permissions: 0o777 & !folders.0,
            file_permissions: 0o666 & !files.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(args: &OwnerArgs) -> Result<FileOwner> {
        FileOwner::chosen(args, &Profile::default(), true)
    }

    #[test]
    fn umask_alone_counts_for_folders_and_files_and_the_others_come_before_it() {
        let mut args = OwnerArgs {
            umask: Some(PermissionMask(0o027)),
            ..OwnerArgs::default()
        };
        let owner = chosen(&args).unwrap();
        assert_eq!(
            (owner.folder_permissions, owner.file_permissions),
            (0o750, 0o640)
        );
        args.dmask = Some(PermissionMask(0));
        let owner = chosen(&args).unwrap();
        assert_eq!(
            (owner.folder_permissions, owner.file_permissions),
            (0o777, 0o640)
        );
        args.fmask = Some(PermissionMask(0o077));
        let owner = chosen(&args).unwrap();
        assert_eq!(
            (owner.folder_permissions, owner.file_permissions),
            (0o777, 0o600)
        );
    }

    #[test]
    fn the_number_that_is_no_user_and_no_group_is_refused() {
        let (uid, gid) = (Some(u32::MAX), Some(u32::MAX));
        let of_user = chosen(&OwnerArgs {
            uid,
            ..OwnerArgs::default()
        });
        assert!(of_user.unwrap_err().to_string().contains("uid="));
        let of_group = chosen(&OwnerArgs {
            gid,
            ..OwnerArgs::default()
        });
        assert!(of_group.unwrap_err().to_string().contains("gid="));
    }
}
