//! Staged bytes on local disk: one private file for each content, named by its id.
//!
//! Invariant: the name of every returned file is durable before anything is written into it, so that syncing its data
//! is enough. The journal records which content belongs to which entry.

mod content;
mod hash;
mod space_reserve;
mod write_out;

pub use content::{Content, OnFull, Written};
pub use hash::{ContentHash, ContentHasher, RunningHash, hash_upto};
pub use space_reserve::SpaceReserve;
use write_out::WriteOut;

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::durable::{PrivateDir, answering, recorder, sync_dir};
use crate::locks::Locked;
use crate::outbox::error::{OutboxResult, journal_error, staging_error};
use crate::outbox::failpoint;

/// The mode of a file whose writer was not told yet that its bytes are safe: the sticky bit, which has no effect on files.
const FRESH: u32 = 0o1600;
/// The mode of the others.
const ACKNOWLEDGED: u32 = 0o600;

/// Number of empty files that are made at once, so that one sync makes their names durable.
const SPARE_FILES: usize = 24;

/// The id of a staged content. Never reused in one state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentId(pub u64);

impl std::fmt::Display for ContentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

/// A content with bytes that the caller of [`Staging::open`] did not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leftover {
    pub content: ContentId,
    /// False if no writer was told that its bytes are safe.
    pub was_acknowledged: bool,
}

/// The folder of staged bytes.
#[derive(Debug)]
pub struct Staging {
    dir: PathBuf,
    spare: Mutex<Spare>,
    space_reserve: Arc<SpaceReserve>,
}

#[derive(Debug)]
struct Spare {
    files: Vec<(ContentId, File)>,
    next: u64,
}

impl Staging {
    /// Opens the folder, and returns the contents that are not in `kept`, for which the caller is responsible. Empty
    /// files that an earlier run made in advance are removed. New ids are above `above` and above all existing ones.
    pub fn open(
        dir: &Path,
        kept: &BTreeSet<ContentId>,
        above: ContentId,
    ) -> OutboxResult<(Staging, Vec<Leftover>)> {
        PrivateDir::open(dir).map_err(journal_error(dir))?;
        let mut highest = above.0;
        let mut leftovers = Vec::new();
        let listing = std::fs::read_dir(dir).map_err(staging_error("listing it"))?;
        for item in listing {
            let item = item.map_err(staging_error("listing it"))?;
            let id = item.file_name().to_str().and_then(parse_name);
            let Some(id) = id else { continue };
            highest = highest.max(id.0);
            if kept.contains(&id) {
                continue;
            }
            let meta = item.metadata().map_err(staging_error("looking at it"))?;
            if meta.is_file() && meta.len() == 0 {
                std::fs::remove_file(item.path()).map_err(staging_error("removing a leftover"))?;
            } else {
                leftovers.push(Leftover {
                    content: id,
                    was_acknowledged: meta.mode() & FRESH != FRESH,
                });
            }
        }
        leftovers.sort_unstable_by_key(|leftover| leftover.content);
        let staging = Staging {
            dir: dir.to_owned(),
            space_reserve: Arc::default(),
            spare: Mutex::new(Spare {
                files: Vec::new(),
                next: highest + 1,
            }),
        };
        Ok((staging, leftovers))
    }

    /// The guard of the space that contents leave free.
    pub fn space_reserve(&self) -> &Arc<SpaceReserve> {
        &self.space_reserve
    }

    /// Refuses a new name while only the reserved space is left, which is for removals and uploads.
    pub fn check_space(&self) -> OutboxResult<()> {
        let checked = self.space_reserve.check_name(&self.dir);
        checked.map_err(|error| staging_error("a new name")(error).on_disk_of(&self.dir))
    }

    /// A new empty file.
    pub fn create(&self) -> OutboxResult<(ContentId, File)> {
        self.check_space()?;
        let mut spare = self.spare.locked();
        if spare.files.is_empty() {
            self.refill(&mut spare)
                .map_err(|error| error.on_disk_of(&self.dir))?;
        }
        Ok(spare.files.pop().expect("just refilled"))
    }

    /// Opens the bytes of a content for reading and writing.
    pub fn open_content(&self, content: ContentId) -> io::Result<File> {
        open_options(false).open(self.path(content))
    }

    /// The path of a content.
    pub fn path(&self, content: ContentId) -> PathBuf {
        self.dir.join(content.to_string())
    }

    /// Deletes a content. It stays readable through open handles.
    pub fn remove(&self, content: ContentId) {
        if !failpoint::alive() {
            return;
        }
        let path = self.path(content);
        match std::fs::remove_file(&path) {
            Ok(()) => recorder::removed(&path),
            // The next open of the outbox removes it.
            Err(error) => {
                tracing::debug!(%content, %error, "a staged file could not be removed yet");
            }
        }
    }

    /// Removes the files that were made in advance. The next new file makes others.
    pub fn drop_spares(&self) {
        let spares = {
            let mut spare = self.spare.locked();
            std::mem::take(&mut spare.files)
        };
        for (content, _) in spares {
            self.remove(content);
        }
    }

    fn refill(&self, spare: &mut Spare) -> OutboxResult<()> {
        answering::check_may_block("making staged files");
        failpoint::disk().map_err(staging_error("making a file"))?;
        let mut made = Vec::with_capacity(SPARE_FILES);
        while made.len() < SPARE_FILES {
            let id = ContentId(spare.next);
            match open_options(true).open(self.path(id)) {
                Ok(file) => {
                    recorder::created(&self.path(id));
                    made.push((id, file));
                }
                // A full disk may still have room for one more file.
                Err(_) if !made.is_empty() => break,
                Err(error) => return Err(staging_error("making a file")(error)),
            }
            spare.next += 1;
        }
        sync_dir(&self.dir).map_err(journal_error(&self.dir))?;
        made.reverse();
        spare.files = made;
        Ok(())
    }
}

fn open_options(new: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create_new(new)
        .mode(FRESH)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    options
}

fn parse_name(name: &str) -> Option<ContentId> {
    let well_formed = name.len() >= 12 && name.bytes().all(|b| b.is_ascii_hexdigit());
    well_formed
        .then(|| u64::from_str_radix(name, 16).ok())?
        .map(ContentId)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn contents_are_private_and_only_empty_leftovers_go_at_the_next_open() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("staging");
        let open = |kept: &[ContentId], above| {
            Staging::open(&path, &kept.iter().copied().collect(), ContentId(above)).unwrap()
        };
        let (staging, none) = open(&[], 7);
        assert!(none.is_empty());
        let (kept, file) = staging.create().unwrap();
        assert!(kept > ContentId(7));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let (empty, _) = staging.create().unwrap();
        let (unknown, mut file) = staging.create().unwrap();
        file.write_all(b"somebody's").unwrap();
        std::fs::write(path.join("notes.txt"), b"not ours").unwrap();
        drop(staging);
        let (staging, leftovers) = open(&[kept], 0);
        let found: Vec<ContentId> = leftovers.iter().map(|it| it.content).collect();
        assert_eq!(found, [unknown]);
        assert!(staging.open_content(kept).is_ok());
        assert!(staging.open_content(unknown).is_ok());
        assert!(staging.open_content(empty).is_err());
        assert!(path.join("notes.txt").exists());
        assert!(staging.create().unwrap().0 > unknown);
        staging.drop_spares();
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 4);
    }
}
