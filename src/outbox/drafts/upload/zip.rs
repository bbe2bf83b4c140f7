//! The zip that a nested draft is sent as: headers and files in the order in which they are sent. Pure but
//! for the checksums it asks for; the format is in [`formats::zip`](crate::formats::zip).

use std::io;

use crate::formats::zip::{ZipEntry, ZipHeaders};
use crate::outbox::drafts::upload::manifest::ManifestFile;

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

impl ZipLayout {
    /// Lays out a zip of `files`; `crc` gives the checksum of a file's bytes.
    pub fn of(
        files: &[ManifestFile],
        crc: impl Fn(&ManifestFile) -> io::Result<u32>,
    ) -> io::Result<ZipLayout> {
        let entry = |file| -> io::Result<ZipEntry<'_>> {
            let file: &ManifestFile = file;
            Ok(ZipEntry {
                name: &file.path,
                size: file.size,
                crc32: crc(file)?,
                modified_secs: file.mtime.secs,
            })
        };
        let entries = files.iter().map(entry).collect::<io::Result<Vec<_>>>()?;
        let headers = ZipHeaders::of(&entries);
        let mut parts = Vec::with_capacity(2 * files.len() + 1);
        for (number, header) in headers.local.into_iter().enumerate() {
            parts.push(ZipPart::Bytes(header));
            parts.push(ZipPart::File(number));
        }
        parts.push(ZipPart::Bytes(headers.directory));
        Ok(ZipLayout {
            parts,
            len: headers.len_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::Command;

    use super::*;
    use crate::outbox::ids::EntryId;
    use crate::outbox::moment::Moment;
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
}
