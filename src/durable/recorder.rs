//! Records disk operations for tests of power cuts: every write, change of length, sync and change of a name,
//! in order. Does nothing outside tests and on threads that do not record.

use std::fs::File;
use std::path::Path;

#[cfg(test)]
use std::path::PathBuf;

/// One disk operation.
#[cfg(test)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiskOp {
    Write(PathBuf, u64, Vec<u8>),
    SetLen(PathBuf, u64),
    Sync(PathBuf),
    /// A new, empty file.
    Create(PathBuf),
    /// Replaces an existing file.
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncDir(PathBuf),
    /// The whole file system of this folder.
    SyncAll(PathBuf),
}

#[cfg(test)]
thread_local! {
    static TAPE: std::cell::RefCell<Option<Vec<DiskOp>>> = const { std::cell::RefCell::new(None) };
}

/// Starts recording on this thread.
#[cfg(test)]
pub(crate) fn begin() {
    TAPE.set(Some(Vec::new()));
}

/// Number of operations recorded so far.
#[cfg(test)]
pub(crate) fn position() -> usize {
    TAPE.with_borrow(|tape| tape.as_ref().map_or(0, Vec::len))
}

/// Stops recording and returns the operations.
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

/// The current path of an open file.
#[cfg(test)]
fn name_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(link).expect("an open file has a name")
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn wrote(file: &File, offset: u64, bytes: &[u8]) {
    #[cfg(test)]
    note(|| DiskOp::Write(name_of(file), offset, bytes.to_vec()));
}

/// A hole was made, which is like writing zeros.
#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn zeroed(file: &File, offset: u64, len: u64) {
    #[cfg(test)]
    note(|| DiskOp::Write(name_of(file), offset, vec![0; len as usize]));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn resized(file: &File, len: u64) {
    #[cfg(test)]
    note(|| DiskOp::SetLen(name_of(file), len));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn synced(file: &File) {
    #[cfg(test)]
    note(|| DiskOp::Sync(name_of(file)));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn created(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::Create(path.to_owned()));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn renamed(from: &Path, to: &Path) {
    #[cfg(test)]
    note(|| DiskOp::Rename(from.to_owned(), to.to_owned()));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn removed(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::Remove(path.to_owned()));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn dir_synced(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::SyncDir(path.to_owned()));
}

#[cfg_attr(not(test), expect(unused_variables, reason = "only tests record"))]
pub(crate) fn all_synced(path: &Path) {
    #[cfg(test)]
    note(|| DiskOp::SyncAll(path.to_owned()));
}
