//! The block cache through its front door, against a naive model: whatever happens to its files,
//! a read gives exactly the bytes of the object's version, or nothing.

#![expect(clippy::print_stderr, reason = "a test says loudly what it skips")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assetfs::cache::{
    BLOCK_LEN_BYTES, BlockCache, CacheError, CacheLimits, CachedObject, ObjectKey,
};
use proptest::prelude::*;

const PLENTY: CacheLimits = CacheLimits {
    max_bytes: 1 << 30,
    keep_free_percent: 0,
};

fn limit(max_bytes: u64) -> CacheLimits {
    CacheLimits {
        max_bytes,
        keep_free_percent: 0,
    }
}

fn key(name: &str, size: u64, version: u8) -> ObjectKey {
    ObjectKey {
        name: name.to_owned(),
        size,
        etag: Some(format!("\"v{version}\"")),
    }
}

/// The true content: a function of the key, so that it needs no memory.
fn content(key: &ObjectKey, offset: u64, len: u64) -> Vec<u8> {
    let seed = key
        .name
        .bytes()
        .chain(key.etag.iter().flat_map(|etag| etag.bytes()))
        .fold(key.size, |seed, byte| {
            seed.wrapping_mul(0x100_0000_01B3) ^ u64::from(byte)
        });
    let end = offset.saturating_add(len).min(key.size);
    (offset.min(end)..end)
        .map(|at| {
            let word = (seed ^ (at / 8)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (word ^ (word >> 29)).to_le_bytes()[usize::try_from(at % 8).unwrap()]
        })
        .collect()
}

fn block(key: &ObjectKey, index: u64) -> Vec<u8> {
    content(key, index * BLOCK_LEN_BYTES, BLOCK_LEN_BYTES)
}

fn fill(object: &CachedObject) {
    for index in 0..object.size().div_ceil(BLOCK_LEN_BYTES) {
        object
            .write_block(index, &block(object.key(), index))
            .unwrap();
    }
}

fn assert_whole(object: &CachedObject) {
    let bytes = object
        .read(0, u64::MAX)
        .unwrap()
        .expect("all blocks are there");
    assert!(bytes == content(object.key(), 0, u64::MAX));
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir.join("objects"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn data_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = files(dir);
    files.retain(|path| path.extension().is_some_and(|it| it == "data"));
    files
}

/// Bytes that the cache's files take on disk.
fn disk_usage(dir: &Path) -> u64 {
    files(dir)
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|metadata| metadata.blocks() * 512)
        .sum()
}

#[test]
fn blocks_are_kept_over_a_restart_and_verified_once() {
    let dir = tempfile::tempdir().unwrap();
    let key = key("raw/1/chair.bin", 3 * BLOCK_LEN_BYTES + 100, 1);
    {
        let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
        let object = cache.object(&key).unwrap();
        assert_eq!(
            object.missing(0..u64::MAX),
            std::slice::from_ref(&(0..key.size))
        );
        assert_eq!(object.read(0, 10).unwrap(), None);
        object.write_block(1, &block(&key, 1)).unwrap();
        object.write_block(3, &block(&key, 3)).unwrap();
        assert_eq!(
            object.missing(10..key.size),
            [0..BLOCK_LEN_BYTES, 2 * BLOCK_LEN_BYTES..3 * BLOCK_LEN_BYTES]
        );
        assert!(!object.is_complete() && object.file().is_none());
    }
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    let object = cache.object(&key).unwrap();
    let found = object.read(BLOCK_LEN_BYTES + 7, 50).unwrap().unwrap();
    assert_eq!(found, content(&key, BLOCK_LEN_BYTES + 7, 50));
    assert_eq!(object.read(BLOCK_LEN_BYTES - 1, 2).unwrap(), None);
    fill(&object);
    assert!(object.is_complete());
    assert!(object.verify().unwrap());
    let mut through_file = Vec::new();
    let mut file = object.file().unwrap().try_clone().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut through_file).unwrap();
    assert!(through_file == content(&key, 0, key.size));
    assert!(
        object.file().unwrap().write_at(b"x", 0).is_err(),
        "lent for reading only"
    );
}

#[test]
fn an_empty_object_is_complete_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    let object = cache.object(&key("raw/1/empty", 0, 1)).unwrap();
    assert!(object.is_complete());
    assert_eq!(object.missing(0..100), []);
    assert_eq!(object.read(0, 100).unwrap().unwrap().len(), 0);
    assert_eq!(object.file().unwrap().metadata().unwrap().len(), 0);
    let error = object.write_block(0, b"").unwrap_err();
    assert!(matches!(error, CacheError::WrongBlock { .. }), "{error}");
}

#[test]
fn reads_are_clipped_and_wrong_blocks_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    let key = key("x", BLOCK_LEN_BYTES + 10, 1);
    let object = cache.object(&key).unwrap();
    for (index, len) in [(0, 10), (1, 9), (1, 11), (2, 10), (u64::MAX, 10)] {
        assert!(object.write_block(index, &vec![0; len]).is_err());
    }
    fill(&object);
    assert_eq!(
        object.read(key.size - 4, 100).unwrap().unwrap(),
        content(&key, key.size - 4, 4)
    );
    for offset in [key.size, key.size + 1, u64::MAX] {
        assert!(object.read(offset, 7).unwrap().unwrap().is_empty());
    }
    let huge = ObjectKey {
        size: u64::MAX,
        ..key
    };
    assert!(matches!(
        cache.object(&huge),
        Err(CacheError::TooLarge { .. })
    ));
}

#[test]
fn another_version_drops_the_old_one_and_its_readers_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    let old = cache.object(&key("raw/1/a", 200_000, 1)).unwrap();
    fill(&old);
    let new = cache.object(&key("raw/1/a", 200_000, 2)).unwrap();
    assert_eq!(new.read(0, 1).unwrap(), None);
    assert_whole(&old);
    fill(&new);
    drop(old);
    assert_eq!(files(dir.path()).len(), 2);
    assert_eq!(cache.stats().objects, 1);
    assert!(cache.stats().bytes >= disk_usage(dir.path()));
    let other_size = cache.object(&key("raw/1/a", 200_001, 2)).unwrap();
    assert!(other_size.missing(0..200_001).len() == 1);
    let no_etag = ObjectKey {
        etag: None,
        ..key("raw/1/a", 200_001, 2)
    };
    assert!(!cache.object(&no_etag).unwrap().is_complete());
}

#[test]
fn the_longest_unused_goes_first_and_pins_stay() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), limit(10 * (BLOCK_LEN_BYTES + 4096))).unwrap();
    let name = |number: u32| format!("raw/{number}/a");
    cache.pin("raw/0").unwrap();
    for number in 0..10 {
        fill(
            &cache
                .object(&key(&name(number), BLOCK_LEN_BYTES, 1))
                .unwrap(),
        );
    }
    assert_eq!(cache.stats().evictions, 0);
    drop(cache.object(&key(&name(1), BLOCK_LEN_BYTES, 1)).unwrap());
    for number in 10..14 {
        fill(
            &cache
                .object(&key(&name(number), BLOCK_LEN_BYTES, 1))
                .unwrap(),
        );
    }
    assert_eq!(cache.stats().evictions, 4);
    let is_there = |number: u32| {
        let before = cache.stats().evictions;
        let object = cache
            .object(&key(&name(number), BLOCK_LEN_BYTES, 1))
            .unwrap();
        assert_eq!(before, cache.stats().evictions, "looking must not evict");
        object.is_complete()
    };
    assert!(is_there(0) && is_there(1) && is_there(13));
    drop(cache);
    // Pins and the order of use outlive the process.
    let cache = BlockCache::open(dir.path(), limit(2 * (BLOCK_LEN_BYTES + 4096))).unwrap();
    assert_eq!(cache.pins(), ["raw/0"]);
    assert_eq!(cache.stats().objects, 2);
    assert!(
        cache
            .object(&key(&name(0), BLOCK_LEN_BYTES, 1))
            .unwrap()
            .is_complete()
    );
    assert!(
        cache
            .object(&key(&name(13), BLOCK_LEN_BYTES, 1))
            .unwrap()
            .is_complete()
    );
    cache.unpin("raw/0").unwrap();
    assert_eq!(cache.pins(), [] as [String; 0]);
}

#[test]
fn a_cache_full_of_pinned_and_lent_files_refuses_and_serves_on() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), limit(6 * BLOCK_LEN_BYTES)).unwrap();
    cache.pin("pinned").unwrap();
    let pinned = cache
        .object(&key("pinned/a", 2 * BLOCK_LEN_BYTES, 1))
        .unwrap();
    let lent = cache
        .object(&key("lent/a", 2 * BLOCK_LEN_BYTES, 1))
        .unwrap();
    fill(&pinned);
    fill(&lent);
    let file = lent.file().unwrap();
    let new = cache.object(&key("new/a", 3 * BLOCK_LEN_BYTES, 1)).unwrap();
    new.write_block(0, &block(new.key(), 0)).unwrap();
    // Only its own earlier block can make room.
    new.write_block(1, &block(new.key(), 1)).unwrap();
    assert_eq!(new.read(0, 1).unwrap(), None);
    assert!(new.read(BLOCK_LEN_BYTES, 1).unwrap().is_some());
    assert_whole(&pinned);
    assert_whole(&lent);
    assert!(cache.stats().bytes <= 6 * BLOCK_LEN_BYTES);
    drop(new);
    cache.pin("new").unwrap();
    let error = cache
        .object(&key("other", BLOCK_LEN_BYTES, 1))
        .and_then(|other| other.write_block(0, &block(other.key(), 0)))
        .unwrap_err();
    assert!(matches!(error, CacheError::Full { .. }), "{error}");
    assert_eq!(file.metadata().unwrap().len(), 2 * BLOCK_LEN_BYTES);
}

#[test]
fn an_open_object_larger_than_the_cache_keeps_its_latest_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let max = 20 * BLOCK_LEN_BYTES;
    let cache = BlockCache::open(dir.path(), limit(max)).unwrap();
    let key = key("raw/1/large", 200 * BLOCK_LEN_BYTES + 9, 1);
    let object = cache.object(&key).unwrap();
    for index in 0..=200 {
        object.write_block(index, &block(&key, index)).unwrap();
        let range = block_range(&key, index);
        let found = object
            .read(range.0, range.1)
            .unwrap()
            .expect("just written");
        assert!(found == block(&key, index));
        assert!(cache.stats().bytes <= max);
        assert!(
            disk_usage(dir.path()) <= max + 65536,
            "{}",
            disk_usage(dir.path())
        );
    }
    assert!(
        object
            .missing(0..key.size)
            .iter()
            .map(|it| it.end - it.start)
            .sum::<u64>()
            > key.size / 2
    );
}

fn block_range(key: &ObjectKey, index: u64) -> (u64, u64) {
    let start = index * BLOCK_LEN_BYTES;
    (start, BLOCK_LEN_BYTES.min(key.size - start))
}

#[test]
fn a_cleared_and_a_deleted_cache_leave_open_objects_usable() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("cache");
    let cache = BlockCache::open(&root, PLENTY).unwrap();
    let key_a = key("raw/1/a", 100_000, 1);
    let open = cache.object(&key_a).unwrap();
    open.write_block(0, &block(&key_a, 0)).unwrap();
    fill(&cache.object(&key("raw/2/b", 100_000, 1)).unwrap());

    cache.clear();
    assert_eq!(files(&root), [] as [PathBuf; 0]);
    open.write_block(1, &block(&key_a, 1)).unwrap();
    assert_whole(&open);
    assert!(
        cache.stats().bytes > 100_000,
        "the open file still takes its room"
    );
    drop(open);
    assert_eq!(cache.stats().bytes, 0);

    for whole in [true, false] {
        let open = cache.object(&key_a).unwrap();
        fill(&open);
        fill(&cache.object(&key("raw/2/b", 100_000, 1)).unwrap());
        let doomed = if whole {
            root.clone()
        } else {
            root.join("objects")
        };
        fs::remove_dir_all(doomed).unwrap();
        assert_whole(&open);
        let again = cache.object(&key_a).unwrap();
        assert_eq!(again.read(0, 1).unwrap(), None);
        fill(&again);
        assert_whole(&again);
        assert_whole(&open);
        drop(open);
        assert_eq!(cache.stats().objects, 1);
        assert_eq!(
            fs::metadata(&root).unwrap().permissions().mode() & 0o777,
            0o700
        );
        drop(again);
        cache.clear();
        assert_eq!(cache.stats().bytes, 0);
    }
    fill(&cache.object(&key_a).unwrap());
    for path in files(&root) {
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn verify_finds_every_damaged_block_and_only_those() {
    let dir = tempfile::tempdir().unwrap();
    let keys = [key("a", 10 * BLOCK_LEN_BYTES, 1), key("b", 5, 1)];
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    keys.iter()
        .for_each(|key| fill(&cache.object(key).unwrap()));
    let report = cache.verify();
    assert_eq!(
        (report.objects, report.blocks, report.bad_blocks),
        (2, 11, 0)
    );
    let large = data_files(dir.path())
        .into_iter()
        .find(|path| fs::metadata(path).unwrap().len() > 5)
        .unwrap();
    let file = fs::OpenOptions::new().write(true).open(large).unwrap();
    file.write_all_at(b"rotten", 3 * BLOCK_LEN_BYTES).unwrap();
    file.write_all_at(b"rotten", 7 * BLOCK_LEN_BYTES + 99)
        .unwrap();
    let report = cache.verify();
    assert_eq!((report.blocks, report.bad_blocks), (11, 2));
    let object = cache.object(&keys[0]).unwrap();
    let missing = [3, 7].map(|at| at * BLOCK_LEN_BYTES..(at + 1) * BLOCK_LEN_BYTES);
    assert_eq!(object.missing(0..u64::MAX), missing);
    fill(&object);
    assert!(object.verify().unwrap());
}

#[test]
fn forgetting_keeps_what_only_looks_alike() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    for name in ["raw/10/a", "raw/10/b/c", "raw/104/a", "rapid/10/a"] {
        fill(&cache.object(&key(name, 10, 1)).unwrap());
    }
    cache.forget("raw/10");
    assert_eq!(cache.stats().objects, 2);
    assert_eq!(files(dir.path()).len(), 4);
    assert!(
        cache
            .object(&key("raw/104/a", 10, 1))
            .unwrap()
            .is_complete()
    );
}

#[test]
fn one_process_at_a_time_has_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    let object = cache.object(&key("a", 1, 1)).unwrap();
    drop(cache);
    assert!(
        BlockCache::open(dir.path(), PLENTY).is_err(),
        "an open object still uses it"
    );
    drop(object);
    BlockCache::open(dir.path(), PLENTY).unwrap();
}

#[test]
fn a_share_of_the_disk_is_left_free() {
    let dir = tempfile::tempdir().unwrap();
    let greedy = CacheLimits {
        max_bytes: 1 << 40,
        keep_free_percent: 100,
    };
    let cache = BlockCache::open(dir.path(), greedy).unwrap();
    assert!(matches!(
        cache.object(&key("a", 1, 1)),
        Err(CacheError::Full { .. })
    ));
    assert_eq!(cache.stats().bytes, 0);
}

#[test]
fn a_full_disk_makes_room_by_eviction_and_never_fails_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(dir.path(), 2 << 20) else {
        return;
    };
    let root = dir.path().join("cache");
    let cache = BlockCache::open(&root, PLENTY).unwrap();
    for number in 0..100 {
        let object = cache
            .object(&key(&format!("raw/{number}"), BLOCK_LEN_BYTES, 1))
            .unwrap();
        fill(&object);
        assert_whole(&object);
    }
    assert!(cache.stats().evictions > 60);
    let large = cache.object(&key("large", 5 << 20, 1)).unwrap();
    for index in 0..80 {
        large
            .write_block(index, &block(large.key(), index))
            .unwrap();
        let read = large
            .read(index * BLOCK_LEN_BYTES, BLOCK_LEN_BYTES)
            .unwrap();
        assert!(read.unwrap() == block(large.key(), index));
    }
    assert!(cache.stats().bytes >= disk_usage(&root));
    drop((large, cache));
    // The same disk with the share to be left free.
    let half = CacheLimits {
        max_bytes: 1 << 30,
        keep_free_percent: 50,
    };
    let cache = BlockCache::open(&root, half).unwrap();
    for number in 0..100 {
        let _ = cache
            .object(&key(&format!("raw/{number}"), BLOCK_LEN_BYTES, 1))
            .map(|object| fill(&object));
    }
    assert!(disk_usage(&root) <= 1 << 20, "{}", disk_usage(&root));
    assert!(cache.stats().objects > 5);
}

/// A small file system of its own, so that the disk can be filled; only root may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(dir: &Path, bytes: u64) -> Option<SmallDisk> {
        let options = format!("size={bytes}");
        let options = std::ffi::CString::new(options).unwrap();
        let mounted = rustix::mount::mount(
            "tmpfs",
            dir,
            "tmpfs",
            rustix::mount::MountFlags::empty(),
            options.as_c_str(),
        );
        if let Err(error) = mounted {
            eprintln!("SKIPPED: a full disk is not tested here, no tmpfs can be mounted: {error}");
            return None;
        }
        Some(SmallDisk(dir.to_path_buf()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

#[test]
fn readers_and_writers_at_once_never_see_a_wrong_byte() {
    let dir = tempfile::tempdir().unwrap();
    // Small enough that eviction and hole punching run all the time.
    let max = 40 * BLOCK_LEN_BYTES;
    let cache = BlockCache::open(dir.path(), limit(max)).unwrap();
    let stop = AtomicBool::new(false);
    let hits = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..6_u64 {
            let (cache, stop, hits) = (&cache, &stop, &hits);
            scope.spawn(move || {
                let mut random = worker * 77 + 1;
                let mut next = move |below: u64| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (random >> 33) % below
                };
                for _ in 0..1500 {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let key = key(
                        &format!("raw/{}", next(3)),
                        30 * BLOCK_LEN_BYTES + 17,
                        1 + u8::from(next(200) == 0),
                    );
                    let Ok(object) = cache.object(&key) else {
                        continue;
                    };
                    for _ in 0..8 {
                        let offset = next(key.size);
                        let len = next(150_000);
                        match object.read(offset, len).unwrap() {
                            Some(bytes) => {
                                hits.fetch_add(1, Ordering::Relaxed);
                                if bytes != content(&key, offset, len) {
                                    stop.store(true, Ordering::Relaxed);
                                    panic!("wrong bytes at {offset}+{len} of {}", key.name);
                                }
                            }
                            None => {
                                for range in object.missing(offset..offset + len) {
                                    for index in range.start / BLOCK_LEN_BYTES
                                        ..range.end.div_ceil(BLOCK_LEN_BYTES)
                                    {
                                        let _ = object.write_block(index, &block(&key, index));
                                    }
                                }
                            }
                        }
                    }
                    if next(300) == 0 {
                        cache.clear();
                    }
                }
            });
        }
    });
    assert!(hits.load(Ordering::Relaxed) > 100);
    let stats = cache.stats();
    assert!(stats.bytes <= max && stats.evictions > 10, "{stats:?}");
    assert_eq!(stats.bad_blocks, 0);
    cache.clear();
    assert_eq!(cache.stats().bytes, 0);
}

#[test]
fn a_copy_of_the_folder_taken_at_any_moment_can_be_opened() {
    let dir = tempfile::tempdir().unwrap();
    let live = dir.path().join("live");
    let cache = BlockCache::open(&live, limit(60 * BLOCK_LEN_BYTES)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                let key = key(
                    &format!("raw/{}", round % 9),
                    10 * BLOCK_LEN_BYTES,
                    (round / 9 % 3) as u8,
                );
                fill(&cache.object(&key).unwrap());
                if round % 13 == 0 {
                    cache.save_index();
                }
            }
        });
        let mut complete = 0;
        for copy in 0..30 {
            let path = dir.path().join(format!("copy{copy}"));
            copy_folder(&live, &path);
            let cache = BlockCache::open(&path, PLENTY).unwrap();
            for number in 0..9 {
                for version in 0..3 {
                    let key = key(&format!("raw/{number}"), 10 * BLOCK_LEN_BYTES, version);
                    let object = cache.object(&key).unwrap();
                    complete += u32::from(object.is_complete());
                    for index in 0..10 {
                        if let Some(bytes) = object
                            .read(index * BLOCK_LEN_BYTES, BLOCK_LEN_BYTES)
                            .unwrap()
                        {
                            assert!(bytes == block(&key, index));
                        }
                    }
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(complete > 0, "no object was ever whole in a copy");
    });
}

/// As a crash would leave it: files at slightly different moments, some gone.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy_folder(&entry.path(), &target),
            Ok(_) => drop(fs::copy(entry.path(), target)),
            Err(_) => {}
        }
    }
}

/// What a person, a disk or a program does to the cache between two reads.
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
    /// A damaged map may claim one block in place of another; each damage hides at most one.
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

    /// Changes a file while nobody has the cache open, as damage that a restart finds.
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
            // These may come at any time under a running cache.
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

    /// A restart with a lower limit may find more pinned than it may hold.
    fn open_or_pinned(&self) -> bool {
        !self.cache().pins().is_empty()
    }
}

/// Changes one file in place, so that its holes stay holes.
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
    fn no_order_of_events_gives_a_wrong_byte_or_more_than_the_limit(
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
