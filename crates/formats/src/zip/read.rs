//! Parses the end records and the directory of a zip. Opens no file: the caller passes the bytes.

use std::time::SystemTime;

use super::super::printable::printable_path;
use super::dos_time::{from_dos, since_1970};
use super::layout::{
    DEFLATED, DIRECTORY_ENTRY, END_RECORD, END64, END64_LOCATOR, EXTRA_TIMES, EXTRA_ZIP64,
    HAS_MODIFIED, LOCAL_HEADER, LOCAL_HEADER_BYTES, STORED,
};

/// The end record without its comment.
pub const END_RECORD_BYTES: u64 = 22;
const MAX_COMMENT_BYTES: u64 = 0xFFFF;
const END64_LOCATOR_BYTES: usize = 20;
pub const END64_BYTES: u64 = 56;
/// The part of a file in which its end record and the locator are.
pub const MAX_TAIL_BYTES: u64 = END_RECORD_BYTES + MAX_COMMENT_BYTES + END64_LOCATOR_BYTES as u64;
const ENTRY_BYTES: usize = 46;
/// Maximum expansion factor of deflate.
const MAX_RATIO: u64 = 1032;

/// Why a zip cannot be used, as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedZip(pub String);

/// The compression method of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Stored,
    Deflated,
    /// An unsupported method.
    Other(u16),
}

/// A file or folder in a zip. The name of a folder ends with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipMember {
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

/// An end record in the last bytes of a file.
#[derive(Debug, Clone, Copy)]
pub struct EndRecord<'t> {
    tail: &'t [u8],
    at: usize,
}

/// The position of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub offset: u64,
    pub len: u64,
    /// Number of entries.
    pub count: u64,
}

/// All end records in the last bytes of a file, the last first. A comment may contain the signature, so the caller
/// chooses the valid one.
pub fn end_records(tail: &[u8]) -> impl Iterator<Item = EndRecord<'_>> {
    let starts = 0..(tail.len() + 1).saturating_sub(END_RECORD_BYTES as usize);
    starts
        .rev()
        .filter(|at| tail[*at..].starts_with(END_RECORD))
        .map(|at| EndRecord { tail, at })
}

impl EndRecord<'_> {
    /// Its offset in the given bytes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes of the record with its comment.
    pub fn len_bytes(&self) -> usize {
        END_RECORD_BYTES as usize + usize::from(u16_at(self.record(), 20))
    }

    /// The position of the directory; its values may be in the 64-bit record instead.
    pub fn extent(&self) -> Extent {
        let record = self.record();
        Extent {
            offset: u64::from(u32_at(record, 16)),
            len: u64::from(u32_at(record, 12)),
            count: u64::from(u16_at(record, 10)),
        }
    }

    /// Whether the length of the directory is in the 64-bit record.
    pub fn has_long_len(&self) -> bool {
        u32_at(self.record(), 12) == u32::MAX
    }

    /// The offset in the file of the 64-bit end record, if the short one is not enough.
    pub fn end64_at(&self) -> Result<Option<u64>, DamagedZip> {
        let record = self.record();
        let disks = [u16_at(record, 4), u16_at(record, 6)];
        // A disk number in the 64-bit record is not checked.
        if !disks.contains(&0xFFFF) && disks != [0, 0] {
            return damaged("it is one of several parts");
        }
        let is_short =
            u16_at(record, 10) != 0xFFFF && !self.has_long_len() && u32_at(record, 16) != u32::MAX;
        let Some(locator_at) = self.at.checked_sub(END64_LOCATOR_BYTES) else {
            return Ok(None);
        };
        let locator = &self.tail[locator_at..];
        let is_used = !is_short && locator.starts_with(END64_LOCATOR);
        Ok(is_used.then(|| u64_at(locator, 8)))
    }

    fn record(&self) -> &[u8] {
        &self.tail[self.at..]
    }
}

impl Extent {
    /// Reads the 64-bit end record.
    pub fn of_end64(record: &[u8]) -> Result<Extent, DamagedZip> {
        if record.len() < END64_BYTES as usize || !record.starts_with(END64) {
            return damaged("its long end record is broken");
        }
        Ok(Extent {
            offset: u64_at(record, 48),
            len: u64_at(record, 40),
            count: u64_at(record, 32),
        })
    }
}

/// The members in a directory of `extent.count` entries, whose bytes are given. They lie before the directory, do not
/// overlap, and none is larger than its data can unpack to.
pub fn parse_directory(bytes: &[u8], extent: Extent) -> Result<Vec<ZipMember>, DamagedZip> {
    let mut at = 0;
    let mut extents = Vec::new();
    let mut members = Vec::new();
    for _ in 0..extent.count {
        let ParsedEntry {
            member,
            len,
            name_len,
        } = entry(&bytes[at..])?;
        at += len;
        extents.push((member.header_at, local_end(&member, name_len)?));
        members.push(member);
    }
    use_plain_names(&mut members);
    extents.sort_unstable();
    let starts = extents.iter().skip(1).map(|(start, _)| *start);
    let ends_before = extents.iter().zip(starts.chain([extent.offset]));
    for ((_, end), next) in ends_before {
        if *end > next {
            return damaged("its entries overlap");
        }
    }
    Ok(members)
}

/// Normalizes names as other tools do: without `.` and empty parts. If no name in the zip has a slash, backslashes separate
/// folders.
fn use_plain_names(members: &mut [ZipMember]) {
    let has_slashes = members.iter().any(|member| member.name.contains('/'));
    for member in members {
        if !has_slashes {
            member.name = member.name.replace('\\', "/");
        }
        let is_plain = |part: &str| !matches!(part, "" | ".");
        // A path from the root stays one: it is not shown as a file of the model.
        let name = member.name.trim_end_matches('/');
        if !name.starts_with('/') && !name.split('/').all(is_plain) {
            let end = &member.name[name.len()..];
            let parts: Vec<&str> = name.split('/').filter(|part| is_plain(part)).collect();
            if !parts.is_empty() {
                member.name = parts.join("/") + end;
            }
        }
    }
}

/// The offset of a member's data in the file, from its local header, which has its own length. `None` if the bytes are
/// not a local header.
pub fn local_data_at(member: &ZipMember, header: &[u8]) -> Option<u64> {
    if header.len() < LOCAL_HEADER_BYTES as usize || !header.starts_with(LOCAL_HEADER) {
        return None;
    }
    let rest = u64::from(u16_at(header, 26)) + u64::from(u16_at(header, 28));
    Some(member.header_at + LOCAL_HEADER_BYTES + rest)
}

/// The earliest offset at which a member can end.
fn local_end(member: &ZipMember, name_len: usize) -> Result<u64, DamagedZip> {
    let end = member
        .header_at
        .checked_add(LOCAL_HEADER_BYTES + name_len as u64)
        .and_then(|end| end.checked_add(member.stored_len));
    end.map_or_else(|| damaged("an entry is out of bounds"), Ok)
}

/// One entry of the directory.
struct ParsedEntry {
    member: ZipMember,
    /// Of the entry itself.
    len: usize,
    name_len: usize,
}

fn entry(bytes: &[u8]) -> Result<ParsedEntry, DamagedZip> {
    if bytes.len() < ENTRY_BYTES || !bytes.starts_with(DIRECTORY_ENTRY) {
        return damaged("its directory is broken");
    }
    let name_len = usize::from(u16_at(bytes, 28));
    let extra_len = usize::from(u16_at(bytes, 30));
    let len = ENTRY_BYTES + name_len + extra_len + usize::from(u16_at(bytes, 32));
    if bytes.len() < len {
        return damaged("its directory is broken");
    }
    let name = &bytes[ENTRY_BYTES..ENTRY_BYTES + name_len];
    let extra = &bytes[ENTRY_BYTES + name_len..ENTRY_BYTES + name_len + extra_len];
    // A name that is not UTF-8 is only shown: the data is found by its offset.
    let mut name = String::from_utf8_lossy(name).into_owned();
    let was_made_on_dos = bytes[5] == 0;
    if was_made_on_dos {
        name = name.replace('\\', "/");
    }
    let mut member = ZipMember {
        name,
        method: match u16_at(bytes, 10) {
            STORED => Method::Stored,
            DEFLATED => Method::Deflated,
            other => Method::Other(other),
        },
        is_encrypted: u16_at(bytes, 8) & 1 != 0,
        size: u64::from(u32_at(bytes, 24)),
        stored_len: u64::from(u32_at(bytes, 20)),
        crc: u32_at(bytes, 16),
        header_at: u64::from(u32_at(bytes, 42)),
        modified: from_dos(u16_at(bytes, 12), u16_at(bytes, 14)),
    };
    read_extra(extra, &mut member)?;
    check_sizes(&member)?;
    Ok(ParsedEntry {
        member,
        len,
        name_len,
    })
}

fn check_sizes(member: &ZipMember) -> Result<(), DamagedZip> {
    let longest = match member.method {
        Method::Stored if !member.is_encrypted => {
            if member.size != member.stored_len {
                return damaged(format!("{} has two lengths", printable_path(&member.name)));
            }
            return Ok(());
        }
        Method::Deflated => member.stored_len.saturating_mul(MAX_RATIO),
        Method::Stored | Method::Other(_) => u64::MAX,
    };
    if member.size > longest {
        return damaged(format!(
            "{} declares more bytes than it can contain",
            printable_path(&member.name)
        ));
    }
    Ok(())
}

/// Long lengths and exact times are in the extra fields.
fn read_extra(mut extra: &[u8], member: &mut ZipMember) -> Result<(), DamagedZip> {
    while extra.len() >= 4 {
        let (tag, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(field) = extra.get(4..4 + len) else {
            // A truncated field is ignored.
            return Ok(());
        };
        match tag {
            EXTRA_ZIP64 => read_long_values(field, member)?,
            // Seconds since 1970; the modification time comes first.
            EXTRA_TIMES if field.len() >= 5 && field[0] & HAS_MODIFIED != 0 => {
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
fn read_long_values(field: &[u8], member: &mut ZipMember) -> Result<(), DamagedZip> {
    let values = [
        &mut member.size,
        &mut member.stored_len,
        &mut member.header_at,
    ];
    let mut at = 0;
    for value in values {
        if *value == u64::from(u32::MAX) {
            if field.len() < at + 8 {
                return damaged("a long entry is broken");
            }
            *value = u64_at(field, at);
            at += 8;
        }
    }
    Ok(())
}

fn damaged<T>(reason: impl Into<String>) -> Result<T, DamagedZip> {
    Err(DamagedZip(reason.into()))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
