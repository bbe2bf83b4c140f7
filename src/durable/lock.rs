//! Exclusive use of a folder by one process. The lock is a `flock`, so it ends with the process in any case;
//! the file `lock` stays and does not lock by itself.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::error::DurableError;

const LOCK_FILE: &str = "lock";

/// The lock on a folder; dropping it releases the lock.
#[derive(Debug)]
pub struct DirLock {
    /// Owns the `flock`; closing it releases the lock.
    _file: File,
}

impl DirLock {
    /// Locks the folder, or fails with [`DurableError::Locked`]. Never waits.
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
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(DurableError::Locked {
                    path: dir.to_path_buf(),
                    pid: read_pid(&mut file),
                });
            }
            Err(errno) => return Err(DurableError::io("lock", &path)(errno.into())),
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
