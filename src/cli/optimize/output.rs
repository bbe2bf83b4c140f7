//! Moves results into OUT: they are written into a hidden folder inside OUT, and moved when all of them are complete.
//!
//! Invariant: OUT holds either all results of a run or none of them, and existing files are only replaced with
//! `--overwrite`. If a run fails, everything that it created is removed (the hidden folder, OUT itself).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::exit::WrongUse;
use assetfs_engine::job::{BEFORE_AFTER_NAME, RENDERS_FOLDER, Report};

/// The files that every run writes next to its exports.
pub(super) const OWN_FILES: [&str; 2] = [BEFORE_AFTER_NAME, WARNING_LOG];
/// The file with the warnings of a run.
pub(super) const WARNING_LOG: &str = "analysis/warning.log";
/// The folder of exports that a worker makes.
const EXPORTS: &str = "exports";
/// The folder of logs in OUT.
const ANALYSIS: &str = "analysis";
/// Maximum number of names in an error message.
const MAX_NAMES: usize = 5;

/// OUT, and the hidden folder in it.
#[derive(Debug)]
pub(super) struct OutputFolder {
    out: PathBuf,
    scratch: Option<tempfile::TempDir>,
    /// Folders that this run created, the outermost first.
    made: Vec<PathBuf>,
    overwrite: bool,
}

impl OutputFolder {
    /// Creates the hidden folder in `scratch_in`, which is on the file system of OUT. OUT itself is created only if it is `scratch_in`.
    pub(super) fn prepare(out: &Path, scratch_in: &Path, overwrite: bool) -> Result<OutputFolder> {
        let cannot = || format!("cannot write to {}", out.display());
        if out.exists() && !out.is_dir() {
            return Err(
                WrongUse(format!("OUT must be a folder; {} is a file", out.display())).into(),
            );
        }
        let mut output = OutputFolder {
            out: out.to_owned(),
            scratch: None,
            made: Vec::new(),
            overwrite,
        };
        if scratch_in == out {
            output.make_dir(out).with_context(cannot)?;
        }
        let scratch = tempfile::Builder::new()
            .prefix(".assetfs-optimize-")
            .tempdir_in(scratch_in);
        output.scratch = Some(scratch.map_err(plain).with_context(cannot)?);
        Ok(output)
    }

    /// The hidden folder.
    pub(super) fn scratch(&self) -> &Path {
        let scratch = self.scratch.as_ref();
        scratch.expect("it is made before it is asked for").path()
    }

    /// Fails if OUT already has one of the names.
    pub(super) fn refuse_taken(&self, names: &[String]) -> Result<()> {
        if self.overwrite {
            return Ok(());
        }
        let is_taken = |name: &&String| fs::symlink_metadata(self.out.join(name)).is_ok();
        let taken: Vec<&str> = names.iter().filter(is_taken).map(String::as_str).collect();
        if taken.is_empty() {
            return Ok(());
        }
        let more = taken.len().saturating_sub(MAX_NAMES);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        Err(WrongUse(format!(
            "{} already has {}{more}; choose another folder, or --overwrite to replace them",
            self.out.display(),
            taken[..taken.len().min(MAX_NAMES)].join(", ")
        ))
        .into())
    }

    /// Moves the results of a finished run into OUT; returns their names there.
    pub(super) fn move_results(
        mut self,
        report: &Report,
        with_renders: bool,
    ) -> Result<Vec<String>> {
        let moves = moves(report, with_renders);
        let targets: Vec<String> = moves.iter().map(|(_, target)| target.clone()).collect();
        self.refuse_taken(&targets)?;
        if self.is_movable_whole(&moves)? {
            self.move_whole()?;
            return Ok(targets);
        }
        let mut moved = Vec::new();
        for (source, target) in &moves {
            if let Err(error) = self.move_one(source, target) {
                // With --overwrite older files are already replaced; the new ones, which are complete, stay.
                if !self.overwrite {
                    moved.iter().for_each(|path| drop(fs::remove_file(path)));
                }
                return Err(error);
            }
            moved.push(self.out.join(target));
        }
        self.made.clear();
        Ok(targets)
    }

    /// Whether the folders that the worker has made hold these results and nothing else, and OUT is not there: then the
    /// folders become OUT, which takes two renames instead of one for each file and the removal of the folders.
    fn is_movable_whole(&self, moves: &[(String, String)]) -> Result<bool> {
        if fs::symlink_metadata(&self.out).is_ok() {
            return Ok(false);
        }
        let (mut exports, mut logs) = (BTreeSet::new(), BTreeSet::new());
        for (source, target) in moves {
            let export = below(source, EXPORTS);
            let log = below(target, ANALYSIS);
            match (export, log) {
                (Some(name), _) if name == target => exports.insert(OsString::from(name)),
                (None, Some(name)) if name == source => logs.insert(OsString::from(name)),
                _ => return Ok(false),
            };
        }
        let scratch = self.scratch();
        Ok(!exports.is_empty()
            && files_of(&scratch.join(EXPORTS))? == Some(exports)
            && files_of(scratch)? == Some(logs))
    }

    fn move_whole(&mut self) -> Result<()> {
        let cannot = || format!("cannot write {}", self.out.display());
        let scratch = self.scratch.take();
        let scratch = scratch.expect("it is moved once");
        fs::rename(scratch.path().join(EXPORTS), &self.out).with_context(cannot)?;
        fs::rename(scratch.path(), self.out.join(ANALYSIS)).with_context(cannot)?;
        // It is not there any more.
        let _ = scratch.keep();
        Ok(())
    }

    fn move_one(&mut self, source: &str, target: &str) -> Result<()> {
        let (from, to) = (self.scratch().join(source), self.out.join(target));
        let cannot = || format!("cannot write {}", to.display());
        if let Some(folder) = to.parent() {
            self.make_dir(folder).with_context(cannot)?;
        }
        fs::rename(&from, &to).with_context(cannot)
    }

    /// Creates a folder and its parents, and remembers the new ones.
    fn make_dir(&mut self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        let missing = dir
            .ancestors()
            .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        fs::create_dir_all(dir)?;
        self.made.extend(missing.into_iter().rev());
        Ok(())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        self.scratch.take();
        for dir in self.made.iter().rev() {
            // A folder that is not empty stays.
            let _ = fs::remove_dir(dir);
        }
    }
}

/// The path of a file below a folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// The names of the files in a folder of the worker; `None` if there is something else than files, and the folder of the exports.
fn files_of(dir: &Path) -> Result<Option<BTreeSet<OsString>>> {
    let mut names = BTreeSet::new();
    let cannot = || format!("cannot read {}", dir.display());
    for entry in fs::read_dir(dir).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let kind = entry.file_type().with_context(cannot)?;
        if kind.is_file() {
            names.insert(entry.file_name());
        } else if !kind.is_dir() || entry.file_name() != EXPORTS {
            return Ok(None);
        }
    }
    Ok(Some(names))
}

/// The system's error, without the path of the hidden folder.
fn plain(error: io::Error) -> io::Error {
    error.kind().into()
}

/// From the worker's folder to OUT: exports to the top, logs below `analysis/`.
fn moves(report: &Report, with_renders: bool) -> Vec<(String, String)> {
    // Two exports may share a texture file.
    let parts: BTreeSet<&String> = report
        .exports
        .iter()
        .flat_map(|export| &export.parts)
        .collect();
    let exports = parts
        .into_iter()
        .map(|part| (format!("{EXPORTS}/{part}"), part.clone()));
    let others = report.files.iter().filter_map(|file| {
        let is_render = Path::new(file).starts_with(RENDERS_FOLDER);
        match file.as_str() {
            BEFORE_AFTER_NAME => Some((file.clone(), file.clone())),
            _ if is_render && !with_renders => None,
            _ if is_render => Some((file.clone(), file.clone())),
            _ => Some((file.clone(), format!("{ANALYSIS}/{file}"))),
        }
    });
    exports.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use assetfs_engine::job::ExportedFile;

    use super::*;

    fn report() -> Report {
        Report {
            files: vec![BEFORE_AFTER_NAME.to_owned(), "warning.log".to_owned()],
            ..Report::default()
        }
    }

    fn fill(output: &OutputFolder) {
        for name in report().files {
            fs::write(output.scratch().join(name), b"new").unwrap();
        }
    }

    #[test]
    fn a_run_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a/b");
        let output = OutputFolder::prepare(&out, &out, false).unwrap();
        fill(&output);
        drop(output);
        assert!(!dir.path().join("a").exists());
    }

    #[test]
    fn results_land_together_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let output = OutputFolder::prepare(&out, &out, false).unwrap();
        fs::write(output.scratch().join(BEFORE_AFTER_NAME), b"new").unwrap();
        // The second file is missing.
        assert!(output.move_results(&report(), false).is_err());
        assert!(!out.exists());
        let output = OutputFolder::prepare(&out, &out, false).unwrap();
        fill(&output);
        let files = output.move_results(&report(), false).unwrap();
        assert_eq!(files, [BEFORE_AFTER_NAME, WARNING_LOG]);
        assert_eq!(fs::read(out.join(WARNING_LOG)).unwrap(), b"new");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    }

    #[test]
    fn folders_that_hold_the_results_alone_are_moved_whole() {
        let report = Report {
            exports: vec![ExportedFile {
                format: "glb".to_owned(),
                name: "m.glb".to_owned(),
                parts: vec!["m.glb".to_owned()],
                size_bytes: 0,
                images: None,
                triangles: None,
                quality: None,
            }],
            files: vec!["warning.log".to_owned()],
            ..Report::default()
        };
        let more: [(&str, Option<&str>); 4] = [
            ("nothing", None),
            ("a file", Some("more.log")),
            ("a folder", Some("renders/more.png")),
            ("an export", Some("exports/more.glb")),
        ];
        for (what, more) in more {
            let dir = tempfile::tempdir().unwrap();
            let out = dir.path().join("out");
            let output = OutputFolder::prepare(&out, dir.path(), true).unwrap();
            assert!(!out.exists());
            let scratch = output.scratch().to_owned();
            for file in ["exports/m.glb", "warning.log"].into_iter().chain(more) {
                let path = scratch.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, file).unwrap();
            }
            let moves = moves(&report, false);
            assert_eq!(
                output.is_movable_whole(&moves).unwrap(),
                more.is_none(),
                "with {what} more"
            );
            let files = output.move_results(&report, false).unwrap();
            assert_eq!(files, ["m.glb", WARNING_LOG]);
            for (file, text) in [("m.glb", "exports/m.glb"), (WARNING_LOG, "warning.log")] {
                assert_eq!(fs::read_to_string(out.join(file)).unwrap(), text);
            }
            assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
            assert_eq!(fs::read_dir(out.join(ANALYSIS)).unwrap().count(), 1);
            assert!(!scratch.exists());
        }
    }

    #[test]
    fn files_of_others_are_replaced_only_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(BEFORE_AFTER_NAME), b"old").unwrap();
        let output = OutputFolder::prepare(dir.path(), dir.path(), false).unwrap();
        let refused = output.refuse_taken(&OWN_FILES.map(str::to_owned));
        let refused = refused.unwrap_err();
        assert!(refused.is::<WrongUse>(), "{refused}");
        fill(&output);
        assert!(output.move_results(&report(), false).is_err());
        assert_eq!(
            fs::read(dir.path().join(BEFORE_AFTER_NAME)).unwrap(),
            b"old"
        );
        let output = OutputFolder::prepare(dir.path(), dir.path(), true).unwrap();
        fill(&output);
        output.move_results(&report(), false).unwrap();
        assert_eq!(
            fs::read(dir.path().join(BEFORE_AFTER_NAME)).unwrap(),
            b"new"
        );
    }
}
