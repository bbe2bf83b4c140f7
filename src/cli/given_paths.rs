//! The paths of commands that act on many models: those of the command line, those on standard input (`-`), and what a search
//! folder of a drive has found.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::exit::WrongUse;
use super::mounted::{self, MountedDrive};
use crate::fuse;

/// The path that stands for a list on standard input.
const STDIN: &str = "-";

/// How a list on standard input is read.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct ListForm {
    /// The paths that `-` reads from standard input end with NUL, as those of `find -print0`
    #[arg(long, short = '0')]
    null: bool,
}

/// The paths that were given, each once: `-` stands for the list on standard input, and a folder below `.assetfs/search/` for
/// the models in it.
pub(super) fn all(given: &[PathBuf], form: ListForm) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in given {
        if path.as_os_str() == STDIN {
            let mut text = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut text);
            read.context("cannot read the paths from standard input")?;
            paths.extend(listed(&text, form)?);
        } else if is_search(path) {
            paths.extend(found_in(path)?);
        } else {
            paths.push(path.clone());
        }
    }
    if paths.is_empty() && !given.is_empty() {
        eprintln!("nothing was named");
    }
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    Ok(paths)
}

fn listed(text: &[u8], form: ListForm) -> Result<Vec<PathBuf>> {
    let end = if form.null { 0 } else { b'\n' };
    let mut drive = None;
    let lines = text.split(|byte| *byte == end).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(at, line)| place_of(ListLine::read(line, at + 1)?, &mut drive))
        .collect()
}

/// What a line of a list names.
#[derive(Debug, PartialEq, Eq)]
enum ListLine {
    /// A path, or the name of a source model.
    Path(PathBuf),
    /// The path of a line of JSON, which is one from the top of the drive if it is relative.
    Listed(PathBuf),
}

impl ListLine {
    /// `number` is that of the line, for an error.
    fn read(line: &[u8], number: usize) -> Result<ListLine> {
        #[derive(Deserialize)]
        struct Listed {
            path: PathBuf,
        }
        if !line.starts_with(b"{") {
            return Ok(ListLine::Path(OsStr::from_bytes(line).into()));
        }
        let object: Result<Listed, _> = serde_json::from_slice(line);
        match object {
            Ok(object) => Ok(ListLine::Listed(object.path)),
            Err(error) => Err(WrongUse(format!(
                "line {number} of standard input is no object with a \"path\", as `assetfs list --json` prints them (at its byte {})",
                error.column()
            ))
            .into()),
        }
    }
}

/// `drive` is the one that relative paths belong to, once it is known.
fn place_of(line: ListLine, drive: &mut Option<MountedDrive>) -> Result<PathBuf> {
    let below = match line {
        ListLine::Path(path) | ListLine::Listed(path) if path.is_absolute() => return Ok(path),
        ListLine::Path(path) if is_in_drive(&path)? => return Ok(path),
        ListLine::Path(name) if name.components().count() == 1 => Path::new("rawmodels").join(name),
        ListLine::Path(path) | ListLine::Listed(path) => path,
    };
    let drive = match drive {
        Some(drive) => drive,
        None => drive.insert(MountedDrive::at_or_only(None, "status")?),
    };
    Ok(drive.root().join(below))
}

/// True for what the working folder says where it is.
fn is_in_drive(path: &Path) -> Result<bool> {
    Ok(path.symlink_metadata().is_ok() && fuse::find_mount(path)?.is_some())
}

/// True for `…/.assetfs/search/QUERY`.
fn is_search(path: &Path) -> bool {
    let parent = path.parent();
    let hidden = parent.and_then(Path::parent);
    parent.is_some_and(|it| it.ends_with("search"))
        && hidden.is_some_and(|it| it.ends_with(".assetfs"))
}

fn found_in(search: &Path) -> Result<Vec<PathBuf>> {
    let explain = |error| mounted::explain_at(search, error);
    let entries = std::fs::read_dir(search).map_err(explain)?;
    let mut found = Vec::new();
    for entry in entries {
        found.push(mounted::own_target(&entry.map_err(explain)?.path())?);
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_path_or_an_object_with_one() {
        let listed = br#"{"schema":1,"name":"a b","path":"rawmodels/a b","state":"complete"}"#;
        assert_eq!(
            ListLine::read(listed, 1).unwrap(),
            ListLine::Listed("rawmodels/a b".into())
        );
        assert_eq!(
            ListLine::read(b"a\xff", 1).unwrap(),
            ListLine::Path(OsStr::from_bytes(b"a\xff").into())
        );
        let refused =
            super::listed(b"/a\n\n{\"name\":\"x\"}\n", ListForm { null: false }).unwrap_err();
        assert!(refused.is::<WrongUse>());
        assert!(refused.to_string().contains("line 3 of"), "{refused}");
    }

    #[test]
    fn absolute_paths_need_no_drive_and_a_list_may_end_with_nul() {
        let found = |text: &[u8], null| listed(text, ListForm { null }).unwrap();
        assert_eq!(
            found(b"/a b\n\n/c\n", false),
            [Path::new("/a b"), Path::new("/c")]
        );
        assert_eq!(
            found(b"/a\nb\0/c\0", true),
            [Path::new("/a\nb"), Path::new("/c")]
        );
        assert_eq!(
            found(b"{\"path\":\"/m/rawmodels/x\"}\n", false),
            [Path::new("/m/rawmodels/x")]
        );
        assert!(found(b"", false).is_empty());
    }

    #[test]
    fn a_search_folder_is_told_from_what_is_in_it() {
        assert!(is_search(Path::new("/m/rawmodels/.assetfs/search/oak")));
        assert!(is_search(Path::new("rawmodels/.assetfs/search/oak/")));
        assert!(!is_search(Path::new(
            "/m/rawmodels/.assetfs/search/oak/chair"
        )));
        assert!(!is_search(Path::new("/m/rawmodels/search/oak")));
    }
}
