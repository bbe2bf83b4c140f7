//! The directory of a zip: located at the end of the file, read, and validated before use.
//!
//! Invariant: the members of a [`Directory`] lie inside the file and before its directory, do not overlap, and
//! none is larger than its data can unpack to.

use std::collections::HashMap;
use std::future::Future;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::error::{ArchiveError, refused};

/// Maximum number of members.
const MAX_MEMBERS: u64 = 100_000;
/// Maximum length of the directory.
const MAX_DIRECTORY_BYTES: u64 = 64 << 20;
/// Maximum expansion factor of deflate.
const MAX_RATIO: u64 = 1032;
/// The end record with the longest comment.
const END_BYTES: u64 = 22;
const MAX_COMMENT_BYTES: u64 = 0xFFFF;
const END64_LOCATOR_BYTES: usize = 20;
const END64_BYTES: u64 = 56;
const ENTRY_BYTES: usize = 46;
/// A local header without its name.
pub(super) const LOCAL_BYTES: u64 = 30;

/// The compression method of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Stored,
    Deflated,
    /// An unsupported method.
    Other(u16),
}

/// A file in a zip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, with `/` between folders.
    pub name: String,
    pub method: Method,
    pub is_encrypted: bool,
    pub size: u64,
    pub stored_len: u64,
    /// CRC-32 of its uncompressed bytes.
    pub crc: u32,
    /// The offset of its local header.
    pub header_at: u64,
    /// When it was last changed.
    pub modified: Option<SystemTime>,
}

/// The files in a zip, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directory {
    members: HashMap<String, Member>,
}

/// Where the directory lies.
struct Extent {
    offset: u64,
    len: u64,
    count: u64,
}

impl Directory {
    /// Reads the directory of a zip of `size` bytes; `read` returns the bytes of a range.
    pub async fn read<F, R>(size: u64, read: F) -> Result<Directory, ArchiveError>
    where
        F: Fn(u64, u64) -> R,
        R: Future<Output = Result<Bytes, ArchiveError>>,
    {
        if size < END_BYTES {
            return refused("it is too short");
        }
        let tail_len = size.min(END_BYTES + MAX_COMMENT_BYTES + END64_LOCATOR_BYTES as u64);
        let tail_at = size - tail_len;
        let tail = read(tail_at, tail_len).await?;
        let end = find_end(&tail)?;
        let extent = match end64_at(&tail, end)? {
            None => short_extent(&tail[end..]),
            Some(at) => {
                if at.checked_add(END64_BYTES).is_none_or(|end| end > size) {
                    return refused("its end record is out of bounds");
                }
                long_extent(&read(at, END64_BYTES).await?)?
            }
        };
        let end_at = tail_at + end as u64;
        let lies_inside = extent
            .offset
            .checked_add(extent.len)
            .is_some_and(|directory_end| directory_end <= end_at);
        if !lies_inside || extent.len > MAX_DIRECTORY_BYTES {
            return refused("its directory is out of bounds or too long");
        }
        if extent.count > MAX_MEMBERS {
            return refused(format!("it has more than {MAX_MEMBERS} entries"));
        }
        let bytes = read(extent.offset, extent.len).await?;
        Directory::parse(&bytes, extent.count, extent.offset)
    }

    /// The files, in no order.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    fn parse(bytes: &[u8], count: u64, directory_at: u64) -> Result<Directory, ArchiveError> {
        let mut at = 0;
        let mut extents = Vec::new();
        let mut directory = Directory::default();
        for _ in 0..count {
            let ZipEntry {
                member,
                len,
                name_len,
            } = entry(&bytes[at..])?;
            at += len;
            extents.push((member.header_at, local_end(&member, name_len)?));
            // Of two members with one name the first counts, as for tools that list them.
            if !member.name.ends_with('/') {
                directory
                    .members
                    .entry(member.name.clone())
                    .or_insert(member);
            }
        }
        extents.sort_unstable();
        let starts = extents.iter().skip(1).map(|(start, _)| *start);
        let ends_before = extents.iter().zip(starts.chain([directory_at]));
        for ((_, end), next) in ends_before {
            if *end > next {
                return refused("its entries overlap");
            }
        }
        Ok(directory)
    }
}

/// The earliest offset at which a member can end.
fn local_end(member: &Member, name_len: usize) -> Result<u64, ArchiveError> {
    let end = member
        .header_at
        .checked_add(LOCAL_BYTES + name_len as u64)
        .and_then(|end| end.checked_add(member.stored_len));
    end.map_or_else(|| refused("an entry is out of bounds"), Ok)
}

/// The end record is the last one whose comment reaches exactly to the end.
fn find_end(tail: &[u8]) -> Result<usize, ArchiveError> {
    let last = tail.len() - END_BYTES as usize;
    let found = (0..=last).rev().find(|at| {
        tail[*at..].starts_with(b"PK\x05\x06")
            && at + END_BYTES as usize + usize::from(u16_at(tail, at + 20)) == tail.len()
    });
    found.map_or_else(|| refused("it has no end record"), Ok)
}

/// The offset of the zip64 end record, if the short one is not enough.
fn end64_at(tail: &[u8], end: usize) -> Result<Option<u64>, ArchiveError> {
    let record = &tail[end..];
    if u16_at(record, 4) == 0xFFFF || u16_at(record, 6) == 0xFFFF {
        // Only the zip64 record could contain it.
    } else if u16_at(record, 4) != 0 || u16_at(record, 6) != 0 {
        return refused("it is one of several parts");
    }
    let is_short = u16_at(record, 10) != 0xFFFF
        && u32_at(record, 12) != u32::MAX
        && u32_at(record, 16) != u32::MAX;
    let Some(locator) = end.checked_sub(END64_LOCATOR_BYTES).map(|at| &tail[at..]) else {
        return Ok(None);
    };
    match (is_short, locator.starts_with(b"PK\x06\x07")) {
        (true, _) | (false, false) => Ok(None),
        (false, true) => Ok(Some(u64_at(locator, 8))),
    }
}

fn short_extent(record: &[u8]) -> Extent {
    Extent {
        offset: u64::from(u32_at(record, 16)),
        len: u64::from(u32_at(record, 12)),
        count: u64::from(u16_at(record, 10)),
    }
}

fn long_extent(record: &[u8]) -> Result<Extent, ArchiveError> {
    if record.len() < END64_BYTES as usize || !record.starts_with(b"PK\x06\x06") {
        return refused("its long end record is broken");
    }
    Ok(Extent {
        offset: u64_at(record, 48),
        len: u64_at(record, 40),
        count: u64_at(record, 32),
    })
}

/// One entry of the directory.
struct ZipEntry {
    member: Member,
    /// Of the entry itself.
    len: usize,
    name_len: usize,
}

fn entry(bytes: &[u8]) -> Result<ZipEntry, ArchiveError> {
    if bytes.len() < ENTRY_BYTES || !bytes.starts_with(b"PK\x01\x02") {
        return refused("its directory is broken");
    }
    let name_len = usize::from(u16_at(bytes, 28));
    let extra_len = usize::from(u16_at(bytes, 30));
    let len = ENTRY_BYTES + name_len + extra_len + usize::from(u16_at(bytes, 32));
    if bytes.len() < len {
        return refused("its directory is broken");
    }
    let name = &bytes[ENTRY_BYTES..ENTRY_BYTES + name_len];
    let extra = &bytes[ENTRY_BYTES + name_len..ENTRY_BYTES + name_len + extra_len];
    // A name that is not UTF-8 is only shown: the data is found by its offset.
    let mut name = String::from_utf8_lossy(name).into_owned();
    let was_made_on_dos = bytes[5] == 0;
    if was_made_on_dos {
        name = name.replace('\\', "/");
    }
    let mut member = Member {
        name,
        method: match u16_at(bytes, 10) {
            0 => Method::Stored,
            8 => Method::Deflated,
            other => Method::Other(other),
        },
        is_encrypted: u16_at(bytes, 8) & 1 != 0,
        size: u64::from(u32_at(bytes, 24)),
        stored_len: u64::from(u32_at(bytes, 20)),
        crc: u32_at(bytes, 16),
        header_at: u64::from(u32_at(bytes, 42)),
        modified: dos_time(u16_at(bytes, 12), u16_at(bytes, 14)),
    };
    read_extra(extra, &mut member)?;
    check_sizes(&member)?;
    Ok(ZipEntry {
        member,
        len,
        name_len,
    })
}

fn check_sizes(member: &Member) -> Result<(), ArchiveError> {
    let longest = match member.method {
        Method::Stored if !member.is_encrypted => {
            if member.size != member.stored_len {
                return refused(format!("{} has two lengths", member.name));
            }
            return Ok(());
        }
        Method::Deflated => member.stored_len.saturating_mul(MAX_RATIO),
        Method::Stored | Method::Other(_) => u64::MAX,
    };
    if member.size > longest {
        return refused(format!(
            "{} declares more bytes than it can contain",
            member.name
        ));
    }
    Ok(())
}

/// Long lengths and exact times are in the extra fields.
fn read_extra(mut extra: &[u8], member: &mut Member) -> Result<(), ArchiveError> {
    while extra.len() >= 4 {
        let (tag, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(field) = extra.get(4..4 + len) else {
            // A truncated field is ignored.
            return Ok(());
        };
        match tag {
            1 => read_long_values(field, member)?,
            // "UT": seconds since 1970; the modification time comes first.
            0x5455 if field.len() >= 5 && field[0] & 1 != 0 => {
                let seconds = i64::from(u32_at(field, 1).cast_signed());
                member.modified = since_1970(seconds).or(member.modified);
            }
            _ => {}
        }
        extra = &extra[4 + len..];
    }
    Ok(())
}

/// The values that did not fit, in this order.
fn read_long_values(field: &[u8], member: &mut Member) -> Result<(), ArchiveError> {
    let values = [
        &mut member.size,
        &mut member.stored_len,
        &mut member.header_at,
    ];
    let mut at = 0;
    for value in values {
        if *value == u64::from(u32::MAX) {
            if field.len() < at + 8 {
                return refused("a long entry is broken");
            }
            *value = u64_at(field, at);
            at += 8;
        }
    }
    Ok(())
}

/// MS-DOS times have no time zone; they are read as UTC.
fn dos_time(time: u16, date: u16) -> Option<SystemTime> {
    let part = |value: u16, from: u32, bits: u32| i64::from((value >> from) & ((1 << bits) - 1));
    let date = jiff::civil::DateTime::new(
        1980 + part(date, 9, 7) as i16,
        part(date, 5, 4) as i8,
        part(date, 0, 5) as i8,
        part(time, 11, 5) as i8,
        part(time, 5, 6) as i8,
        (part(time, 0, 5) * 2).min(59) as i8,
        0,
    );
    let zoned = date.ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    since_1970(zoned.timestamp().as_second())
}

fn since_1970(seconds: i64) -> Option<SystemTime> {
    let seconds = u64::try_from(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
