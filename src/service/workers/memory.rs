//! How much memory this machine, or its container, has for workers.

use std::fs;
use std::path::Path;

/// Where the control groups of Linux are.
const CGROUPS: &str = "/sys/fs/cgroup";

/// The memory that this process may use, in bytes: the limit of its container, or the memory of the machine. `None` if
/// the system does not say.
pub fn machine_memory() -> Option<u64> {
    let total = fs::read_to_string("/proc/meminfo").ok();
    let total = total.and_then(|text| total_of(&text));
    let own = fs::read_to_string("/proc/self/cgroup").ok();
    let own = own.and_then(|text| limit_of(Path::new(CGROUPS), &text));
    total.into_iter().chain(own).min()
}

/// `MemTotal` of `/proc/meminfo`, which is in KiB.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// The lowest limit of a control group (version 2) and of the groups around it. `own` is `/proc/self/cgroup`.
fn limit_of(root: &Path, own: &str) -> Option<u64> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let groups = root.join(group);
    groups
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| fs::read_to_string(folder.join("memory.max")).ok())
        // Without a limit the file says `max`.
        .filter_map(|text| text.trim().parse().ok())
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_limit_of_all_groups_counts() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("kubepods/pod");
        fs::create_dir_all(&inner).unwrap();
        let own = "1:name=x:/other\n0::/kubepods/pod\n";
        assert_eq!(limit_of(dir.path(), own), None);
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        fs::write(dir.path().join("kubepods/memory.max"), "4096\n").unwrap();
        assert_eq!(limit_of(dir.path(), own), Some(4096));
        fs::write(inner.join("memory.max"), "1024\n").unwrap();
        assert_eq!(limit_of(dir.path(), own), Some(1024));
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(
            total_of("MemTotal:       16 kB\nMemFree: 1 kB\n"),
            Some(16 << 10)
        );
        assert!(machine_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}
