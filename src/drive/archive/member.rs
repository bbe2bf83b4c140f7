//! Reading one member of a zip. What is stored is read where it lies; what is deflated is unpacked
//! in order into the block cache and served from there.
//!
//! The checksum is verified before the first byte of a short member is given out, and at the end of
//! a long one that is read to its end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use tokio::sync::{Mutex, OnceCell};

use super::directory::{LOCAL_BYTES, Member, Method, u16_at};
use super::inflate::{Inflater, Step};
use super::{ArchiveError, refused};
use crate::cache::{BLOCK_LEN_BYTES, BlockCache, CachedObject, ObjectKey};
use crate::drive::reading::RemoteFile;

/// A stored member up to this length is read as a whole before any of it is given out.
const SHORT_BYTES: u64 = 8 << 20;
/// Packed bytes that are read at a time.
const CHUNK_BYTES: u64 = 256 * 1024;
/// After so many blocks whoever else waits for the thread comes first.
const BLOCKS_IN_A_ROW: u32 = 32;

/// An open member.
pub struct MemberFile {
    zip: RemoteFile,
    member: Member,
    /// Where its bytes begin.
    data_at: OnceCell<u64>,
    /// Unpacked blocks; none for a stored member and where the cache takes nothing.
    cached: Option<CachedObject>,
    cache: BlockCache,
    inflater: Mutex<Inflater>,
    served: AtomicU64,
    is_verified: AtomicBool,
    verifying: Mutex<()>,
}

impl MemberFile {
    /// Opens a member; asks nothing of the network. `object_name` names its unpacked bytes.
    pub fn new(
        zip: RemoteFile,
        member: Member,
        cache: &BlockCache,
        object_name: String,
    ) -> Result<MemberFile, ArchiveError> {
        let unreadable = |reason: String| {
            Err(ArchiveError::Unreadable {
                name: member.name.clone(),
                reason,
            })
        };
        if member.is_encrypted {
            return unreadable("it needs a password".to_owned());
        }
        let cached = match member.method {
            Method::Stored => None,
            Method::Deflated => {
                let key = ObjectKey {
                    name: object_name,
                    size: member.size,
                    etag: Some(format!("\"crc-{:08x}\"", member.crc)),
                };
                cache.object(&key).ok()
            }
            Method::Other(number) => {
                return unreadable(format!("it is packed by method {number}"));
            }
        };
        Ok(MemberFile {
            zip,
            member,
            data_at: OnceCell::new(),
            cached,
            cache: cache.clone(),
            inflater: Mutex::new(Inflater::new()),
            served: AtomicU64::new(0),
            is_verified: AtomicBool::new(false),
            verifying: Mutex::new(()),
        })
    }

    /// Its length.
    pub fn size(&self) -> u64 {
        self.member.size
    }

    /// Reads; shorter than asked only at the end.
    pub async fn read(&self, offset: u64, len: u64) -> Result<Bytes, ArchiveError> {
        let end = offset.saturating_add(len).min(self.size());
        if offset >= end {
            return Ok(Bytes::new());
        }
        match self.member.method {
            Method::Stored => self.read_stored(offset, end).await,
            _ => self.read_deflated(offset, end).await,
        }
    }

    async fn read_stored(&self, offset: u64, end: u64) -> Result<Bytes, ArchiveError> {
        let served = self.served.fetch_add(end - offset, Ordering::Relaxed) + (end - offset);
        let is_short = self.size() <= SHORT_BYTES;
        let was_read_through = end == self.size() && served >= self.size();
        if is_short || was_read_through {
            self.verify_stored().await?;
        }
        let data_at = self.data_at().await?;
        Ok(self.zip.read(data_at + offset, end - offset).await?)
    }

    async fn verify_stored(&self) -> Result<(), ArchiveError> {
        if self.is_verified.load(Ordering::Acquire) {
            return Ok(());
        }
        let _one_at_a_time = self.verifying.lock().await;
        if self.is_verified.load(Ordering::Acquire) {
            return Ok(());
        }
        let data_at = self.data_at().await?;
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        while at < self.size() {
            let part = self
                .zip
                .read(data_at + at, CHUNK_BYTES.min(self.size() - at))
                .await?;
            crc.update(&part);
            at += part.len() as u64;
        }
        if crc.finalize() != self.member.crc {
            return Err(self.damaged("its checksum does not match"));
        }
        self.is_verified.store(true, Ordering::Release);
        Ok(())
    }

    async fn read_deflated(&self, offset: u64, end: u64) -> Result<Bytes, ArchiveError> {
        if let Some(bytes) = self.cached_part(offset, end) {
            return Ok(bytes);
        }
        let mut inflater = self.inflater.lock().await;
        // Somebody may have unpacked it meanwhile.
        if let Some(bytes) = self.cached_part(offset, end) {
            return Ok(bytes);
        }
        if inflater.given() > offset / BLOCK_LEN_BYTES * BLOCK_LEN_BYTES {
            *inflater = Inflater::new();
        }
        let data_at = self.data_at().await?;
        let mut whole = BytesMut::with_capacity((end - offset) as usize);
        let mut in_a_row = 0;
        loop {
            let no_more = inflater.taken() >= self.member.stored_len;
            let is_last = end == self.size() && inflater.given() == self.size();
            if inflater.given() >= end && !is_last {
                return Ok(whole.freeze());
            }
            match inflater.step(self.size(), self.member.crc, no_more) {
                Step::Hungry => {
                    let left = self.member.stored_len - inflater.taken();
                    let packed = self
                        .zip
                        .read(data_at + inflater.taken(), CHUNK_BYTES.min(left))
                        .await?;
                    inflater.feed(packed);
                }
                Step::Block(number, block) => {
                    self.keep(number, &block);
                    let start = number * BLOCK_LEN_BYTES;
                    let stop = start + block.len() as u64;
                    if start < end && stop > offset {
                        let from = offset.saturating_sub(start) as usize;
                        let to = (end.min(stop) - start) as usize;
                        whole.extend_from_slice(&block[from..to]);
                    }
                    in_a_row += 1;
                    if in_a_row % BLOCKS_IN_A_ROW == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                Step::Done => return Ok(whole.freeze()),
                Step::Wrong(reason) => {
                    *inflater = Inflater::new();
                    if let Some(cached) = &self.cached {
                        self.cache.forget(&cached.key().name);
                    }
                    return Err(self.damaged(reason));
                }
            }
        }
    }

    fn cached_part(&self, offset: u64, end: u64) -> Option<Bytes> {
        self.cached
            .as_ref()?
            .read(offset, end - offset)
            .ok()
            .flatten()
    }

    fn keep(&self, number: u64, block: &[u8]) {
        if let Some(cached) = &self.cached
            && let Err(error) = cached.write_block(number, block)
        {
            tracing::debug!(name = self.member.name, error = %error, "an unpacked block is not cached");
        }
    }

    /// The local header has a length of its own.
    async fn data_at(&self) -> Result<u64, ArchiveError> {
        let find = || async {
            let header = self.zip.read(self.member.header_at, LOCAL_BYTES).await?;
            if header.len() < LOCAL_BYTES as usize || !header.starts_with(b"PK\x03\x04") {
                return Err(self.damaged("its header is not where it should be"));
            }
            let rest = u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28));
            let data_at = self.member.header_at + LOCAL_BYTES + rest;
            if data_at + self.member.stored_len > self.zip.size() {
                return refused("an entry lies outside");
            }
            Ok(data_at)
        };
        self.data_at.get_or_try_init(find).await.copied()
    }

    fn damaged(&self, reason: impl Into<String>) -> ArchiveError {
        ArchiveError::Damaged {
            name: self.member.name.clone(),
            reason: reason.into(),
        }
    }
}

impl std::fmt::Debug for MemberFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberFile")
            .field("name", &self.member.name)
            .finish_non_exhaustive()
    }
}
