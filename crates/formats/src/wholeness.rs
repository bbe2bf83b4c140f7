//! Detects truncated files, if their format allows it: by the length in a GLB's header, the end chunk of a PNG, the
//! end marker of a JPEG, the central directory of a ZIP, the triangle count of a binary STL, the table of sections of a
//! binary USD layer, the last lines of a CAD file.
//!
//! Reads only what it needs. A file of another format, or whose content does not match its name, counts as complete. An
//! empty model or image does not: file managers and network clients often make a file first, and write it later.

mod cad;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use crate::images::ImageKind;
use crate::zip::{END_RECORD, LOCAL_HEADER, MAX_TAIL_BYTES, end_records};
use crate::{extension, of_extension};

/// Size of one read while scanning.
const SCAN_LEN_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wholeness {
    /// Complete, as far as the format allows to tell.
    Whole,
    /// Truncated.
    Short {
        /// The expected length, if the file contains it.
        expected: Option<u64>,
    },
}

const SHORT: Wholeness = Wholeness::Short { expected: None };

/// Checks a file by its name and bytes.
pub fn judge(name: &str, file: &File, size: u64) -> io::Result<Wholeness> {
    let bytes = Bytes { file, size };
    let extension = extension(name);
    let is_model_or_image =
        of_extension(&extension).is_some() || ImageKind::of_extension(&extension).is_some();
    match extension.as_str() {
        _ if size == 0 && is_model_or_image => Ok(SHORT),
        "glb" => glb(&bytes),
        "png" => png(&bytes),
        "jpg" | "jpeg" => jpeg(&bytes),
        "zip" | "usdz" | "3mf" => zip(&bytes),
        "stl" => stl(&bytes),
        "usdc" | "usd" => usdc(&bytes),
        "webp" => webp(&bytes),
        "step" | "stp" => cad::step(&bytes),
        "iges" | "igs" => cad::iges(&bytes),
        "brep" => cad::brep(&bytes),
        _ => Ok(Wholeness::Whole),
    }
}

/// Whether a complete file of this name stays as it is: [`judge`] finds its end, and no program appends to it. A zip has an
/// end, too, but its tools add files to it.
pub fn is_final_when_whole(name: &str) -> bool {
    let known = ["glb", "usdc", "step", "stp", "iges", "igs", "brep"];
    known.contains(&extension(name).as_str())
}

struct Bytes<'a> {
    file: &'a File,
    size: u64,
}

impl Bytes<'_> {
    /// The bytes at `offset`, fewer at the end of the file.
    fn at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; len];
        let mut done = 0;
        while done < len {
            match self
                .file
                .read_at(&mut buffer[done..], offset + done as u64)?
            {
                0 => break,
                n => done += n,
            }
        }
        buffer.truncate(done);
        Ok(buffer)
    }

    /// The last bytes of the file.
    fn tail(&self, len: usize) -> io::Result<Vec<u8>> {
        self.at(self.size.saturating_sub(len as u64), len)
    }

    fn needs(&self, expected: u64) -> Wholeness {
        if self.size >= expected {
            Wholeness::Whole
        } else {
            Wholeness::Short {
                expected: Some(expected),
            }
        }
    }

    /// True when the file ends inside `magic` and agrees with it so far.
    fn stops_inside(&self, head: &[u8], magic: &[u8]) -> bool {
        head.len() < magic.len() && magic.starts_with(head)
    }
}

fn u32_le(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(
        bytes[at..at + 4].try_into().expect("four bytes"),
    ))
}

fn u64_le(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_be(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_be_bytes(
        bytes[at..at + 4].try_into().expect("four bytes"),
    ))
}

fn glb(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    let head = bytes.at(0, 12)?;
    if bytes.stops_inside(&head, b"glTF") || (head.starts_with(b"glTF") && head.len() < 12) {
        return Ok(SHORT);
    }
    if !head.starts_with(b"glTF") {
        return Ok(Wholeness::Whole);
    }
    Ok(bytes.needs(u32_le(&head, 8)))
}

fn webp(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    let head = bytes.at(0, 12)?;
    if bytes.stops_inside(&head, b"RIFF") || (head.starts_with(b"RIFF") && head.len() < 12) {
        return Ok(SHORT);
    }
    if !head.starts_with(b"RIFF") {
        return Ok(Wholeness::Whole);
    }
    Ok(bytes.needs(u32_le(&head, 4) + 8))
}

fn png(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
    let head = bytes.at(0, MAGIC.len())?;
    if bytes.stops_inside(&head, MAGIC) {
        return Ok(SHORT);
    }
    if head != MAGIC {
        return Ok(Wholeness::Whole);
    }
    let mut at = MAGIC.len() as u64;
    loop {
        let chunk = bytes.at(at, 8)?;
        if chunk.len() < 8 {
            return Ok(SHORT);
        }
        let end = at + 12 + u32_be(&chunk, 0);
        if &chunk[4..] == b"IEND" {
            return Ok(bytes.needs(end));
        }
        if end > bytes.size {
            return Ok(SHORT);
        }
        at = end;
    }
}

/// Walks the segments up to the first scan, then searches for the end marker. A scan cannot contain it, and
/// thumbnails, which also have one, are in the segments before.
fn jpeg(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    let head = bytes.at(0, 3)?;
    if bytes.stops_inside(&head, b"\xFF\xD8\xFF") {
        return Ok(SHORT);
    }
    if head != b"\xFF\xD8\xFF" {
        return Ok(Wholeness::Whole);
    }
    let mut at = 2;
    loop {
        let marker = bytes.at(at, 4)?;
        if marker.len() < 4 {
            return Ok(if marker.starts_with(b"\xFF\xD9") {
                Wholeness::Whole
            } else {
                SHORT
            });
        }
        if marker[0] != 0xFF {
            // Invalid for decoders, too; nothing can be concluded.
            return Ok(Wholeness::Whole);
        }
        match marker[1] {
            0xFF => at += 1,
            0xD9 => return Ok(Wholeness::Whole),
            0xDA => return scan_for_end_marker(bytes, at + 2),
            0x01 | 0xD0..=0xD7 => at += 2,
            _ => at += 2 + u64::from(u16::from_be_bytes([marker[2], marker[3]])),
        }
    }
}

fn scan_for_end_marker(bytes: &Bytes<'_>, from: u64) -> io::Result<Wholeness> {
    // First at the end, where it nearly always is.
    let tail = bytes.at(bytes.size.saturating_sub(2).max(from), 2)?;
    if tail == b"\xFF\xD9" {
        return Ok(Wholeness::Whole);
    }
    let mut at = from;
    loop {
        let block = bytes.at(at, SCAN_LEN_BYTES)?;
        if block.windows(2).any(|pair| pair == b"\xFF\xD9") {
            return Ok(Wholeness::Whole);
        }
        if block.len() < SCAN_LEN_BYTES {
            return Ok(SHORT);
        }
        at += block.len() as u64 - 1;
    }
}

fn zip(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    let head = bytes.at(0, 4)?;
    if bytes.stops_inside(&head, LOCAL_HEADER) {
        return Ok(SHORT);
    }
    if !head.starts_with(LOCAL_HEADER) && !head.starts_with(END_RECORD) {
        return Ok(Wholeness::Whole);
    }
    let from = bytes.size.saturating_sub(MAX_TAIL_BYTES);
    let tail = bytes.at(from, MAX_TAIL_BYTES as usize)?;
    let ends = end_records(&tail).any(|end| {
        let at = from + end.at() as u64;
        let directory_fits = end.has_long_len() || end.extent().len <= at;
        directory_fits && at + end.len_bytes() as u64 <= bytes.size
    });
    Ok(if ends { Wholeness::Whole } else { SHORT })
}

fn stl(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    let head = bytes.at(0, 1024)?;
    if head.starts_with(b"solid") && is_text(&head) {
        let tail = bytes.at(bytes.size.saturating_sub(4096), 4096)?;
        let ended = tail
            .windows(8)
            .any(|word| word.eq_ignore_ascii_case(b"endsolid"));
        return Ok(if ended { Wholeness::Whole } else { SHORT });
    }
    if head.len() < 84 {
        return Ok(SHORT);
    }
    Ok(bytes.needs(84 + 50 * u32_le(&head, 80)))
}

/// The offset of the table of sections is in the header, which is written last.
fn usdc(bytes: &Bytes<'_>) -> io::Result<Wholeness> {
    const MAGIC: &[u8] = b"PXR-USDC";
    const ENTRY_LEN: u64 = 32;
    let head = bytes.at(0, 24)?;
    if bytes.stops_inside(&head, MAGIC) || (head.starts_with(MAGIC) && head.len() < 24) {
        return Ok(SHORT);
    }
    if !head.starts_with(MAGIC) {
        return Ok(Wholeness::Whole);
    }
    let table = u64_le(&head, 16);
    if table == 0 {
        return Ok(SHORT);
    }
    let count = bytes.at(table, 8)?;
    if count.len() < 8 {
        return Ok(bytes.needs(table.saturating_add(8)));
    }
    let entries = u64_le(&count, 0).saturating_mul(ENTRY_LEN);
    Ok(bytes.needs(table.saturating_add(8).saturating_add(entries)))
}

fn is_text(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|b| *b >= 0x20 || matches!(b, b'\t' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    pub(super) fn judged(name: &str, bytes: &[u8]) -> Wholeness {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        judge(name, &file, bytes.len() as u64).unwrap()
    }

    fn glb_bytes() -> Vec<u8> {
        let mut glb = b"glTF\x02\0\0\0".to_vec();
        glb.extend(100u32.to_le_bytes());
        glb.resize(100, 7);
        glb
    }

    fn png_bytes() -> Vec<u8> {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, len) in [(b"IHDR", 13usize), (b"IDAT", 300), (b"IEND", 0)] {
            png.extend((len as u32).to_be_bytes());
            png.extend(kind);
            png.resize(png.len() + len + 4, 1);
        }
        png
    }

    fn jpeg_bytes() -> Vec<u8> {
        let mut jpeg = b"\xFF\xD8".to_vec();
        // A segment with a thumbnail that has an end marker of its own.
        jpeg.extend(b"\xFF\xE1\x00\x10thumb\xFF\xD9abcdefg");
        jpeg.extend(b"\xFF\xDA\x00\x04ab");
        jpeg.extend([0x12, 0xFF, 0x00, 0x34, 0xFF, 0xD0, 0x56]);
        jpeg.extend(b"\xFF\xD9");
        jpeg
    }

    fn zip_bytes() -> Vec<u8> {
        let mut zip = b"PK\x03\x04".to_vec();
        zip.resize(60, 0);
        zip.extend(b"PK\x01\x02");
        zip.resize(110, 0);
        zip.extend(b"PK\x05\x06");
        zip.extend([0; 8]);
        zip.extend(50u32.to_le_bytes());
        zip.extend(60u32.to_le_bytes());
        zip.extend([0; 2]);
        zip
    }

    fn stl_bytes() -> Vec<u8> {
        let mut stl = b"solid but binary\0".to_vec();
        stl.resize(80, 0);
        stl.extend(3u32.to_le_bytes());
        stl.resize(84 + 150, 1);
        stl
    }

    fn usdc_bytes() -> Vec<u8> {
        let mut usdc = b"PXR-USDC\0\x08\0\0\0\0\0\0".to_vec();
        usdc.extend(120u64.to_le_bytes());
        usdc.resize(120, 3);
        usdc.extend(2u64.to_le_bytes());
        usdc.resize(120 + 8 + 64, 1);
        usdc
    }

    fn step_bytes() -> Vec<u8> {
        b"ISO-10303-21;\nHEADER;\nENDSEC;\nDATA;\n#1=A();\nENDSEC;\nEND-ISO-10303-21;\n".to_vec()
    }

    #[test]
    fn every_file_is_whole_as_far_as_its_format_tells() {
        let text_stl = b"solid a\nfacet normal 0 0 1\nendfacet\nendsolid a\n".to_vec();
        let webp = [b"RIFF".as_slice(), &20u32.to_le_bytes(), &[1; 20]].concat();
        let table = [
            ("a.glb", glb_bytes()),
            ("a.png", png_bytes()),
            ("a.jpg", jpeg_bytes()),
            ("a.zip", zip_bytes()),
            ("a.stl", stl_bytes()),
            ("b.STL", text_stl),
            ("a.webp", webp),
            ("a.usdc", usdc_bytes()),
            ("a.step", step_bytes()),
        ];
        for (name, bytes) in table {
            assert_eq!(judged(name, &bytes), Wholeness::Whole, "{name}");
            // The text form ends where its last word does; the blank after it tells nothing.
            let shortest_whole = match name {
                "b.STL" => bytes.len() - 3,
                "a.step" => bytes.len() - 1,
                _ => bytes.len(),
            };
            for len in 0..shortest_whole {
                let cut = judged(name, &bytes[..len]);
                assert_ne!(
                    cut,
                    Wholeness::Whole,
                    "{name} cut to {len} of {}",
                    bytes.len()
                );
            }
            let longer = [bytes, b"\n\n\n\n\n".to_vec()].concat();
            assert_eq!(
                judged(name, &longer),
                Wholeness::Whole,
                "{name} with a tail"
            );
        }
    }

    #[test]
    fn the_missing_length_is_named_where_the_format_names_it() {
        let expected = Some(100);
        assert_eq!(
            judged("a.glb", &glb_bytes()[..47]),
            Wholeness::Short { expected }
        );
    }

    #[test]
    fn a_file_that_is_not_what_its_name_says_is_left_to_the_service() {
        for name in [
            "a.glb", "a.png", "a.jpg", "a.zip", "a.webp", "a.stp", "a.brep",
        ] {
            assert_eq!(
                judged(name, b"something else entirely"),
                Wholeness::Whole,
                "{name}"
            );
        }
    }

    #[test]
    fn an_empty_model_or_image_is_not_whole_and_an_empty_text_is() {
        for name in [
            "a.fbx", "a.GLTF", "a.obj", "a.usda", "a.ply", "a.ktx2", "a.bmp", "a.tiff",
        ] {
            assert_eq!(judged(name, b""), SHORT, "{name}");
        }
        for name in ["notes.txt", "chair.mtl", "LICENSE"] {
            assert_eq!(judged(name, b""), Wholeness::Whole, "{name}");
        }
    }
}
