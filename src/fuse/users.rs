//! Who uses a drive: programs with open files in it, and other places where it is mounted. Read from /proc, without a
//! request to the drive.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::mount_table::{DriveMount, mount_table, parse_mounts};
use super::shell::shell_quoted;

/// Maximum number of programs that are named.
const MAX_NAMED: usize = 5;

/// Another place where a drive is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherMount {
    pub path: PathBuf,
    /// A process in the mount namespace that has it; `None` for the own namespace.
    pub process: Option<u32>,
    /// The number of the mount.
    id: Option<u32>,
}

impl OtherMount {
    /// True for the same mount in a table that was read at another time.
    pub fn is(&self, other: &OtherMount) -> bool {
        (self.id, &self.path) == (other.id, &other.path)
    }

    /// Where it is, and what unmounts it there.
    pub fn sentence(&self) -> String {
        let path = shell_quoted(&self.path);
        match self.process {
            None => format!("it is still mounted at {path} (`umount {path}` ends that)"),
            Some(process) => format!(
                "it is still mounted at {path} in the mount namespace of {} (`nsenter -t {process} -m umount {path}` \
                 as root ends that)",
                named(process)
            ),
        }
    }
}

/// Where a drive is mounted, in all namespaces that this user may see. The kernel gives the number of a drive that is gone to
/// the next one, and the number of its mount, too: after an unmount only a mount counts that was there before.
pub fn other_mounts(minor: u32) -> Vec<OtherMount> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut add = |table: Vec<DriveMount>, process| {
        for mount in table {
            let DriveMount { id, root, .. } = mount;
            if seen.insert(id) {
                found.push(OtherMount {
                    path: root,
                    process,
                    id,
                });
            }
        }
    };
    let of_drive = |table: Vec<DriveMount>| {
        let of_drive = table.into_iter().filter(move |it| it.minor == Some(minor));
        of_drive.collect::<Vec<_>>()
    };
    add(of_drive(mount_table().unwrap_or_default()), None);
    for process in processes() {
        let table = fs::read(process_file(process, "mountinfo")).unwrap_or_default();
        add(of_drive(parse_mounts(&table)), Some(process));
    }
    found
}

/// Up to [`MAX_NAMED`] processes that have files or folders below a path open, as far as this user may see them.
pub(super) fn users(root: &Path) -> Vec<u32> {
    let own = std::process::id();
    let uses = |process: &u32| {
        let at = |name: &str| fs::read_link(process_file(*process, name));
        let open = fs::read_dir(process_file(*process, "fd"));
        let open = open.into_iter().flatten().flatten();
        let mut links = open.filter_map(|file| fs::read_link(file.path()).ok());
        let is_below = |path: PathBuf| path.starts_with(root);
        ["cwd", "root", "exe"]
            .into_iter()
            .any(|name| at(name).is_ok_and(is_below))
            || links.any(is_below)
    };
    let others = processes().into_iter().filter(|process| *process != own);
    others.filter(uses).take(MAX_NAMED).collect()
}

/// A process for a message: `bash (1234)`.
pub fn named(process: u32) -> String {
    match fs::read_to_string(process_file(process, "comm")) {
        Ok(name) => format!("{} ({process})", name.trim()),
        Err(_) => format!("process {process}"),
    }
}

/// The numbers of all processes.
pub(super) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

fn process_file(process: u32, name: &str) -> PathBuf {
    Path::new("/proc").join(process.to_string()).join(name)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_is_named_by_the_folder_that_it_is_in() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        assert_eq!(users(&root), [0; 0]);
        let mut child = Command::new("sleep")
            .arg("60")
            .current_dir(&root)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        assert_eq!(users(&root), [child.id()]);
        assert_eq!(named(child.id()), format!("sleep ({})", child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
