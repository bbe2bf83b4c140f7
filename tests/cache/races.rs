//! Many threads at once, and a process that is killed at any moment.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache, ObjectKey};

use super::support::{PLENTY, block, content, fill, key, limit};

#[test]
fn concurrent_readers_and_writers_never_see_a_wrong_byte() {
    let dir = tempfile::tempdir().unwrap();
    // Small enough that eviction and hole punching run constantly.
    let max = 40 * BLOCK_LEN_BYTES;
    let cache = BlockCache::open(dir.path(), limit(max)).unwrap();
    let stop = AtomicBool::new(false);
    let hits = AtomicU64::new(0);
    let size = 30 * BLOCK_LEN_BYTES + 17;
    let keys: Vec<ObjectKey> = (0..6_u8)
        .map(|number| key(&format!("raw/{}", number % 3), size, number / 3))
        .collect();
    let contents: Vec<Vec<u8>> = keys.iter().map(|key| content(key, 0, size)).collect();
    std::thread::scope(|scope| {
        for worker in 0..6_u64 {
            let (cache, stop, hits, keys, contents) = (&cache, &stop, &hits, &keys, &contents);
            scope.spawn(move || {
                let mut random = worker * 77 + 1;
                let mut next = move |below: u64| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (random >> 33) % below
                };
                for _ in 0..400 {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    // Mostly the first version of each object, sometimes the second.
                    let which = next(3) + if next(200) == 0 { 3 } else { 0 };
                    let key = &keys[which as usize];
                    let content = &contents[which as usize];
                    let part = |offset: u64, len: u64| {
                        &content[offset as usize..(offset + len).min(size) as usize]
                    };
                    let Ok(object) = cache.object(key) else {
                        continue;
                    };
                    for _ in 0..8 {
                        let offset = next(key.size);
                        let len = next(150_000);
                        match object.read(offset, len).unwrap() {
                            Some(bytes) => {
                                hits.fetch_add(1, Ordering::Relaxed);
                                if bytes != part(offset, len) {
                                    stop.store(true, Ordering::Relaxed);
                                    panic!("wrong bytes at {offset}+{len} of {}", key.name);
                                }
                            }
                            None => {
                                for range in object.missing(offset..offset + len) {
                                    for index in range.start / BLOCK_LEN_BYTES
                                        ..range.end.div_ceil(BLOCK_LEN_BYTES)
                                    {
                                        let at = index * BLOCK_LEN_BYTES;
                                        let _ =
                                            object.write_block(index, part(at, BLOCK_LEN_BYTES));
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
        assert!(complete > 0, "no object was complete in a copy");
    });
}

/// Like the state after a crash: files of slightly different times, some missing.
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
