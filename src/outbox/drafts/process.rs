//! Finds the process of a writer, and whether it still runs.
//!
//! The drive needs this to answer a `close`. When a program starts (`execve`), the kernel closes the files that the program does not
//! inherit, and waits for the answers. Until then a read of `/proc/PID/stat` or of a link in `/proc/PID` waits, too, so nothing here
//! reads those: a descriptor of the process (`pidfd_open`) says whether it still runs, and `/proc/TID/status`, which can always be
//! read, which process a thread belongs to.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long the process of a thread id is cached.
const CACHED_FOR: Duration = Duration::from_secs(1);
/// Maximum number of remembered threads; the same for processes.
const MAX_SEEN: usize = 256;

/// A process. The kernel uses numbers of processes again, so each process that was seen has a serial number.
#[derive(Debug, Clone)]
pub struct Process {
    serial: u64,
    state: ProcessState,
}

#[derive(Debug, Clone)]
enum ProcessState {
    /// It is not known, such as one of another pid namespace. It counts as alive.
    Unseen,
    /// It had ended when it was looked for.
    Ended,
    /// A descriptor of the process.
    Seen(Arc<OwnedFd>),
}

impl Process {
    /// An unknown process.
    const UNSEEN: Process = Process {
        serial: 0,
        state: ProcessState::Unseen,
    };

    fn open(pid: u32, serial: u64) -> Process {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let state = match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            Some(Ok(process)) => ProcessState::Seen(Arc::new(process)),
            Some(Err(Errno::SRCH)) => ProcessState::Ended,
            _ => return Process::UNSEEN,
        };
        Process { serial, state }
    }

    /// False once it has ended.
    pub fn is_alive(&self) -> bool {
        match &self.state {
            ProcessState::Unseen => true,
            ProcessState::Ended => false,
            // It is readable once the process has ended.
            ProcessState::Seen(process) => {
                let mut waits = [PollFd::new(process, PollFlags::IN)];
                poll(&mut waits, Some(&Timespec::default())) != Ok(1)
            }
        }
    }
}

impl PartialEq for Process {
    fn eq(&self, other: &Process) -> bool {
        self.serial == other.serial
    }
}

impl Eq for Process {}

impl PartialOrd for Process {
    fn partial_cmp(&self, other: &Process) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Process {
    fn cmp(&self, other: &Process) -> Ordering {
        self.serial.cmp(&other.serial)
    }
}

/// The processes that were seen.
#[derive(Debug, Default)]
pub struct Processes {
    /// The process of each thread, for a short time, because a copy makes many calls.
    of_threads: HashMap<u32, (Duration, Process)>,
    /// By their numbers.
    seen: HashMap<u32, Process>,
    last_serial: u64,
}

impl Processes {
    /// The process of a thread.
    pub fn of(&mut self, tid: u32, now: Duration) -> Process {
        if tid == 0 {
            return Process::UNSEEN;
        }
        if let Some((at, process)) = self.of_threads.get(&tid)
            && now.saturating_sub(*at) < CACHED_FOR
        {
            return process.clone();
        }
        if self.of_threads.len() > MAX_SEEN {
            self.of_threads.clear();
        }
        let process = self.with_number(process_of(tid));
        self.of_threads.insert(tid, (now, process.clone()));
        process
    }

    fn with_number(&mut self, pid: u32) -> Process {
        if let Some(known) = self.seen.get(&pid)
            && known.is_alive()
        {
            return known.clone();
        }
        if self.seen.len() > MAX_SEEN {
            self.seen.retain(|_, process| process.is_alive());
        }
        if self.seen.len() > MAX_SEEN {
            self.seen.clear();
        }
        self.last_serial += 1;
        let process = Process::open(pid, self.last_serial);
        self.seen.insert(pid, process.clone());
        process
    }
}

/// The id of the process that a thread belongs to; that of the thread if it is gone.
pub fn process_of(tid: u32) -> u32 {
    thread_group(tid).unwrap_or(tid)
}

/// The name of the program of a thread; empty if it is gone.
pub fn program_of(tid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{}/comm", process_of(tid)));
    name.unwrap_or_default().trim_end().to_owned()
}

/// Whether a thread is one of a command of this program, by the name that all commands give themselves.
pub fn is_command(tid: u32) -> bool {
    program_of(tid) == env!("CARGO_PKG_NAME")
}

fn thread_group(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_lives_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut processes = Processes::default();
        let process = processes.of(child.id(), Duration::ZERO);
        assert!(process.is_alive());
        assert_eq!(processes.of(child.id(), 2 * CACHED_FOR), process);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        let later = processes.of(child.id(), 4 * CACHED_FOR);
        assert_ne!(later, process, "the number may be that of another process");
        assert!(!later.is_alive());
        assert!(processes.of(0, Duration::ZERO).is_alive());
    }

    fn own_thread() -> u32 {
        let link = fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_is_its_process() {
        let mut processes = Processes::default();
        let own = processes.of(std::process::id(), Duration::ZERO);
        // The thread has not ended while its process is looked for.
        let (tid, of_other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| (own_thread(), processes.of(own_thread(), Duration::ZERO)));
            other.join().unwrap()
        });
        assert_ne!(tid, std::process::id());
        assert_eq!(of_other, own);
    }
}
