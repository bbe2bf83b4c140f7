//! An append-only log; records are durable when `append` returns.
//!
//! The invariant: the file consists of valid frames up to `good_len`, and everything behind it is truncated
//! before the next write. So a failed append leaves no trace, neither now nor after a restart. Only one
//! process may open the log; the caller locks the folder.

mod format;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tracing::warn;

use super::error::DurableError;
use super::file::write_atomic;
use super::{answering, recorder};
use format::{DecodeError, Decoded, HEADER_LEN, MAX_FRAME_BODY_LEN, VERSION};

/// The file operations of the log; tests replace them by a failing disk.
pub(super) trait LogFile: std::fmt::Debug + Send {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn set_len(&mut self, len: u64) -> io::Result<()>;
    fn sync_data(&mut self) -> io::Result<()>;
}

impl LogFile for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)?;
        recorder::wrote(self, offset, bytes);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        File::set_len(self, len)?;
        recorder::resized(self, len);
        Ok(())
    }

    fn sync_data(&mut self) -> io::Result<()> {
        answering::check_may_block("the sync of a log");
        File::sync_data(self)?;
        recorder::synced(self);
        Ok(())
    }
}

/// The readable records of a damaged log.
#[derive(Debug)]
pub struct Salvaged {
    /// In order; records between them may be missing.
    pub records: Vec<Vec<u8>>,
    /// Number of bytes that are not part of a good record.
    pub lost_bytes: u64,
}

/// An append-only log of checksummed records.
#[derive(Debug)]
pub struct AppendLog {
    path: PathBuf,
    magic: [u8; 8],
    salt: u64,
    file: Box<dyn LogFile>,
    good_len: u64,
    /// There may be bytes behind `good_len` from a failed append that could not be truncated yet.
    dirty_tail: bool,
}

impl AppendLog {
    /// Opens or creates the log and returns its records.
    ///
    /// An incomplete write at the end, left by a crash, is truncated. Damage before good
    /// records is an error, and the file is not changed.
    pub fn open(
        path: impl AsRef<Path>,
        magic: [u8; 8],
    ) -> Result<(AppendLog, Vec<Vec<u8>>), DurableError> {
        let path = path.as_ref();
        let Some(decoded) = read(path, magic)? else {
            return Ok((create(path, magic, &[] as &[&[u8]])?, Vec::new()));
        };
        let mut log = AppendLog {
            path: path.to_path_buf(),
            magic,
            salt: decoded.salt,
            file: Box::new(open_file(path).map_err(DurableError::io("open", path))?),
            good_len: decoded.good_len,
            dirty_tail: decoded.torn.is_some(),
        };
        if let Some(torn) = decoded.torn {
            warn!(
                path = %path.display(),
                offset = torn.offset,
                len = torn.len_bytes,
                "truncated the end of a log that a crash had left incomplete"
            );
            log.truncate_tail()
                .map_err(DurableError::io("truncate the torn end of", path))?;
        }
        Ok((log, decoded.records))
    }

    /// Reads all good records of a damaged log. Does not change the file.
    pub fn salvage(path: impl AsRef<Path>) -> Result<Salvaged, DurableError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(DurableError::io("read", path))?;
        let (records, lost_bytes) = format::salvage(&bytes);
        Ok(Salvaged {
            records,
            lost_bytes,
        })
    }

    /// Creates a log with these records and replaces an existing file; a crash leaves the old or the new one.
    pub fn create_over<R: AsRef<[u8]>>(
        path: impl AsRef<Path>,
        magic: [u8; 8],
        records: &[R],
    ) -> Result<AppendLog, DurableError> {
        create(path.as_ref(), magic, records)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the log on disk; callers use it to decide when to compact by [`AppendLog::replace_all`].
    pub fn len_bytes(&self) -> u64 {
        self.good_len
    }

    /// Appends one record. It is durable on return; after an error it is not in the log.
    pub fn append(&mut self, record: &[u8]) -> Result<(), DurableError> {
        self.append_all(&[record])
    }

    /// Appends the records with one sync; after a crash or an error either all are in the log or none.
    pub fn append_all<R: AsRef<[u8]>>(&mut self, records: &[R]) -> Result<(), DurableError> {
        if records.is_empty() {
            return Ok(());
        }
        let frame = encode(&self.path, self.salt, self.good_len, records)?;
        self.write_frame(&frame)
            .map_err(DurableError::io("append to", &self.path))
    }

    /// Replaces all records; a crash leaves the old or the new ones.
    pub fn replace_all<R: AsRef<[u8]>>(&mut self, records: &[R]) -> Result<(), DurableError> {
        *self = create(&self.path, self.magic, records)?;
        Ok(())
    }

    fn write_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        if self.dirty_tail {
            self.truncate_tail()?;
        }
        self.dirty_tail = true;
        let written = self
            .file
            .write_all_at(frame, self.good_len)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If this fails too, the next append retries it before it writes.
            if let Err(uncut) = self.truncate_tail() {
                warn!(path = %self.path.display(), error = %uncut, "could not truncate a failed append yet");
            }
            return Err(error);
        }
        self.dirty_tail = false;
        self.good_len += frame.len() as u64;
        Ok(())
    }

    /// The truncation must be durable: otherwise the failed record could reappear after a crash.
    fn truncate_tail(&mut self) -> io::Result<()> {
        self.file.set_len(self.good_len)?;
        self.file.sync_data()?;
        self.dirty_tail = false;
        Ok(())
    }
}

/// Reads and decodes the file; `None` if it contains no log yet.
fn read(path: &Path, magic: [u8; 8]) -> Result<Option<Decoded>, DurableError> {
    let mut bytes = Vec::new();
    match open_file(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DurableError::io("read", path)(error)),
    }
    let path = path.to_path_buf();
    match format::decode(magic, &bytes) {
        Ok(decoded) => Ok(Some(decoded)),
        Err(DecodeError::Incomplete) => Ok(None),
        Err(DecodeError::NotALog) => Err(DurableError::NotALog { path }),
        Err(DecodeError::Version(found)) => Err(DurableError::LogVersion {
            path,
            found,
            known: VERSION,
        }),
        Err(DecodeError::Damaged { offset, next_good }) => Err(DurableError::LogDamaged {
            path,
            offset,
            next_good,
        }),
    }
}

/// Creates a new log with these records; replaces an existing file.
fn create<R: AsRef<[u8]>>(
    path: &Path,
    magic: [u8; 8],
    records: &[R],
) -> Result<AppendLog, DurableError> {
    let salt = rand::random();
    let mut bytes = format::encode_header(magic, salt).to_vec();
    if !records.is_empty() {
        bytes.extend(encode(path, salt, HEADER_LEN as u64, records)?);
    }
    write_atomic(path, &bytes)?;
    Ok(AppendLog {
        path: path.to_path_buf(),
        magic,
        salt,
        file: Box::new(open_file(path).map_err(DurableError::io("open", path))?),
        good_len: bytes.len() as u64,
        dirty_tail: false,
    })
}

fn encode<R: AsRef<[u8]>>(
    path: &Path,
    salt: u64,
    offset: u64,
    records: &[R],
) -> Result<Vec<u8>, DurableError> {
    format::encode_frame(salt, offset, records).ok_or_else(|| DurableError::RecordTooLarge {
        path: path.to_path_buf(),
        len: records
            .iter()
            .map(|record| record.as_ref().len())
            .fold(0, usize::saturating_add)
            .max(MAX_FRAME_BODY_LEN),
    })
}

fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
}
