//! Reads a member of a zip. No byte is returned before the checksum of the whole member was verified: a stored
//! member is read through in place, a deflated one is unpacked completely, first to memory or a local file and
//! then to the block cache, which so contains verified bytes only.
//!
//! A member is verified once for all its handles. Cached members, and stored members with a version, are not
//! verified again.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::OnceCell;

use super::error::{ArchiveError, refused};
use super::inflate::{Inflater, Step};
use super::source::ZipSource;
use super::verified_bytes::{UnverifiedBuffer, VerifiedBytes, read_file};
use crate::cache::{BLOCK_LEN_BYTES, BlockCache, CachedObject, ObjectKey};
use assetfs_formats::zip::{LOCAL_HEADER_BYTES, Method, ZipMember, local_data_at};

/// Packed bytes per read.
const CHUNK_BYTES: u64 = 256 * 1024;
/// After this many blocks the task yields.
const BLOCKS_IN_A_ROW: u32 = 32;

/// The verification state of a member, shared by its handles.
pub type VerifyOnce = OnceCell<Result<VerifiedBytes, ArchiveError>>;

pub struct OpenMember {
    pub zip: ZipSource,
    pub zip_name: String,
    /// What the directory says of the member.
    pub member: ZipMember,
    /// The cache key of its unpacked bytes.
    pub object_name: String,
    /// The folder in which long members are unpacked.
    pub spool_dir: PathBuf,
    /// Its verification state.
    pub verify_once: Arc<VerifyOnce>,
}

/// An open member.
pub struct MemberFile {
    open: OpenMember,
    /// The offset of its data.
    data_at: OnceCell<u64>,
    /// Unpacked blocks; `None` for a stored member, or if the cache accepts nothing.
    cached: Option<CachedObject>,
}

impl MemberFile {
    /// Opens a member; sends no request.
    pub fn new(open: OpenMember, cache: &BlockCache) -> Result<MemberFile, ArchiveError> {
        let member = &open.member;
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
            Method::Deflated if matches!(open.zip, ZipSource::Local(_)) => None,
            Method::Deflated => {
                let key = ObjectKey {
                    name: open.object_name.clone(),
                    size: member.size,
                    // Earlier versions cached unverified bytes under another name.
                    etag: Some(format!("\"proven-{:08x}\"", member.crc)),
                };
                cache.object(&key).ok()
            }
            Method::Other(number) => {
                return unreadable(format!("its compression method {number} is not supported"));
            }
        };
        Ok(MemberFile {
            open,
            data_at: OnceCell::new(),
            cached,
        })
    }

    pub fn size(&self) -> u64 {
        self.open.member.size
    }

    /// Reads; shorter than asked only at the end.
    pub async fn read(&self, offset: u64, len: u64) -> Result<Bytes, ArchiveError> {
        let end = offset.saturating_add(len).min(self.size());
        if offset >= end {
            return Ok(Bytes::new());
        }
        if let Some(bytes) = self.cached_part(offset, end) {
            return Ok(bytes);
        }
        match self.verified().await? {
            VerifiedBytes::InZip => {
                let data_at = self.data_at().await?;
                self.open.zip.read(data_at + offset, end - offset).await
            }
            VerifiedBytes::Memory(bytes) => Ok(bytes.slice(offset as usize..end as usize)),
            VerifiedBytes::File(file) => read_file(&file, offset, end - offset).await,
        }
    }

    /// The verified bytes. Damage is remembered; other failures are retried.
    async fn verified(&self) -> Result<VerifiedBytes, ArchiveError> {
        let verify = || async {
            match self.verify().await {
                Ok(verified) => Ok(Ok(verified)),
                Err(damaged @ ArchiveError::Damaged { .. }) => Ok(Err(damaged)),
                Err(passing) => Err(passing),
            }
        };
        self.open.verify_once.get_or_try_init(verify).await?.clone()
    }

    async fn verify(&self) -> Result<VerifiedBytes, ArchiveError> {
        match self.open.member.method {
            Method::Stored => self.read_through().await,
            _ => self.unpack().await,
        }
    }

    async fn read_through(&self) -> Result<VerifiedBytes, ArchiveError> {
        let data_at = self.data_at().await?;
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        while at < self.size() {
            let len = CHUNK_BYTES.min(self.size() - at);
            let part = self.open.zip.read(data_at + at, len).await?;
            if part.is_empty() {
                return Err(self.damaged("the zip ends early"));
            }
            crc.update(&part);
            at += part.len() as u64;
        }
        if crc.finalize() != self.open.member.crc {
            return Err(self.damaged("its checksum does not match"));
        }
        Ok(VerifiedBytes::InZip)
    }

    async fn unpack(&self) -> Result<VerifiedBytes, ArchiveError> {
        let (size, crc) = (self.size(), self.open.member.crc);
        let data_at = self.data_at().await?;
        let mut inflater = Inflater::new();
        let mut gathering = UnverifiedBuffer::begin(&self.open.spool_dir, size)?;
        let mut in_a_row = 0;
        loop {
            let left = self.open.member.stored_len.saturating_sub(inflater.taken());
            match inflater.step(size, crc, left == 0) {
                Step::NeedsInput => {
                    let at = data_at + inflater.taken();
                    inflater.feed(self.open.zip.read(at, CHUNK_BYTES.min(left)).await?);
                }
                Step::Block(block) => {
                    gathering.push(&block).await?;
                    in_a_row += 1;
                    if in_a_row % BLOCKS_IN_A_ROW == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                Step::Done => break,
                Step::Damaged(reason) => return Err(self.damaged(reason)),
            }
        }
        let verified = gathering.finish().await?;
        self.keep(&verified).await?;
        Ok(verified)
    }

    /// Writes verified bytes to the cache for later opens.
    async fn keep(&self, verified: &VerifiedBytes) -> Result<(), ArchiveError> {
        let Some(cached) = &self.cached else {
            return Ok(());
        };
        for number in 0..self.size().div_ceil(BLOCK_LEN_BYTES) {
            let start = number * BLOCK_LEN_BYTES;
            let end = (start + BLOCK_LEN_BYTES).min(self.size());
            let block = match verified {
                VerifiedBytes::InZip => return Ok(()),
                VerifiedBytes::Memory(bytes) => bytes.slice(start as usize..end as usize),
                VerifiedBytes::File(file) => read_file(file, start, end - start).await?,
            };
            if let Err(error) = cached.write_block(number, &block) {
                let name = &self.open.member.name;
                tracing::debug!(name, error = %error, "an unpacked block is not cached");
                return Ok(());
            }
        }
        Ok(())
    }

    fn cached_part(&self, offset: u64, end: u64) -> Option<Bytes> {
        self.cached
            .as_ref()?
            .read(offset, end - offset)
            .ok()
            .flatten()
    }

    /// The local header has its own length.
    async fn data_at(&self) -> Result<u64, ArchiveError> {
        let find = || async {
            let header = self
                .open
                .zip
                .read(self.open.member.header_at, LOCAL_HEADER_BYTES)
                .await?;
            let Some(data_at) = local_data_at(&self.open.member, &header) else {
                return Err(self.damaged("its header is not where it should be"));
            };
            if data_at + self.open.member.stored_len > self.open.zip.size() {
                return refused("an entry is out of bounds");
            }
            Ok(data_at)
        };
        self.data_at.get_or_try_init(find).await.copied()
    }

    fn damaged(&self, reason: impl Into<String>) -> ArchiveError {
        ArchiveError::Damaged {
            name: self.open.member.name.clone(),
            zip: self.open.zip_name.clone(),
            reason: reason.into(),
        }
    }
}

impl std::fmt::Debug for MemberFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberFile")
            .field("name", &self.open.member.name)
            .finish_non_exhaustive()
    }
}
