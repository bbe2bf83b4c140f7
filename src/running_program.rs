//! The file of the program that runs.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Where a program is now that may be this one. Its file may have been removed or exchanged since the start, as an upgrade
/// does; the kernel keeps the one that runs.
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
