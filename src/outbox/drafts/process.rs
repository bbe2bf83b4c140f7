//! Finds the process of a writer, and whether it still runs, in `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// How long the process of a thread id is cached.
const CACHED_FOR: Duration = Duration::from_secs(1);

/// A process. Its start time distinguishes it from a later process with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pid: u32,
    start: u64,
}

impl Process {
    /// An unknown process, such as one of another pid namespace. It counts as alive.
    pub const UNSEEN: Process = Process { pid: 0, start: 0 };

    /// The process that a thread belongs to.
    pub fn of_thread(tid: u32) -> Process {
        if tid == 0 {
            return Process::UNSEEN;
        }
        let pid = process_of(tid);
        let Some((_, start)) = state_and_start(pid) else {
            // It has ended already. No later process has this start time.
            return Process { pid, start: 0 };
        };
        Process { pid, start }
    }

    /// False once it has ended.
    pub fn is_alive(self) -> bool {
        if self == Process::UNSEEN {
            return true;
        }
        matches!(state_and_start(self.pid), Some((state, start)) if start == self.start && state != 'Z' && state != 'X')
    }
}

/// Caches the process of each thread for a short time, because a copy makes many calls.
#[derive(Debug, Default)]
pub struct Processes {
    seen: HashMap<u32, (Duration, Process)>,
}

impl Processes {
    /// The process of a thread.
    pub fn of(&mut self, tid: u32, now: Duration) -> Process {
        if let Some((at, process)) = self.seen.get(&tid)
            && now.saturating_sub(*at) < CACHED_FOR
        {
            return *process;
        }
        if self.seen.len() > 256 {
            self.seen.clear();
        }
        let process = Process::of_thread(tid);
        self.seen.insert(tid, (now, process));
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

fn state_and_start(pid: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may contain brackets; the last one ends it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((
        fields.first()?.chars().next()?,
        fields.get(19)?.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_lives_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of_thread(child.id());
        assert!(process.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert!(Process::UNSEEN.is_alive());
    }

    fn own_thread() -> u32 {
        let link = fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_is_its_process() {
        let own = Process::of_thread(std::process::id());
        let other = std::thread::spawn(|| (own_thread(), Process::of_thread(own_thread())));
        let (tid, of_other) = other.join().unwrap();
        assert_ne!(tid, std::process::id());
        assert_eq!(of_other, own);
    }
}
