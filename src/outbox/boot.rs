//! Detects whether the machine was rebooted since the state was last opened.
//!
//! A process that is killed loses nothing of what it wrote to a file. A power cut loses what was not synced, and a disk that
//! reports a sync too early loses more. So only without a new start the journal is known to have every record that was
//! written to it.

use std::fs;
use std::path::Path;

use crate::durable::write_atomic;

/// The file with the id of the last start.
const FILE: &str = "boot";

/// Notes that the state below `dir` is open. True if it was opened before, and the machine has not started again since.
pub fn note(dir: &Path) -> bool {
    let Ok(now) = fs::read("/proc/sys/kernel/random/boot_id") else {
        return false;
    };
    let file = dir.join(FILE);
    if fs::read(&file).is_ok_and(|noted| noted == now) {
        return true;
    }
    // Without the note the next open assumes a new start, which only keeps more files.
    if let Err(error) = write_atomic(file, &now) {
        tracing::debug!(%error, "the start of the machine could not be noted");
    }
    false
}
