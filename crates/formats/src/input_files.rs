//! The files of a model in a folder of this machine, and which of them a reference means.
//!
//! Invariant: nothing outside the folder is ever found, however the reference is spelled and whatever symlinks the
//! folder holds. No file is opened here.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::resolve::{Found, ModelFiles, Target};

/// Of a folder with more files, only the exact places of references are looked at: a model in a folder of downloads.
const MAX_LISTED: usize = 50_000;

/// The target of a reference.
#[derive(Debug, PartialEq, Eq)]
pub enum UriTarget {
    /// A file inside the input folder.
    File(PathBuf),
    /// The reference leads out of the input folder, or to the network.
    Outside,
    /// No file of that name exists.
    Missing,
    /// Each of these files of the input folder could be meant.
    Several(Vec<String>),
}

impl UriTarget {
    /// Why there is no file, for a sentence that says what is left out; `None` if there is one.
    pub fn absence(&self) -> Option<String> {
        const SHOWN: usize = 3;
        match self {
            UriTarget::File(_) => None,
            UriTarget::Outside => Some("its path leads out of the upload".to_owned()),
            UriTarget::Missing => Some("it is not among the uploaded files".to_owned()),
            UriTarget::Several(files) => Some(format!(
                "several uploaded files could be meant: {}{}",
                files[..files.len().min(SHOWN)].join(", "),
                if files.len() > SHOWN { ", …" } else { "" }
            )),
        }
    }
}

/// The input folder. Its files are listed at most once, when a reference does not name its exact place.
#[derive(Debug)]
pub struct InputFiles {
    root: PathBuf,
    listed: OnceLock<ModelFiles>,
}

impl AsRef<Path> for InputFiles {
    fn as_ref(&self) -> &Path {
        &self.root
    }
}

impl InputFiles {
    pub fn new(root: &Path) -> InputFiles {
        InputFiles {
            root: root.to_owned(),
            listed: OnceLock::new(),
        }
    }

    /// Finds the file that the reference `uri` in the file `base` (relative to the folder) means, by the rules of
    /// [`super::resolve`].
    pub fn resolve(&self, base: &Path, uri: &str) -> UriTarget {
        let from = text_of(base);
        match Target::of(&from, uri) {
            Some(target) => match (self.find(&from, target.paths()), target) {
                (UriTarget::Missing, Target::Elsewhere(_)) => UriTarget::Outside,
                (found, _) => found,
            },
            None if uri.is_empty() => UriTarget::Missing,
            None => UriTarget::Outside,
        }
    }

    /// The same for paths of which one is meant.
    pub fn find(&self, from: &str, paths: &[String]) -> UriTarget {
        let exact = paths.iter().find_map(|path| existing(&self.root, path));
        if let Some(found) = exact {
            return UriTarget::File(found);
        }
        let listed = self
            .listed
            .get_or_init(|| ModelFiles::new(files_below(&self.root)));
        match listed.find(from, paths) {
            Found::File(path) => {
                existing(&self.root, path).map_or(UriTarget::Missing, UriTarget::File)
            }
            Found::Several(files) => {
                UriTarget::Several(files.into_iter().map(str::to_owned).collect())
            }
            Found::Nothing => UriTarget::Missing,
        }
    }
}

fn text_of(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// The path if it is a file below `root`, also after symlinks are resolved.
fn existing(root: &Path, relative: &str) -> Option<PathBuf> {
    let path = root.join(relative);
    if !path.is_file() {
        return None;
    }
    let inside = path.canonicalize().ok()?;
    inside
        .starts_with(root.canonicalize().ok()?)
        .then_some(path)
}

/// The files below a folder, with `/` between parts; empty if there are more than 50,000 files and folders. Links and names
/// that are not text are left out.
pub fn files_below(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = VecDeque::from([String::new()]);
    let mut seen = 0;
    while let Some(folder) = folders.pop_front() {
        // A folder that cannot be read has no files for the model.
        let entries = fs::read_dir(root.join(&folder)).into_iter().flatten();
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_LISTED {
                return Vec::new();
            }
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            let path = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            if kind.is_dir() {
                folders.push_back(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tried_decoded_raw_and_in_any_case() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("Textures")).unwrap();
        for name in ["a b.png", "100%.png", "Textures/Wood.PNG", "x%20y.png"] {
            fs::write(dir.path().join(name), b"x").unwrap();
        }
        let base = Path::new("model.gltf");
        for (uri, name) in [
            ("a%20b.png", "a b.png"),
            ("a b.png", "a b.png"),
            ("100%.png", "100%.png"),
            ("textures/wood.png", "Textures/Wood.PNG"),
            ("textures\\wood.png", "Textures/Wood.PNG"),
            ("x%20y.png", "x%20y.png"),
            ("./Textures/../a%20b.png", "a b.png"),
        ] {
            let found = UriTarget::File(dir.path().join(name));
            let files = InputFiles::new(dir.path());
            assert_eq!(files.resolve(base, uri), found, "{uri}");
        }
        let files = InputFiles::new(dir.path());
        assert_eq!(files.resolve(base, "none.png"), UriTarget::Missing);
    }

    #[test]
    fn nothing_outside_is_opened() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("in");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret"), b"x").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let base = Path::new("m/model.gltf");
        for uri in [
            "../../secret",
            "%2e%2e/%2e%2e/secret",
            "..\\..\\secret",
            "/etc/passwd",
            "C:\\secret",
            "file:///etc/passwd",
            "https://example.com/a.png",
        ] {
            let files = InputFiles::new(&root);
            assert_eq!(files.resolve(base, uri), UriTarget::Outside, "{uri}");
        }
        let files = InputFiles::new(&root);
        assert_eq!(files.resolve(base, "../link"), UriTarget::Missing);
        assert_eq!(files.resolve(base, "C:\\x\\link"), UriTarget::Outside);
    }
}
