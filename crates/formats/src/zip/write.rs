//! The layout of zip archives whose entries are stored without compression: everything but the entries' own bytes, and
//! the length of the whole, which is known before the first byte is sent. The only writer of zips that are streamed.
//!
//! Zip64 records (APPNOTE 4.3.14, 4.5.3) are written only if a size, an offset or the number of entries needs them.

use super::dos_time::to_dos;
use super::layout::{
    DIRECTORY_ENTRY, END_RECORD, END64, END64_LOCATOR, EXTRA_TIMES, EXTRA_ZIP64, HAS_MODIFIED,
    IN_ZIP64, LOCAL_HEADER, STORED,
};

/// Names are UTF-8.
const FLAG_UTF8: u16 = 1 << 11;
const VERSION: u16 = 20;
const VERSION_ZIP64: u16 = 45;
/// Made on Unix, so that the permissions in the attributes count.
const UNIX: u16 = 3 << 8;
/// A plain file that all may read and its owner write.
const ATTRIBUTES: u32 = 0o100_644 << 16;

/// One file of an archive.
#[derive(Debug, Clone, Copy)]
pub struct ZipEntry<'a> {
    /// Its path in the archive, with `/` between names.
    pub name: &'a str,
    pub size: u64,
    pub crc32: u32,
    /// In seconds since 1970. Headers hold 1980 to 2107, in steps of two seconds; other times become the first day. The
    /// extra field holds each second from 1901 to 2038.
    pub modified_secs: i64,
    /// Write the extra field.
    pub has_exact_time: bool,
}

/// An archive without the bytes of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipHeaders {
    /// The bytes before each entry, in order.
    pub local: Vec<Vec<u8>>,
    /// The bytes after the last entry.
    pub directory: Vec<u8>,
    /// The length of the whole archive.
    pub len_bytes: u64,
}

impl ZipHeaders {
    /// Lays out an archive.
    pub fn of(entries: &[ZipEntry<'_>]) -> ZipHeaders {
        let mut local = Vec::with_capacity(entries.len());
        let mut directory = Vec::new();
        let mut at = 0;
        for entry in entries {
            let header = local_header(entry);
            put_directory_entry(&mut directory, entry, at);
            at += header.len() as u64 + entry.size;
            local.push(header);
        }
        put_end_records(&mut directory, entries.len() as u64, at);
        ZipHeaders {
            local,
            len_bytes: at + directory.len() as u64,
            directory,
        }
    }
}

fn local_header(entry: &ZipEntry<'_>) -> Vec<u8> {
    let is_large = entry.size >= u64::from(IN_ZIP64);
    let mut header = Vec::with_capacity(64 + entry.name.len());
    header.extend(LOCAL_HEADER);
    put_u16(&mut header, if is_large { VERSION_ZIP64 } else { VERSION });
    let mut extra = Vec::new();
    if is_large {
        put_field(&mut extra, EXTRA_ZIP64, &long_sizes(entry));
    }
    put_time(&mut extra, entry);
    put_common(&mut header, entry, extra.len());
    header.extend(entry.name.as_bytes());
    header.extend(extra);
    header
}

fn put_directory_entry(to: &mut Vec<u8>, entry: &ZipEntry<'_>, at: u64) {
    let mut long = Vec::new();
    if entry.size >= u64::from(IN_ZIP64) {
        long.extend(long_sizes(entry));
    }
    if at >= u64::from(IN_ZIP64) {
        long.extend(at.to_le_bytes());
    }
    let (mut extra, mut version) = (Vec::new(), VERSION);
    if !long.is_empty() {
        version = VERSION_ZIP64;
        put_field(&mut extra, EXTRA_ZIP64, &long);
    }
    put_time(&mut extra, entry);
    to.extend(DIRECTORY_ENTRY);
    put_u16(to, UNIX | version);
    put_u16(to, version);
    put_common(to, entry, extra.len());
    // No comment, the first disk, no internal attributes.
    to.extend([0; 6]);
    to.extend(ATTRIBUTES.to_le_bytes());
    put_short(to, at);
    to.extend(entry.name.as_bytes());
    to.extend(extra);
}

/// The sizes with and without compression.
fn long_sizes(entry: &ZipEntry<'_>) -> Vec<u8> {
    entry.size.to_le_bytes().repeat(2)
}

/// The time to the second and in UTC: the time of the header is taken for a local one by other tools.
fn put_time(extra: &mut Vec<u8>, entry: &ZipEntry<'_>) {
    if entry.has_exact_time
        && let Ok(seconds) = i32::try_from(entry.modified_secs)
    {
        let mut field = vec![HAS_MODIFIED];
        field.extend(seconds.to_le_bytes());
        put_field(extra, EXTRA_TIMES, &field);
    }
}

fn put_field(extra: &mut Vec<u8>, tag: u16, field: &[u8]) {
    put_u16(extra, tag);
    put_u16(extra, u16::try_from(field.len()).unwrap_or(u16::MAX));
    extra.extend(field);
}

/// The fields from the flags to the length of the extra field, which both headers have in this order.
fn put_common(to: &mut Vec<u8>, entry: &ZipEntry<'_>, extra_len: usize) {
    let (time, date) = to_dos(entry.modified_secs);
    put_u16(to, FLAG_UTF8);
    put_u16(to, STORED);
    put_u16(to, time);
    put_u16(to, date);
    to.extend(entry.crc32.to_le_bytes());
    put_short(to, entry.size);
    put_short(to, entry.size);
    // Paths of the drive are far shorter.
    put_u16(to, u16::try_from(entry.name.len()).unwrap_or(u16::MAX));
    put_u16(to, u16::try_from(extra_len).unwrap_or(u16::MAX));
}

fn put_end_records(to: &mut Vec<u8>, entries: u64, directory_at: u64) {
    let directory_len = to.len() as u64;
    let short = u64::from(IN_ZIP64);
    if entries >= u64::from(u16::MAX) || directory_at >= short || directory_len >= short {
        to.extend(END64);
        to.extend(44_u64.to_le_bytes());
        put_u16(to, VERSION_ZIP64);
        put_u16(to, VERSION_ZIP64);
        to.extend([0; 8]);
        to.extend(entries.to_le_bytes());
        to.extend(entries.to_le_bytes());
        to.extend(directory_len.to_le_bytes());
        to.extend(directory_at.to_le_bytes());
        to.extend(END64_LOCATOR);
        to.extend([0; 4]);
        to.extend((directory_at + directory_len).to_le_bytes());
        to.extend(1_u32.to_le_bytes());
    }
    let count = u16::try_from(entries).unwrap_or(u16::MAX);
    to.extend(END_RECORD);
    to.extend([0; 4]);
    put_u16(to, count);
    put_u16(to, count);
    put_short(to, directory_len);
    put_short(to, directory_at);
    put_u16(to, 0);
}

fn put_u16(to: &mut Vec<u8>, value: u16) {
    to.extend(value.to_le_bytes());
}

fn put_short(to: &mut Vec<u8>, value: u64) {
    to.extend(u32::try_from(value).unwrap_or(IN_ZIP64).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn huge(name: &str) -> ZipEntry<'_> {
        ZipEntry {
            name,
            size: 5 << 30,
            crc32: 1,
            modified_secs: 0,
            has_exact_time: true,
        }
    }

    #[test]
    fn sizes_and_offsets_beyond_4_gib_are_written_in_full() {
        let headers = ZipHeaders::of(&[huge("a"), huge("b")]);
        let size = (5_u64 << 30).to_le_bytes();
        let contains = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|at| at == part);
        assert_eq!(headers.local.len(), 2);
        for header in &headers.local {
            assert!(contains(header, &size));
        }
        let second = (5_u64 << 30) + headers.local[0].len() as u64;
        assert!(contains(&headers.directory, &second.to_le_bytes()));
        assert!(contains(&headers.directory, END64));
        let local: usize = headers.local.iter().map(Vec::len).sum();
        let without_content = (local + headers.directory.len()) as u64;
        assert_eq!(headers.len_bytes, without_content + (10 << 30));
    }

    #[test]
    fn each_second_from_1901_to_2038_is_read_as_it_was_written() {
        use crate::zip::{END_RECORD_BYTES, end_records, parse_directory};
        use std::time::{Duration, SystemTime};
        let read = |modified_secs| {
            let entry = ZipEntry {
                size: 0,
                modified_secs,
                ..huge("a")
            };
            let headers = ZipHeaders::of(&[entry]);
            let end = end_records(&headers.directory).next().unwrap();
            let directory =
                &headers.directory[..headers.directory.len() - END_RECORD_BYTES as usize];
            let members = parse_directory(directory, end.extent()).unwrap();
            members[0].modified
        };
        let epoch = SystemTime::UNIX_EPOCH;
        for after in [0, 1, 1_700_000_001, i32::MAX as u64] {
            let at = epoch + Duration::from_secs(after);
            assert_eq!(read(after as i64), Some(at), "{after}");
        }
        let before = epoch - Duration::from_secs(2_000_000_000);
        assert_eq!(read(-2_000_000_000), Some(before));
        let later = epoch + Duration::from_secs(3_000_000_000);
        assert_eq!(read(3_000_000_000), Some(later), "from the header");
    }

    #[test]
    fn many_entries_get_zip64_records() {
        let small = ZipEntry {
            size: 0,
            ..huge("a")
        };
        let many = ZipHeaders::of(&vec![small; 70_000]);
        assert!(many.directory.windows(4).any(|at| at == END64));
        let few = ZipHeaders::of(&[small]);
        assert!(!few.directory.windows(4).any(|at| at == END64));
    }
}
