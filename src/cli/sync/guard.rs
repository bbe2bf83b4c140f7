//! Keeps `--delete` from taking an empty or unmounted folder for the wish to delete everything.
//!
//! What is known of a folder from the last run, its mount point, is in one small file for each folder and drive.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::super::settings;
use crate::durable::{PrivateDir, write_atomic};
use crate::fuse::shell_quoted;

/// What the last run saw of a folder.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct LastRun {
    /// The mount point that the folder was on.
    mount_point: PathBuf,
}

/// The memory of one folder and drive.
pub(super) struct Memory {
    /// A user without a home folder has none.
    file: Option<PathBuf>,
}

impl Memory {
    pub(super) fn of(dir: &Path, drive: &Path) -> Memory {
        let key = format!("{}\0{}", dir.display(), drive.display());
        let name = format!("{:032x}.json", xxh3_128(key.as_bytes()));
        let state = settings::state_dir().ok();
        Memory {
            file: state.map(|state| state.join("sync").join(name)),
        }
    }

    /// Notes where the folder is mounted.
    pub(super) fn note(&self, dir: &Path) -> Result<()> {
        let seen = LastRun {
            mount_point: mount_point_of(dir, &mount_points()?),
        };
        let Some(file) = self.file.as_deref() else {
            return Ok(());
        };
        if self.last().as_ref() == Some(&seen) {
            return Ok(());
        }
        PrivateDir::open(file.parent().unwrap_or(file))?;
        let written = write_atomic(file, &serde_json::to_vec(&seen)?);
        written.with_context(|| format!("cannot write {}", file.display()))
    }

    fn last(&self) -> Option<LastRun> {
        serde_json::from_slice(&fs::read(self.file.as_deref()?).ok()?).ok()
    }
}

/// Refuses to delete for the sake of a folder that is not mounted now.
pub(super) fn check_is_mounted(dir: &Path, memory: &Memory) -> Result<()> {
    let mounted = mount_points()?;
    let fstab = fs::read_to_string("/etc/fstab").unwrap_or_default();
    if let Some(missing) = not_mounted(dir, &mounted, &fstab) {
        bail!(
            "{} is a mount point in /etc/fstab, and nothing is mounted there, so {} is not the folder that it should be; \
             nothing was changed. Mount it, or leave --delete out",
            shell_quoted(&missing),
            shell_quoted(dir)
        );
    }
    let now = mount_point_of(dir, &mounted);
    match memory.last() {
        Some(last) if last.mount_point != now && last.mount_point.starts_with(&now) => bail!(
            "{} was mounted when {} was synced last, and is not now; nothing was changed. Mount it, or run it once without \
             --delete",
            shell_quoted(&last.mount_point),
            shell_quoted(dir)
        ),
        _ => Ok(()),
    }
}

/// The mount point of fstab that the folder is on and that is not mounted.
fn not_mounted(dir: &Path, mounted: &[PathBuf], fstab: &str) -> Option<PathBuf> {
    let lines = fstab
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let points = lines.filter_map(|line| line.split_whitespace().nth(1));
    let points = points.map(|point| PathBuf::from(unescaped(point)));
    let mut wanted =
        points.filter(|point| point.as_path() != Path::new("/") && dir.starts_with(point));
    wanted.find(|point| !mounted.contains(point))
}

fn mount_points() -> Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo").context("cannot read the mounts")?;
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    Ok(points.map(|point| unescaped(point).into()).collect())
}

/// The mount point that a folder is on.
fn mount_point_of(dir: &Path, mounted: &[PathBuf]) -> PathBuf {
    let around = mounted.iter().filter(|point| dir.starts_with(point));
    let longest = around.max_by_key(|point| point.components().count());
    longest.cloned().unwrap_or_else(|| "/".into())
}

/// A path of fstab(5) or mountinfo: spaces and the like are octal numbers behind backslashes.
fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (escape, letter) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        plain = plain.replace(escape, letter);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_an_entry_of_fstab_that_is_not_mounted_is_found() {
        let fstab = "# a comment\nUUID=1 / ext4 defaults 0 1\nnas:/m /mnt/my\\040nas nfs ro 0 0\n";
        let found = |dir: &str, mounted: &[&str]| {
            let mounted: Vec<PathBuf> = mounted.iter().map(PathBuf::from).collect();
            not_mounted(Path::new(dir), &mounted, fstab)
        };
        assert_eq!(
            found("/mnt/my nas/models", &["/"]),
            Some("/mnt/my nas".into())
        );
        assert_eq!(found("/mnt/my nas/models", &["/", "/mnt/my nas"]), None);
        assert_eq!(found("/home/me/models", &["/"]), None);
    }

    #[test]
    fn a_folder_that_was_on_a_mount_point_and_is_not_now_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let models = dir.path().join("models");
        fs::create_dir(&models).unwrap();
        let file = dir.path().join("state/memory.json");
        let memory = Memory {
            file: Some(file.clone()),
        };
        check_is_mounted(&models, &memory).unwrap();
        memory.note(&models).unwrap();
        check_is_mounted(&models, &memory).unwrap();
        let was = LastRun {
            mount_point: models.clone(),
        };
        fs::write(&file, serde_json::to_vec(&was).unwrap()).unwrap();
        let error = check_is_mounted(&models, &memory).unwrap_err().to_string();
        assert!(error.contains("was mounted when"), "{error}");
        // A run without --delete takes the folder as it is.
        memory.note(&models).unwrap();
        check_is_mounted(&models, &memory).unwrap();
    }
}
