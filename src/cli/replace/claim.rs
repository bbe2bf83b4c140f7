//! Commands that replace models at the same time: one at a time decides what is done, and the draft that a command fills
//! is claimed by a lock. The kernel releases the lock when the process ends, so a draft without one that is not being
//! uploaded was left by an interrupted command.
//!
//! A claimed folder is filled through its descriptor. If the draft is removed and another one is made under its name,
//! the files never go there.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, mkdirat, openat};
use rustix::io::Errno;

/// A file in the draft of a first version that is being copied. It has a temporary name, so the draft is not sent.
pub(super) const UNFINISHED: &str = ".assetfs-replace.copies";

/// Whether a copy of a first version into this draft was not finished.
pub(in crate::cli) fn is_unfinished(model: &Path) -> bool {
    model.join(UNFINISHED).exists()
}

/// The turn to decide. Held for moments only.
pub(super) struct Turn {
    _root: File,
}

impl Turn {
    /// `None` while another command has it.
    pub(super) fn take(root: &Path) -> io::Result<Option<Turn>> {
        let root = File::open(root)?;
        Ok(lock(&root)?.then_some(Turn { _root: root }))
    }
}

/// A draft that this command fills: the folder of a draft, or a file in `rawmodels/`.
pub(super) struct Claim {
    path: PathBuf,
    held: File,
}

impl Claim {
    /// Makes a folder and claims it. `None` if something is there already.
    pub(super) fn on_new_folder(path: &Path, _turn: &Turn) -> io::Result<Option<Claim>> {
        Claim::on_made(path, fs::create_dir(path))
    }

    /// The same for an empty file.
    pub(super) fn on_new_file(path: &Path, _turn: &Turn) -> io::Result<Option<Claim>> {
        Claim::on_made(path, File::create_new(path).map(drop))
    }

    fn on_made(path: &Path, made: io::Result<()>) -> io::Result<Option<Claim>> {
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            made => made?,
        }
        let claim = Claim {
            path: path.to_owned(),
            held: File::open(path)?,
        };
        Ok(lock(&claim.held)?.then_some(claim))
    }

    /// True while a command fills the draft at `path`.
    pub(super) fn exists_on(path: &Path, _turn: &Turn) -> io::Result<bool> {
        match File::open(path) {
            Ok(file) => Ok(!lock(&file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// True if the draft is no longer at this path: it was removed, and another one may be there. False if the drive
    /// does not answer.
    pub(super) fn is_gone_from(&self, path: &Path) -> bool {
        match (fs::metadata(path), self.held.metadata()) {
            (Ok(there), Ok(held)) => there.ino() != held.ino(),
            (Ok(_), Err(_)) => true,
            (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// The folder or the file itself, also when its path has changed.
    pub(super) fn itself(&self) -> &File {
        &self.held
    }

    /// The file that a file of the source is copied into, with its path: the claimed file itself, or a new one in the
    /// claimed folder.
    pub(super) fn target(&self, place: &Path) -> (PathBuf, io::Result<File>) {
        let claimed = self.held.metadata();
        match claimed.is_ok_and(|claimed| claimed.is_file()) {
            true => {
                let file = File::options().write(true).open(&self.path);
                (self.path.clone(), file)
            }
            false => (self.path.join(place), self.new_file(place)),
        }
    }

    /// Makes a file in the claimed folder, and the folders that it is in. A file that is there already was not made by
    /// this command, and is an error.
    pub(super) fn new_file(&self, place: &Path) -> io::Result<File> {
        let mut folder: Option<File> = None;
        let mut names = place.components().peekable();
        while let Some(Component::Normal(name)) = names.next() {
            let parent = folder.as_ref().unwrap_or(&self.held);
            if names.peek().is_none() {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                return Ok(openat(parent, name, flags, Mode::from(0o666))?.into());
            }
            folder = Some(folder_in(parent, name)?);
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Removes a file of the claimed folder.
    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.held,
            name,
            rustix::fs::AtFlags::empty(),
        )?)
    }
}

fn folder_in(parent: &File, name: &OsStr) -> io::Result<File> {
    match mkdirat(parent, name, Mode::from(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?.into())
}

/// False if another process has the lock.
fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn one_command_at_a_time_decides_and_a_claim_ends_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let turn = Turn::take(dir.path()).unwrap().unwrap();
        assert!(Turn::take(dir.path()).unwrap().is_none());
        let draft = dir.path().join("chair~new");
        assert!(!Claim::exists_on(&draft, &turn).unwrap());
        let claim = Claim::on_new_folder(&draft, &turn).unwrap().unwrap();
        assert!(Claim::exists_on(&draft, &turn).unwrap());
        for taken in [Claim::on_new_folder, Claim::on_new_file] {
            assert!(taken(&draft, &turn).unwrap().is_none());
        }
        drop(claim);
        assert!(!Claim::exists_on(&draft, &turn).unwrap());
        drop(turn);
        assert!(Turn::take(dir.path()).unwrap().is_some());
    }

    #[test]
    fn files_never_go_into_another_draft_of_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let turn = Turn::take(dir.path()).unwrap().unwrap();
        let draft = dir.path().join("chair~new");
        let claim = Claim::on_new_folder(&draft, &turn).unwrap().unwrap();
        let mut file = claim.new_file(Path::new("textures/wood/a.png")).unwrap();
        file.write_all(b"a").unwrap();
        claim.new_file(Path::new("textures/b.png")).unwrap();
        assert_eq!(fs::read(draft.join("textures/wood/a.png")).unwrap(), b"a");
        // What is there was made by somebody else.
        assert!(claim.new_file(Path::new("textures/b.png")).is_err());
        assert!(!claim.is_gone_from(&draft));
        fs::rename(&draft, dir.path().join("aside")).unwrap();
        fs::create_dir(&draft).unwrap();
        assert!(claim.is_gone_from(&draft));
        claim.new_file(Path::new("chair.gltf")).unwrap();
        assert_eq!(fs::read_dir(&draft).unwrap().count(), 0);
        assert!(claim.new_file(Path::new("../chair.gltf")).is_err());
    }
}
