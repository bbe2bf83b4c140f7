//! Blocks of an object: kept, read, verified, and removed with their version.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache, CacheError, ObjectKey};

use crate::support::{PLENTY, assert_whole, block, content, disk_usage, files, fill, key};

#[test]
fn blocks_survive_a_restart_and_are_verified_once() {
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
fn another_version_replaces_the_old_one_whose_readers_continue() {
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
