//! Malicious zip archives, each with the expected error message.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive that must be refused.
pub struct Hostile {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Part of the message.
    pub reason: &'static str,
    /// Whether it only exceeds the limits.
    pub is_limit: bool,
}

const TRIANGLE: &[u8] = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// An archive with one triangle.
pub fn good() -> Vec<u8> {
    zip_of(&[("a.obj", TRIANGLE)], CompressionMethod::Stored)
}

/// Every kind of archive that is refused.
pub fn hostile() -> Vec<Hostile> {
    let stored = |name: &str| zip_of(&[(name, TRIANGLE)], CompressionMethod::Stored);
    let zeros = vec![0; 64 << 20];
    let dense = zip_of(&[("a.obj", &zeros)], CompressionMethod::Deflated);
    let nested = zip_of(&[("inner.zip", &good())], CompressionMethod::Stored);
    let half = good();
    let half = half[..half.len() / 2].to_vec();
    let many: Vec<String> = (0..100_000).map(|number| format!("{number}.txt")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let many = zip_of(&many, CompressionMethod::Stored);
    let list: [(&str, Vec<u8>, &str, bool); 13] = [
        (
            "dots",
            stored("../evil.obj"),
            "leads out of the archive",
            false,
        ),
        (
            "absolute",
            stored("/etc/evil.obj"),
            "leads out of the archive",
            false,
        ),
        (
            "drive",
            stored("C:\\evil.obj"),
            "leads out of the archive",
            false,
        ),
        ("dense", dense, "200 times its size", true),
        ("overlapping", overlapping(), "200 times its size", true),
        ("many", many, "100,000 entries", true),
        ("nested", nested, "archives in archives are not read", false),
        ("link", with_link(), "symbolic link", false),
        ("encrypted", encrypted(), "encrypted", false),
        ("checksum", wrong_checksum(), "checksum", false),
        (
            "both",
            file_and_folder(),
            "occurs twice, or names both a file and a folder",
            false,
        ),
        ("half", half, "not a readable zip archive", false),
        (
            "nonsense",
            b"PK nonsense".to_vec(),
            "not a readable zip archive",
            false,
        ),
    ];
    list.into_iter()
        .map(|(name, bytes, reason, is_limit)| Hostile {
            name,
            bytes,
            reason,
            is_limit,
        })
        .collect()
}

pub fn zip_of(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in entries {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The archive with one bit of the flags of every entry set: they look encrypted.
fn encrypted() -> Vec<u8> {
    let mut bytes = zip_of(&[("a.obj", TRIANGLE)], CompressionMethod::Stored);
    for (mark, flags_at) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at = bytes.windows(4).position(|part| part == mark).unwrap();
        bytes[at + flags_at] |= 1;
    }
    bytes
}

fn wrong_checksum() -> Vec<u8> {
    let mut bytes = zip_of(&[("a.obj", TRIANGLE)], CompressionMethod::Stored);
    let at = bytes.windows(4).position(|part| part == b"v 0 ").unwrap();
    bytes[at] = b'#';
    bytes
}

fn with_link() -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .add_symlink("a.obj", "/etc/passwd", SimpleFileOptions::default())
        .unwrap();
    writer.finish().unwrap().into_inner()
}

/// Entries that share the same packed bytes: a small file, but large when unpacked.
fn overlapping() -> Vec<u8> {
    let packed = zip_of(
        &[("0000.bin", &vec![0; 8 << 20])],
        CompressionMethod::Deflated,
    );
    let directory = packed
        .windows(4)
        .rposition(|part| part == b"PK\x01\x02")
        .unwrap();
    let end = packed
        .windows(4)
        .rposition(|part| part == b"PK\x05\x06")
        .unwrap();
    let (mut bytes, record) = (packed[..directory].to_vec(), &packed[directory..end]);
    for number in 0..2_000 {
        let mut record = record.to_vec();
        record[46..50].copy_from_slice(format!("{number:04}").as_bytes());
        bytes.extend(record);
    }
    let length = (bytes.len() - directory) as u32;
    let mut last = packed[end..].to_vec();
    last[8..12].copy_from_slice(&[0xd0, 0x07, 0xd0, 0x07]);
    last[12..16].copy_from_slice(&length.to_le_bytes());
    bytes.extend(last);
    bytes
}

fn file_and_folder() -> Vec<u8> {
    let entries: [(&str, &[u8]); 2] = [("a.obj", TRIANGLE), ("a.obj/b.png", b"x")];
    zip_of(&entries, CompressionMethod::Stored)
}
