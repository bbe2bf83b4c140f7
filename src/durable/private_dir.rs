//! A folder that only its owner can enter. Opening one proves that it is ours, no symbolic link
//! leads to it, and its mode is 0700; what lies in it needs no further check of its folder.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::DurableError;
use super::file::{folder_of, sync_dir};

/// A checked private folder.
#[derive(Debug, Clone)]
pub struct PrivateDir {
    path: PathBuf,
}

impl PrivateDir {
    /// Makes the folder, and missing ones above it, or checks the one that is there.
    ///
    /// A folder of ours that others could enter is closed to them.
    pub fn open(path: impl AsRef<Path>) -> Result<PrivateDir, DurableError> {
        let path = path.as_ref();
        create(path)?;
        check(path)?;
        Ok(PrivateDir {
            path: path.to_path_buf(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a name in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// A private folder in this one.
    pub fn open_dir(&self, name: impl AsRef<Path>) -> Result<PrivateDir, DurableError> {
        PrivateDir::open(self.join(name))
    }

    /// Makes the names in it durable.
    pub fn sync(&self) -> Result<(), DurableError> {
        sync_dir(&self.path)
    }
}

/// Makes what is missing of the path, and the new names durable.
fn create(path: &Path) -> Result<(), DurableError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_dir(folder_of(path)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && has_parent(path) => {
            create(folder_of(path))?;
            create(path)
        }
        Err(error) => Err(DurableError::io("make the folder", path)(error)),
    }
}

fn has_parent(path: &Path) -> bool {
    path.parent()
        .is_some_and(|parent| !parent.as_os_str().is_empty())
}

/// Checks through one descriptor, so that what was checked is what was opened.
fn check(path: &Path) -> Result<(), DurableError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(dir) => dir,
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(DurableError::NotAFolder {
                path: path.to_path_buf(),
            });
        }
        Err(errno) => return Err(DurableError::io("open the folder", path)(errno.into())),
    };
    let stat = rustix::fs::fstat(dir.as_fd())
        .map_err(|errno| DurableError::io("look at the folder", path)(errno.into()))?;
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(DurableError::WrongOwner {
            path: path.to_path_buf(),
            owner: stat.st_uid,
            user,
        });
    }
    if stat.st_mode & 0o7777 != 0o700 {
        rustix::fs::fchmod(dir.as_fd(), Mode::RWXU)
            .map_err(|errno| DurableError::io("close to others the folder", path)(errno.into()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn missing_folders_are_made_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/account/drafts");
        let private = PrivateDir::open(&path).unwrap();
        assert_eq!(private.path(), path);
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&dir.path().join("state")), 0o700);
        private.sync().unwrap();
    }

    #[test]
    fn an_open_folder_of_ours_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wide");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        PrivateDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn symbolic_links_and_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
        fs::write(dir.path().join("file"), b"").unwrap();
        for name in ["link", "file"] {
            let error = PrivateDir::open(dir.path().join(name)).unwrap_err();
            assert!(matches!(error, DurableError::NotAFolder { .. }), "{error}");
        }
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        if rustix::process::geteuid().is_root() {
            let dir = tempfile::tempdir().unwrap();
            std::os::unix::fs::chown(dir.path(), Some(12345), None).unwrap();
            let error = PrivateDir::open(dir.path()).unwrap_err();
            assert!(matches!(
                error,
                DurableError::WrongOwner { owner: 12345, .. }
            ));
        } else {
            let error = PrivateDir::open("/").unwrap_err();
            assert!(matches!(error, DurableError::WrongOwner { owner: 0, .. }));
        }
    }
}
