//! Limits and full disks: which objects are evicted, and that no reader fails.

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache, CacheError, CacheLimits, KeepFree};

use crate::support::{PLENTY, assert_whole, block, block_range, disk_usage, fill, key, limit};
use crate::tmpfs::SmallDisk;

#[test]
fn the_least_recently_used_goes_first_and_pins_stay() {
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
        assert_eq!(before, cache.stats().evictions, "a lookup must not evict");
        object.is_complete()
    };
    assert!(is_there(0) && is_there(1) && is_there(13));
    drop(cache);
    // Pins and the LRU order survive the process.
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
fn a_cache_full_of_pinned_and_lent_files_refuses_writes_and_keeps_serving() {
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
    // Only its own earlier block can be evicted.
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
fn the_reserve_of_the_disk_stays_free() {
    let dir = tempfile::tempdir().unwrap();
    let greedy = CacheLimits {
        max_bytes: 1 << 40,
        keep_free: KeepFree {
            percent: 100,
            max_bytes: u64::MAX,
        },
    };
    let cache = BlockCache::open(dir.path(), greedy).unwrap();
    assert!(matches!(
        cache.object(&key("a", 1, 1)),
        Err(CacheError::Full { .. })
    ));
    assert_eq!(cache.stats().bytes, 0);
    drop(cache);
    // On a large disk the reserve is a number of bytes.
    let keep_free = KeepFree {
        percent: 100,
        max_bytes: 1 << 20,
    };
    let modest = CacheLimits {
        keep_free,
        ..greedy
    };
    let cache = BlockCache::open(dir.path(), modest).unwrap();
    fill(&cache.object(&key("a", 1, 1)).unwrap());
    assert_eq!(cache.stats().objects, 1);
}

#[test]
fn a_full_cache_reports_it_until_space_is_freed() {
    let dir = tempfile::tempdir().unwrap();
    let greedy = CacheLimits {
        max_bytes: 1 << 40,
        keep_free: KeepFree {
            percent: 100,
            max_bytes: u64::MAX,
        },
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
fn a_full_disk_causes_evictions_and_never_fails_a_reader() {
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
    // The same disk with a reserve.
    let half = CacheLimits {
        max_bytes: 1 << 30,
        keep_free: KeepFree {
            percent: 50,
            ..KeepFree::default()
        },
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
