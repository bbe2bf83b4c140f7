//! The bytes of what is put: staged files as they are, or packed into a zip on the way.
//!
//! Invariant: memory is bounded by a few blocks for each object, and bytes that differ from what the
//! journal promised end the stream with an error before its last block goes out.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use futures_util::stream::{BoxStream, Stream, StreamExt as _};
use md5::{Digest as _, Md5};
use xxhash_rust::xxh3::Xxh3;

use crate::outbox::drafts::upload::manifest::{Manifest, ManifestFile};
use crate::outbox::drafts::upload::zip::{ZipLayout, ZipPart};
use crate::outbox::off_thread::off_thread;
use crate::outbox::staging::{ContentHash, Staging};

/// Bytes that are read and sent at once.
const BLOCK_LEN_BYTES: u64 = 256 * 1024;
/// Blocks that are read ahead.
const BLOCKS_AHEAD: usize = 2;

/// A stream of an object's bytes.
pub type BodyStream = BoxStream<'static, io::Result<Bytes>>;

/// One object that is put, ready to be read any number of times.
#[derive(Debug, Clone)]
pub struct ObjectBody {
    parts: Arc<Vec<ObjectPart>>,
    len: u64,
}

#[derive(Debug, Clone)]
enum ObjectPart {
    Bytes(Bytes),
    File {
        path: PathBuf,
        size: u64,
        hash: ContentHash,
    },
}

impl ObjectBody {
    /// The objects of a manifest, in its order. Reads every file once when they go as a zip, whose
    /// entries begin with a checksum. Blocks on local disk.
    pub fn all_of(manifest: &Manifest, staging: &Staging) -> io::Result<Vec<ObjectBody>> {
        let file_part = |file: &ManifestFile| ObjectPart::File {
            path: staging.path(file.content),
            size: file.size,
            hash: file.hash,
        };
        if manifest.zip_name.is_none() {
            let single = |file: &ManifestFile| ObjectBody {
                parts: Arc::new(vec![file_part(file)]),
                len: file.size,
            };
            return Ok(manifest.files.iter().map(single).collect());
        }
        let layout = ZipLayout::of(&manifest.files, |file| {
            crc_of(&File::open(staging.path(file.content))?)
        })?;
        let parts = layout.parts.into_iter().map(|part| match part {
            ZipPart::Bytes(bytes) => ObjectPart::Bytes(bytes.into()),
            ZipPart::File(at) => file_part(&manifest.files[at]),
        });
        Ok(vec![ObjectBody {
            parts: Arc::new(parts.collect()),
            len: layout.len,
        }])
    }

    /// Its length.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Its bytes, from the start.
    pub fn stream(&self) -> BodyStream {
        let parts = self.parts.as_ref().clone();
        stream::iter(parts)
            .flat_map(|part| match part {
                ObjectPart::Bytes(bytes) => stream::once(async { Ok(bytes) }).boxed(),
                ObjectPart::File { path, size, hash } => file_stream(path, size, hash).boxed(),
            })
            .boxed()
    }

    /// The MD5 of its bytes, in hex. Blocks on local disk.
    pub fn md5_hex(&self) -> io::Result<String> {
        let mut md5 = Md5::new();
        let mut buffer = vec![0; BLOCK_LEN_BYTES as usize];
        for part in self.parts.iter() {
            match part {
                ObjectPart::Bytes(bytes) => md5.update(bytes),
                ObjectPart::File { path, .. } => {
                    let file = File::open(path)?;
                    each_block(&file, &mut buffer, |block| md5.update(block))?;
                }
            }
        }
        Ok(md5
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

fn file_stream(
    path: PathBuf,
    size: u64,
    expected: ContentHash,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let opened = stream::once(async move {
        off_thread(move || File::open(path).map(Arc::new))
            .await
            .unwrap_or_else(|stopped| Err(io::Error::other(stopped)))
    });
    opened.flat_map(move |file| match file {
        Ok(file) => blocks(file, size, expected).boxed(),
        Err(error) => stream::once(async { Err(error) }).boxed(),
    })
}

fn blocks(
    file: Arc<File>,
    size: u64,
    expected: ContentHash,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let offsets = (0..size.div_ceil(BLOCK_LEN_BYTES)).map(|n| n * BLOCK_LEN_BYTES);
    let read = stream::iter(offsets)
        .map(move |offset| {
            let file = Arc::clone(&file);
            let len = BLOCK_LEN_BYTES.min(size - offset) as usize;
            async move {
                off_thread(move || {
                    let mut block = vec![0; len];
                    file.read_exact_at(&mut block, offset)?;
                    Ok(Bytes::from(block))
                })
                .await
                .unwrap_or_else(|stopped| Err(io::Error::other(stopped)))
            }
        })
        .buffered(BLOCKS_AHEAD);
    let start = (Xxh3::new(), 0_u64);
    read.scan(start, move |(hash, seen), block| {
        let checked = block.and_then(|block| {
            hash.update(&block);
            *seen += block.len() as u64;
            if *seen == size && hash.digest128() != expected.0 {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the staged bytes are not those that were copied in",
                ));
            }
            Ok(block)
        });
        futures_util::future::ready(Some(checked))
    })
}

fn crc_of(file: &File) -> io::Result<u32> {
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; BLOCK_LEN_BYTES as usize];
    each_block(file, &mut buffer, |block| crc.update(block))?;
    Ok(crc.finalize())
}

fn each_block(file: &File, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut at = 0;
    loop {
        let got = file.read_at(buffer, at)?;
        if got == 0 {
            return Ok(());
        }
        take(&buffer[..got]);
        at += got as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write as _;

    use futures_util::TryStreamExt as _;

    use super::*;
    use crate::outbox::ids::EntryId;
    use crate::outbox::moment::Moment;
    use crate::outbox::staging::ContentId;

    fn staged(bytes: &[u8]) -> (tempfile::TempDir, Staging, Manifest) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let (staging, _) = Staging::open(&path, &BTreeSet::new(), ContentId(0)).unwrap();
        let (content, mut file) = staging.create().unwrap();
        file.write_all(bytes).unwrap();
        let manifest = Manifest {
            model_name: "a".to_owned(),
            zip_name: None,
            files: vec![ManifestFile {
                entry: EntryId(1),
                content,
                path: "a.bin".to_owned(),
                size: bytes.len() as u64,
                hash: ContentHash::of(bytes),
                mtime: Moment { secs: 0, nanos: 0 },
            }],
        };
        (dir, staging, manifest)
    }

    #[tokio::test]
    async fn a_file_comes_whole_and_again() {
        let bytes: Vec<u8> = (0..700_000u32).map(|n| n as u8).collect();
        let (_dir, staging, manifest) = staged(&bytes);
        let body = &ObjectBody::all_of(&manifest, &staging).unwrap()[0];
        for _ in 0..2 {
            let blocks: Vec<Bytes> = body.stream().try_collect().await.unwrap();
            assert!(
                blocks
                    .iter()
                    .all(|block| block.len() as u64 <= BLOCK_LEN_BYTES)
            );
            assert_eq!(blocks.concat(), bytes);
        }
        assert_eq!(body.len(), 700_000);
    }

    #[tokio::test]
    async fn bytes_that_changed_on_disk_never_go_out_whole() {
        let (_dir, staging, mut manifest) = staged(b"what was copied in");
        manifest.files[0].hash = ContentHash::of(b"something else");
        let body = &ObjectBody::all_of(&manifest, &staging).unwrap()[0];
        assert!(body.stream().try_collect::<Vec<_>>().await.is_err());
    }

    #[test]
    fn the_md5_is_that_of_the_bytes() {
        let (_dir, staging, manifest) = staged(b"abc");
        let body = &ObjectBody::all_of(&manifest, &staging).unwrap()[0];
        assert_eq!(body.md5_hex().unwrap(), "900150983cd24fb0d6963f7d28e17f72");
    }
}
