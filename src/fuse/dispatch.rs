//! How a request is answered. Its future is polled once on the session thread: what is at hand is
//! answered there, without a change of thread. What has to wait moves to the async runtime, and a
//! watch looks after its caller, because the kernel tells a daemon of no interrupt.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fuser::Errno;
use tokio::runtime::Handle;

use crate::drive::DriveResult;

use super::errno::errno;

/// How long a request waits before its caller is looked at, and how often after that.
const WATCH_PERIOD: Duration = Duration::from_millis(50);

/// Sends each request's work to where it can be done.
#[derive(Clone)]
pub(super) struct Dispatcher {
    runtime: Handle,
}

impl Dispatcher {
    pub(super) fn new(runtime: Handle) -> Dispatcher {
        Dispatcher { runtime }
    }

    /// Runs `work` and hands its result to `reply`, at once where nothing has to be waited for.
    /// `tid` is the calling thread; a signal that ends it ends the wait with `EINTR`.
    pub(super) fn answer<T: Send + 'static>(
        &self,
        tid: u32,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
        reply: impl FnOnce(Result<T, Errno>) + Send + 'static,
    ) {
        let mut work = Box::pin(work);
        match self.first_poll(work.as_mut()) {
            Some(Poll::Ready(result)) => reply(result.map_err(|error| errno(&error))),
            Some(Poll::Pending) => {
                self.runtime.spawn(async move {
                    let result = tokio::select! {
                        result = work => result.map_err(|error| errno(&error)),
                        () = caller_ended(tid) => Err(Errno::EINTR),
                    };
                    reply(result);
                });
            }
            None => reply(Err(Errno::EIO)),
        }
    }

    /// Runs what waits for nothing, on this thread; a panic is an I/O error.
    pub(super) fn at_hand<T>(&self, work: impl FnOnce() -> T) -> Result<T, Errno> {
        let _inside = self.runtime.enter();
        catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
            tracing::error!("a request handler panicked");
            Errno::EIO
        })
    }

    /// The first poll, on this thread; `None` after a panic, which must not end the session.
    fn first_poll<T>(&self, work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<Poll<T>> {
        self.at_hand(|| work.poll(&mut Context::from_waker(Waker::noop())))
            .ok()
    }
}

/// Returns once the thread is gone or a signal is ending it. Requests that come with no thread
/// (pid 0: release, requests of the kernel itself) are never interrupted.
async fn caller_ended(tid: u32) {
    if tid == 0 {
        return std::future::pending().await;
    }
    let path = format!("/proc/{tid}/status");
    loop {
        tokio::time::sleep(WATCH_PERIOD).await;
        match std::fs::read_to_string(&path) {
            Ok(status) if is_being_killed(&status) => return,
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// The kernel sets SIGKILL in `SigPnd` of each thread for every signal that ends the process.
fn is_being_killed(status: &str) -> bool {
    const SIGKILL_BIT: u64 = 1 << (libc::SIGKILL - 1);
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigPnd:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & SIGKILL_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DriveError;
    use std::sync::mpsc;

    #[test]
    fn pending_sigkill_is_seen() {
        assert!(is_being_killed(
            "Name:\tcat\nSigPnd:\t0000000000000100\nShdPnd:\t0\n"
        ));
        assert!(!is_being_killed("SigPnd:\t0000000000000002\n"));
        assert!(!is_being_killed(""));
    }

    #[test]
    fn what_is_at_hand_is_answered_on_the_session_thread() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let here = std::thread::current().id();
        Dispatcher::new(runtime.handle().clone()).answer(0, async { Ok(5) }, move |result| {
            send.send((result, std::thread::current().id())).unwrap();
        });
        assert_eq!(receive.recv().unwrap(), (Ok(5), here));
    }

    #[test]
    fn what_waits_is_answered_from_the_runtime() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let work = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Err::<(), _>(DriveError::NotFound)
        };
        Dispatcher::new(runtime.handle().clone())
            .answer(0, work, move |result| send.send(result).unwrap());
        assert_eq!(receive.recv().unwrap(), Err(Errno::ENOENT));
    }

    #[test]
    fn a_panicking_handler_is_an_io_error() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let work = async {
            if std::hint::black_box(true) {
                panic!("on purpose");
            }
            Ok(())
        };
        Dispatcher::new(runtime.handle().clone())
            .answer(0, work, move |result| send.send(result).unwrap());
        assert_eq!(receive.recv().unwrap(), Err(Errno::EIO));
    }

    #[test]
    fn the_end_of_the_caller_ends_the_wait() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let tid = child.id();
        Dispatcher::new(runtime.handle().clone()).answer(
            tid,
            std::future::pending::<DriveResult<()>>(),
            move |result| send.send(result).unwrap(),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(receive.recv().unwrap(), Err(Errno::EINTR));
    }
}
