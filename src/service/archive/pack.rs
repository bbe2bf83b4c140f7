//! Packs files into a zip while it is sent. Nothing is compressed, because models and pictures already are. The
//! length is known before the first byte. Memory holds one part of one file.
//!
//! The format itself is in [`formats::zip`](assetfs_formats::zip).

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;

use crate::service::files::{ByteStream, FileStore};
use assetfs_formats::zip::{ZipEntry, ZipHeaders};

#[derive(Debug, Clone)]
pub enum Content {
    /// The key of a blob in the file store.
    Blob(String),
    /// In memory.
    Bytes(Bytes),
}

/// One file of an archive.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its path in the archive.
    pub name: String,
    pub content: Content,
    pub size: u64,
    pub crc32: u32,
    pub modified: Timestamp,
}

impl Entry {
    /// An entry of bytes in memory.
    pub fn of_bytes(name: &str, bytes: impl Into<Bytes>, modified: Timestamp) -> Entry {
        let bytes = bytes.into();
        Entry {
            name: name.to_owned(),
            size: bytes.len() as u64,
            crc32: crc32fast::hash(&bytes),
            content: Content::Bytes(bytes),
            modified,
        }
    }
}

/// An archive, ready to be sent.
#[derive(Debug)]
pub struct Pack {
    /// Each entry's header and content.
    parts: Vec<(Bytes, Content, u64)>,
    /// The directory at the end.
    directory: Bytes,
    len_bytes: u64,
}

impl Pack {
    /// Lays out an archive.
    pub fn new(entries: Vec<Entry>) -> Pack {
        let laid_out: Vec<ZipEntry<'_>> = entries
            .iter()
            .map(|entry| ZipEntry {
                name: &entry.name,
                size: entry.size,
                crc32: entry.crc32,
                modified_secs: entry.modified.as_second(),
                has_exact_time: true,
            })
            .collect();
        let headers = ZipHeaders::of(&laid_out);
        let local = headers.local.into_iter().map(Bytes::from);
        Pack {
            len_bytes: headers.len_bytes,
            parts: local
                .zip(entries)
                .map(|(header, entry)| (header, entry.content, entry.size))
                .collect(),
            directory: Bytes::from(headers.directory),
        }
    }

    /// The length of the whole archive.
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// The bytes of the archive.
    pub fn into_stream(self, files: FileStore) -> ByteStream {
        let entries = stream::iter(self.parts).then(move |(header, content, size)| {
            let files = files.clone();
            async move {
                let body: ByteStream = match content {
                    Content::Bytes(bytes) => Box::pin(stream::iter([Ok(bytes)])),
                    Content::Blob(blob) => files
                        .read(&blob, 0..size)
                        .await
                        .map_err(std::io::Error::other)?,
                };
                let header = stream::iter([Ok::<_, std::io::Error>(header)]);
                Ok::<_, std::io::Error>(header.chain(body))
            }
        });
        let directory = stream::iter([Ok::<_, std::io::Error>(self.directory)]);
        Box::pin(entries.try_flatten().chain(directory))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _};

    use super::*;
    use crate::service::clock::Clock;
    use crate::service::records::{Records, RecordsAt};

    #[tokio::test]
    async fn what_is_packed_is_what_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("records.sqlite");
        let at = RecordsAt::default();
        let records = Records::open(&at, &database, Clock::default());
        let records = records.await.unwrap();
        let files = FileStore::in_folder(&dir.path().join("files")).unwrap();
        let blob = records.blobs().fresh().await.unwrap();
        let content: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
        let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from(content.clone()))]);
        let stored = files.receive(&blob, body, u64::MAX).await.unwrap();
        let moment: Timestamp = "2024-05-06T07:08:10Z".parse().unwrap();
        let pack = Pack::new(vec![
            Entry::of_bytes("ä/leer.txt", "", moment),
            Entry {
                name: "big.bin".to_owned(),
                content: Content::Blob(stored.blob),
                size: stored.size,
                crc32: stored.crc32,
                modified: moment,
            },
        ]);
        let len = pack.len_bytes();
        let parts: Vec<Bytes> = pack.into_stream(files).try_collect().await.unwrap();
        let archive = parts.concat();
        assert_eq!(archive.len() as u64, len);
        let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
        let mut read = |name: &str| {
            let mut bytes = Vec::new();
            let mut entry = archive.by_name(name).unwrap();
            entry.read_to_end(&mut bytes).unwrap();
            assert_eq!(entry.last_modified().unwrap().minute(), 8);
            bytes
        };
        assert_eq!(read("ä/leer.txt"), b"");
        assert!(read("big.bin") == content);
    }
}
