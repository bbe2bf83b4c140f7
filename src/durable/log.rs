//! A file that only grows: records that are durable when `append` returns.
//!
//! Invariant: the file is a run of good frames up to `good_len`, and what lies behind it is cut off
//! before anything else is written. A failed append therefore leaves no trace, now or after a
//! restart. One process at a time; the lock on the folder is the caller's.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tracing::warn;

use super::file::write_atomic;
use super::log_format::{
    self, DecodeError, Decoded, HEADER_LEN, MAX_FRAME_BODY_LEN, TornTail, VERSION,
};
use super::{DurableError, SharedLog, recorder};

/// What the log asks of its file; tests put a failing disk here.
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
        File::sync_data(self)?;
        recorder::synced(self);
        Ok(())
    }
}

/// An append-only log of checksummed records.
#[derive(Debug)]
pub struct AppendLog {
    path: PathBuf,
    magic: [u8; 8],
    salt: u64,
    file: Box<dyn LogFile>,
    good_len: u64,
    /// Something may lie behind `good_len`: a failed append that could not be cut off yet.
    dirty_tail: bool,
    torn: Option<TornTail>,
}

impl AppendLog {
    /// Opens the log, or makes it, and gives the records that it holds.
    ///
    /// What a crash cut short at the end is cut off and reported by [`AppendLog::torn_tail`];
    /// damage before good records is an error, and nothing is changed.
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
            torn: decoded.torn,
        };
        if let Some(torn) = decoded.torn {
            warn!(
                path = %path.display(),
                offset = torn.offset,
                len = torn.len_bytes,
                "cut the end of a log that a crash had left half written"
            );
            log.cut_tail()
                .map_err(DurableError::io("cut the torn end of", path))?;
        }
        Ok((log, decoded.records))
    }

    /// Where the log is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was cut off when the log was opened.
    pub fn torn_tail(&self) -> Option<TornTail> {
        self.torn
    }

    /// Bytes of the log on disk, to judge when [`AppendLog::replace_all`] pays.
    pub fn len_bytes(&self) -> u64 {
        self.good_len
    }

    /// Adds one record; it is durable on return. After an error it is not in the log.
    pub fn append(&mut self, record: &[u8]) -> Result<(), DurableError> {
        self.append_all(&[record])
    }

    /// Adds the records with one sync; after a crash or an error either all are there or none.
    pub fn append_all<R: AsRef<[u8]>>(&mut self, records: &[R]) -> Result<(), DurableError> {
        if records.is_empty() {
            return Ok(());
        }
        let frame = encode(&self.path, self.salt, self.good_len, records)?;
        self.write_frame(&frame)
            .map_err(DurableError::io("append to", &self.path))
    }

    /// Puts these records in place of all that the log holds; a crash leaves the old or the new.
    pub fn replace_all<R: AsRef<[u8]>>(&mut self, records: &[R]) -> Result<(), DurableError> {
        let torn = self.torn;
        *self = create(&self.path, self.magic, records)?;
        self.torn = torn;
        Ok(())
    }

    /// Hands the log to many threads, whose appends then share their syncs.
    pub fn into_shared(self) -> SharedLog {
        SharedLog::new(self)
    }

    fn write_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        if self.dirty_tail {
            self.cut_tail()?;
        }
        self.dirty_tail = true;
        let written = self
            .file
            .write_all_at(frame, self.good_len)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // When this fails too, the next append tries it again before it writes.
            if let Err(uncut) = self.cut_tail() {
                warn!(path = %self.path.display(), error = %uncut, "could not cut off a failed append yet");
            }
            return Err(error);
        }
        self.dirty_tail = false;
        self.good_len += frame.len() as u64;
        Ok(())
    }

    /// The cut itself has to be durable: otherwise the failed record could be back after a crash.
    fn cut_tail(&mut self) -> io::Result<()> {
        self.file.set_len(self.good_len)?;
        self.file.sync_data()?;
        self.dirty_tail = false;
        Ok(())
    }
}

/// Reads and understands the file; `None` when there is no log in it yet.
fn read(path: &Path, magic: [u8; 8]) -> Result<Option<Decoded>, DurableError> {
    let mut bytes = Vec::new();
    match open_file(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DurableError::io("read", path)(error)),
    }
    let path = path.to_path_buf();
    match log_format::decode(magic, &bytes) {
        Ok(decoded) => Ok(Some(decoded)),
        Err(DecodeError::Unborn) => Ok(None),
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

/// Makes a new log with these records in the place of whatever is there.
fn create<R: AsRef<[u8]>>(
    path: &Path,
    magic: [u8; 8],
    records: &[R],
) -> Result<AppendLog, DurableError> {
    let salt = rand::random();
    let mut bytes = log_format::encode_header(magic, salt).to_vec();
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
        torn: None,
    })
}

fn encode<R: AsRef<[u8]>>(
    path: &Path,
    salt: u64,
    offset: u64,
    records: &[R],
) -> Result<Vec<u8>, DurableError> {
    log_format::encode_frame(salt, offset, records).ok_or_else(|| DurableError::RecordTooLarge {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;

    const MAGIC: [u8; 8] = *b"testlog\n";

    /// How the disk answers the next calls; each flag is used up by one call.
    #[derive(Debug, Clone, Copy, Default)]
    struct Faults {
        write_stops_after: Option<usize>,
        sync_fails: bool,
        cut_fails: bool,
    }

    #[derive(Debug)]
    struct FailingDisk {
        file: File,
        faults: Arc<Mutex<Faults>>,
    }

    impl LogFile for FailingDisk {
        fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
            match self.faults.lock().unwrap().write_stops_after.take() {
                Some(len) => {
                    let part = &bytes[..len.min(bytes.len())];
                    LogFile::write_all_at(&mut self.file, part, offset)?;
                    Err(io::Error::from_raw_os_error(libc::ENOSPC))
                }
                None => LogFile::write_all_at(&mut self.file, bytes, offset),
            }
        }

        fn set_len(&mut self, len: u64) -> io::Result<()> {
            if std::mem::take(&mut self.faults.lock().unwrap().cut_fails) {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            LogFile::set_len(&mut self.file, len)
        }

        fn sync_data(&mut self) -> io::Result<()> {
            if std::mem::take(&mut self.faults.lock().unwrap().sync_fails) {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            Ok(())
        }
    }

    fn failing(path: &Path) -> (AppendLog, Arc<Mutex<Faults>>) {
        let (mut log, _) = AppendLog::open(path, MAGIC).unwrap();
        let faults = Arc::new(Mutex::new(Faults::default()));
        log.file = Box::new(FailingDisk {
            file: open_file(path).unwrap(),
            faults: faults.clone(),
        });
        (log, faults)
    }

    fn records(path: &Path) -> Vec<Vec<u8>> {
        AppendLog::open(path, MAGIC).unwrap().1
    }

    #[test]
    fn records_come_back_in_order_and_survive_compaction() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (mut log, found) = AppendLog::open(&path, MAGIC).unwrap();
        assert!(found.is_empty());
        log.append(b"one").unwrap();
        log.append_all(&[b"two".as_slice(), b"", b"three"]).unwrap();
        drop(log);
        let (mut log, found) = AppendLog::open(&path, MAGIC).unwrap();
        assert_eq!(found, [b"one".as_slice(), b"two", b"", b"three"]);
        log.replace_all(&[b"three"]).unwrap();
        log.append(b"four").unwrap();
        assert_eq!(log.len_bytes(), fs::metadata(&path).unwrap().len());
        assert_eq!(records(&path), [b"three".as_slice(), b"four"]);
        log.replace_all(&[] as &[&[u8]]).unwrap();
        assert!(records(&path).is_empty());
    }

    #[test]
    fn a_torn_tail_is_cut_reported_and_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (mut log, _) = AppendLog::open(&path, MAGIC).unwrap();
        log.append(b"kept").unwrap();
        let good = log.len_bytes();
        log.append(b"half of this is lost").unwrap();
        drop(log);
        open_file(&path).unwrap().set_len(good + 9).unwrap();
        let (mut log, found) = AppendLog::open(&path, MAGIC).unwrap();
        assert_eq!(found, [b"kept"]);
        let torn = TornTail {
            offset: good,
            len_bytes: 9,
        };
        assert_eq!(log.torn_tail(), Some(torn));
        assert_eq!(fs::metadata(&path).unwrap().len(), good);
        log.append(b"after").unwrap();
        assert_eq!(records(&path), [b"kept".as_slice(), b"after"]);
    }

    #[test]
    fn damage_before_good_records_is_an_error_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (mut log, _) = AppendLog::open(&path, MAGIC).unwrap();
        log.append(b"damaged").unwrap();
        log.append(b"good").unwrap();
        drop(log);
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEADER_LEN + 20] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = AppendLog::open(&path, MAGIC).unwrap_err();
        assert!(
            matches!(error, DurableError::LogDamaged { offset: 32, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("nothing was dropped"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_creation_cut_short_is_begun_again_but_other_files_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        for cut in [&b""[..], b"test", b"testlog\n\x01\0\0\0"] {
            fs::write(&path, cut).unwrap();
            assert!(records(&path).is_empty());
        }
        fs::write(&path, b"a letter to somebody, quite long, and not a log").unwrap();
        let error = AppendLog::open(&path, MAGIC).unwrap_err();
        assert!(matches!(error, DurableError::NotALog { .. }), "{error}");
        assert!(fs::read(&path).unwrap().starts_with(b"a letter"));
    }

    #[test]
    fn a_log_that_is_a_symbolic_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("target"), b"").unwrap();
        let path = dir.path().join("log");
        std::os::unix::fs::symlink(dir.path().join("target"), &path).unwrap();
        assert!(AppendLog::open(&path, MAGIC).is_err());
    }

    fn faults() -> impl Strategy<Value = Faults> {
        (
            prop::option::weighted(0.3, 0_usize..60),
            prop::bool::weighted(0.2),
            prop::bool::weighted(0.2),
        )
            .prop_map(|(write_stops_after, sync_fails, cut_fails)| Faults {
                write_stops_after,
                sync_fails,
                cut_fails,
            })
    }

    proptest! {
        /// A record whose append failed can be back only when not even the cut was possible and
        /// nothing was written since; everything acknowledged is always there.
        #[test]
        fn a_failing_disk_loses_nothing_and_leaves_the_log_usable(
            steps in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..30), faults()), 1..20)
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("log");
            let (mut log, disk) = failing(&path);
            let mut acknowledged: Vec<Vec<u8>> = Vec::new();
            for (record, faults) in steps {
                *disk.lock().unwrap() = faults;
                let appended = log.append(&record);
                *disk.lock().unwrap() = Faults::default();
                let on_disk = records_of(&path);
                match appended {
                    Ok(()) => {
                        acknowledged.push(record);
                        prop_assert_eq!(&on_disk, &acknowledged);
                    }
                    Err(error) => {
                        prop_assert!(error.io_error().is_some());
                        prop_assert!(on_disk.starts_with(&acknowledged));
                        prop_assert!(log.dirty_tail || on_disk == acknowledged);
                    }
                }
            }
            log.append(b"still usable").unwrap();
            acknowledged.push(b"still usable".to_vec());
            prop_assert_eq!(records_of(&path), acknowledged);
        }
    }

    /// Reads without opening, which would cut.
    fn records_of(path: &Path) -> Vec<Vec<u8>> {
        read(path, MAGIC).unwrap().unwrap().records
    }

    #[test]
    fn a_full_disk_is_named_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let (mut log, disk) = failing(&dir.path().join("log"));
        disk.lock().unwrap().write_stops_after = Some(3);
        assert!(log.append(b"record").unwrap_err().is_disk_full());
    }
}
