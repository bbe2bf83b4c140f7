//! The signals of a mount. By default most signals end a process at once, and a drive that ends so leaves a mount point
//! that does not answer. So signals that ask a process to end unmount the drive, and the others have no effect.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::rotated_file;

/// Signals that unmount.
const ENDING: &[i32] = &[libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGXCPU];
/// Signals without effect. With SIGXFSZ among them, a write beyond the file size limit fails with EFBIG instead.
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
    /// SIGHUP reopens the log files. It does not end the drive, because a closed terminal sends it, too.
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

    /// Returns at the next signal that asks the process to end. Until then each SIGHUP reopens the log files.
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
