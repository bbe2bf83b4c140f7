//! What a machine may lack; a test without it ends with a loud word.

use std::fs;

/// Returns from the test, saying so, where nothing can be mounted.
#[macro_export]
macro_rules! needs_fuse {
    () => {
        if let Err(why) = $crate::support::fuse_works() {
            let thread = std::thread::current();
            eprintln!("SKIPPED {}: {why}", thread.name().unwrap_or("this test"));
            return;
        }
    };
}

/// Returns from the test, saying so, where a program is missing.
#[macro_export]
macro_rules! needs_program {
    ($name:expr) => {
        if !$crate::support::has_program($name) {
            let thread = std::thread::current();
            eprintln!(
                "SKIPPED {}: {} is not installed",
                thread.name().unwrap_or("this test"),
                $name
            );
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

pub fn has_program(name: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()))
}
