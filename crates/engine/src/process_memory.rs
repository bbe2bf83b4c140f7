//! What the system says of the memory of this process.

use std::fs::File;
use std::io::Read as _;

/// More than the whole text has. It is read with one call, because a worker asks several times a task.
const MAX_BYTES: usize = 8192;

/// One field of `/proc/self/status` in bytes, for example `VmHWM`; see proc(5). `None` if the system does not report it.
pub(crate) fn status_field(name: &str) -> Option<u64> {
    let mut text = [0; MAX_BYTES];
    let len = File::open("/proc/self/status").ok()?.read(&mut text).ok()?;
    let text = std::str::from_utf8(&text[..len]).ok()?;
    let is_field = |line: &&str| line.split(':').next() == Some(name);
    let line = text.lines().find(is_field)?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_at_least_what_is_in_use() {
        let in_use = status_field("VmRSS").unwrap();
        assert!(in_use > 0 && status_field("VmHWM").unwrap() >= in_use);
        assert_eq!(status_field("Vm"), None);
        assert_eq!(status_field("Name"), None, "no number");
    }
}
