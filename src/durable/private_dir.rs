//! A folder that only its owner can access. An opened folder belongs to the user of this process, is not a
//! symbolic link, and has mode 0700, so its files need no further checks.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::error::DurableError;
use super::file::{folder_of, sync_dir};

/// A checked private folder.
#[derive(Debug, Clone)]
pub struct PrivateDir {
    path: PathBuf,
}

impl PrivateDir {
    /// Creates the folder and missing parents, or checks the existing one.
    ///
    /// If others have access to an existing folder of this user, its mode is changed to 0700.
    pub fn open(path: impl AsRef<Path>) -> Result<PrivateDir, DurableError> {
        PrivateDir::open_with(path.as_ref(), |folder| sync_dir(folder))
    }

    /// Like [`PrivateDir::open`] but without sync, for a folder that may be lost in a power cut.
    pub fn open_relaxed(path: impl AsRef<Path>) -> Result<PrivateDir, DurableError> {
        PrivateDir::open_with(path.as_ref(), |_| Ok(()))
    }

    fn open_with(path: &Path, sync: SyncFolder) -> Result<PrivateDir, DurableError> {
        create(path, sync)?;
        check(path)?;
        Ok(PrivateDir {
            path: path.to_path_buf(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a private folder inside this one.
    pub fn open_dir(&self, name: impl AsRef<Path>) -> Result<PrivateDir, DurableError> {
        PrivateDir::open(self.join(name))
    }

    /// Makes the names in the folder durable.
    pub fn sync(&self) -> Result<(), DurableError> {
        sync_dir(&self.path)
    }
}

/// True for a folder with files of other programs, whose mode must not be changed. A folder is ours if one of its names is
/// a sign (`is_sign`), which no other program makes, or if all its names are in `usual`. A folder that is missing, empty
/// or not readable is not foreign, except one that all users share (mode 1777, as `/tmp`).
pub fn is_foreign(path: &Path, is_sign: impl Fn(&str) -> bool, usual: &[&str]) -> bool {
    const SHARED: u32 = 0o1002;
    let is_shared = |found: std::fs::Metadata| found.is_dir() && found.mode() & SHARED == SHARED;
    if std::fs::metadata(path).is_ok_and(is_shared) {
        return true;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // The file system makes `lost+found` in the top folder of a new disk.
    let names: Vec<String> = names.filter(|name| name != "lost+found").collect();
    let is_usual = |name: &String| usual.contains(&name.as_str());
    !names.iter().any(|name| is_sign(name)) && !names.iter().all(is_usual)
}

/// Makes the names in a folder durable, or does nothing.
type SyncFolder = fn(&Path) -> Result<(), DurableError>;

/// Creates the missing parts of the path; `sync` is called for each folder that gets a name.
fn create(path: &Path, sync: SyncFolder) -> Result<(), DurableError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync(folder_of(path)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // If the parent exists, it does not allow new names (as /proc), so only a missing parent is created.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                && has_parent(path)
                && !folder_of(path).exists() =>
        {
            create(folder_of(path), sync)?;
            create(path, sync)
        }
        Err(error) => Err(DurableError::io("create the folder", path)(error)),
    }
}

fn has_parent(path: &Path) -> bool {
    path.parent()
        .is_some_and(|parent| !parent.as_os_str().is_empty())
}

/// Checks through one descriptor, so the checked folder is the opened one.
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
        .map_err(|errno| DurableError::io("stat the folder", path)(errno.into()))?;
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(DurableError::WrongOwner {
            path: path.to_path_buf(),
            owner: stat.st_uid,
            user,
        });
    }
    if stat.st_mode & 0o7777 != 0o700 {
        rustix::fs::fchmod(dir.as_fd(), Mode::RWXU).map_err(|errno| {
            DurableError::io("restrict the mode of the folder", path)(errno.into())
        })?;
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
    fn a_place_where_no_folder_can_be_made_is_an_error() {
        let error = PrivateDir::open("/proc/nowhere/below").unwrap_err();
        assert!(error.to_string().contains("/proc/nowhere"), "{error}");
    }

    #[test]
    fn missing_folders_are_created_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/account/drafts");
        let private = PrivateDir::open(&path).unwrap();
        assert_eq!(private.path(), path);
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&dir.path().join("state")), 0o700);
        private.sync().unwrap();
    }

    #[test]
    fn a_folder_that_others_can_access_is_restricted_to_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wide");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        PrivateDir::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_folder_with_files_of_others_is_foreign() {
        let dir = tempfile::tempdir().unwrap();
        let is_foreign = |path: &Path| is_foreign(path, |name| name == "sign", &["usual"]);
        assert!(!is_foreign(&dir.path().join("missing")));
        assert!(!is_foreign(dir.path()), "empty");
        for (mode, is_shared) in [
            (0o1777, true),
            (0o777, false),
            (0o1755, false),
            (0o700, false),
        ] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_foreign(dir.path()), is_shared, "{mode:o}");
        }
        fs::create_dir(dir.path().join("lost+found")).unwrap();
        assert!(!is_foreign(dir.path()), "a new disk");
        fs::write(dir.path().join("usual"), "").unwrap();
        assert!(!is_foreign(dir.path()), "nothing else");
        fs::write(dir.path().join("passwd"), "").unwrap();
        assert!(is_foreign(dir.path()));
        fs::write(dir.path().join("sign"), "").unwrap();
        assert!(!is_foreign(dir.path()));
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
    fn a_folder_of_another_user_is_refused() {
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
