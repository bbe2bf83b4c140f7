//! What the drive does with a model, shown on the terminal while the program waits for it.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use crate::cli::mounted::{self, POLL_PERIOD};
use crate::cli::progress::Progress;
use crate::fuse::shell_quoted;

/// Shows the state of a model or a job while `work` runs. The caller reports how it ended.
pub(super) fn while_shown<T>(progress: &Progress, path: &Path, work: impl FnOnce() -> T) -> T {
    if !progress.is_watched() {
        return work();
    }
    let (working, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut task = progress.task(shell_quoted(path));
            while over.recv_timeout(POLL_PERIOD) == Err(RecvTimeoutError::Timeout) {
                if let Ok(Some(report)) = mounted::item_report(path) {
                    task.show(&report.status);
                }
            }
            task.fail();
        });
        let made = work();
        drop(working);
        made
    })
}
