//! What the shell completions know beside commands and options: presets, codes of warnings, the models and tags of mounted
//! drives, and paths.
//!
//! A completion must never make a shell wait. So nothing is started, no service is asked, and what reads a folder, which
//! may be on a drive or a server that does not answer, has half a second.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use assetfs_formats::warnings::WarningKind;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};

use super::files::is_json;
use crate::factory_presets::FACTORY;
use crate::fuse;
use crate::wire::PresetText;

/// The environment variable with which the scripts of `assetfs completions` call this program.
pub(super) const VARIABLE: &str = "ASSETFS_COMPLETE";

/// How long the reading of folders may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// Maximum number of names; a longer list does not help.
const MAX_NAMES: usize = 200;

/// Completions for a preset: the names of presets, then paths of files that may contain one.
pub(super) fn presets(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy().to_lowercase();
    let factory = FACTORY
        .iter()
        .map(|it| (it.name.to_owned(), Some(it.description)));
    let own = names_in_drives("presets", |path| {
        let name = path.file_stem().filter(|_| is_json(path))?;
        Some(name.to_string_lossy().into_owned())
    });
    let mut found: Vec<CompletionCandidate> = factory
        .chain(own.into_iter().map(|(_, name)| (name, None)))
        .filter(|(name, _)| name.to_lowercase().starts_with(&typed))
        .map(|(name, help)| CompletionCandidate::new(name).help(help.map(Into::into)))
        .collect();
    let is_preset =
        |path: &Path| path.is_dir() || PresetText::is_file_name(&path.to_string_lossy());
    found.extend(paths_with(current, is_preset));
    found
}

/// Completions for a model: the paths of models on mounted drives whose names begin with the text, then all other paths.
pub(super) fn models(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let mut found = Vec::new();
    if !typed.contains('/') {
        let shown = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
        let models = names_in_drives("rawmodels", shown).into_iter();
        let models = models.filter(|(_, name)| name.starts_with(&*typed));
        found.extend(models.map(|(path, _)| CompletionCandidate::new(path)));
    }
    found.extend(paths_with(current, |_| true));
    found
}

/// Completions for a tag: the tags of models in the mounted drives.
pub(super) fn tags(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy().into_owned();
    let tags = in_time(move || tags_of(&fuse::own_mounts().unwrap_or_default(), &typed));
    tags.into_iter().map(CompletionCandidate::new).collect()
}

/// The tags of drives that begin with a text.
fn tags_of(drives: &[PathBuf], typed: &str) -> Vec<String> {
    let lists = drives.iter().flat_map(|root| {
        ["rawmodels", "rapidmodels"].map(|family| root.join(family).join(".assetfs/tags"))
    });
    let texts: Vec<String> = lists
        .flat_map(|list| fs::read_to_string(list).ok())
        .collect();
    let tags = texts.iter().flat_map(|text| text.lines());
    let tags: BTreeSet<&str> = tags.filter(|tag| tag.starts_with(typed)).collect();
    tags.into_iter()
        .take(MAX_NAMES)
        .map(str::to_owned)
        .collect()
}

/// Completions for the code of a warning.
pub(super) fn warning_codes() -> Vec<CompletionCandidate> {
    let kinds = WarningKind::ALL.iter();
    kinds
        .map(|kind| CompletionCandidate::new(kind.name()).help(Some(kind.row().meaning.into())))
        .collect()
}

fn paths_with(
    current: &OsStr,
    take: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> Vec<CompletionCandidate> {
    let current = current.to_owned();
    in_time(move || PathCompleter::any().filter(take).complete(&current))
}

/// The entries of a folder of each drive that this user mounted, with what `name` says of their paths.
fn names_in_drives(
    folder: &'static str,
    name: impl Fn(&Path) -> Option<String> + Send + 'static,
) -> Vec<(PathBuf, String)> {
    in_time(move || {
        let drives = fuse::own_mounts().unwrap_or_default().into_iter();
        let entries = drives.flat_map(|root| fs::read_dir(root.join(folder)).into_iter().flatten());
        let named = entries.flatten().filter_map(|entry| {
            let path = entry.path();
            let name = name(&path).filter(|name| !name.starts_with('.'))?;
            Some((path, name))
        });
        let mut named: Vec<_> = named.take(MAX_NAMES).collect();
        named.sort();
        named
    })
}

/// The result of `work`, or nothing if it takes too long. The thread that still waits ends with the process.
fn in_time<T: Default + Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, outcome) = mpsc::channel();
    std::thread::spawn(move || tell.send(work()));
    outcome.recv_timeout(PATIENCE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn presets_are_completed_in_any_case() {
        let names: Vec<_> = presets(OsStr::new("web v"))
            .iter()
            .map(|it| it.get_value().to_owned())
            .collect();
        assert!(
            names.iter().any(|name| name == "Web Viewer Light"),
            "{names:?}"
        );
    }

    #[test]
    fn tags_are_those_of_both_kinds_of_models_each_once() {
        let drive = tempfile::tempdir().unwrap();
        for (family, tags) in [
            ("rawmodels", "oak\nred oak\n"),
            ("rapidmodels", "oak\nold\n"),
        ] {
            let folder = drive.path().join(family).join(".assetfs");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("tags"), tags).unwrap();
        }
        let drives = [drive.path().to_owned(), drive.path().join("gone")];
        assert_eq!(tags_of(&drives, "o"), ["oak", "old"]);
        assert_eq!(tags_of(&drives, "").len(), 3);
    }

    #[test]
    fn a_folder_that_does_not_answer_is_left_out() {
        let begun = Instant::now();
        let found: Vec<u8> = in_time(|| {
            std::thread::sleep(Duration::from_secs(5));
            vec![1]
        });
        assert!(found.is_empty() && begun.elapsed() < Duration::from_secs(2));
    }
}
