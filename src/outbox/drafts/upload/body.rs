//! The bytes of the objects that are sent: staged files as they are, or a zip that is built while it is sent.
//!
//! Invariant: memory is limited to a few blocks for each object. If staged bytes do not match the checksum in the
//! journal, the stream ends with an error before its last block.

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
use crate::outbox::off_thread::off_thread;
use crate::outbox::staging::{ContentHash, Staging};
use assetfs_formats::zip::{ZipEntry, ZipHeaders};

/// Bytes that are read and sent at once.
const BLOCK_LEN_BYTES: u64 = 256 * 1024;
/// Blocks that are read ahead.
const BLOCKS_AHEAD: usize = 2;

/// A stream of an object's bytes.
pub type BodyStream = BoxStream<'static, io::Result<Bytes>>;

/// One object to send. It can be read any number of times.
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
    /// The objects of a manifest, in its order. For a zip every file is read once first, because zip entries begin
    /// with a checksum. Blocks on local disk.
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
        let entry = |file| -> io::Result<ZipEntry<'_>> {
            let file: &ManifestFile = file;
            Ok(ZipEntry {
                name: &file.path,
                size: file.size,
                crc32: crc_of(&File::open(staging.path(file.content))?)?,
                modified_secs: file.mtime.secs,
                has_exact_time: manifest.has_exact_times,
            })
        };
        let entries = manifest.files.iter().map(entry);
        let headers = ZipHeaders::of(&entries.collect::<io::Result<Vec<_>>>()?);
        let files = headers.local.into_iter().zip(&manifest.files);
        let files =
            files.flat_map(|(header, file)| [ObjectPart::Bytes(header.into()), file_part(file)]);
        let directory = ObjectPart::Bytes(headers.directory.into());
        Ok(vec![ObjectBody {
            parts: Arc::new(files.chain([directory]).collect()),
            len: headers.len_bytes,
        }])
    }

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
                    "the staged bytes were changed on the disk; copy the file in again",
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

    fn staged(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Staging, Manifest) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let (staging, _) = Staging::open(&path, &BTreeSet::new(), ContentId(0)).unwrap();
        let stage = |(path, bytes): &(&str, &[u8])| {
            let (content, mut file) = staging.create().unwrap();
            file.write_all(bytes).unwrap();
            ManifestFile {
                entry: EntryId(1),
                content,
                path: (*path).to_owned(),
                size: bytes.len() as u64,
                hash: ContentHash::of(bytes),
                mtime: Moment {
                    secs: 1_700_000_000,
                    nanos: 0,
                },
            }
        };
        let manifest = Manifest {
            model_name: "a".to_owned(),
            zip_name: None,
            has_exact_times: true,
            files: files.iter().map(stage).collect(),
        };
        (dir, staging, manifest)
    }

    #[tokio::test]
    async fn a_file_comes_whole_and_again() {
        let bytes: Vec<u8> = (0..700_000u32).map(|n| n as u8).collect();
        let (_dir, staging, manifest) = staged(&[("a.bin", &bytes)]);
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
        let (_dir, staging, mut manifest) = staged(&[("a.bin", b"what was copied in")]);
        manifest.files[0].hash = ContentHash::of(b"something else");
        let body = &ObjectBody::all_of(&manifest, &staging).unwrap()[0];
        assert!(body.stream().try_collect::<Vec<_>>().await.is_err());
    }

    #[test]
    fn the_md5_is_that_of_the_bytes() {
        let (_dir, staging, manifest) = staged(&[("a.bin", b"abc")]);
        let body = &ObjectBody::all_of(&manifest, &staging).unwrap()[0];
        assert_eq!(body.md5_hex().unwrap(), "900150983cd24fb0d6963f7d28e17f72");
    }

    #[tokio::test]
    async fn other_tools_read_the_zip_of_a_nested_draft() {
        let files: [(&str, &[u8]); 3] = [
            ("a.gltf", b"hello"),
            ("leer – пусто.bin", b""),
            ("textures/wood 1.png", b"world!"),
        ];
        let (_dir, staging, mut manifest) = staged(&files);
        manifest.zip_name = Some("a.zip".to_owned());
        let body = &ObjectBody::all_of(&manifest, &staging).unwrap()[0];
        let blocks: Vec<Bytes> = body.stream().try_collect().await.unwrap();
        assert_eq!(blocks.concat().len() as u64, body.len());
        let mut disk = tempfile::NamedTempFile::with_suffix(".zip").unwrap();
        disk.write_all(&blocks.concat()).unwrap();
        let script = "import sys,zipfile;z=zipfile.ZipFile(sys.argv[1]);assert z.testzip() is None;print('|'.join(n+'='+z.read(n).decode() for n in z.namelist()))";
        let Ok(out) = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(disk.path())
            .output()
        else {
            crate::skip::skipped("python3 is not installed");
            return;
        };
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        assert_eq!(
            String::from_utf8(out.stdout).unwrap().trim(),
            "a.gltf=hello|leer – пусто.bin=|textures/wood 1.png=world!"
        );
    }
}
