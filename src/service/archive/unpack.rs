//! Unpacks an uploaded archive into a folder, under the limits of the engine's own intake.
//!
//! File names are checked like the names of uploaded files. The functions block.

use std::io;
use std::path::Path;

use crate::service::names;
use assetfs_engine::intake::{self, ZipError, ZipLimits};
use assetfs_formats::{self as formats, Kind};

/// Why an archive is refused. The text is shown to the uploader.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It is larger than the limits allow.
    #[error("{0}")]
    Limit(String),
    /// It is damaged, or has an entry that is not allowed: a path outside of the folder, or a link.
    #[error("{0}")]
    Unusable(String),
    /// The disk failed.
    #[error("the archive cannot be unpacked")]
    Disk(#[source] io::Error),
}

impl From<ZipError> for UnpackError {
    fn from(error: ZipError) -> UnpackError {
        match error {
            ZipError::Limit { .. } => UnpackError::Limit(error.to_string()),
            ZipError::Damaged { .. } | ZipError::Outside { .. } | ZipError::Refused { .. } => {
                UnpackError::Unusable(error.to_string())
            }
            ZipError::Io { source, .. } => UnpackError::Disk(source),
        }
    }
}

/// Unpacks the archive at `path` below `target`; returns the names of the files.
///
/// # Errors
/// When the archive is refused or the disk fails; some files may have been written by then.
pub fn unpack(path: &Path, target: &Path, limits: &ZipLimits) -> Result<Vec<String>, UnpackError> {
    let mut names = intake::unpack(path, target, limits)?;
    let found = names.len();
    // An archive inside the archive is not unpacked.
    names.retain(|name| !formats::of_name(name).is_some_and(|it| it.kind == Kind::Archive));
    if names.is_empty() && found > 0 {
        let reason = "archives in archives are not read; send the files themselves or one zip";
        return Err(UnpackError::Unusable(reason.to_owned()));
    }
    if names.is_empty() {
        return Err(UnpackError::Unusable(
            "the archive holds no file".to_owned(),
        ));
    }
    if let Err(refusal) = names::check_file_names(&names) {
        let reason = format!("the archive holds names that cannot be used: {refusal}");
        return Err(UnpackError::Unusable(reason));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{self, Seek, Write as _};

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
        let limits = ZipLimits {
            entries: 50,
            unpacked_bytes: 20 << 20,
            ratio: 100,
        };
        unpack(file.path(), target.path(), &limits)
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
        let names = unpack(file.path(), target.path(), &ZipLimits::default()).unwrap();
        assert_eq!(names, ["chair/chair.obj", "chair/wood.png"]);
        assert_eq!(
            fs::read(target.path().join("chair/wood.png")).unwrap(),
            b"png"
        );
        assert!(!target.path().join("__MACOSX").exists());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in ["../evil.obj", "/etc/evil.obj", "a/../../evil.obj"] {
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
        let dense = archive(|writer| add(writer, "zeros.bin", &vec![0; 18 << 20]));
        let error = unpacked(&dense).unwrap_err();
        assert!(error.to_string().contains("100 times"), "{error}");
        let noise: Vec<u8> = (0..21_u32 << 20)
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
