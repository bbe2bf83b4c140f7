//! Checks the sections of a binary layer before the library reads it: a count that is damaged would make it ask for more
//! memory than there is, which ends the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The first bytes of a binary layer.
pub(super) const MAGIC: &[u8; 8] = b"PXR-USDC";
/// The newest version of binary layers that the library reads: major, minor.
const NEWEST: (u8, u8) = (0, 12);
/// A section has a name of 16 bytes, its start and its size.
const SECTION_BYTES: u64 = 32;
/// A byte of a section makes at most so many elements: integers take at least two bits, and LZ4 packs 255 bytes in one.
const MAX_ELEMENTS_PER_BYTE: u64 = 1_024;

/// Whether a file is a binary layer.
pub(super) fn is_binary(file: &File) -> io::Result<bool> {
    let mut head = [0; MAGIC.len()];
    let is_long = file.metadata()?.len() >= head.len() as u64;
    if is_long {
        file.read_exact_at(&mut head, 0)?;
    }
    Ok(is_long && head == *MAGIC)
}

/// Whether the library may read a binary layer; the error says what is wrong.
pub(super) fn check(file: &File) -> io::Result<()> {
    let size = file.metadata()?.len();
    let mut head = [0; 24];
    if size < head.len() as u64 {
        return Ok(());
    }
    file.read_exact_at(&mut head, 0)?;
    let (major, minor) = (head[MAGIC.len()], head[MAGIC.len() + 1]);
    if (major, minor) > NEWEST {
        return Err(damaged(&format!(
            "it was written by a newer version of USD (layers {major}.{minor}); save it as usda"
        )));
    }
    let layer = Layer { file, size };
    let table = u64::from_le_bytes(head[16..24].try_into().expect("eight bytes"));
    let count = layer.number(table)?;
    if count > 64 {
        return Err(damaged("it has too many sections"));
    }
    for index in 0..count {
        let entry = table + 8 + index * SECTION_BYTES;
        let mut name = [0; 16];
        file.read_exact_at(&mut name, entry)?;
        let section = Section {
            start: layer.number(entry + 16)?,
            size: layer.number(entry + 24)?,
        };
        layer.check_section(&name, &section)?;
    }
    Ok(())
}

struct Layer<'a> {
    file: &'a File,
    size: u64,
}

struct Section {
    start: u64,
    size: u64,
}

impl Layer<'_> {
    fn number(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn check_section(&self, name: &[u8; 16], section: &Section) -> io::Result<()> {
        let end = section.start.checked_add(section.size);
        if end.is_none_or(|end| end > self.size) {
            return Err(damaged("a section is longer than the file"));
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        // Counts in front, and compressed blocks after them, each with its length.
        let (counts, blocks) = match name {
            b"TOKENS" => (2, 1),
            b"STRINGS" => (1, 0),
            b"FIELDS" => (1, 2),
            b"FIELDSETS" => (1, 1),
            b"PATHS" => (2, 3),
            b"SPECS" => (1, 3),
            _ => return Ok(()),
        };
        let most = section.size.saturating_mul(MAX_ELEMENTS_PER_BYTE);
        let mut at = section.start;
        for _ in 0..counts {
            if self.number(at)? > most {
                return Err(damaged(
                    "a section has more elements than its bytes can hold",
                ));
            }
            at += 8;
        }
        for _ in 0..blocks {
            let length = self.number(at)?;
            if length > section.size {
                return Err(damaged("a part of a section is longer than the section"));
            }
            at += 8 + length;
        }
        Ok(())
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A layer with one section of 100 bytes, whose first numbers are these.
    fn layer(name: &str, numbers: &[u64]) -> File {
        let mut bytes = b"PXR-USDC\0\x08\0\0\0\0\0\0".to_vec();
        bytes.extend(200u64.to_le_bytes());
        bytes.resize(100, 0);
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.resize(200, 0);
        bytes.extend(1u64.to_le_bytes());
        let mut entry = name.as_bytes().to_vec();
        entry.resize(16, 0);
        bytes.extend(entry);
        bytes.extend([100u64, 100].iter().flat_map(|number| number.to_le_bytes()));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    #[test]
    fn counts_that_no_section_can_hold_are_refused() {
        check(&layer("TOKENS", &[10, 200, 30])).unwrap();
        check(&layer("PATHS", &[9, 9, 8, 0, 8])).unwrap();
        for (name, numbers) in [
            ("TOKENS", &[1 << 40, 200, 30][..]),
            ("TOKENS", &[10, 1 << 40, 30]),
            ("TOKENS", &[10, 200, 101]),
            ("FIELDS", &[1 << 40]),
            ("STRINGS", &[u64::MAX]),
            ("PATHS", &[9, 9, 8, 0, 101]),
        ] {
            assert!(check(&layer(name, numbers)).is_err(), "{name} {numbers:?}");
        }
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(b"#usda 1.0 and some more text").unwrap();
        assert!(!is_binary(&text).unwrap() && is_binary(&layer("TOKENS", &[])).unwrap());
    }
}
