//! The program `assetfs-passthrough` on this machine: where it is, whether it may be trusted, and whether it has its capability.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assetfs_passthrough::{CHECK, Check, PROGRAM};
use rustix::fs::XattrFlags;

/// Where it is looked for, from the folder of this program.
const PLACES: [&str; 3] = ["", "../lib/assetfs", "../libexec/assetfs"];
/// `security.capability` for `cap_sys_admin=ep` (`struct vfs_cap_data` of `linux/capability.h`, revision 2, little-endian).
const CAPABILITY: [u8; 20] = {
    let mut value = [0; 20];
    (value[0], value[3]) = (1, 2); // effective, revision 2
    value[6] = 1 << (21 - 16); // permitted: CAP_SYS_ADMIN is bit 21
    value
};
const CAPABILITY_NAME: &str = "security.capability";

/// Why the program cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HelperProblem {
    #[error("{PROGRAM} is not installed beside {}", .0.display())]
    Missing(PathBuf),
    #[error("{} {}", .0.display(), .1)]
    Untrusted(PathBuf, Distrust),
    #[error("{} does not have the capability cap_sys_admin", .0.display())]
    NoCapability(PathBuf),
    #[error("{} has the capability cap_sys_admin, but the system does not give it: the file system is mounted nosuid, or this process has no_new_privs", .0.display())]
    Withheld(PathBuf),
    #[error("{} is of another version than this program", .0.display())]
    OtherVersion(PathBuf),
    #[error("{} cannot be started: {}", .0.display(), .1)]
    NotStarted(PathBuf, #[source] io::Error),
}

/// Why a file is not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    NoFile,
    OfAnother(u32),
    WritableByOthers,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distrust::NoFile => f.write_str("is not a regular file"),
            Distrust::OfAnother(uid) => write!(f, "belongs to user {uid}"),
            Distrust::WritableByOthers => f.write_str("can be changed by other users"),
        }
    }
}

/// A program that was found, and that nobody but root and this user can have written.
pub struct HelperProgram {
    path: PathBuf,
    file: File,
}

impl HelperProgram {
    /// Looks beside the program that runs.
    pub fn find() -> Result<HelperProgram, HelperProblem> {
        let own = std::env::current_exe().unwrap_or_default();
        let folder = own.parent().unwrap_or(Path::new("/"));
        HelperProgram::find_from(folder, rustix::process::geteuid().as_raw())
    }

    fn find_from(folder: &Path, uid: u32) -> Result<HelperProgram, HelperProblem> {
        let mut places = PLACES.iter().map(|place| folder.join(place).join(PROGRAM));
        let path = places.find(|path| path.symlink_metadata().is_ok());
        let path = path.ok_or_else(|| HelperProblem::Missing(folder.to_owned()))?;
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&path);
        let untrusted = |why| HelperProblem::Untrusted(path.clone(), why);
        let file = file.map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => untrusted(Distrust::NoFile),
            _ => HelperProblem::NotStarted(path.clone(), error),
        })?;
        match distrust(&file, uid)
            .map_err(|error| HelperProblem::NotStarted(path.clone(), error))?
        {
            Some(why) => Err(untrusted(why)),
            None => Ok(HelperProgram { path, file }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the file that was checked, whatever has its name by now, with an empty environment, in a process group of its
    /// own: the signals of a terminal are for the drive.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command.arg0(PROGRAM).env_clear().process_group(0);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Whether it can do its work, started as this user. It ends at once.
    pub fn check(&self) -> Result<(), HelperProblem> {
        let path = || self.path.clone();
        let mut check = self.command();
        check.arg(CHECK).stdin(Stdio::null());
        let status = check
            .status()
            .map_err(|error| HelperProblem::NotStarted(path(), error))?;
        match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code) if code == Check::Ready.code() => Ok(()),
            Some(code) if code == Check::NoCapability.code() => Err(self.without_capability()),
            _ => Err(HelperProblem::OtherVersion(path())),
        }
    }

    /// Why a process of it does not have the capability.
    pub(super) fn without_capability(&self) -> HelperProblem {
        match self.is_capable() {
            true => HelperProblem::Withheld(self.path.clone()),
            false => HelperProblem::NoCapability(self.path.clone()),
        }
    }

    /// Whether the file has the capability, whoever starts it.
    pub fn is_capable(&self) -> bool {
        let mut value = [0; CAPABILITY.len()];
        rustix::fs::fgetxattr(&self.file, CAPABILITY_NAME, &mut value[..]).is_ok()
            && value == CAPABILITY
    }

    /// Gives the file its capability. Needs root. A file that another user could have written gets none.
    pub fn make_capable(&self) -> io::Result<()> {
        if self.file.metadata()?.nlink() != 1 {
            return Err(io::Error::other("the file has a second name"));
        }
        Ok(rustix::fs::fsetxattr(
            &self.file,
            CAPABILITY_NAME,
            &CAPABILITY,
            XattrFlags::empty(),
        )?)
    }
}

fn distrust(file: &File, uid: u32) -> io::Result<Option<Distrust>> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let found = file.metadata()?;
    Ok(if !found.is_file() {
        Some(Distrust::NoFile)
    } else if ![0, uid].contains(&found.uid()) {
        Some(Distrust::OfAnother(found.uid()))
    } else if found.mode() & WRITABLE_BY_OTHERS != 0 {
        Some(Distrust::WritableByOthers)
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn found(folder: &Path) -> Result<PathBuf, HelperProblem> {
        let uid = rustix::process::geteuid().as_raw();
        HelperProgram::find_from(folder, uid).map(|program| program.path)
    }

    #[test]
    fn the_program_is_found_beside_this_one_or_in_the_library_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, lib) = (dir.path().join("bin"), dir.path().join("lib/assetfs"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&lib).unwrap();
        assert!(matches!(found(&bin), Err(HelperProblem::Missing(_))));
        for folder in [&lib, &bin] {
            fs::write(folder.join(PROGRAM), "").unwrap();
            let path = found(&bin).unwrap().canonicalize().unwrap();
            assert_eq!(path, folder.join(PROGRAM).canonicalize().unwrap());
        }
    }

    #[test]
    fn a_program_that_others_can_change_is_not_started() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join(PROGRAM);
        let why = || match found(dir.path()) {
            Err(HelperProblem::Untrusted(_, why)) => Some(why),
            _ => None,
        };
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o775)).unwrap();
        assert_eq!(why(), Some(Distrust::WritableByOthers));
        let stranger = HelperProgram::find_from(dir.path(), 4_000_000_000);
        assert!(stranger.is_err() || rustix::process::geteuid().is_root());
        fs::remove_file(&program).unwrap();
        symlink("/bin/true", &program).unwrap();
        assert_eq!(why(), Some(Distrust::NoFile));
        fs::remove_file(&program).unwrap();
        fs::create_dir(&program).unwrap();
        assert_eq!(why(), Some(Distrust::NoFile));
    }
}
