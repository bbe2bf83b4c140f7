//! Requests without an answer. A thread of its own names those that wait for long in the log, and threads that wait for a lock,
//! so that the log of a drive that hangs says who waits for whom.
//!
//! Invariant: it takes no lock of the drive itself, so it can still write to the log when the drive hangs.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::backoff::LogPauses;
use crate::drive::{Caller, Drive, Ino};
use crate::locks::{Locked as _, take_long_lock_waits};

/// Interval of looking.
const LOOK_PERIOD: Duration = Duration::from_secs(10);
/// A request is logged when it has waited for this time, and again whenever its wait has doubled since.
const REQUEST_PATIENCE: Duration = Duration::from_secs(60);
/// No lock is held during slow work, so a thread that waits this long for one shows a fault.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How long the path of a request is looked for.
const PATH_PATIENCE: Duration = Duration::from_millis(500);
/// Maximum number of lines at a look: where hundreds wait, the log would lose how it began.
const MAX_LINES: usize = 20;

/// What is asked, and by whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelCall {
    /// The operation, by the name that FUSE gives it.
    pub(super) name: &'static str,
    /// The file or folder; the folder, for operations with a name in it.
    pub(super) ino: Ino,
    pub(super) caller: Caller,
}

/// The requests that are being worked on, unless they were answered at once.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    table: Mutex<RequestTable>,
}

#[derive(Debug, Default)]
struct RequestTable {
    next: u64,
    waits: HashMap<u64, RequestWait>,
}

#[derive(Debug)]
struct RequestWait {
    call: KernelCall,
    since: Instant,
    logged: LogPauses,
}

/// Drop guard: the request is unanswered until it is dropped.
pub(super) struct UnansweredRequest {
    unanswered: Arc<Unanswered>,
    number: u64,
}

impl Unanswered {
    /// The request has to wait.
    pub(super) fn begin(self: &Arc<Unanswered>, call: KernelCall) -> UnansweredRequest {
        let mut table = self.table.locked();
        let number = table.next;
        table.next += 1;
        let wait = RequestWait {
            call,
            since: Instant::now(),
            logged: LogPauses::default(),
        };
        table.waits.insert(number, wait);
        UnansweredRequest {
            unanswered: Arc::clone(self),
            number,
        }
    }

    /// The calls that are to be named now, each with the time that it has waited, the longest first.
    fn take_due(&self, now: Instant) -> Vec<(KernelCall, Duration)> {
        let mut due = Vec::new();
        for wait in self.table.locked().waits.values_mut() {
            let lasts = now.saturating_duration_since(wait.since);
            if wait.logged.is_due(lasts, REQUEST_PATIENCE) {
                due.push((wait.call, lasts));
            }
        }
        due.sort_by_key(|(_, lasts)| std::cmp::Reverse(*lasts));
        due
    }
}

impl Drop for UnansweredRequest {
    fn drop(&mut self) {
        self.unanswered.table.locked().waits.remove(&self.number);
    }
}

/// Ends the thread when it is dropped.
pub(super) struct LongWaitsThread {
    _until: mpsc::Sender<()>,
}

/// Starts the thread that names them. Without a thread a drive works, too.
pub(super) fn watch(unanswered: Arc<Unanswered>, drive: Drive) -> LongWaitsThread {
    let (until, ended) = mpsc::channel();
    let look = move || {
        while ended.recv_timeout(LOOK_PERIOD) == Err(RecvTimeoutError::Timeout) {
            name_long_waits(&unanswered, &drive);
        }
    };
    let thread = thread::Builder::new().name("long-waits".to_owned());
    if let Err(error) = thread.spawn(look) {
        tracing::warn!(%error, "requests that wait for long will not be named in the log");
    }
    LongWaitsThread { _until: until }
}

fn name_long_waits(unanswered: &Unanswered, drive: &Drive) {
    let locks = take_long_lock_waits(LOCK_PATIENCE);
    let mut lines: Vec<String> = locks.iter().map(ToString::to_string).collect();
    for (call, lasts) in unanswered.take_due(Instant::now()) {
        // The rest is not written, and a path may be waited for.
        let path = match lines.len() < MAX_LINES {
            true => path_of(drive, call.ino),
            false => None,
        };
        lines.push(sentence(call, lasts, path.as_deref()));
    }
    let rest = lines.len().saturating_sub(MAX_LINES);
    for line in lines.iter().take(MAX_LINES) {
        tracing::warn!("{line}");
    }
    if rest > 0 {
        tracing::warn!("{rest} more requests and threads wait as long");
    }
}

/// The path of an inode. It takes locks of the drive, so another thread looks it up; `None` if that takes long.
fn path_of(drive: &Drive, ino: Ino) -> Option<String> {
    let (found, path) = mpsc::channel();
    let drive = drive.clone();
    let look = thread::Builder::new().name("path-of-a-request".to_owned());
    let look = look.spawn(move || found.send(drive.path_of(ino)));
    look.ok()?;
    path.recv_timeout(PATH_PATIENCE).ok().flatten()
}

/// What is said of a call, e.g. "cp (process 71) has waited for 60 s for an answer to write of rawmodels/chair/chair.glb".
fn sentence(call: KernelCall, lasts: Duration, path: Option<&str>) -> String {
    let KernelCall { name, ino, caller } = call;
    let who = match caller.pid {
        0 => "the kernel".to_owned(),
        _ => {
            let program = caller.program();
            let program = if program.is_empty() {
                "a program that is gone"
            } else {
                &program
            };
            format!("{program} (process {})", caller.process())
        }
    };
    let on = match path {
        Some("") => "the top of the drive".to_owned(),
        Some(path) => path.to_owned(),
        None => format!("inode {ino}"),
    };
    let seconds = lasts.as_secs();
    format!("{who} has waited for {seconds} s for an answer to {name} of {on}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(pid: u32) -> KernelCall {
        KernelCall {
            name: "write",
            ino: Ino(7),
            caller: Caller {
                pid,
                uid: 0,
                gid: 0,
            },
        }
    }

    #[test]
    fn a_request_is_named_after_a_minute_and_then_ever_less_often_until_it_is_answered() {
        let unanswered = Arc::new(Unanswered::default());
        let first = unanswered.begin(call(1));
        let start = Instant::now();
        let named_at = |seconds| {
            let due = unanswered.take_due(start + Duration::from_secs(seconds));
            due.iter()
                .map(|(call, _)| call.caller.pid)
                .collect::<Vec<_>>()
        };
        assert!(named_at(50).is_empty());
        assert_eq!(named_at(60), [1]);
        assert!(named_at(110).is_empty());
        let second = unanswered.begin(call(2));
        assert_eq!(named_at(130), [1, 2]);
        drop(first);
        assert_eq!(named_at(600), [2]);
        drop(second);
        assert!(named_at(6000).is_empty());
    }

    #[test]
    fn a_call_is_named_with_its_program_and_path() {
        let minute = Duration::from_secs(60);
        let own = sentence(call(std::process::id()), minute, Some("rawmodels/chair"));
        assert!(
            own.ends_with("has waited for 60 s for an answer to write of rawmodels/chair"),
            "{own}"
        );
        assert!(
            own.contains(&format!("(process {})", std::process::id())),
            "{own}"
        );
        let kernel = sentence(call(0), minute, None);
        assert_eq!(
            kernel,
            "the kernel has waited for 60 s for an answer to write of inode 7"
        );
    }
}
