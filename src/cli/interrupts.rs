//! The signals that end a command.

use std::io;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::exit::Exit;
use super::output;

/// After a signal the process ends at the latest after this time.
const LAST_END: Duration = Duration::from_secs(15);
/// The stack size of the thread of a command, in bytes: the usual size for a main thread.
const STACK: usize = 8 << 20;

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

/// From now on the first Ctrl-C or SIGTERM does not end the process: it cancels `stop`, so that unfinished results are removed.
/// The process ends at the latest [`LAST_END`] later, even if it still waits for a file that does not answer. Commands that call
/// this run in [`beside_main_thread`].
pub(super) fn cancel_at_signal(stop: &CancellationToken) -> io::Result<()> {
    let stop = stop.clone();
    let (send, taken) = mpsc::channel();
    let wait = move || {
        let (mut signals, runtime) = match EndSignals::take() {
            Ok(taken) => taken,
            Err(error) => return send.send(Err(error)),
        };
        send.send(Ok(()))?;
        runtime.block_on(signals.next());
        IS_INTERRUPTED.store(true, Ordering::Relaxed);
        stop.cancel();
        thread::sleep(LAST_END);
        output::failed(None, &Interrupted.into());
        std::process::exit(Exit::Failed.code().into());
    };
    thread::Builder::new().name("signals".into()).spawn(wait)?;
    let ended = || Err(io::Error::other("the thread that takes signals has ended"));
    taken.recv().unwrap_or_else(|_| ended())
}

struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl EndSignals {
    /// Takes the signals from now on. The runtime is one of its own: that of the command stands still while a file does not answer.
    fn take() -> io::Result<(EndSignals, Runtime)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let signals = EndSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        };
        drop(entered);
        Ok((signals, runtime))
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Runs a command in a second thread. The kernel delivers a signal of the process to the main thread, and while that waits for a
/// file of a drive that does not answer, no signal is handled.
pub(super) fn beside_main_thread<T: Send>(command: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK);
        let running = builder.spawn_scoped(scope, command);
        let ended = running.context("cannot start a thread")?.join();
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    })
}
