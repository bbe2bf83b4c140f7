//! The face of the cache: opening it, its objects by key, pins, and what the commands ask of it.
//!
//! A key names one version of one object. Asking for another version drops the one that is there;
//! handles to it go on with what they have. Objects are opened one at a time for each name.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use tracing::{debug, warn};

use super::block_map::BlockMap;
use super::index::{Entry, Index, Known};
use super::key::{FileId, FileKind, NameHash};
use super::map_file::{MapHeader, read_slots};
use super::object::{CachedObject, OpenObject, Parts, free_unclaimed, map_cost, open_file};
use super::shared::Shared;
use super::space::{CacheLimits, DiskShortage, Space};
use super::{BLOCK_LEN_BYTES, CacheError, ObjectKey, index_file};
use crate::durable::{DirLock, PrivateDir, write_atomic};

const OBJECTS: &str = "objects";
const PINS: &str = "pins.json";

/// The block cache of a mount. Cloning gives another handle to it.
#[derive(Debug, Clone)]
pub struct BlockCache {
    shared: Arc<Shared>,
}

/// What is in the cache and how it did since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CacheStats {
    /// Bytes on disk, as counted against the limit.
    pub bytes: u64,
    /// The limit.
    pub max_bytes: u64,
    /// Objects that have files in the cache.
    pub objects: u64,
    /// Reads that were served.
    pub hits: u64,
    /// Reads that lacked a block.
    pub misses: u64,
    /// Objects, or runs of blocks of open ones, that had to go.
    pub evictions: u64,
    /// Times that there was no room for what was to be taken.
    pub refused: u64,
    /// Blocks that were found damaged and dropped.
    pub bad_blocks: u64,
    /// Pinned and open files left no room for what was to be taken last.
    pub is_taken_up: bool,
}

/// What [`BlockCache::verify`] found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VerifyReport {
    /// Objects looked at.
    pub objects: u64,
    /// Blocks looked at.
    pub blocks: u64,
    /// Blocks that were damaged, and are gone now.
    pub bad_blocks: u64,
}

impl BlockCache {
    /// Opens the cache in a folder of its own, made when missing. One process at a time has it.
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
        let shared = Arc::new(Shared::new(root, objects, index, space, lock));
        shared.keep_limit();
        shared.save_index(false);
        Ok(BlockCache { shared })
    }

    /// The object of this key, with the blocks that are there, or a new one without any.
    pub fn object(&self, key: &ObjectKey) -> Result<CachedObject, CacheError> {
        key.check()?;
        let name = NameHash::of(&key.name);
        let class = usize::try_from(name.0 % 16).expect("below sixteen");
        let _opening = self.shared.opening[class]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = self.find(name, key) {
            return Ok(CachedObject::new(open));
        }
        // Whatever is there is another version, damaged, or deleted by somebody.
        let removed = self.shared.index().remove(name);
        self.shared.discard(removed.into_iter().collect());
        self.create(name, key).map(CachedObject::new)
    }

    /// Drops every object whose name is `prefix` or lies below it, pinned or not. Whole parts of
    /// the name count: `raw/10` is not above `raw/104/a`.
    pub fn forget(&self, prefix: &str) {
        let removed = self.shared.index().remove_below(prefix);
        self.shared.discard(removed);
    }

    /// Keeps the objects at and below the name from being evicted, present ones and later ones.
    pub fn pin(&self, prefix: &str) -> Result<(), CacheError> {
        self.change_pins(|pins| pins.insert(prefix.to_owned()))
    }

    /// Takes a pin back.
    pub fn unpin(&self, prefix: &str) -> Result<(), CacheError> {
        self.change_pins(|pins| pins.remove(prefix))
    }

    /// The names that are pinned.
    pub fn pins(&self) -> Vec<String> {
        self.shared.index().pins().iter().cloned().collect()
    }

    /// What is in the cache and how it did.
    pub fn stats(&self) -> CacheStats {
        self.shared.stats()
    }

    /// Whether the disk is too full for anything new, as it is at this moment.
    pub fn disk_shortage(&self) -> Option<DiskShortage> {
        let limits = self.shared.space().limits();
        DiskShortage::of(&self.shared.root, limits.keep_free_percent)
    }

    /// Drops everything, pinned objects too, and gives the bytes that are free now.
    pub fn clear(&self) -> u64 {
        let removed = self.shared.index().remove_below("");
        self.shared.discard(removed)
    }

    /// Reads every block and compares it with its checksum; damaged ones are dropped. Blocking work.
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

    /// Writes the index, so that a start after a crash is quick. Also done now and then by itself,
    /// and when the last handle goes.
    pub fn save_index(&self) {
        self.shared.save_index(false);
    }

    /// The open or reopened object, if what is there is of this version and still on disk.
    fn find(&self, name: NameHash, key: &ObjectKey) -> Option<Arc<OpenObject>> {
        match self.shared.know(name) {
            Known::Nothing => None,
            Known::Open(open) if open.is_unlinked() => {
                self.forget_deleted();
                None
            }
            Known::Open(open) => (open.key() == key).then_some(open),
            Known::Closed { salt, verified } => {
                let id = FileId { name, salt };
                match self.load(id, verified) {
                    Ok(Some(parts)) if parts.key == *key => self.reopen(parts),
                    Ok(_) => None,
                    Err(error) => {
                        debug!(error = %error, "could not open an object of the cache again");
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
        let _opening = self.shared.opening[class]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = self.shared.know(id.name);
        match known {
            Known::Open(open) => Some(open),
            Known::Closed { salt, .. } if salt == id.salt => match self.load(id, false) {
                Ok(Some(parts)) => self.reopen(parts),
                _ => {
                    warn!(name, "dropped a damaged object of the cache");
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
        // A map that was damaged on disk may claim more than was counted.
        self.shared.keep_limit();
        reopened
    }

    /// Opens and reads the files of an object; `Ok(None)` when they are damaged.
    fn load(&self, id: FileId, verified: bool) -> io::Result<Option<Parts>> {
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
            // What is cut off reads as zeros, which no checksum agrees with.
            data.set_len(header.key.size)?;
        }
        let blocks = BlockMap::new(header.key.size);
        read_slots(&map, header_len, &blocks, verified && whole)?;
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
        self.shared.make_room(cost)?;
        let mut made = self.create_files(id, key.size, &header);
        if made.as_ref().is_err_and(CacheError::is_disk_full)
            && self.shared.evict(BLOCK_LEN_BYTES) > 0
        {
            index_file::unlink(&self.shared.objects, id);
            made = self.create_files(id, key.size, &header);
        }
        let (data, map) = made.inspect_err(|_| {
            self.shared.space().give_back(cost);
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
                PrivateDir::open(&self.shared.objects)?;
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

    /// Somebody deleted files of the cache: drops from the index what is no longer on disk.
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
            "files of the cache were deleted by somebody"
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
