//! What tests of a power cut hear: every write, change of length, sync and change of a name, in order. On a
//! thread that records nothing, and outside tests, each of these is nothing at all.

use std::fs::File;
use std::path::Path;

#[cfg(test)]
use std::path::PathBuf;

/// One thing that was asked of the disk.
#[cfg(test)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiskOp {
    /// Bytes were written.
    Write(PathBuf, u64, Vec<u8>),
    /// A file got another length.
    SetLen(PathBuf, u64),
    /// A file was synced.
    Sync(PathBuf),
    /// A name was made for a new, empty file.
    Create(PathBuf),
    /// A name was changed, over any other.
    Rename(PathBuf, PathBuf),
    /// A name was removed.
    Remove(PathBuf),
    /// The names of a folder were synced.
    SyncDir(PathBuf),
}

#[cfg(test)]
thread_local! {
    static TAPE: std::cell::RefCell<Option<Vec<DiskOp>>> = const { std::cell::RefCell::new(None) };
}

/// Begins to record on this thread.
#[cfg(test)]
pub(crate) fn begin() {
    TAPE.set(Some(Vec::new()));
}

/// How much was recorded.
#[cfg(test)]
pub(crate) fn position() -> usize {
    TAPE.with_borrow(|tape| tape.as_ref().map_or(0, Vec::len))
}

/// Ends the recording, and gives it.
#[cfg(test)]
pub(crate) fn end() -> Vec<DiskOp> {
    TAPE.take().unwrap_or_default()
}

#[cfg(test)]
fn note(op: impl FnOnce() -> DiskOp) {
    TAPE.with_borrow_mut(|tape| {
        if let Some(tape) = tape {
            tape.push(op());
        }
    });
}

/// The name that an open file has at this moment.
#[cfg(test)]
fn name_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(link).expect("an open file has a name")
}

/// Bytes were written.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn wrote(file: &File, offset: u64, bytes: &[u8]) {
    #[cfg(test)]
    note(|| DiskOp::Write(name_of(file), offset, bytes.to_vec()));
}

/// A file got another length.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn resized(file: &File, len: u64) {
    #[cfg(test)]
    note(|| DiskOp::SetLen(name_of(file), len));
}

/// A file was synced.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn synced(file: &File) {
    #[cfg(test)]
    note(|| DiskOp::Sync(name_of(file)));
}

/// A file was made.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn created(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::Create(path.to_owned()));
}

/// A file got another name.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn renamed(from: &Path, to: &Path) {
    #[cfg(test)]
    note(|| DiskOp::Rename(from.to_owned(), to.to_owned()));
}

/// A file was removed.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn removed(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::Remove(path.to_owned()));
}

/// The names of a folder were synced.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests listen"))]
pub(crate) fn dir_synced(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::SyncDir(path.to_owned()));
}
