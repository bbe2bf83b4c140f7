//! Finds the executable of this process after an upgrade has replaced its file.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// The path to start `program` from. If it is this program and its file was removed or replaced since the start, as by an
/// upgrade, that is `/proc/self/exe`, because the kernel keeps the running file.
pub fn running_program(program: PathBuf) -> PathBuf {
    const REMOVED: &[u8] = b" (deleted)";
    let own = std::env::current_exe().unwrap_or_default();
    let own = own.as_os_str().as_bytes();
    let asked = program.as_os_str().as_bytes();
    match own.strip_suffix(REMOVED) {
        Some(path) if asked == path || asked == own => "/proc/self/exe".into(),
        _ => program,
    }
}
