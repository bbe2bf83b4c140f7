//! Which links of a folder of models are followed, and the entries of the folder that are left out.

use std::cell::RefCell;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cli::files;

/// Where the links of a folder may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Links {
    /// Anywhere but to the folder itself or to one above it: it is the user's own.
    Anywhere,
    /// Only to what is in the folder: others may write to it, and must not have files read that they cannot read themselves.
    Inside,
}

/// The rule for the links of a folder.
pub(super) struct LinkRule {
    dir: PathBuf,
    out: PathBuf,
    links: Links,
}

impl LinkRule {
    pub(super) fn new(dir: &Path, out: &Path, links: Links) -> io::Result<LinkRule> {
        Ok(LinkRule {
            dir: dir.canonicalize()?,
            out: out.canonicalize().unwrap_or_else(|_| out.to_owned()),
            links,
        })
    }

    pub(super) fn within(&self) -> Option<&Path> {
        (self.links == Links::Inside).then_some(&self.dir)
    }

    /// Why a path is left out, if it is a link that leads where it may not.
    pub(super) fn forbids(&self, path: &Path) -> Option<&'static str> {
        if !path.is_symlink() {
            return None;
        }
        // A link that leads to nothing is no model.
        let target = path.canonicalize().ok()?;
        if self.dir.starts_with(&target) {
            return Some("it is a link to the folder of the models or to one above it; remove it");
        }
        match self.links {
            Links::Anywhere => None,
            Links::Inside if !target.starts_with(&self.dir) => Some(
                "it is a link that leads out of the folder; copy what it leads to into the folder",
            ),
            Links::Inside if target.starts_with(&self.out) => {
                Some("it is a link to results; copy what it leads to into the folder")
            }
            Links::Inside => None,
        }
    }

    /// The links below a folder that are forbidden, with the reason.
    fn forbidden_below(&self, folder: &Path) -> Vec<(PathBuf, &'static str)> {
        let links = RefCell::new(Vec::new());
        // What cannot be read is reported by the scan.
        let _ = files::below_with(folder, |path, kind| {
            let whole = folder.join(path);
            let is_out = whole == self.out;
            if kind.is_symlink() {
                links.borrow_mut().push(whole);
            }
            Ok(!is_out)
        });
        let links = links.into_inner().into_iter();
        links
            .filter_map(|path| self.forbids(&path).map(|why| (path, why)))
            .collect()
    }
}

/// The entries of a folder that could be models and are none, with the reason: names that no model of the service can have,
/// links that lead to themselves, and links that `links` forbids, there also in the folders of models.
pub(in crate::cli) fn left_out(
    dir: &Path,
    out: &Path,
    links: Links,
) -> Result<Vec<(PathBuf, &'static str)>> {
    let mut left_out = Vec::new();
    let cannot = || format!("cannot read {}", dir.display());
    let rule = LinkRule::new(dir, out, links).with_context(cannot)?;
    for entry in fs::read_dir(dir).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let is_kind = |is: fn(&FileType) -> bool| entry.file_type().is_ok_and(|kind| is(&kind));
        let is_link = is_kind(FileType::is_symlink);
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let leads_to_itself = || {
            let looked = fs::metadata(entry.path());
            looked.is_err_and(|error| error.raw_os_error() == Some(libc::ELOOP))
        };
        if is_link && leads_to_itself() {
            left_out.push((entry.path(), "it is a link that leads to itself"));
        } else if is_link
            && !is_hidden
            && let Some(why) = rule.forbids(&entry.path())
        {
            left_out.push((entry.path(), why));
        } else if entry.file_name().to_str().is_none() {
            left_out.push((
                entry.path(),
                "its name is not UTF-8; `convmv` renames such files",
            ));
        } else if links == Links::Inside
            && !is_hidden
            && is_kind(FileType::is_dir)
            && entry.path() != out
        {
            left_out.extend(rule.forbidden_below(&entry.path()));
        }
    }
    left_out.sort();
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use super::super::source::scan;
    use super::*;

    #[test]
    fn a_link_to_the_folder_itself_is_no_model_and_one_out_of_it_only_where_that_is_allowed() {
        let top = tempfile::tempdir().unwrap();
        for name in ["hot/a.stl", "hot/own/b.stl", "secret/s.stl"] {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "solid s endsolid").unwrap();
        }
        let dir = top.path().join("hot");
        for (name, target) in [
            ("inside.stl", "own/b.stl"),
            ("loop", "."),
            ("above", ".."),
            ("file.stl", "../secret/s.stl"),
            ("folder", "../secret"),
            ("own/texture.png", "../../secret/s.stl"),
        ] {
            std::os::unix::fs::symlink(target, dir.join(name)).unwrap();
        }
        let out = dir.join("out");
        let models = |links| -> Vec<String> {
            let found = scan(&dir, &out, links, |_| None).unwrap();
            found.into_iter().map(|it| it.entry).collect()
        };
        let named = |links| -> Vec<PathBuf> {
            let left_out = left_out(&dir, &out, links).unwrap();
            let paths = left_out.into_iter().map(|(path, _)| path);
            paths
                .map(|path| path.strip_prefix(&dir).unwrap().to_owned())
                .collect()
        };
        let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        assert_eq!(models(Links::Inside), ["a.stl", "inside.stl", "own"]);
        assert_eq!(
            named(Links::Inside),
            paths(&["above", "file.stl", "folder", "loop", "own/texture.png"])
        );
        assert_eq!(
            models(Links::Anywhere),
            ["a.stl", "file.stl", "folder", "inside.stl", "own"]
        );
        assert_eq!(named(Links::Anywhere), paths(&["above", "loop"]));
    }
}
