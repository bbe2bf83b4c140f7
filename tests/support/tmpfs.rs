//! A small disk in memory that tests can fill. Only root can mount it.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// The disk; drop unmounts it.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it at a folder. `None`, reported as a skipped test, if no disk can be mounted.
    #[track_caller]
    pub fn mount(at: &Path, bytes: u64) -> Option<SmallDisk> {
        let options = std::ffi::CString::new(format!("size={bytes},mode=0700")).unwrap();
        match mount(
            "tmpfs",
            at,
            "tmpfs",
            MountFlags::empty(),
            options.as_c_str(),
        ) {
            Ok(()) => Some(SmallDisk(at.to_owned())),
            Err(error) => {
                crate::skip::skipped(&format!("no tmpfs can be mounted ({error})"));
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all room that is left.
    pub fn fill(&self) {
        let mut file = File::create(self.0.join("ballast")).unwrap();
        for len in [65_536, 4_096, 1] {
            while file.write_all(&vec![0; len]).is_ok() {}
        }
    }

    /// Gives that room back.
    pub fn free(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}
