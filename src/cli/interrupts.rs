//! The signals that end a command.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::exit::Exit;
use super::output;

/// After a signal the process ends at the latest after this time.
const LAST_END: Duration = Duration::from_secs(15);

/// A signal has asked the command to end.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The command was asked to end before it was done.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; the same command goes on with what is left")]
pub(super) struct Interrupted;

/// Fails once a signal has asked the command to end. Work that blocks for long asks it now and then, because nothing else
/// stops it.
pub(super) fn check() -> Result<(), Interrupted> {
    match IS_INTERRUPTED.load(Ordering::Relaxed) {
        true => Err(Interrupted),
        false => Ok(()),
    }
}

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

    /// Cancels `stop` at the first signal, and ends the process some time later, even if a folder of an unreachable file server
    /// does not answer. Must be called in a runtime. Limit: if the main thread itself waits in
    /// such a call, the signal is delivered only when the call returns.
    pub(super) fn cancel(mut self, stop: &CancellationToken) {
        let stop = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
            IS_INTERRUPTED.store(true, Ordering::Relaxed);
            stop.cancel();
            tokio::time::sleep(LAST_END).await;
            output::failed(None, &Interrupted.into());
            std::process::exit(Exit::Failed.code().into());
        });
    }
}
