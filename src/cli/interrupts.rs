//! The signals that end a command.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Ctrl-C and SIGTERM. While this exists, they do not end the process directly, so unfinished results are always
/// removed.
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    pub(super) fn new() -> io::Result<Interrupts> {
        Ok(Interrupts {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Cancels `stop` at the first signal. Must be called in a runtime.
    pub(super) fn cancel(mut self, stop: &CancellationToken) {
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
            stop.cancel();
        });
    }
}
