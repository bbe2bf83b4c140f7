//! Clearing, verifying and forgetting; the lock of the folder.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::PathBuf;

use assetfs::cache::{BLOCK_LEN_BYTES, BlockCache};

use crate::support::{PLENTY, assert_whole, block, data_files, files, fill, key};

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
        "the open file still uses its space"
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

/// A file is damaged while the cache is in use: no damaged byte is read, also from an object that was verified before.
#[test]
fn a_file_that_changed_before_it_was_verified_is_passed_on_once_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let key = key("a", 10 * BLOCK_LEN_BYTES, 1);
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    fill(&cache.object(&key).unwrap());
    // Some file systems keep the time in steps of a timer tick.
    let later = || std::thread::sleep(std::time::Duration::from_millis(20));
    let path = &data_files(dir.path())[0];
    later();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    let object = cache.object(&key).unwrap();
    assert!(object.is_complete() && object.file().is_none());
    later();
    fs::remove_file(path).unwrap();
    assert!(object.verify().unwrap());
    assert!(object.file().is_some(), "what was verified is as it was");
}

#[test]
fn damage_to_a_verified_file_is_noticed_by_the_next_read() {
    let dir = tempfile::tempdir().unwrap();
    let key = key("a", 10 * BLOCK_LEN_BYTES, 1);
    let cache = BlockCache::open(dir.path(), PLENTY).unwrap();
    let damage = |block: u64| {
        // Some file systems keep the time in steps of a timer tick.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let path = &data_files(dir.path())[0];
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(b"rotten", block * BLOCK_LEN_BYTES + 5)
            .unwrap();
    };
    let object = cache.object(&key).unwrap();
    fill(&object);
    assert!(object.file().is_some());
    crate::support::assert_whole(&object);
    damage(3);
    assert!(object.file().is_none(), "it is not passed to the kernel");
    let at = |block: u64| object.read(block * BLOCK_LEN_BYTES, 100).unwrap();
    assert_eq!((at(3), at(4).is_some()), (None, true));
    fill(&object);
    crate::support::assert_whole(&object);
    assert!(object.verify().unwrap() && object.file().is_some());

    drop(object);
    damage(7);
    let object = cache.object(&key).unwrap();
    assert_eq!(object.read(0, u64::MAX).unwrap(), None);
    let missing = 7 * BLOCK_LEN_BYTES..8 * BLOCK_LEN_BYTES;
    assert_eq!(object.missing(0..u64::MAX), [missing]);
}

#[test]
fn forget_matches_whole_path_components() {
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
fn only_one_process_can_open_the_cache() {
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
