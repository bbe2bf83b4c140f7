//! A log file that is rotated while it is written, so that a process that runs for months does not fill the disk. After
//! [`reopen_all`] it is opened again, for programs like logrotate, which rename it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::wire::Timestamp;

/// A file of this size is rotated.
const MAX_BYTES: u64 = 10_000_000;

/// Incremented by [`reopen_all`].
static REOPENED: AtomicU64 = AtomicU64::new(0);

/// Makes every file of this process be opened again before its next line.
pub(super) fn reopen_all() {
    REOPENED.fetch_add(1, Ordering::Relaxed);
}

/// What happens to a file when it is rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is renamed to `NAME.old`; an older one of this name is removed.
    One,
    /// It is also rotated every day. It gets the day of its last line as a suffix, and is removed after this time.
    For(Duration),
}

#[derive(Debug)]
pub(super) struct RotatedFile {
    path: PathBuf,
    kept: Kept,
    file: File,
    len: u64,
    /// The day of the last line.
    day: String,
    reopened: u64,
}

impl RotatedFile {
    /// Opens a file that only its owner can read, or makes it.
    pub(super) fn open(path: &Path, kept: Kept) -> io::Result<RotatedFile> {
        let reopened = REOPENED.load(Ordering::Relaxed);
        let file = File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)?;
        let status = file.metadata()?;
        Ok(RotatedFile {
            path: path.to_owned(),
            kept,
            file,
            len: status.len(),
            day: day_of(status.modified()?),
            reopened,
        })
    }

    /// Rotates or reopens the file, if that is due, before the next line.
    fn rotate_if_due(&mut self) -> io::Result<()> {
        if self.reopened != REOPENED.load(Ordering::Relaxed) {
            *self = RotatedFile::open(&self.path, self.kept)?;
        }
        let today = day_of(SystemTime::now());
        let is_of_another_day = self.kept != Kept::One && self.day != today;
        if self.len > 0 && (self.len >= MAX_BYTES || is_of_another_day) {
            let rotated = rotate(&self.path, self.kept, &self.day);
            *self = RotatedFile::open(&self.path, self.kept)?;
            rotated?;
        }
        self.day = today;
        Ok(())
    }
}

impl Write for RotatedFile {
    /// Writes one line or more, which stay together.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        // If the rotation fails, the lines go to the old file, and the error is returned after that.
        let prepared = self.rotate_if_due();
        self.file.write_all(lines)?;
        self.len += lines.len() as u64;
        prepared.map(|()| lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn rotate(path: &Path, kept: Kept, day: &str) -> io::Result<()> {
    match kept {
        Kept::One => fs::rename(path, with_suffix(path, "old")),
        Kept::For(time) => {
            let numbered = (1..).map(|number| with_suffix(path, &format!("{day}.{number}")));
            let mut free = numbered.filter(|name| !name.exists());
            fs::rename(path, free.next().expect("some number is free"))?;
            for old in older(path)? {
                let age = old.metadata()?.modified()?.elapsed();
                if age.is_ok_and(|age| age > time) {
                    fs::remove_file(&old)?;
                }
            }
            Ok(())
        }
    }
}

/// The rotated files of a log, the oldest first.
pub(super) fn older(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let mut prefix = name.as_encoded_bytes().to_vec();
    prefix.push(b'.');
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(&prefix) {
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(suffix);
    name.into()
}

/// `2024-05-06`, in UTC.
fn day_of(time: SystemTime) -> String {
    Timestamp::from(time).plain()[..10].to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::FileTimes;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn age(path: &Path, days: u64) {
        let at = SystemTime::now() - Duration::from_secs(days * 86400);
        let file = File::options().write(true).open(path).unwrap();
        file.set_times(FileTimes::new().set_modified(at)).unwrap();
    }

    #[test]
    fn a_file_that_is_full_begins_anew_while_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mount.log");
        fs::write(&path, vec![b'x'; MAX_BYTES as usize - 3]).unwrap();
        let mut log = RotatedFile::open(&path, Kept::One).unwrap();
        for line in ["one\n", "two\n", "three\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\nthree\n");
        assert_eq!(names(dir.path()), ["mount.log", "mount.log.old"]);
    }

    #[test]
    fn a_new_day_begins_a_new_file_and_old_files_are_removed() {
        const DAY: u64 = 86400;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        for (name, days) in [
            ("events.jsonl", 1),
            ("events.jsonl.a", 29),
            ("events.jsonl.b", 31),
            ("events.json", 99),
        ] {
            fs::write(dir.path().join(name), name).unwrap();
            age(&dir.path().join(name), days);
        }
        let mut log = RotatedFile::open(&path, Kept::For(Duration::from_secs(30 * DAY))).unwrap();
        log.write_all(b"new\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
        let found = names(dir.path());
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(!found.contains(&"events.jsonl.b".to_owned()), "{found:?}");
        let rotated = older(&path).unwrap();
        assert_eq!(rotated[0], dir.path().join("events.jsonl.a"));
        assert_eq!(fs::read_to_string(&rotated[1]).unwrap(), "events.jsonl");
    }

    #[test]
    fn a_file_that_was_moved_away_is_made_again_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = RotatedFile::open(&path, Kept::One).unwrap();
        log.write_all(b"one\n").unwrap();
        fs::rename(&path, dir.path().join("moved")).unwrap();
        reopen_all();
        log.write_all(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(
            fs::read_to_string(dir.path().join("moved")).unwrap(),
            "one\n"
        );
    }
}
