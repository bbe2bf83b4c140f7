//! The block cache through its front door, against a naive model: whatever happens to its files,
//! a read gives exactly the bytes of the object's version, or nothing.

#![expect(clippy::print_stderr, reason = "a test says loudly what it skips")]

mod model;
mod races;
mod support;

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::PathBuf;

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache, CacheError, CacheLimits, ObjectKey};

use support::{
    PLENTY, SmallDisk, assert_whole, block, block_range, content, data_files, disk_usage, files,
    fill, key, limit,
};

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
fn a_cache_without_room_says_so_until_it_has_some() {
    let dir = tempfile::tempdir().unwrap();
    let greedy = CacheLimits {
        max_bytes: 1 << 40,
        keep_free_percent: 100,
    };
    let cache = BlockCache::open(dir.path(), greedy).unwrap();
    let shortage = cache.disk_shortage().unwrap();
    assert!(shortage.free_bytes <= shortage.keep_free_bytes);
    drop(cache);
    let cache = BlockCache::open(dir.path(), limit(160_000)).unwrap();
    assert_eq!(cache.disk_shortage(), None);
    assert!(!cache.stats().is_taken_up);
    cache.pin("pinned").unwrap();
    fill(&cache.object(&key("pinned", 120_000, 1)).unwrap());
    let other = cache.object(&key("other", 120_000, 1)).unwrap();
    assert!(other.write_block(0, &block(other.key(), 0)).is_err());
    assert!(cache.stats().is_taken_up);
    cache.unpin("pinned").unwrap();
    fill(&other);
    assert!(!cache.stats().is_taken_up);
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
