//! Unpacks an uploaded archive into a folder, under limits that hold whatever its headers claim.
//!
//! Every name is checked before a byte is written; bytes are counted as they come out, not as they
//! are announced. What operating systems add to archives is left out. This module blocks.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;

use crate::service::names;

/// What an archive may be.
#[derive(Debug, Clone, Copy)]
pub struct UnpackLimits {
    /// Entries, folders and junk included.
    pub entries: usize,
    /// Bytes of all files together.
    pub bytes: u64,
    /// How many times larger a file may come out than it is stored, once it is larger than a mebibyte.
    pub ratio: u64,
}

impl Default for UnpackLimits {
    fn default() -> UnpackLimits {
        UnpackLimits {
            entries: 10_000,
            bytes: 8 << 30,
            ratio: 250,
        }
    }
}

/// Files up to this size may have any ratio.
const RATIO_FROM_BYTES: u64 = 1 << 20;

/// Why an archive is refused, in words for the person who uploaded it.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It is larger than the limits allow.
    #[error("the archive {0}")]
    Limit(String),
    /// It is broken, or holds what no model needs.
    #[error("the archive {0}")]
    Unusable(String),
    /// The disk failed.
    #[error("the archive cannot be unpacked")]
    Disk(#[source] io::Error),
}

/// Unpacks the archive at `path` below `target`; returns the names of the files.
///
/// # Errors
/// When the archive is refused or the disk fails; some files may have been written by then.
pub fn unpack(
    path: &Path,
    target: &Path,
    limits: UnpackLimits,
) -> Result<Vec<String>, UnpackError> {
    let file = File::open(path).map_err(UnpackError::Disk)?;
    let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(broken)?;
    if archive.len() > limits.entries {
        return Err(UnpackError::Limit(format!(
            "has {} entries, the limit is {}",
            archive.len(),
            limits.entries
        )));
    }
    let names = check_names(&mut archive)?;
    let mut left = limits.bytes;
    for (number, name) in names.iter().enumerate() {
        let Some(name) = name else { continue };
        let mut entry = archive.by_index(number).map_err(broken)?;
        let target = target.join(name);
        left -= write(&mut entry, name, &target, left, limits)?;
    }
    let names: Vec<String> = names.into_iter().flatten().collect();
    if names.is_empty() {
        return Err(UnpackError::Unusable("holds no file".to_owned()));
    }
    Ok(names)
}

fn broken(error: zip::result::ZipError) -> UnpackError {
    UnpackError::Unusable(format!("is broken: {error}"))
}

/// The name of each entry that is to be written; none for folders and junk.
fn check_names(
    archive: &mut ZipArchive<io::BufReader<File>>,
) -> Result<Vec<Option<String>>, UnpackError> {
    let unusable = |reason: String| Err(UnpackError::Unusable(reason));
    let mut names = Vec::with_capacity(archive.len());
    for number in 0..archive.len() {
        let entry = archive.by_index_raw(number).map_err(broken)?;
        // Some programs on Windows write backslashes.
        let name = entry.name().map_err(broken)?.replace('\\', "/");
        if entry.is_dir() || name.ends_with('/') || is_junk(&name) {
            names.push(None);
            continue;
        }
        if entry.is_symlink() {
            return unusable(format!("holds a link, {name:?}"));
        }
        if entry.encrypted() {
            return unusable(format!("is encrypted ({name:?})"));
        }
        names.push(Some(name));
    }
    let wanted: Vec<String> = names.iter().flatten().cloned().collect();
    let mut seen = HashSet::new();
    for name in &wanted {
        if let Err(refusal) = names::check_file_names(std::slice::from_ref(name)) {
            return unusable(format!("holds a name that is not safe: {refusal}"));
        }
        if !seen.insert(name) {
            return unusable(format!("holds {name:?} twice"));
        }
    }
    if !wanted.is_empty()
        && let Err(refusal) = names::check_file_names(&wanted)
    {
        return unusable(format!("holds names that do not go together: {refusal}"));
    }
    Ok(names)
}

/// What operating systems add to archives.
fn is_junk(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    name.split('/').any(|part| part == "__MACOSX")
        || last.starts_with("._")
        || [".DS_Store", "Thumbs.db", "desktop.ini", ".directory"].contains(&last)
}

/// Writes one entry; returns how many bytes it had.
fn write<R: Read>(
    entry: &mut ZipFile<'_, R>,
    name: &str,
    target: &PathBuf,
    left: u64,
    limits: UnpackLimits,
) -> Result<u64, UnpackError> {
    let stored = entry.compressed_size().max(1);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(UnpackError::Disk)?;
    }
    let mut file = File::create_new(target).map_err(UnpackError::Disk)?;
    let mut buffer = vec![0; 64 << 10];
    let mut written = 0;
    loop {
        let len = match entry.read(&mut buffer) {
            Ok(0) => return Ok(written),
            Ok(len) => len,
            Err(error) => {
                let reason = format!("is broken at {name:?}: {error}");
                return Err(UnpackError::Unusable(reason));
            }
        };
        written += len as u64;
        if written > left {
            return Err(UnpackError::Limit(format!(
                "holds more than {} MiB of files",
                limits.bytes >> 20
            )));
        }
        if written > RATIO_FROM_BYTES && written / stored > limits.ratio {
            return Err(UnpackError::Limit(format!(
                "holds {name:?}, which comes out more than {} times larger than it is stored",
                limits.ratio
            )));
        }
        file.write_all(&buffer[..len]).map_err(UnpackError::Disk)?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;

    fn archive(fill: impl FnOnce(&mut ZipWriter<&File>)) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = ZipWriter::new(file.as_file());
        fill(&mut writer);
        writer.finish().unwrap();
        file
    }

    fn deflated() -> SimpleFileOptions {
        SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
    }

    fn add<W: io::Write + Seek>(writer: &mut ZipWriter<W>, name: &str, bytes: &[u8]) {
        writer.start_file(name, deflated()).unwrap();
        writer.write_all(bytes).unwrap();
    }

    fn unpacked(file: &tempfile::NamedTempFile) -> Result<Vec<String>, UnpackError> {
        let target = tempfile::tempdir().unwrap();
        let limits = UnpackLimits {
            entries: 50,
            bytes: 4 << 20,
            ratio: 100,
        };
        unpack(file.path(), target.path(), limits)
    }

    #[test]
    fn files_come_out_and_junk_stays() {
        let file = archive(|writer| {
            writer.add_directory("chair", deflated()).unwrap();
            add(writer, "chair/chair.obj", b"v 0 0 0");
            add(writer, "chair\\wood.png", b"png");
            add(writer, "__MACOSX/chair/._chair.obj", b"junk");
            add(writer, "chair/.DS_Store", b"junk");
        });
        let target = tempfile::tempdir().unwrap();
        let names = unpack(file.path(), target.path(), UnpackLimits::default()).unwrap();
        assert_eq!(names, ["chair/chair.obj", "chair/wood.png"]);
        assert_eq!(
            fs::read(target.path().join("chair/wood.png")).unwrap(),
            b"png"
        );
        assert!(!target.path().join("__MACOSX").exists());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "../evil.obj",
            "/etc/evil.obj",
            "a/../../evil.obj",
            "a//b.obj",
        ] {
            let file = archive(|writer| add(writer, name, b"x"));
            let error = unpacked(&file).unwrap_err();
            assert!(matches!(error, UnpackError::Unusable(_)), "{name}: {error}");
        }
    }

    #[test]
    fn archives_beyond_the_limits_are_refused() {
        let many = archive(|writer| {
            for number in 0..51 {
                add(writer, &format!("{number}.txt"), b"");
            }
        });
        assert!(matches!(unpacked(&many), Err(UnpackError::Limit(_))));
        let dense = archive(|writer| add(writer, "zeros.bin", &vec![0; 3 << 20]));
        let error = unpacked(&dense).unwrap_err();
        assert!(error.to_string().contains("100 times"), "{error}");
        let noise: Vec<u8> = (0..5_u32 << 20)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let large = archive(|writer| add(writer, "noise.bin", &noise));
        assert!(matches!(unpacked(&large), Err(UnpackError::Limit(_))));
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"PK\x03\x04 not really").unwrap();
        assert!(matches!(unpacked(&file), Err(UnpackError::Unusable(_))));
        let whole = archive(|writer| add(writer, "a.obj", &[7; 10_000]));
        let mut bytes = fs::read(whole.path()).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 0xff;
        fs::write(whole.path(), bytes).unwrap();
        assert!(matches!(unpacked(&whole), Err(UnpackError::Unusable(_))));
        let empty = archive(|_| {});
        assert!(matches!(unpacked(&empty), Err(UnpackError::Unusable(_))));
    }
}
