//! Unpacks zip archives within limits, without junk files, never outside of the target folder.
//!
//! Sizes are counted while unpacking; the sizes in the archive are not trusted. An archive beyond a limit is refused as
//! a whole, and the message names the limit.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use assetfs_formats::junk::is_system_path;
use assetfs_formats::number_text::grouped;
use assetfs_formats::printable::printable_path;

/// Limits of an archive.
#[derive(Debug, Clone, Copy)]
pub struct ZipLimits {
    /// Maximum number of entries, folders and junk included.
    pub entries: usize,
    /// Maximum size after unpacking, in bytes.
    pub unpacked_bytes: u64,
    /// Maximum ratio of unpacked to packed size, for archives above a few megabytes.
    pub ratio: u64,
}

impl Default for ZipLimits {
    fn default() -> Self {
        ZipLimits {
            entries: 10_000,
            unpacked_bytes: 8 << 30,
            ratio: 200,
        }
    }
}

/// Below this unpacked size the ratio is not checked: a blank image packs very well.
const HARMLESS_BYTES: u64 = 16 << 20;

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum ZipError {
    /// The archive cannot be read.
    #[error("{file} {}", self.problem())]
    Damaged { file: String, what: String },
    /// An entry would be written outside of the target folder.
    #[error("{file} {}", self.problem())]
    Outside { file: String, entry: String },
    /// The archive holds entries that are never accepted, such as links.
    #[error("{file} {}", self.problem())]
    Refused { file: String, what: String },
    /// The archive exceeds a limit.
    #[error("{file} {}", self.problem())]
    Limit { file: String, what: String },
    #[error("{}: {source}", shown(path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl ZipError {
    /// The message without the name of the archive: `is not a readable zip archive: …`.
    pub fn problem(&self) -> String {
        match self {
            ZipError::Damaged { what, .. } => format!("is not a readable zip archive: {what}"),
            ZipError::Outside { entry, .. } => format!(
                "holds the entry \"{}\", which leads out of the archive; it is refused",
                printable_path(entry)
            ),
            ZipError::Refused { what, .. } | ZipError::Limit { what, .. } => {
                format!("is refused: {what}")
            }
            ZipError::Io { source, .. } => format!("cannot be read: {source}"),
        }
    }
}

/// The errors of the library speak of the parts of a zip; users know copies that were cut off.
fn in_words(error: zip::result::ZipError) -> String {
    use zip::result::ZipError as Cause;
    match error {
        Cause::InvalidArchive(_) => {
            "its list of files is missing or damaged, as after a copy that was cut off; copy it again"
                .to_owned()
        }
        Cause::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it ends too early; copy it again".to_owned()
        }
        Cause::Io(error) => error.to_string(),
        Cause::UnsupportedArchive(_) | Cause::CompressionMethodNotSupported(_) => {
            "it is packed in a way that is not supported; pack it again without compression or with deflate"
                .to_owned()
        }
        Cause::InvalidPassword => "it is encrypted; send it without a password".to_owned(),
        error => error.to_string(),
    }
}

/// Unpacks `archive` into the folder `into`; returns the files, relative to it with `/` between parts.
///
/// # Errors
/// If the archive is damaged, exceeds a limit or leads out of its folder.
pub fn unpack(archive: &Path, into: &Path, limits: &ZipLimits) -> Result<Vec<String>, ZipError> {
    let name = archive
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let unpacking = Unpacking {
        name,
        into,
        limits,
        written: 0,
    };
    unpacking.run(archive)
}

struct Unpacking<'a> {
    name: String,
    into: &'a Path,
    limits: &'a ZipLimits,
    written: u64,
}

impl Unpacking<'_> {
    fn run(mut self, archive: &Path) -> Result<Vec<String>, ZipError> {
        let file = File::open(archive).map_err(|source| io_error(archive, source))?;
        let packed_bytes = file
            .metadata()
            .map_err(|source| io_error(archive, source))?
            .len();
        let mut zip = zip::ZipArchive::new(io::BufReader::new(file))
            .map_err(|error| self.damaged(in_words(error)))?;
        if zip.len() > self.limits.entries {
            return Err(self.limit(format!(
                "it has {} entries; {} are allowed",
                grouped(zip.len() as u64),
                grouped(self.limits.entries as u64)
            )));
        }
        let mut files = Vec::new();
        for index in 0..zip.len() {
            let entry = zip
                .by_index_raw(index)
                .map_err(|error| self.damaged(in_words(error)))?;
            let entry_name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            let entry_name = entry
                .name()
                .map(|name| name.into_owned())
                .unwrap_or(entry_name);
            let relative = self.inside(&entry_name)?;
            if entry.is_dir() || relative.as_os_str().is_empty() || is_system_path(&relative) {
                continue;
            }
            if entry.is_symlink() {
                return Err(self.refused(format!(
                    "the entry \"{}\" is a symbolic link",
                    printable_path(&entry_name)
                )));
            }
            if entry.encrypted() {
                return Err(self.refused(format!(
                    "the entry \"{}\" is encrypted; send the archive without a password",
                    printable_path(&entry_name)
                )));
            }
            drop(entry);
            let mut entry = zip
                .by_index(index)
                .map_err(|error| self.damaged(in_words(error)))?;
            self.write(&mut entry, &relative, packed_bytes)?;
            files.push(text_of(&relative));
        }
        files.sort();
        Ok(files)
    }

    /// The normalized path of an entry; absolute paths and `..` are refused.
    fn inside(&self, entry: &str) -> Result<PathBuf, ZipError> {
        let plain = entry.replace('\\', "/");
        let is_drive = plain.as_bytes().get(1) == Some(&b':');
        let is_inside =
            |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let path = Path::new(&plain);
        if plain.starts_with('/')
            || is_drive
            || plain.contains('\0')
            || !path.components().all(|part| is_inside(&part))
        {
            return Err(ZipError::Outside {
                file: self.name.clone(),
                entry: entry.to_owned(),
            });
        }
        Ok(path
            .components()
            .filter(|part| *part != Component::CurDir)
            .collect())
    }

    fn write(
        &mut self,
        entry: &mut impl Read,
        relative: &Path,
        packed_bytes: u64,
    ) -> Result<(), ZipError> {
        let path = self.into.join(relative);
        let made = match path.parent() {
            Some(parent) => fs::create_dir_all(parent).and_then(|()| File::create_new(&path)),
            None => File::create_new(&path),
        };
        let mut out = made.map_err(|error| self.not_made(relative, &path, error))?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = entry
                .read(&mut buffer)
                .map_err(|error| self.damaged(format!("{}: {error}", shown(relative))))?;
            if length == 0 {
                return Ok(());
            }
            self.written += length as u64;
            self.check_size(packed_bytes)?;
            out.write_all(&buffer[..length])
                .map_err(|source| io_error(&path, source))?;
        }
    }

    fn check_size(&self, packed_bytes: u64) -> Result<(), ZipError> {
        if self.written > self.limits.unpacked_bytes {
            return Err(self.limit(format!(
                "it unpacks to more than {} bytes",
                grouped(self.limits.unpacked_bytes)
            )));
        }
        let most = packed_bytes.saturating_mul(self.limits.ratio);
        if self.written > HARMLESS_BYTES && self.written > most {
            return Err(self.limit(format!(
                "it unpacks to more than {} times its size",
                grouped(self.limits.ratio)
            )));
        }
        Ok(())
    }

    /// Conflicting or invalid names are errors of the archive, not of the disk.
    fn not_made(&self, relative: &Path, path: &Path, error: io::Error) -> ZipError {
        use io::ErrorKind::{AlreadyExists, InvalidFilename, IsADirectory, NotADirectory};
        match error.kind() {
            AlreadyExists | NotADirectory | IsADirectory => self.refused(format!(
                "the name \"{}\" occurs twice, or names both a file and a folder",
                shown(relative)
            )),
            InvalidFilename => {
                self.refused(format!("the name \"{}\" is too long", shown(relative)))
            }
            _ => io_error(path, error),
        }
    }

    fn refused(&self, what: String) -> ZipError {
        ZipError::Refused {
            file: self.name.clone(),
            what,
        }
    }

    fn damaged(&self, what: String) -> ZipError {
        ZipError::Damaged {
            file: self.name.clone(),
            what,
        }
    }

    fn limit(&self, what: String) -> ZipError {
        ZipError::Limit {
            file: self.name.clone(),
            what,
        }
    }
}

fn io_error(path: &Path, source: io::Error) -> ZipError {
    ZipError::Io {
        path: path.to_owned(),
        source,
    }
}

fn shown(path: &Path) -> String {
    printable_path(&path.to_string_lossy())
}

fn text_of(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
