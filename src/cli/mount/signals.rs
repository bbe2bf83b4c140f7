//! The signals of a mount. Most signals end a process by default; a drive that ends so leaves a mount point that does not
//! answer. So the ones that ask for an end unmount, and the others have no effect.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::rotated_file;

/// Signals that unmount.
const ENDING: &[i32] = &[libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGXCPU];
/// Signals without effect. A write over the limit of file sizes fails
/// with EFBIG (SIGXFSZ).
const WITHOUT_EFFECT: &[i32] = &[
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXFSZ,
];

/// Takes the signals while it exists.
pub(super) struct Signals {
    ending: Vec<Signal>,
    /// A closed terminal does not end a drive: the log files are opened again.
    hangup: Signal,
    _without_effect: Vec<Signal>,
}

impl Signals {
    pub(super) fn take() -> io::Result<Signals> {
        let all = |numbers: &[i32]| {
            let taken = numbers
                .iter()
                .map(|number| signal(SignalKind::from_raw(*number)));
            taken.collect::<io::Result<Vec<Signal>>>()
        };
        Ok(Signals {
            ending: all(ENDING)?,
            hangup: signal(SignalKind::hangup())?,
            _without_effect: all(WITHOUT_EFFECT)?,
        })
    }

    /// Returns at the next signal that asks for an end. SIGHUP has its effect meanwhile.
    pub(super) async fn end(&mut self) {
        poll_fn(|cx| {
            while self.hangup.poll_recv(cx).is_ready() {
                rotated_file::reopen_all();
            }
            let mut signals = self.ending.iter_mut();
            match signals.any(|signal| signal.poll_recv(cx).is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
