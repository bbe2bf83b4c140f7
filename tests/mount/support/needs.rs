//! Requirements of tests; without them a test ends with a message.

use std::fs;

/// Returns from the test, with a message, if FUSE does not work.
#[macro_export]
macro_rules! needs_fuse {
    () => {
        if let Err(why) = $crate::support::fuse_works() {
            $crate::skip::skipped(&why);
            return;
        }
    };
}

/// Returns from the test, with a message, if a program is missing.
#[macro_export]
macro_rules! needs_program {
    ($name:expr) => {
        if !$crate::skip::has_program_or_skips($name) {
            return;
        }
    };
}

/// Returns from the test, with a message, if it is not run by root.
#[macro_export]
macro_rules! needs_root {
    () => {
        if !rustix::process::geteuid().is_root() {
            $crate::skip::skipped("this process is not root");
            return;
        }
    };
}

pub fn fuse_works() -> Result<(), String> {
    fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .map(drop)
        .map_err(|error| format!("/dev/fuse cannot be opened ({error})"))
}
