//! Runs requests on threads according to what they may wait for.
//!
//! While a request waits, a task watches the calling thread, because fuser does not deliver the kernel's
//! interrupts.

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
use super::unanswered::{KernelCall, Unanswered};

/// Interval of checking whether the caller of a waiting request is being killed.
const WATCH_PERIOD: Duration = Duration::from_millis(50);

/// What a request may wait for, which decides the threads that it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// Memory or the network: polled once on the session thread, which answers a ready result without a thread
    /// switch; a pending future moves to the async runtime.
    Memory,
    /// The local disk: the same, if enough session threads are free for other requests; else as `Blocking`.
    Disk,
    /// Syncs, hashes or new files: polled on blocking threads only.
    Blocking,
    /// Events that may never come: as `Memory`, but every signal that the caller handles ends the wait, not only
    /// one that kills it.
    Stream,
}

/// Runs requests on the session thread or on the runtime.
#[derive(Clone)]
pub(super) struct Dispatcher {
    runtime: Handle,
    /// Session threads that may use the local disk.
    disk: Arc<Semaphore>,
    unanswered: Arc<Unanswered>,
}

impl Dispatcher {
    /// `disk_threads` is the number of session threads that may use the local disk at the same time.
    pub(super) fn new(runtime: Handle, disk_threads: usize) -> Dispatcher {
        Dispatcher {
            runtime,
            disk: Arc::new(Semaphore::new(disk_threads)),
            unanswered: Arc::default(),
        }
    }

    /// The requests that wait for an answer.
    pub(super) fn unanswered(&self) -> &Arc<Unanswered> {
        &self.unanswered
    }

    /// Runs `work` and passes its result to `reply`. A signal that kills the calling thread ends the wait with `EINTR`. On
    /// blocking threads only a wait between two polls is cancelled; a running disk
    /// operation is not.
    pub(super) fn answer<T: Send + 'static>(
        &self,
        route: Route,
        call: KernelCall,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
        reply: impl FnOnce(Result<T, Errno>) + Send + 'static,
    ) {
        let _turn = match route {
            Route::Memory | Route::Stream => None,
            Route::Disk => match self.disk.try_acquire() {
                Ok(turn) => Some(turn),
                Err(_) => return self.answer_off_session(call, work, reply),
            },
            Route::Blocking => return self.answer_off_session(call, work, reply),
        };
        let mut work = Box::pin(work);
        match self.first_poll(work.as_mut()) {
            Some(Poll::Ready(result)) => reply(result.map_err(|error| errno(&error))),
            Some(Poll::Pending) => {
                let (ends, waits): (fn(&str) -> bool, _) = match route {
                    // It may wait for ever.
                    Route::Stream => (has_a_signal, None),
                    Route::Memory | Route::Disk | Route::Blocking => {
                        (is_being_killed, Some(self.unanswered.begin(call)))
                    }
                };
                self.runtime.spawn(async move {
                    let result = tokio::select! {
                        result = work => result.map_err(|error| errno(&error)),
                        () = caller_ended(call.caller.pid, ends) => Err(Errno::EINTR),
                    };
                    reply(result);
                    drop(waits);
                });
            }
            None => reply(Err(Errno::EIO)),
        }
    }

    /// Polls on a blocking thread, which answers a ready result itself: a switch to another thread takes as long as a small
    /// request.
    fn answer_off_session<T: Send + 'static>(
        &self,
        call: KernelCall,
        work: impl Future<Output = DriveResult<T>> + Send + 'static,
        reply: impl FnOnce(Result<T, Errno>) + Send + 'static,
    ) {
        let mut work: Work<T> = Box::pin(work);
        let runtime = self.runtime.clone();
        let waits = self.unanswered.begin(call);
        let reply = move |result| {
            reply(result);
            drop(waits);
        };
        self.runtime.spawn_blocking(move || {
            let woken = Arc::new(RequestWaker(Notify::new()));
            match poll_here(&mut work, &woken) {
                Poll::Ready(result) => reply(result),
                Poll::Pending => {
                    runtime.spawn(async move {
                        reply(wait_off_session(call.caller.pid, work, woken).await)
                    });
                }
            }
        });
    }

    /// Runs disk work on this thread; `None` if no session thread is free for it.
    pub(super) fn try_disk_now<T>(&self, work: impl FnOnce() -> T) -> Option<Result<T, Errno>> {
        let _turn = self.disk.try_acquire().ok()?;
        Some(self.run_now(work))
    }

    /// Runs non-blocking work on this thread; a panic becomes `EIO`.
    fn run_now<T>(&self, work: impl FnOnce() -> T) -> Result<T, Errno> {
        let _inside = self.runtime.enter();
        let _answering = Answering::begin();
        caught(work)
    }

    /// Polls once on this thread; `None` after a panic, which must not end the session.
    fn first_poll<T>(&self, work: Pin<&mut (impl Future<Output = T> + ?Sized)>) -> Option<Poll<T>> {
        self.run_now(|| work.poll(&mut Context::from_waker(Waker::noop())))
            .ok()
    }
}

/// A request that is being handled.
type Work<T> = Pin<Box<dyn Future<Output = DriveResult<T>> + Send>>;

/// Wakes the loop that polls a request.
struct RequestWaker(Notify);

impl Wake for RequestWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// A panic becomes `EIO`.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Errno> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        tracing::error!("a request handler panicked");
        Errno::EIO
    })
}

/// Polls on this thread; a panic becomes `EIO`.
fn poll_here<T>(work: &mut Work<T>, woken: &Arc<RequestWaker>) -> Poll<Result<T, Errno>> {
    let waker = Waker::from(Arc::clone(woken));
    match caught(|| work.as_mut().poll(&mut Context::from_waker(&waker))) {
        Ok(polled) => polled.map(|result| result.map_err(|error| errno(&error))),
        Err(errno) => Poll::Ready(Err(errno)),
    }
}

/// Polls `work` on a blocking thread each time it is woken, until it has a result or its caller is being killed.
async fn wait_off_session<T: Send + 'static>(
    tid: u32,
    mut work: Work<T>,
    woken: Arc<RequestWaker>,
) -> Result<T, Errno> {
    let mut ended = pin!(caller_ended(tid, is_being_killed));
    loop {
        tokio::select! {
            () = woken.0.notified() => {}
            () = &mut ended => {
                // Dropping the future may close files.
                tokio::task::spawn_blocking(move || drop(work));
                return Err(Errno::EINTR);
            }
        }
        let polled_by = Arc::clone(&woken);
        let polling = tokio::task::spawn_blocking(move || {
            let polled = poll_here(&mut work, &polled_by);
            (work, polled)
        });
        work = match polling.await {
            Ok((_, Poll::Ready(result))) => return result,
            Ok((work, Poll::Pending)) => work,
            // The runtime is being shut down.
            Err(_) => return Err(Errno::EIO),
        };
    }
}

/// Returns when the thread has ended, or when its `/proc/PID/status` says that the wait ends. Requests without a
/// thread (pid 0: release, and requests of the kernel itself) are never interrupted.
async fn caller_ended(tid: u32, ends: fn(&str) -> bool) {
    if tid == 0 {
        return std::future::pending().await;
    }
    let path = format!("/proc/{tid}/status");
    loop {
        tokio::time::sleep(WATCH_PERIOD).await;
        match std::fs::read_to_string(&path) {
            Ok(status) if ends(&status) => return,
            Ok(_) => {}
            Err(error) if has_ended(&error) => return,
            // Other errors, such as too many open files, say nothing about the caller.
            Err(_) => {}
        }
    }
}

/// True if there is no such thread any more.
fn has_ended(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

/// True for a thread that is being killed, by its `/proc/PID/status`: the kernel sets SIGKILL in `SigPnd` of every
/// thread for each fatal signal.
pub(super) fn is_being_killed(status: &str) -> bool {
    const SIGKILL_BIT: u64 = 1 << (libc::SIGKILL - 1);
    signals(status, "SigPnd:") & SIGKILL_BIT != 0
}

/// True for a thread with a signal that it would handle if it did not wait in the kernel.
fn has_a_signal(status: &str) -> bool {
    let pending = signals(status, "SigPnd:") | signals(status, "ShdPnd:");
    pending & !signals(status, "SigBlk:") != 0
}

/// A set of signals in `/proc/PID/status`.
fn signals(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::{Caller, DriveError, Ino};
    use std::sync::mpsc;

    fn call_of(tid: u32) -> KernelCall {
        KernelCall {
            name: "read",
            ino: Ino::ROOT,
            caller: Caller {
                pid: tid,
                uid: 0,
                gid: 0,
            },
        }
    }

    /// A call of the kernel itself.
    fn nobody() -> KernelCall {
        call_of(0)
    }

    #[test]
    fn pending_sigkill_is_seen() {
        assert!(is_being_killed(
            "Name:\tcat\nSigPnd:\t0000000000000100\nShdPnd:\t0\n"
        ));
        assert!(!is_being_killed("SigPnd:\t0000000000000002\n"));
        assert!(!is_being_killed(""));
    }

    #[test]
    fn a_caller_has_ended_only_if_there_is_no_such_thread() {
        let error = std::io::Error::from_raw_os_error;
        assert!(has_ended(&error(libc::ENOENT)) && has_ended(&error(libc::ESRCH)));
        assert!(!has_ended(&error(libc::EMFILE)) && !has_ended(&error(libc::EACCES)));
    }

    #[test]
    fn a_signal_that_is_not_blocked_is_seen() {
        let interrupt = "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000002\n";
        assert!(has_a_signal(&format!(
            "{interrupt}SigBlk:\t0000000000000000\n"
        )));
        assert!(!has_a_signal(&format!(
            "{interrupt}SigBlk:\t0000000000000002\n"
        )));
        assert!(!has_a_signal("SigPnd:\t0\nShdPnd:\t0\nSigBlk:\t0\n"));
        assert!(!is_being_killed(interrupt));
    }

    #[test]
    fn a_ready_result_is_answered_on_the_session_thread() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let here = std::thread::current().id();
        Dispatcher::new(runtime.handle().clone(), 1).answer(
            Route::Memory,
            nobody(),
            async { Ok(5) },
            move |result| {
                send.send((result, std::thread::current().id())).unwrap();
            },
        );
        assert_eq!(receive.recv().unwrap(), (Ok(5), here));
    }

    #[test]
    fn a_pending_request_is_answered_from_the_runtime() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let work = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Err::<(), _>(DriveError::NotFound)
        };
        Dispatcher::new(runtime.handle().clone(), 1).answer(
            Route::Memory,
            nobody(),
            work,
            move |result| send.send(result).unwrap(),
        );
        assert_eq!(receive.recv().unwrap(), Err(Errno::ENOENT));
    }

    #[test]
    fn a_panic_in_a_handler_becomes_an_io_error() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dispatcher = Dispatcher::new(runtime.handle().clone(), 1);
        for route in [Route::Memory, Route::Blocking] {
            let (send, receive) = mpsc::channel();
            let work = async {
                if std::hint::black_box(true) {
                    panic!("on purpose");
                }
                Ok(())
            };
            dispatcher.answer(route, nobody(), work, move |result| {
                send.send(result).unwrap()
            });
            assert_eq!(receive.recv().unwrap(), Err(Errno::EIO));
        }
    }

    #[test]
    fn what_may_block_and_is_ready_is_answered_by_the_thread_that_did_it() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dispatcher = Dispatcher::new(runtime.handle().clone(), 1);
        let (send, receive) = mpsc::channel();
        let work = async { Ok(std::thread::current().id()) };
        dispatcher.answer(Route::Blocking, nobody(), work, move |result| {
            send.send((result, std::thread::current().id())).unwrap();
        });
        let (worked, answered) = receive.recv().unwrap();
        assert_eq!(worked, Ok(answered));
        assert_ne!(answered, std::thread::current().id());
    }

    #[test]
    fn killing_the_caller_ends_the_wait() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (send, receive) = mpsc::channel();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let tid = child.id();
        Dispatcher::new(runtime.handle().clone(), 1).answer(
            Route::Memory,
            call_of(tid),
            std::future::pending::<DriveResult<()>>(),
            move |result| send.send(result).unwrap(),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(receive.recv().unwrap(), Err(Errno::EINTR));
    }

    #[test]
    fn blocking_work_never_runs_on_the_session_thread() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dispatcher = Dispatcher::new(runtime.handle().clone(), 1);
        let here = std::thread::current().id();
        let (send, receive) = mpsc::channel();
        let work = async move {
            let first = std::thread::current().id();
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok((first, std::thread::current().id()))
        };
        dispatcher.answer(Route::Blocking, nobody(), work, move |result| {
            send.send(result).unwrap()
        });
        let (first, second) = receive.recv().unwrap().unwrap();
        assert!(first != here && second != here);
    }

    #[test]
    fn disk_work_leaves_some_session_threads_free() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let dispatcher = Dispatcher::new(runtime.handle().clone(), 1);
        let here = std::thread::current().id();
        let (send, receive) = mpsc::channel();
        let who = || async { Ok(std::thread::current().id()) };
        let also = send.clone();
        dispatcher.answer(Route::Disk, nobody(), who(), move |result| {
            also.send(result).unwrap()
        });
        assert_eq!(receive.recv().unwrap(), Ok(here));
        let nested = dispatcher.try_disk_now(|| {
            assert!(dispatcher.try_disk_now(|| ()).is_none());
            dispatcher.answer(Route::Disk, nobody(), who(), move |result| {
                send.send(result).unwrap()
            });
        });
        assert_eq!(nested, Some(Ok(())));
        assert_ne!(receive.recv().unwrap(), Ok(here));
    }
}
