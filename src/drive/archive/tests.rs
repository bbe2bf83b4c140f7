//! Directories of good, old, broken and hostile zips.

use std::io::{Cursor, Write as _};

use bytes::Bytes;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::inflate::{Inflater, Step};
use super::{ArchiveError, Directory};
use assetfs_formats::zip::Method;

fn zip_of(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

async fn directory(zip: &[u8]) -> Result<Directory, ArchiveError> {
    Directory::read(zip.len() as u64, |offset, len| {
        let part = Bytes::copy_from_slice(&zip[offset as usize..(offset + len) as usize]);
        async move { Ok(part) }
    })
    .await
}

fn patched(zip: &[u8], signature: &[u8], offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut zip = zip.to_vec();
    let at = zip
        .windows(signature.len())
        .rposition(|window| window == signature)
        .unwrap();
    zip[at + offset..at + offset + bytes.len()].copy_from_slice(bytes);
    zip
}

const ENTRY: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";

#[tokio::test]
async fn files_of_stored_and_deflated_zips_are_found_with_lengths_and_checksums() {
    for (method, expected) in [
        (CompressionMethod::Stored, Method::Stored),
        (CompressionMethod::Deflated, Method::Deflated),
    ] {
        let bytes = vec![7; 5000];
        let zip = zip_of(
            &[("a/b.bin", &bytes), ("empty", b""), ("ü.txt", b"x")],
            method,
        );
        let directory = directory(&zip).await.unwrap();
        assert_eq!(directory.members().count(), 3);
        let member = directory.member("a/b.bin").unwrap();
        assert_eq!((member.size, member.method), (5000, expected));
        assert_eq!(member.crc, crc32fast::hash(&bytes));
        assert!(directory.member("ü.txt").is_some());
    }
}

#[tokio::test]
async fn a_zip_with_a_comment_is_read_and_a_truncated_one_is_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.set_comment("not PK\x05\x06 the end").unwrap();
    writer
        .start_file("x", SimpleFileOptions::default())
        .unwrap();
    let zip = writer.finish().unwrap().into_inner();
    assert!(directory(&zip).await.unwrap().member("x").is_some());
    for len in 0..zip.len() {
        assert!(directory(&zip[..len]).await.is_err(), "{len} bytes");
    }
}

#[tokio::test]
async fn a_zip_that_lies_about_itself_is_refused() {
    let zip = zip_of(
        &[("one", &[1; 100]), ("two", &[2; 100])],
        CompressionMethod::Stored,
    );
    for (what, hostile) in [
        ("overlap", patched(&zip, ENTRY, 42, &5_u32.to_le_bytes())),
        (
            "two lengths",
            patched(&zip, ENTRY, 24, &99_999_u32.to_le_bytes()),
        ),
        (
            "directory outside",
            patched(&zip, END, 16, &0x7FFF_FFFF_u32.to_le_bytes()),
        ),
        (
            "more entries than there are",
            patched(&zip, END, 10, &9_u16.to_le_bytes()),
        ),
        ("several parts", patched(&zip, END, 4, &1_u16.to_le_bytes())),
    ] {
        assert!(
            matches!(directory(&hostile).await, Err(ArchiveError::Refused(_))),
            "{what}"
        );
    }
    let bomb = zip_of(&[("zeros", &[0; 4096])], CompressionMethod::Deflated);
    let bomb = patched(&bomb, ENTRY, 24, &0xFFFF_0000_u32.to_le_bytes());
    assert!(matches!(
        directory(&bomb).await,
        Err(ArchiveError::Refused(_))
    ));
}

#[test]
fn noise_never_panics() {
    use proptest::prelude::*;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let zip = zip_of(
        &[("a/b", b"hello"), ("c", b"")],
        CompressionMethod::Deflated,
    );
    proptest!(|(at in 0..zip.len(), byte: u8, cut in 0..zip.len())| {
        let mut noisy = zip.clone();
        noisy[at] = byte;
        noisy.truncate(cut.max(at + 1));
        let _ = runtime.block_on(directory(&noisy));
    });
}

/// The extracted bytes, or the error.
fn inflated(packed: &[u8], size: u64, crc: u32, chunk: usize) -> Result<Vec<u8>, String> {
    let mut inflater = Inflater::new();
    let mut out = Vec::new();
    loop {
        let taken = inflater.taken() as usize;
        match inflater.step(size, crc, taken >= packed.len()) {
            Step::NeedsInput => {
                let end = (taken + chunk).min(packed.len());
                inflater.feed(Bytes::copy_from_slice(&packed[taken..end]));
            }
            Step::Block(block) => out.extend_from_slice(&block),
            Step::Done => return Ok(out),
            Step::Damaged(reason) => return Err(reason),
        }
    }
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn what_is_unpacked_is_what_was_packed_whatever_its_length() {
    for len in [0, 1, 65_535, 65_536, 65_537, 200_000] {
        let bytes: Vec<u8> = (0..len)
            .map(|at: u32| (at.wrapping_mul(at) >> 7) as u8)
            .collect();
        let (packed, crc) = (deflated(&bytes), crc32fast::hash(&bytes));
        for chunk in [7, 4096, usize::MAX / 2] {
            let out = inflated(&packed, len.into(), crc, chunk.min(packed.len().max(1)));
            assert_eq!(out.as_deref(), Ok(&bytes[..]), "{len} in steps of {chunk}");
        }
    }
}

#[test]
fn too_much_too_little_and_other_bytes_are_detected() {
    let bytes = vec![9; 70_000];
    let (packed, crc) = (deflated(&bytes), crc32fast::hash(&bytes));
    for size in [0, 10, 65_536, 69_999] {
        let wrong = inflated(&packed, size, crc, 4096).unwrap_err();
        assert!(
            wrong.contains("more bytes than declared"),
            "{size}: {wrong}"
        );
    }
    let wrong = inflated(&packed, 70_001, crc, 4096).unwrap_err();
    assert!(wrong.contains("fewer bytes than declared"), "{wrong}");
    let wrong = inflated(&packed, 70_000, crc ^ 1, 4096).unwrap_err();
    assert!(wrong.contains("checksum"), "{wrong}");
    let wrong = inflated(&packed[..packed.len() - 3], 70_000, crc, 4096).unwrap_err();
    assert!(wrong.contains("end early"), "{wrong}");
}

#[tokio::test]
async fn a_file_has_the_path_under_which_every_tool_unpacks_it() {
    for (names, expected) in [
        (["./a.glb", "tex//./b.png", "."], ["a.glb", "tex/b.png", ""]),
        (["a.glb", "tex\\b.png", "c"], ["a.glb", "tex/b.png", "c"]),
        // The names of a draft with a slash and a backslash are kept, as they are shown where it was copied in.
        (
            ["a.glb", "tex/b.png", "x\\y"],
            ["a.glb", "tex/b.png", "x\\y"],
        ),
    ] {
        let files = names.map(|name| (name, &b"x"[..]));
        let directory = directory(&zip_of(&files, CompressionMethod::Stored))
            .await
            .unwrap();
        for name in expected {
            assert!(
                directory.member(name).is_some() || name.is_empty(),
                "{name}"
            );
        }
    }
    let up = zip_of(
        &[("../a.glb", b"x"), ("/b.glb", b"x")],
        CompressionMethod::Stored,
    );
    let directory = directory(&up).await.unwrap();
    assert!(directory.member("../a.glb").is_some() && directory.member("/b.glb").is_some());
}

#[tokio::test]
async fn of_two_files_with_one_name_the_last_is_shown_as_tools_unpack_it() {
    let zip = zip_of(
        &[("chair.glb", b"first"), ("chaiR.glb", b"the last")],
        CompressionMethod::Stored,
    );
    // No tool that packs writes this, so the second name is changed.
    let zip: Vec<u8> = zip
        .iter()
        .map(|byte| if *byte == b'R' { b'r' } else { *byte })
        .collect();
    let directory = directory(&zip).await.unwrap();
    assert_eq!(directory.members().count(), 1);
    assert_eq!(directory.member("chair.glb").unwrap().size, 8);
}
