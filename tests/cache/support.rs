//! Known contents, and access to the files of the cache.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assetfs::cache::{BLOCK_LEN_BYTES, CacheLimits, CachedObject, KeepFree, ObjectKey};

pub const PLENTY: CacheLimits = CacheLimits {
    max_bytes: 1 << 30,
    keep_free: KeepFree::NOTHING,
};

pub fn limit(max_bytes: u64) -> CacheLimits {
    CacheLimits {
        max_bytes,
        keep_free: KeepFree::NOTHING,
    }
}

pub fn key(name: &str, size: u64, version: u8) -> ObjectKey {
    ObjectKey {
        name: name.to_owned(),
        size,
        etag: Some(format!("\"v{version}\"")),
    }
}

/// The correct content: a function of the key, so it needs no memory.
pub fn content(key: &ObjectKey, offset: u64, len: u64) -> Vec<u8> {
    let etag = key.etag.iter().flat_map(|etag| etag.bytes());
    let seed = key.name.bytes().chain(etag).fold(key.size, |seed, byte| {
        seed.wrapping_mul(0x100_0000_01B3) ^ u64::from(byte)
    });
    let end = offset.saturating_add(len).min(key.size);
    let start = offset.min(end);
    let mut bytes = Vec::with_capacity((end - start) as usize + 16);
    for word in start / 8..end.div_ceil(8) {
        let word = (seed ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bytes.extend_from_slice(&(word ^ (word >> 29)).to_le_bytes());
    }
    bytes.drain(..(start % 8) as usize);
    bytes.truncate((end - start) as usize);
    bytes
}

pub fn block(key: &ObjectKey, index: u64) -> Vec<u8> {
    content(key, index * BLOCK_LEN_BYTES, BLOCK_LEN_BYTES)
}

pub fn fill(object: &CachedObject) {
    for index in 0..object.size().div_ceil(BLOCK_LEN_BYTES) {
        object
            .write_block(index, &block(object.key(), index))
            .unwrap();
    }
}

pub fn assert_whole(object: &CachedObject) {
    let bytes = object
        .read(0, u64::MAX)
        .unwrap()
        .expect("all blocks are present");
    assert!(bytes == content(object.key(), 0, u64::MAX));
}

pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir.join("objects"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

pub fn data_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = files(dir);
    files.retain(|path| path.extension().is_some_and(|it| it == "data"));
    files
}

/// Disk usage of the cache's files.
pub fn disk_usage(dir: &Path) -> u64 {
    files(dir)
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|metadata| metadata.blocks() * 512)
        .sum()
}

pub fn block_range(key: &ObjectKey, index: u64) -> (u64, u64) {
    let start = index * BLOCK_LEN_BYTES;
    (start, BLOCK_LEN_BYTES.min(key.size - start))
}
