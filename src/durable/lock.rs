//! Exclusive use of a folder by one process. The lock is a `flock`, so it ends with the process in any case;
//! the file `lock` stays and does not lock by itself.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::error::DurableError;

const LOCK_FILE: &str = "lock";
/// How long a process that a killed holder was starting may take until it runs its program.
const AFTER_A_KILL: Duration = Duration::from_secs(2);

/// The lock on a folder; dropping it releases the lock.
#[derive(Debug)]
pub struct DirLock {
    /// Owns the `flock`; closing it releases the lock.
    _file: File,
}

impl DirLock {
    /// Locks the folder, or fails with [`DurableError::Locked`]. Waits only for what a killed holder leaves for a moment: a
    /// process that it had begun to start has the lock until it runs its program.
    pub fn acquire(dir: impl AsRef<Path>) -> Result<DirLock, DurableError> {
        let dir = dir.as_ref();
        let path = dir.join(LOCK_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(&path)
            .map_err(DurableError::io("open the lock", &path))?;
        let began = Instant::now();
        while let Err(errno) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if errno != Errno::WOULDBLOCK {
                return Err(DurableError::io("lock", &path)(errno.into()));
            }
            file.rewind()
                .map_err(DurableError::io("read the lock", &path))?;
            let pid = read_pid(&mut file);
            if began.elapsed() > AFTER_A_KILL || !pid.is_some_and(has_ended) {
                let path = dir.to_path_buf();
                return Err(DurableError::Locked { path, pid });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        write_pid(&mut file).map_err(DurableError::io("write the process id to", &path))?;
        Ok(DirLock { _file: file })
    }

    /// The process that holds the lock on a folder, if one does and has said so.
    pub fn holder(dir: impl AsRef<Path>) -> Option<u32> {
        let mut file = File::open(dir.as_ref().join(LOCK_FILE)).ok()?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => read_pid(&mut file),
            _ => None,
        }
    }
}

fn has_ended(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// The pid is for messages and for waiting; `None` if the holder has not written it yet.
fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_a_killed_holder_leaves_for_a_moment_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = DirLock::acquire(dir.path()).unwrap();
        std::fs::write(dir.path().join(LOCK_FILE), format!("{}\n", ended.id())).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| DirLock::acquire(dir.path()));
            std::thread::sleep(Duration::from_millis(50));
            drop(left);
            waiting.join().unwrap().unwrap();
        });
        assert_eq!(DirLock::holder(dir.path()), None);
    }

    #[test]
    fn a_second_lock_fails_with_the_pid_of_the_holder_until_it_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirLock::acquire(dir.path()).unwrap();
        let error = DirLock::acquire(dir.path()).unwrap_err();
        let DurableError::Locked { pid, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*pid, Some(std::process::id()));
        assert_eq!(DirLock::holder(dir.path()), *pid);
        assert!(error.to_string().contains("unmount"), "{error}");
        drop(lock);
        assert_eq!(DirLock::holder(dir.path()), None);
        DirLock::acquire(dir.path()).unwrap();
    }

    #[test]
    fn a_lock_file_left_by_a_crash_does_not_lock() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(LOCK_FILE), "999999\n").unwrap();
        DirLock::acquire(dir.path()).unwrap();
    }
}
