//! The log after restarts, with torn tails, with damage, and on a failing disk.

use std::fs;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;

const MAGIC: [u8; 8] = *b"testlog\n";

/// Faults of the next disk operations; each flag applies to one call.
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
fn records_keep_their_order_and_survive_compaction() {
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
fn a_torn_tail_is_truncated_and_overwritten() {
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
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn an_interrupted_creation_is_repeated_but_other_files_are_not_touched() {
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
    /// A record whose append failed may reappear only if the truncation failed too and nothing was
    /// written since; every acknowledged record is always present.
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

/// Reads without opening the log, which would truncate it.
fn records_of(path: &Path) -> Vec<Vec<u8>> {
    read(path, MAGIC).unwrap().unwrap().records
}

#[test]
fn a_full_disk_is_reported_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, disk) = failing(&dir.path().join("log"));
    disk.lock().unwrap().write_stops_after = Some(3);
    assert!(log.append(b"record").unwrap_err().is_disk_full());
}
