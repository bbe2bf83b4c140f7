//! The public interface of the cache: opening it, objects by key, pins, and maintenance.
//!
//! A key identifies one version of one object. Opening another version removes the old one; handles to the old
//! version keep serving its blocks. Objects of one name are opened one at a time.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tracing::{debug, warn};

use super::block_map::BlockMap;
use super::cache_state::{CacheState, CacheStats};
use super::error::CacheError;
use super::index::{Entry, Index, Lookup};
use super::index_file;
use super::key::{BLOCK_LEN_BYTES, FileId, FileKind, NameHash, ObjectKey};
use super::map_file::{MapHeader, read_slots};
use super::object::{CachedObject, ObjectHost as _, OpenObject, Parts};
use super::object_file::{ChangeTime, free_unclaimed, map_cost, open_file};
use super::shared_cache::SharedCache;
use super::space::{CacheLimits, DiskShortage, Space};
use crate::durable::{DirLock, PrivateDir, write_atomic};
use crate::locks::Locked;

const OBJECTS: &str = "objects";
const PINS: &str = "pins.json";

/// The block cache of a mount. Clones are handles to the same cache.
#[derive(Debug, Clone)]
pub struct BlockCache {
    shared: Arc<CacheState>,
    second_level: Option<SharedCache>,
}

/// Result of [`BlockCache::verify`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VerifyReport {
    /// Checked objects.
    pub objects: u64,
    /// Checked blocks.
    pub blocks: u64,
    /// Damaged blocks, which were removed.
    pub bad_blocks: u64,
}

impl BlockCache {
    /// Opens the cache in its own folder, which is created if missing. Only one process may use it.
    pub fn open(dir: impl AsRef<Path>, limits: CacheLimits) -> Result<BlockCache, CacheError> {
        let root = PrivateDir::open(dir)?;
        let lock = DirLock::acquire(root.path())?;
        let objects = root.open_dir(OBJECTS)?;
        let mut index = Index::new(read_pins(root.path()));
        let mut used = 0;
        for (name, entry) in index_file::rebuild(root.path(), objects.path()) {
            used += entry.cost.load(std::sync::atomic::Ordering::Relaxed);
            index.insert(name, entry);
        }
        let space = Space::new(limits, used);
        let (root, objects) = (root.path().to_path_buf(), objects.path().to_path_buf());
        let shared = Arc::new(CacheState::new(root, objects, index, space, lock));
        shared.keep_limit();
        shared.save_index(false);
        Ok(BlockCache {
            shared,
            second_level: None,
        })
    }

    /// The same cache above a shared one.
    pub fn above(self, shared: SharedCache) -> BlockCache {
        BlockCache {
            second_level: Some(shared),
            ..self
        }
    }

    /// The shared cache below this one.
    pub fn shared_cache(&self) -> Option<&SharedCache> {
        self.second_level.as_ref()
    }

    /// Opens the object of this key with its present blocks, or creates an empty one.
    pub fn object(&self, key: &ObjectKey) -> Result<CachedObject, CacheError> {
        key.check()?;
        let name = NameHash::of(&key.name);
        let class = usize::try_from(name.0 % 16).expect("below sixteen");
        let _opening = self.shared.opening[class].locked();
        if let Some(open) = self.find(name, key) {
            return Ok(CachedObject::new(open));
        }
        // An existing entry is another version, damaged, or deleted from disk.
        let removed = self.shared.index().remove(name);
        self.shared.discard(removed.into_iter().collect());
        self.create(name, key).map(CachedObject::new)
    }

    /// Removes every object whose name is `prefix` or lies below it, pinned or not. Only whole path
    /// components match: `raw/10` does not match `raw/104/a`.
    pub fn forget(&self, prefix: &str) {
        let removed = self.shared.index().remove_below(prefix);
        self.shared.discard(removed);
    }

    /// Protects the objects at and below `prefix` from eviction, also those added later.
    pub fn pin(&self, prefix: &str) -> Result<(), CacheError> {
        self.change_pins(|pins| pins.insert(prefix.to_owned()))
    }

    pub fn unpin(&self, prefix: &str) -> Result<(), CacheError> {
        self.change_pins(|pins| pins.remove(prefix))
    }

    /// The pinned prefixes.
    pub fn pins(&self) -> Vec<String> {
        self.shared.index().pins().iter().cloned().collect()
    }

    pub fn stats(&self) -> CacheStats {
        self.shared.stats()
    }

    /// Reports whether the disk is currently too full for new blocks.
    pub fn disk_shortage(&self) -> Option<DiskShortage> {
        let limits = self.shared.space().limits();
        DiskShortage::of(&self.shared.root, limits.keep_free)
    }

    /// Removes everything including pinned objects; returns the freed bytes.
    pub fn clear(&self) -> u64 {
        let removed = self.shared.index().remove_below("");
        self.shared.discard(removed)
    }

    /// Compares every block with its checksum and removes damaged ones. Blocks the thread.
    pub fn verify(&self) -> VerifyReport {
        let ids: Vec<(FileId, String)> = self
            .shared
            .index()
            .oldest_first()
            .map(|(name, entry)| {
                (
                    FileId {
                        name: *name,
                        salt: entry.salt,
                    },
                    entry.name.to_string(),
                )
            })
            .collect();
        let before = self.stats().bad_blocks;
        let mut report = VerifyReport::default();
        for (id, name) in ids {
            if let Some(open) = self.open_any_version(id, &name) {
                report.objects += 1;
                report.blocks += open.verify_again();
            }
        }
        report.bad_blocks = self.stats().bad_blocks - before;
        report
    }

    /// Writes the index, so that opening the cache after a crash is fast. Also done periodically and when
    /// the last handle is dropped.
    pub fn save_index(&self) {
        self.shared.save_index(false);
    }

    /// The open or reopened object, if it has this version and its files still exist.
    fn find(&self, name: NameHash, key: &ObjectKey) -> Option<Arc<OpenObject>> {
        match self.shared.look_up(name) {
            Lookup::Nothing => None,
            Lookup::Open(open) if open.is_unlinked() => {
                self.forget_deleted();
                None
            }
            Lookup::Open(open) => (open.key() == key).then_some(open),
            Lookup::Closed { salt, verified } => {
                let id = FileId { name, salt };
                match self.load(id, verified) {
                    Ok(Some(parts)) if parts.key == *key => self.reopen(parts),
                    Ok(_) => None,
                    Err(error) => {
                        debug!(error = %error, "could not reopen an object of the cache");
                        if error.kind() == io::ErrorKind::NotFound {
                            self.forget_deleted();
                        }
                        None
                    }
                }
            }
        }
    }

    fn open_any_version(&self, id: FileId, name: &str) -> Option<Arc<OpenObject>> {
        let class = usize::try_from(id.name.0 % 16).expect("below sixteen");
        let _opening = self.shared.opening[class].locked();
        let known = self.shared.look_up(id.name);
        match known {
            Lookup::Open(open) => Some(open),
            Lookup::Closed { salt, .. } if salt == id.salt => match self.load(id, None) {
                Ok(Some(parts)) => self.reopen(parts),
                _ => {
                    warn!(name, "removed a damaged object of the cache");
                    let removed = self.shared.index().remove(id.name);
                    self.shared.discard(removed.into_iter().collect());
                    None
                }
            },
            _ => None,
        }
    }

    fn reopen(&self, parts: Parts) -> Option<Arc<OpenObject>> {
        let cost = parts.blocks.data_cost() + map_cost(parts.header_len, &parts.blocks);
        let cost_handle = self.shared.index().entry(parts.id)?.cost.clone();
        let parts = Parts {
            cost: cost_handle,
            ..parts
        };
        let open = Arc::new(OpenObject::new(self.shared.clone(), parts));
        let reopened = self.shared.reopened(&open, cost).then_some(open);
        // A map that was damaged on disk may contain more blocks than were counted.
        self.shared.keep_limit();
        reopened
    }

    /// Opens and reads the files of an object; `Ok(None)` if they are damaged.
    fn load(&self, id: FileId, verified: Option<ChangeTime>) -> io::Result<Option<Parts>> {
        let data = open_file(&self.shared.objects.join(id.file_name(FileKind::Data)))?;
        let map = open_file(&self.shared.objects.join(id.file_name(FileKind::Map)))?;
        let Some((header, header_len)) = MapHeader::read(&map)? else {
            return Ok(None);
        };
        if header.salt != id.salt || NameHash::of(&header.key.name) != id.name {
            return Ok(None);
        }
        let whole = data.metadata()?.len() == header.key.size;
        if !whole {
            // The missing part reads as zeros, which match no checksum.
            data.set_len(header.key.size)?;
        }
        let blocks = BlockMap::new(header.key.size);
        let untouched = verified.is_some_and(|at| ChangeTime::of(&data) == Some(at));
        read_slots(&map, header_len, &blocks, untouched && whole)?;
        free_unclaimed(&data, &blocks)?;
        Ok(Some(Parts {
            id,
            key: header.key,
            data,
            map,
            header_len,
            blocks,
            cost: Arc::default(),
        }))
    }

    fn create(&self, name: NameHash, key: &ObjectKey) -> Result<Arc<OpenObject>, CacheError> {
        let id = FileId {
            name,
            salt: rand::random(),
        };
        let blocks = BlockMap::new(key.size);
        let header = MapHeader {
            key: key.clone(),
            salt: id.salt,
        }
        .encode();
        let cost = map_cost(header.len() as u64, &blocks);
        self.shared.reserve(cost)?;
        let mut made = self.create_files(id, key.size, &header);
        if made.as_ref().is_err_and(CacheError::is_disk_full)
            && self.shared.evict(BLOCK_LEN_BYTES) > 0
        {
            index_file::unlink(&self.shared.objects, id);
            made = self.create_files(id, key.size, &header);
        }
        let (data, map) = made.inspect_err(|_| {
            self.shared.space().subtract(cost);
            index_file::unlink(&self.shared.objects, id);
        })?;
        let counted = Arc::new(AtomicU64::new(cost));
        let parts = Parts {
            id,
            key: key.clone(),
            data,
            map,
            header_len: header.len() as u64,
            blocks,
            cost: counted.clone(),
        };
        let open = Arc::new(OpenObject::new(self.shared.clone(), parts));
        let entry = Entry::new(id.salt, &key.name, counted);
        self.shared.insert(id, entry, &open);
        Ok(open)
    }

    fn create_files(
        &self,
        id: FileId,
        size: u64,
        header: &[u8],
    ) -> Result<(File, File), CacheError> {
        let data = match self.create_file(id, FileKind::Data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.forget_deleted();
                // Not synced on purpose: this may run on a thread that must not wait for the disk.
                PrivateDir::open_relaxed(&self.shared.objects)?;
                self.create_file(id, FileKind::Data)
            }
            made => made,
        };
        let make = || {
            let data = data?;
            data.set_len(size)?;
            let map = self.create_file(id, FileKind::Map)?;
            std::os::unix::fs::FileExt::write_all_at(&map, header, 0)?;
            Ok((data, map))
        };
        make().map_err(CacheError::io("make", &self.shared.objects))
    }

    fn create_file(&self, id: FileId, kind: FileKind) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(self.shared.objects.join(id.file_name(kind)))
    }

    /// Removes objects from the index whose files were deleted from outside.
    fn forget_deleted(&self) {
        let on_disk: BTreeSet<FileId> = fs::read_dir(&self.shared.objects)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| FileId::parse(entry.file_name().to_str()?))
            .filter(|(_, kind)| *kind == FileKind::Map)
            .map(|(id, _)| id)
            .collect();
        let mut removed = Vec::new();
        {
            let mut index = self.shared.index();
            let gone: Vec<NameHash> = index
                .oldest_first()
                .filter(|(name, entry)| {
                    !on_disk.contains(&FileId {
                        name: **name,
                        salt: entry.salt,
                    })
                })
                .map(|(name, _)| *name)
                .collect();
            removed.extend(gone.into_iter().filter_map(|name| index.remove(name)));
        }
        debug!(
            objects = removed.len(),
            "files of the cache were deleted from outside"
        );
        self.shared.discard(removed);
    }

    fn change_pins(
        &self,
        change: impl FnOnce(&mut BTreeSet<String>) -> bool,
    ) -> Result<(), CacheError> {
        let mut pins = self.shared.index().pins().clone();
        if change(&mut pins) {
            let json = serde_json::to_vec(&pins).expect("a list of texts is JSON");
            PrivateDir::open(&self.shared.root)?;
            write_atomic(self.shared.root.join(PINS), &json)?;
            self.shared.index().set_pins(pins);
            self.shared.keep_limit();
        }
        Ok(())
    }
}

fn read_pins(root: &Path) -> BTreeSet<String> {
    let text = match fs::read(root.join(PINS)) {
        Ok(text) => text,
        Err(_none_were_set) => return BTreeSet::new(),
    };
    serde_json::from_slice(&text).unwrap_or_else(|error| {
        warn!(error = %error, "the list of pinned names is damaged; nothing is pinned");
        BTreeSet::new()
    })
}
