//! Packs files into a zip while it is sent: nothing is compressed (models and pictures are already), the
//! length is known before the first byte, and memory holds one part of one file.
//!
//! Zip64 records are written only where a size or an offset needs them.

use bytes::{BufMut as _, Bytes};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::service::files::{ByteStream, FileStore};

/// Where the bytes of an entry are.
#[derive(Debug, Clone)]
pub enum Content {
    /// In the store, under this key.
    Blob(String),
    /// At hand.
    Bytes(Bytes),
}

/// One file of an archive.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its path in the archive.
    pub name: String,
    /// Its bytes.
    pub content: Content,
    /// How many.
    pub size: u64,
    pub crc32: u32,
    /// When they came to be.
    pub modified: Timestamp,
}

impl Entry {
    /// An entry of bytes that are at hand.
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
}

const ESCAPE_32: u32 = u32::MAX;
const ESCAPE_16: u16 = u16::MAX;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// Made on Unix, by version 4.5 of the format.
const MADE_BY: u16 = (3 << 8) | 45;
/// A plain file that all may read and its owner write.
const ATTRIBUTES: u32 = 0o100_644 << 16;

impl Pack {
    /// Lays out an archive.
    pub fn new(entries: Vec<Entry>) -> Pack {
        let count = entries.len() as u64;
        let mut parts = Vec::with_capacity(entries.len());
        let mut directory = Vec::new();
        let mut offset = 0;
        for entry in entries {
            let header = Bytes::from(local_header(&entry));
            central_header(&mut directory, &entry, offset);
            offset += header.len() as u64 + entry.size;
            parts.push((header, entry.content, entry.size));
        }
        end_of_directory(&mut directory, count, offset);
        Pack {
            parts,
            directory: Bytes::from(directory),
        }
    }

    /// The bytes of the whole archive.
    pub fn len_bytes(&self) -> u64 {
        let entries = self
            .parts
            .iter()
            .map(|(header, _, size)| header.len() as u64 + size);
        entries.sum::<u64>() + self.directory.len() as u64
    }

    /// Sends the archive.
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

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(ESCAPE_32)
}

fn is_large(number: u64) -> bool {
    number >= u64::from(ESCAPE_32)
}

/// The date and time of an entry, in UTC, to two seconds.
fn dos_time(moment: Timestamp) -> (u16, u16) {
    let moment = moment.to_zoned(TimeZone::UTC);
    let number = |value: i8| u16::try_from(value).unwrap_or(0);
    let year = u16::try_from(moment.year() - 1980).unwrap_or(0).min(127);
    let date = (year << 9) | (number(moment.month()) << 5) | number(moment.day());
    let time = (number(moment.hour()) << 11)
        | (number(moment.minute()) << 5)
        | (number(moment.second()) / 2);
    (date, time)
}

/// What the local and the central header have in common.
fn put_common(out: &mut Vec<u8>, entry: &Entry, large: bool, extra_len: u16) {
    let (date, time) = dos_time(entry.modified);
    let size = if large { ESCAPE_32 } else { small(entry.size) };
    out.put_u16_le(if large { 45 } else { 20 });
    out.put_u16_le(FLAGS);
    out.put_u16_le(0);
    out.put_u16_le(time);
    out.put_u16_le(date);
    out.put_u32_le(entry.crc32);
    out.put_u32_le(size);
    out.put_u32_le(size);
    out.put_u16_le(u16::try_from(entry.name.len()).expect("names of files are short"));
    out.put_u16_le(extra_len);
}

fn local_header(entry: &Entry) -> Vec<u8> {
    let large = is_large(entry.size);
    let mut out = Vec::with_capacity(64 + entry.name.len());
    out.put_u32_le(0x0403_4b50);
    put_common(&mut out, entry, large, if large { 20 } else { 0 });
    out.put_slice(entry.name.as_bytes());
    if large {
        out.put_u16_le(1);
        out.put_u16_le(16);
        out.put_u64_le(entry.size);
        out.put_u64_le(entry.size);
    }
    out
}

fn central_header(out: &mut Vec<u8>, entry: &Entry, offset: u64) {
    let large = is_large(entry.size) || is_large(offset);
    out.put_u32_le(0x0201_4b50);
    out.put_u16_le(MADE_BY);
    put_common(out, entry, large, if large { 28 } else { 0 });
    out.put_u16_le(0);
    out.put_u16_le(0);
    out.put_u16_le(0);
    out.put_u32_le(ATTRIBUTES);
    out.put_u32_le(if large { ESCAPE_32 } else { small(offset) });
    out.put_slice(entry.name.as_bytes());
    if large {
        out.put_u16_le(1);
        out.put_u16_le(24);
        out.put_u64_le(entry.size);
        out.put_u64_le(entry.size);
        out.put_u64_le(offset);
    }
}

fn end_of_directory(out: &mut Vec<u8>, count: u64, offset: u64) {
    let len = out.len() as u64;
    let large = is_large(offset) || is_large(len) || count >= u64::from(ESCAPE_16);
    if large {
        out.put_u32_le(0x0606_4b50);
        out.put_u64_le(44);
        out.put_u16_le(MADE_BY);
        out.put_u16_le(45);
        out.put_u32_le(0);
        out.put_u32_le(0);
        out.put_u64_le(count);
        out.put_u64_le(count);
        out.put_u64_le(len);
        out.put_u64_le(offset);
        out.put_u32_le(0x0706_4b50);
        out.put_u32_le(0);
        out.put_u64_le(offset + len);
        out.put_u32_le(1);
    }
    let count = u16::try_from(count).unwrap_or(ESCAPE_16);
    out.put_u32_le(0x0605_4b50);
    out.put_u16_le(0);
    out.put_u16_le(0);
    out.put_u16_le(count);
    out.put_u16_le(count);
    out.put_u32_le(small(len));
    out.put_u32_le(small(offset));
    out.put_u16_le(0);
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _};

    use super::*;

    #[tokio::test]
    async fn what_is_packed_is_what_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        let files = FileStore::open(dir.path()).unwrap();
        let content: Vec<u8> = (0..700_000_u32).map(|at| (at % 251) as u8).collect();
        let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from(content.clone()))]);
        let stored = files.receive(body, u64::MAX).await.unwrap();
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

    #[test]
    fn sizes_and_offsets_beyond_4_gib_are_written_in_full() {
        let huge = |name: &str| Entry {
            name: name.to_owned(),
            content: Content::Blob(String::new()),
            size: 5 << 30,
            crc32: 1,
            modified: Timestamp::UNIX_EPOCH,
        };
        let pack = Pack::new(vec![huge("a"), huge("b")]);
        let size = (5_u64 << 30).to_le_bytes();
        let contains = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|at| at == part);
        for (header, _, _) in &pack.parts {
            assert!(contains(header, &size));
        }
        let second = (5_u64 << 30) + pack.parts[0].0.len() as u64;
        assert!(contains(&pack.directory, &second.to_le_bytes()));
        assert!(contains(&pack.directory, &0x0606_4b50_u32.to_le_bytes()));
    }
}
