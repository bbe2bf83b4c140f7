//! Restricts a process before its program starts: limits of memory and processor time, low priority, its own process
//! group, and SIGKILL when the thread that started it ends.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Resource, Rlimit, Signal};

use crate::service::config::{WorkerLimits, WorkerPriority};

/// The niceness of a worker.
fn niceness(priority: WorkerPriority) -> i32 {
    match priority {
        WorkerPriority::Job => 10,
        WorkerPriority::AfterJobs => 19,
    }
}

/// Processor time after SIGXCPU, until the kernel sends SIGKILL.
const CPU_GRACE_SECS: u64 = 5;

/// Makes `command` start with `limits`.
///
/// The process dies when the *thread* that spawned it ends; see `spawn`.
#[expect(unsafe_code, reason = "limits can be set only between fork and exec")]
pub fn confine(command: &mut Command, limits: &WorkerLimits) {
    let memory = limits.memory_bytes;
    let cpu = limits.cpu.as_secs().max(1);
    let nice = niceness(limits.priority);
    let parent = rustix::process::getpid();
    command.process_group(0);
    // SAFETY: the closure runs in the child between fork and exec, where only async-signal-safe work is
    // allowed. It makes plain system calls, allocates nothing, takes no lock and touches no memory but
    // the numbers it owns.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the parent died before the line above, the signal is never sent.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
            let limit = |soft: u64, hard: u64| Rlimit {
                current: Some(soft),
                maximum: Some(hard),
            };
            rustix::process::setrlimit(Resource::As, limit(memory, memory))?;
            rustix::process::setrlimit(Resource::Cpu, limit(cpu, cpu + CPU_GRACE_SECS))?;
            rustix::process::setrlimit(Resource::Core, limit(0, 0))?;
            rustix::process::nice(nice)?;
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_comes_after_jobs_has_the_lowest_priority() {
        assert!(niceness(WorkerPriority::AfterJobs) > niceness(WorkerPriority::Job));
        let limits = WorkerLimits {
            priority: WorkerPriority::AfterJobs,
            ..WorkerLimits::default()
        };
        let mut command = Command::new("nice");
        confine(&mut command, &limits);
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "19\n");
    }

    #[test]
    fn a_confined_process_has_its_limits() {
        let limits = WorkerLimits {
            memory_bytes: 1 << 30,
            cpu: Duration::from_secs(7),
            ..WorkerLimits::default()
        };
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "ulimit -v; ulimit -t; ulimit -c; nice; ps -o pgid= -p $$; echo $$",
        ]);
        confine(&mut command, &limits);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[..3], ["1048576", "7", "0"], "{text}");
        assert!(lines[3].parse::<i32>().unwrap() >= 10, "{text}");
    }
}
