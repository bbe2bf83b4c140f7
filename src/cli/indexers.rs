//! Programs that read whole disks to make them searchable. On a drive they would download every model, so
//! `assetfs doctor` says which of them do not leave it out yet. Packages may not edit the files of other packages, so
//! their settings are left to the user.

use std::path::{Path, PathBuf};

use crate::fuse::{self, shell_quoted};

use super::settings;

/// The file system's type, as indexers know it.
const TYPE: &str = "fuse.assetfs";
/// Configuration of updatedb (plocate, mlocate).
const UPDATEDB_CONF: &str = "/etc/updatedb.conf";
/// The commands of Baloo, the indexer of KDE: of Plasma 6 and 5.
const BALOO_COMMANDS: &[&str] = &["balooctl6", "balooctl"];

/// What to do for each indexer that would read a drive.
pub(super) fn advice() -> Vec<String> {
    let updatedb = std::fs::read_to_string(UPDATEDB_CONF).ok();
    let mut advice: Vec<String> = updatedb
        .as_deref()
        .and_then(for_updatedb)
        .into_iter()
        .collect();
    if let Some(command) = BALOO_COMMANDS
        .iter()
        .find(|name| settings::program(name).is_some())
    {
        let rc = settings::config_dir().map(|dir| dir.with_file_name("baloofilerc"));
        let text = rc
            .ok()
            .and_then(|path| std::fs::read_to_string(path).ok())
            .unwrap_or_default();
        let home = settings::home_dir().unwrap_or_default();
        let drives = fuse::own_mounts().unwrap_or_default();
        advice.extend(for_baloo(command, &text, &home, &drives));
    }
    advice
}

/// updatedb runs as root, so it reads drives that let other users in.
fn for_updatedb(conf: &str) -> Option<String> {
    let mut lines = conf.lines().map(str::trim);
    let pruned =
        lines.find_map(|line| line.strip_prefix("PRUNEFS")?.trim_start().strip_prefix('='));
    let is_pruned = pruned.is_some_and(|types| {
        let mut types = types.trim().trim_matches('"').split_ascii_whitespace();
        types.any(|name| name.eq_ignore_ascii_case(TYPE))
    });
    (!is_pruned).then(|| format!("add {TYPE} to PRUNEFS in {UPDATEDB_CONF}, so that updatedb does not download the models of drives that it may read"))
}

/// Baloo indexes the home folder, but none that its settings exclude.
fn for_baloo(command: &str, rc: &str, home: &Path, drives: &[PathBuf]) -> Vec<String> {
    let excluded: Vec<PathBuf> = rc
        .lines()
        .filter_map(|line| line.strip_prefix("exclude folders")?.split_once('='))
        .flat_map(|(_, folders)| folders.split(','))
        .map(|folder| PathBuf::from(folder.replace("$HOME", &home.to_string_lossy())))
        .collect();
    let is_off = rc
        .lines()
        .any(|line| line.trim() == "Indexing-Enabled=false");
    drives
        .iter()
        .filter(|drive| !is_off && drive.starts_with(home))
        .filter(|drive| !excluded.iter().any(|folder| drive.starts_with(folder)))
        .map(|drive| {
            let drive = shell_quoted(drive);
            format!("run `{command} config add excludeFolders {drive}`, so that Baloo does not download its models")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updatedb_is_told_about_unless_it_prunes_the_type() {
        for pruned in [
            "PRUNEFS=\"NFS fuse.assetfs tmpfs\"",
            "  PRUNEFS = \"FUSE.ASSETFS\"\n",
        ] {
            assert_eq!(for_updatedb(pruned), None, "{pruned}");
        }
        for read in [
            "",
            "# PRUNEFS=\"fuse.assetfs\"",
            "PRUNEFS=\"fuse.sshfs\"",
            "PRUNEPATHS=\"/tmp fuse.assetfs\"",
        ] {
            assert!(for_updatedb(read).is_some(), "{read}");
        }
    }

    #[test]
    fn baloo_is_told_about_for_drives_at_home_that_it_does_not_exclude() {
        let home = Path::new("/home/me");
        let drives = [
            PathBuf::from("/home/me/my assets"),
            PathBuf::from("/mnt/assets"),
        ];
        let said = for_baloo("balooctl6", "", home, &drives);
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("`balooctl6 config add excludeFolders '/home/me/my assets'`"),
            "{said:?}"
        );
        for rc in [
            "[General]\nexclude folders[$e]=$HOME/tmp,$HOME/my assets",
            "[Basic Settings]\nIndexing-Enabled=false",
        ] {
            assert_eq!(
                for_baloo("balooctl6", rc, home, &drives),
                Vec::<String>::new(),
                "{rc}"
            );
        }
    }
}
