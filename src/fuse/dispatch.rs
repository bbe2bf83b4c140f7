//! How a request is answered. Where it is answered depends on what it may have to wait for.
//!
//! - At hand ([`Dispatcher::answer`]): its future is polled once on the session thread, without a change of thread. What has to wait
//!   for the network moves to the async runtime.
//! - From the disk ([`Dispatcher::answer_from_disk`]): the same, but only while session threads are left for
//!   everybody else.
//! - Off the session ([`Dispatcher::answer_off_session`]): what syncs, hashes or makes files is polled on threads that may block.
//!
//! A watch looks after the caller of what waits, because the kernel tells a daemon of no interrupt.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fuser::Errno;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};

use crate::drive::{Answering, DriveResult};

use super::errno::errno;

/// How long a request waits before its caller is looked at, and how often after that.
const WATCH_PERIOD: Duration = Duration::from_millis(50);

/// Sends each request's work to where it can be done.
#[derive(Clone)]
pub(super) struct Dispatcher {
    runtime: Handle,
    /// Session threads that may read and write the local disk at this moment.
    disk: Arc<Semaphore>,
}

impl Dispatcher {
    /// Of the session's threads, `disk_threads` may read and write the local disk at the same time.
    pub(super) fn new(runtime: Handle, disk_threads: usize) -> Dispatcher {
        Dispatcher {
            runtime,
            disk: Arc::new(Semaphore::new(disk_threads)),
        }
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

    /// As [`Dispatcher::answer`] for what reads or writes some of the local disk, which may be slow.
    pub(super) fn answer_from_disk<T: Send + 'static>(
        &self,
        tid: u32,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
        reply: impl FnOnce(Result<T, Errno>) + Send + 'static,
    ) {
        match self.disk.try_acquire() {
            Ok(_turn) => self.answer(tid, work, reply),
            Err(_) => self.answer_off_session(tid, work, reply),
        }
    }

    /// Runs `work` on threads that may wait for the disk, and hands its result to `reply`. Work that has begun
    /// with the disk is not cut off, as on any disk; a wait in between is, when the caller ends.
    pub(super) fn answer_off_session<T: Send + 'static>(
        &self,
        tid: u32,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
        reply: impl FnOnce(Result<T, Errno>) + Send + 'static,
    ) {
        let work = Box::pin(work);
        self.runtime
            .spawn(async move { reply(poll_off_session(tid, work).await) });
    }

    /// Writes or reads some of the local disk on this thread; `None` where no session thread can be spared for it.
    pub(super) fn disk_at_hand<T>(&self, work: impl FnOnce() -> T) -> Option<Result<T, Errno>> {
        let _turn = self.disk.try_acquire().ok()?;
        Some(self.at_hand(work))
    }

    /// Runs what waits for nothing, on this thread; a panic is an I/O error.
    fn at_hand<T>(&self, work: impl FnOnce() -> T) -> Result<T, Errno> {
        let _inside = self.runtime.enter();
        let _answering = Answering::begin();
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

/// Wakes the loop that has a request polled.
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

async fn poll_off_session<T: Send + 'static>(
    tid: u32,
    mut work: Pin<Box<impl Future<Output = DriveResult<T>> + Send + 'static>>,
) -> Result<T, Errno> {
    let woken = Arc::new(Woken(Notify::new()));
    let mut ended = pin!(caller_ended(tid));
    loop {
        let waker = Waker::from(Arc::clone(&woken));
        let polling = tokio::task::spawn_blocking(move || {
            let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
            (work, polled)
        });
        work = match polling.await {
            Ok((_, Poll::Ready(result))) => return result.map_err(|error| errno(&error)),
            Ok((work, Poll::Pending)) => work,
            Err(_) => {
                tracing::error!("a request handler panicked");
                return Err(Errno::EIO);
            }
        };
        tokio::select! {
            () = woken.0.notified() => {}
            () = &mut ended => {
                // Dropping it may close files.
                tokio::task::spawn_blocking(move || drop(work));
                return Err(Errno::EINTR);
            }
        }
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
        Dispatcher::new(runtime.handle().clone(), 1).answer(0, async { Ok(5) }, move |result| {
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
        Dispatcher::new(runtime.handle().clone(), 1)
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
        Dispatcher::new(runtime.handle().clone(), 1)
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
        Dispatcher::new(runtime.handle().clone(), 1).answer(
            tid,
            std::future::pending::<DriveResult<()>>(),
            move |result| send.send(result).unwrap(),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(receive.recv().unwrap(), Err(Errno::EINTR));
    }

    #[test]
    fn what_may_block_is_never_run_on_the_session_thread() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dispatcher = Dispatcher::new(runtime.handle().clone(), 1);
        let here = std::thread::current().id();
        let (send, receive) = mpsc::channel();
        let work = async move {
            let first = std::thread::current().id();
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok((first, std::thread::current().id()))
        };
        dispatcher.answer_off_session(0, work, move |result| send.send(result).unwrap());
        let (first, second) = receive.recv().unwrap().unwrap();
        assert!(first != here && second != here);
    }

    #[test]
    fn the_disk_keeps_some_session_threads_free() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dispatcher = Dispatcher::new(runtime.handle().clone(), 1);
        let here = std::thread::current().id();
        let (send, receive) = mpsc::channel();
        let who = || async { Ok(std::thread::current().id()) };
        let also = send.clone();
        dispatcher.answer_from_disk(0, who(), move |result| also.send(result).unwrap());
        assert_eq!(receive.recv().unwrap(), Ok(here));
        let nested = dispatcher.disk_at_hand(|| {
            assert!(dispatcher.disk_at_hand(|| ()).is_none());
            dispatcher.answer_from_disk(0, who(), move |result| send.send(result).unwrap());
        });
        assert_eq!(nested, Some(Ok(())));
        assert_ne!(receive.recv().unwrap(), Ok(here));
    }
}
