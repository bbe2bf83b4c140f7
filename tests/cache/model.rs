//! Random sequences of events, compared with a naive model.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache, CacheError, CachedObject, ObjectKey};
use proptest::prelude::*;

use super::support::{block, block_range, content, disk_usage, files, key, limit};

/// An event between two reads.
#[derive(Debug, Clone)]
enum Step {
    Write {
        object: usize,
        index: u64,
    },
    Fill {
        object: usize,
    },
    Read {
        object: usize,
        offset: u64,
        len: u64,
    },
    NewVersion {
        object: usize,
    },
    Close {
        object: usize,
    },
    Restart {
        max_blocks: u64,
    },
    Damage {
        file: prop::sample::Index,
        at: prop::sample::Index,
        flip: u8,
    },
    Truncate {
        file: prop::sample::Index,
        at: prop::sample::Index,
    },
    Garbage {
        file: prop::sample::Index,
        bytes: Vec<u8>,
    },
    Delete {
        file: prop::sample::Index,
    },
    DeleteIndex,
    DeleteAll,
    Clear,
    Forget {
        object: usize,
    },
    Pin {
        object: usize,
    },
    Unpin {
        object: usize,
    },
    Verify,
}

const SIZES: [u64; 4] = [0, 900, 3 * BLOCK_LEN_BYTES, 9 * BLOCK_LEN_BYTES + 4321];

fn step() -> impl Strategy<Value = Step> {
    let object = || 0..SIZES.len();
    let any_index = any::<prop::sample::Index>;
    prop_oneof![
        8 => (object(), 0..10_u64).prop_map(|(object, index)| Step::Write { object, index }),
        4 => object().prop_map(|object| Step::Fill { object }),
        10 => (object(), 0..700_000_u64, 0..200_000_u64)
            .prop_map(|(object, offset, len)| Step::Read { object, offset, len }),
        1 => object().prop_map(|object| Step::NewVersion { object }),
        3 => object().prop_map(|object| Step::Close { object }),
        2 => (4..40_u64).prop_map(|max_blocks| Step::Restart { max_blocks }),
        2 => (any_index(), any_index(), 1_u8..).prop_map(|(file, at, flip)| Step::Damage { file, at, flip }),
        1 => (any_index(), any_index()).prop_map(|(file, at)| Step::Truncate { file, at }),
        1 => (any_index(), prop::collection::vec(any::<u8>(), 0..100))
            .prop_map(|(file, bytes)| Step::Garbage { file, bytes }),
        1 => any_index().prop_map(|file| Step::Delete { file }),
        1 => Just(Step::DeleteIndex),
        1 => Just(Step::DeleteAll),
        1 => Just(Step::Clear),
        1 => object().prop_map(|object| Step::Forget { object }),
        1 => object().prop_map(|object| Step::Pin { object }),
        1 => object().prop_map(|object| Step::Unpin { object }),
        1 => Just(Step::Verify),
    ]
}

struct World {
    dir: tempfile::TempDir,
    max: u64,
    cache: Option<BlockCache>,
    open: BTreeMap<usize, CachedObject>,
    versions: [u8; SIZES.len()],
    /// A damaged map may contain one block in place of another; each damage hides at most one.
    slack: u64,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let max = 16 * BLOCK_LEN_BYTES;
        let cache = BlockCache::open(dir.path(), limit(max)).unwrap();
        World {
            dir,
            max,
            cache: Some(cache),
            open: BTreeMap::new(),
            versions: [1; SIZES.len()],
            slack: BLOCK_LEN_BYTES,
        }
    }

    fn cache(&self) -> &BlockCache {
        self.cache.as_ref().unwrap()
    }

    fn name(object: usize) -> String {
        format!("raw/{object}/file")
    }

    fn key(&self, object: usize) -> ObjectKey {
        key(&World::name(object), SIZES[object], self.versions[object])
    }

    fn object(&mut self, object: usize) -> Option<CachedObject> {
        if let Some(open) = self.open.get(&object) {
            return Some(open.clone());
        }
        match self.cache().object(&self.key(object)) {
            Ok(open) => {
                self.open.insert(object, open.clone());
                Some(open)
            }
            Err(CacheError::Full { .. }) => None,
            Err(error) => panic!("{error:?}"),
        }
    }

    fn restart(&mut self, max_blocks: u64) {
        self.open.clear();
        self.cache = None;
        self.max = max_blocks * BLOCK_LEN_BYTES;
        self.cache = Some(BlockCache::open(self.dir.path(), limit(self.max)).unwrap());
    }

    /// Changes a file while the cache is closed, so the next start finds the damage.
    fn tamper(&mut self, change: impl FnOnce(&Path)) {
        self.open.clear();
        self.cache = None;
        change(self.dir.path());
        self.slack += BLOCK_LEN_BYTES;
        self.cache = Some(BlockCache::open(self.dir.path(), limit(self.max)).unwrap());
    }

    fn run(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Write { object, index } => {
                let key = self.key(object);
                if index * BLOCK_LEN_BYTES < key.size
                    && let Some(open) = self.object(object)
                    && open.write_block(index, &block(&key, index)).is_ok()
                {
                    let (offset, len) = block_range(&key, index);
                    let read = open.read(offset, len).unwrap();
                    prop_assert!(read.is_some_and(|read| read == block(&key, index)));
                }
            }
            Step::Fill { object } => {
                let key = self.key(object);
                if let Some(open) = self.object(object) {
                    for index in 0..key.size.div_ceil(BLOCK_LEN_BYTES) {
                        let _ = open.write_block(index, &block(&key, index));
                    }
                }
            }
            Step::Read {
                object,
                offset,
                len,
            } => {
                let key = self.key(object);
                if let Some(open) = self.object(object) {
                    let missing = open.missing(offset..offset + len);
                    let read = open.read(offset, len).unwrap();
                    prop_assert!(missing.is_empty() || read.is_none());
                    if let Some(read) = read {
                        prop_assert!(read == content(&key, offset, len));
                    } else {
                        prop_assert!(!open.missing(offset..offset + len).is_empty());
                    }
                    if open.verify().unwrap() {
                        let mut bytes = vec![0; usize::try_from(key.size).unwrap()];
                        open.file().unwrap().read_exact_at(&mut bytes, 0).unwrap();
                        prop_assert!(bytes == content(&key, 0, key.size));
                    }
                }
            }
            Step::NewVersion { object } => {
                self.open.remove(&object);
                self.versions[object] = self.versions[object].wrapping_add(1);
            }
            Step::Close { object } => drop(self.open.remove(&object)),
            Step::Restart { max_blocks } => self.restart(max_blocks),
            Step::Damage { file, at, flip } => self.tamper(|dir| {
                on_file(dir, file, |file, len| {
                    let mut byte = [0];
                    let at = at.index(usize::try_from(len.max(1)).unwrap()) as u64;
                    if file.read_at(&mut byte, at).unwrap() == 1 {
                        file.write_all_at(&[byte[0] ^ flip], at).unwrap();
                    }
                });
            }),
            Step::Truncate { file, at } => self.tamper(|dir| {
                on_file(dir, file, |file, len| {
                    let len = at.index(usize::try_from(len + 1).unwrap());
                    file.set_len(len as u64).unwrap();
                });
            }),
            Step::Garbage { file, bytes } => self.tamper(|dir| {
                on_file(dir, file, |file, _| {
                    file.set_len(0).unwrap();
                    file.write_all_at(&bytes, 0).unwrap();
                });
            }),
            // These may happen at any time while the cache is open.
            Step::Delete { file } => {
                let files = files(self.dir.path());
                if !files.is_empty() {
                    fs::remove_file(file.get(&files)).unwrap();
                }
            }
            Step::DeleteIndex => drop(fs::remove_file(self.dir.path().join("index"))),
            Step::DeleteAll => {
                for entry in fs::read_dir(self.dir.path()).unwrap() {
                    let path = entry.unwrap().path();
                    let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
                }
            }
            Step::Clear => drop(self.cache().clear()),
            Step::Forget { object } => self.cache().forget(&World::name(object)),
            Step::Pin { object } => self.cache().pin(&format!("raw/{object}")).unwrap(),
            Step::Unpin { object } => self.cache().unpin(&format!("raw/{object}")).unwrap(),
            Step::Verify => drop(self.cache().verify()),
        }
        let stats = self.cache().stats();
        prop_assert!(
            stats.bytes <= self.max || self.open_or_pinned(),
            "{stats:?} of {}",
            self.max
        );
        let taken = disk_usage(self.dir.path());
        prop_assert!(taken <= stats.bytes + self.slack, "{taken} {stats:?}");
        Ok(())
    }

    /// After a restart with a lower limit, pinned objects may exceed it.
    fn open_or_pinned(&self) -> bool {
        !self.cache().pins().is_empty()
    }
}

/// Changes one file in place, which keeps its holes.
fn on_file(dir: &Path, file: prop::sample::Index, change: impl FnOnce(&fs::File, u64)) {
    let mut files = files(dir);
    files.push(dir.join("index"));
    if let Ok(file) = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(file.get(&files))
    {
        change(&file, file.metadata().unwrap().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(150)
    })]

    #[test]
    fn no_sequence_of_events_causes_a_wrong_byte_or_exceeds_the_limit(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let mut world = World::new();
        for step in steps {
            world.run(step)?;
        }
        world.open.clear();
        world.cache().clear();
        prop_assert_eq!(world.cache().stats().bytes, 0);
        prop_assert_eq!(files(world.dir.path()), Vec::<PathBuf>::new());
    }
}
