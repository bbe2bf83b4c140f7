//! The layout of a zip whose entries are stored as they are: everything but the files' own bytes, and
//! the length of the whole, known before the first byte goes out.
//!
//! Larger than 4 GiB or 65,535 entries: with zip64 records. Pure but for the checksums it asks for.

use std::io;

use crate::outbox::drafts::upload::manifest::ManifestFile;
use crate::outbox::moment::Moment;

/// Names are UTF-8.
const FLAG_UTF8: u16 = 1 << 11;
const VERSION: u16 = 20;
const VERSION_ZIP64: u16 = 45;
/// What stands in a short field whose value is in a zip64 record.
const IN_ZIP64: u32 = u32::MAX;

/// A piece of the zip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZipPart {
    /// Headers.
    Bytes(Vec<u8>),
    /// The bytes of the file at this place of the list.
    File(usize),
}

/// A zip, laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZipLayout {
    /// Its pieces in order.
    pub parts: Vec<ZipPart>,
    /// Its length.
    pub len: u64,
}

struct Member<'a> {
    file: &'a ManifestFile,
    crc: u32,
    at: u64,
}

impl ZipLayout {
    /// Lays out a zip of `files`; `crc` gives the checksum of a file's bytes.
    pub fn of(
        files: &[ManifestFile],
        crc: impl Fn(&ManifestFile) -> io::Result<u32>,
    ) -> io::Result<ZipLayout> {
        let mut parts = Vec::with_capacity(2 * files.len() + 1);
        let mut members = Vec::with_capacity(files.len());
        let mut at = 0;
        for (number, file) in files.iter().enumerate() {
            let member = Member {
                file,
                crc: crc(file)?,
                at,
            };
            let header = local_header(&member);
            at += header.len() as u64 + file.size;
            parts.push(ZipPart::Bytes(header));
            parts.push(ZipPart::File(number));
            members.push(member);
        }
        let mut end = Vec::new();
        for member in &members {
            end.extend(directory_entry(member));
        }
        let directory_len = end.len() as u64;
        end.extend(end_records(members.len() as u64, at, directory_len));
        let len = at + end.len() as u64;
        parts.push(ZipPart::Bytes(end));
        Ok(ZipLayout { parts, len })
    }
}

fn local_header(member: &Member<'_>) -> Vec<u8> {
    let size = member.file.size;
    let large = size >= u64::from(IN_ZIP64);
    let mut header = Vec::new();
    header.extend(b"PK\x03\x04");
    put_u16(&mut header, if large { VERSION_ZIP64 } else { VERSION });
    put_common(&mut header, member);
    put_short(&mut header, size);
    put_short(&mut header, size);
    put_u16(&mut header, name_len(member));
    put_u16(&mut header, if large { 20 } else { 0 });
    header.extend(member.file.path.as_bytes());
    if large {
        put_u16(&mut header, 1);
        put_u16(&mut header, 16);
        header.extend(size.to_le_bytes());
        header.extend(size.to_le_bytes());
    }
    header
}

fn directory_entry(member: &Member<'_>) -> Vec<u8> {
    let size = member.file.size;
    let mut extra = Vec::new();
    if size >= u64::from(IN_ZIP64) {
        extra.extend(size.to_le_bytes());
        extra.extend(size.to_le_bytes());
    }
    if member.at >= u64::from(IN_ZIP64) {
        extra.extend(member.at.to_le_bytes());
    }
    let version = if extra.is_empty() {
        VERSION
    } else {
        VERSION_ZIP64
    };
    let mut entry = Vec::new();
    entry.extend(b"PK\x01\x02");
    // Made on Unix, so that permissions in the attributes count.
    put_u16(&mut entry, 3 << 8 | version);
    put_u16(&mut entry, version);
    put_common(&mut entry, member);
    put_short(&mut entry, size);
    put_short(&mut entry, size);
    put_u16(&mut entry, name_len(member));
    put_u16(
        &mut entry,
        if extra.is_empty() {
            0
        } else {
            extra.len() as u16 + 4
        },
    );
    put_u16(&mut entry, 0);
    put_u16(&mut entry, 0);
    put_u16(&mut entry, 0);
    entry.extend((0o100_644_u32 << 16).to_le_bytes());
    put_short(&mut entry, member.at);
    entry.extend(member.file.path.as_bytes());
    if !extra.is_empty() {
        put_u16(&mut entry, 1);
        put_u16(&mut entry, extra.len() as u16);
        entry.extend(extra);
    }
    entry
}

/// Flags, method, time, date and checksum, which both headers have in this order.
fn put_common(header: &mut Vec<u8>, member: &Member<'_>) {
    let (time, date) = dos_time(member.file.mtime);
    put_u16(header, FLAG_UTF8);
    put_u16(header, 0);
    put_u16(header, time);
    put_u16(header, date);
    header.extend(member.crc.to_le_bytes());
}

fn end_records(members: u64, directory_at: u64, directory_len: u64) -> Vec<u8> {
    let mut end = Vec::new();
    let short = u64::from(IN_ZIP64);
    if members >= u64::from(u16::MAX) || directory_at >= short || directory_len >= short {
        let record_at = directory_at + directory_len;
        end.extend(b"PK\x06\x06");
        end.extend(44_u64.to_le_bytes());
        put_u16(&mut end, VERSION_ZIP64);
        put_u16(&mut end, VERSION_ZIP64);
        end.extend([0; 8]);
        end.extend(members.to_le_bytes());
        end.extend(members.to_le_bytes());
        end.extend(directory_len.to_le_bytes());
        end.extend(directory_at.to_le_bytes());
        end.extend(b"PK\x06\x07");
        end.extend([0; 4]);
        end.extend(record_at.to_le_bytes());
        end.extend(1_u32.to_le_bytes());
    }
    let count = u16::try_from(members).unwrap_or(u16::MAX);
    end.extend(b"PK\x05\x06");
    end.extend([0; 4]);
    put_u16(&mut end, count);
    put_u16(&mut end, count);
    put_short(&mut end, directory_len);
    put_short(&mut end, directory_at);
    put_u16(&mut end, 0);
    end
}

fn name_len(member: &Member<'_>) -> u16 {
    // A path of the drive is far shorter; what is longer would be cut by every other tool as well.
    u16::try_from(member.file.path.len()).unwrap_or(u16::MAX)
}

fn put_u16(to: &mut Vec<u8>, value: u16) {
    to.extend(value.to_le_bytes());
}

fn put_short(to: &mut Vec<u8>, value: u64) {
    to.extend(u32::try_from(value).unwrap_or(IN_ZIP64).to_le_bytes());
}

/// The time as DOS wrote it, in UTC: from 1980 to 2107, in steps of two seconds.
fn dos_time(mtime: Moment) -> (u16, u16) {
    let earliest = (0, 1 << 5 | 1);
    let Ok(stamp) = jiff::Timestamp::from_second(mtime.secs) else {
        return earliest;
    };
    let at = stamp.to_zoned(jiff::tz::TimeZone::UTC);
    if !(1980..=2107).contains(&at.year()) {
        return earliest;
    }
    let half_seconds = at.second() as u16 / 2;
    let time = (at.hour() as u16) << 11 | (at.minute() as u16) << 5 | half_seconds;
    let date = (at.year() as u16 - 1980) << 9 | (at.month() as u16) << 5 | at.day() as u16;
    (time, date)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::Command;

    use super::*;
    use crate::outbox::ids::EntryId;
    use crate::outbox::staging::{ContentHash, ContentId};

    fn file(path: &str, size: u64) -> ManifestFile {
        ManifestFile {
            entry: EntryId(1),
            content: ContentId(1),
            path: path.to_owned(),
            size,
            hash: ContentHash(0),
            mtime: Moment {
                secs: 1_700_000_000,
                nanos: 0,
            },
        }
    }

    #[test]
    fn other_tools_read_it() {
        let bytes = [b"hello".as_slice(), b"", b"world!"];
        let paths = ["a.gltf", "leer – пусто.bin", "textures/wood 1.png"];
        let files: Vec<_> = paths
            .iter()
            .zip(bytes)
            .map(|(p, b)| file(p, b.len() as u64))
            .collect();
        let layout = ZipLayout::of(&files, |file| {
            let at = paths.iter().position(|path| *path == file.path).unwrap();
            Ok(crc32fast::hash(bytes[at]))
        })
        .unwrap();
        let mut zip = Vec::new();
        for part in &layout.parts {
            match part {
                ZipPart::Bytes(header) => zip.extend(header),
                ZipPart::File(at) => zip.extend(bytes[*at]),
            }
        }
        assert_eq!(zip.len() as u64, layout.len);
        let mut disk = tempfile::NamedTempFile::with_suffix(".zip").unwrap();
        disk.write_all(&zip).unwrap();
        let script = "import sys,zipfile;z=zipfile.ZipFile(sys.argv[1]);assert z.testzip() is None;print('|'.join(n+'='+z.read(n).decode() for n in z.namelist()))";
        let Ok(out) = Command::new("python3")
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

    #[test]
    fn large_files_get_zip64_records() {
        let files = [file("a.bin", 5 << 30), file("b.bin", 7)];
        let layout = ZipLayout::of(&files, |_| Ok(0)).unwrap();
        let headers: usize = layout
            .parts
            .iter()
            .map(|part| match part {
                ZipPart::Bytes(bytes) => bytes.len(),
                ZipPart::File(_) => 0,
            })
            .sum();
        assert_eq!(layout.len, headers as u64 + (5 << 30) + 7);
        let Some(ZipPart::Bytes(end)) = layout.parts.last() else {
            panic!("ends in records")
        };
        assert!(end.windows(4).any(|w| w == b"PK\x06\x06"));
    }

    #[test]
    fn times_outside_the_calendar_are_its_first_day() {
        assert_eq!(dos_time(Moment { secs: -5, nanos: 0 }), (0, 33));
        let (time, date) = dos_time(Moment {
            secs: 1_700_000_000,
            nanos: 0,
        });
        assert_eq!((date >> 9, (date >> 5) & 15, date & 31), (43, 11, 14));
        assert_eq!(
            (time >> 11, (time >> 5) & 63, (time & 31) * 2),
            (22, 13, 20)
        );
    }
}
