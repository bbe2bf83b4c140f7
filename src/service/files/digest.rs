//! Size and checksums of bytes, computed while they are streamed.

use md5::{Digest as _, Md5};

use crate::service::ids::hex;
use crate::service::records::Stored;

#[derive(Debug, Default)]
pub(super) struct Digest {
    md5: Md5,
    crc32: crc32fast::Hasher,
    size: u64,
}

impl Digest {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.crc32.update(bytes);
        self.size += bytes.len() as u64;
    }

    pub(super) fn stored(self, blob: &str) -> Stored {
        Stored {
            blob: blob.to_owned(),
            size: self.size,
            md5: hex(&self.md5.finalize()),
            crc32: self.crc32.finalize(),
        }
    }
}
