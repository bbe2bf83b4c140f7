//! A map of download names to URLs, arranged as folders and files.
//!
//! Invariant: every name that the service sent is one file, no two files have the same path, and no path is
//! both a file and a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::names::{safe_name, safe_path, with_id};
use crate::wire::SignedUrl;

/// Maximum number of files in a service folder; more are left out.
const MAX_FILES: usize = 200_000;

/// The files of one folder of the service.
#[derive(Debug, Clone, Default)]
pub struct FileMap {
    files: BTreeMap<Arc<str>, RemoteSource>,
    folders: BTreeSet<Arc<str>>,
}

#[derive(Debug, Clone)]
pub struct RemoteSource {
    /// The name that the service uses.
    pub service_name: String,
    /// The URL; `None` if only the name was stored.
    pub url: Option<SignedUrl>,
}

/// A row of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arranged {
    /// A file, with its path.
    File(Arc<str>),
    /// A folder, with its path.
    Folder(Arc<str>),
}

impl FileMap {
    /// Arranges names; `owner` is the id of the model, for names that must be shortened.
    pub fn arrange(
        names: impl IntoIterator<Item = (String, Option<SignedUrl>)>,
        owner: u64,
    ) -> FileMap {
        let mut names: Vec<(String, Option<SignedUrl>)> =
            names.into_iter().take(MAX_FILES).collect();
        names.sort_by(|(a, _), (b, _)| a.cmp(b));
        names.dedup_by(|(a, _), (b, _)| a == b);
        let mut map = FileMap::default();
        for (service_name, url) in names {
            let path = map.free_path(&service_name, owner);
            map.insert(path, RemoteSource { service_name, url });
        }
        map
    }

    /// The file of a path.
    pub fn file(&self, path: &str) -> Option<&RemoteSource> {
        self.files.get(path)
    }

    /// The path of a file by the name that the service uses.
    pub fn path_of(&self, service_name: &str) -> Option<&Arc<str>> {
        self.files
            .iter()
            .find(|(_, source)| source.service_name == service_name)
            .map(|(path, _)| path)
    }

    /// Finds the file or folder at a path; the empty path is the root folder.
    pub fn find(&self, path: &str) -> Option<Arranged> {
        if let Some((path, _)) = self.files.get_key_value(path) {
            return Some(Arranged::File(Arc::clone(path)));
        }
        self.folders
            .get(path)
            .map(|path| Arranged::Folder(Arc::clone(path)))
    }

    /// The rows of a folder, with their names.
    pub fn rows(&self, folder: &str) -> Vec<(String, Arranged)> {
        let prefix = if folder.is_empty() {
            String::new()
        } else {
            format!("{folder}/")
        };
        let folders = children(&prefix, |from| self.folders.range::<str, _>(from).next());
        let files = children(&prefix, |from| {
            self.files
                .range::<str, _>(from)
                .next()
                .map(|(path, _)| path)
        });
        let named = |path: &Arc<str>| path[prefix.len()..].to_owned();
        let folders = folders.map(|path| (named(path), Arranged::Folder(Arc::clone(path))));
        let files = files.map(|path| (named(path), Arranged::File(Arc::clone(path))));
        folders.chain(files).collect()
    }

    pub fn files(&self) -> impl Iterator<Item = (&Arc<str>, &RemoteSource)> {
        self.files.iter()
    }

    /// True when there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many files there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    fn insert(&mut self, path: String, source: RemoteSource) {
        for (at, _) in path.match_indices('/') {
            if !self.folders.contains(&path[..at]) {
                self.folders.insert(Arc::from(&path[..at]));
            }
        }
        self.files.insert(path.into(), source);
    }

    fn free_path(&self, service_name: &str, owner: u64) -> String {
        let nested = safe_path(service_name, owner).join("/");
        if self.is_free(&nested) {
            return nested;
        }
        let flat = safe_name(service_name, owner);
        let mut path = flat.clone();
        let mut count = 2;
        while !self.is_free(&path) {
            path = with_id(&flat, count, "");
            count += 1;
        }
        path
    }

    /// True if nothing has the path and no parent of it is a file.
    fn is_free(&self, path: &str) -> bool {
        let taken = self.files.contains_key(path) || self.folders.contains(path);
        let blocked = path
            .match_indices('/')
            .any(|(at, _)| self.files.contains_key(&path[..at]));
        !taken && !blocked
    }
}

/// The paths directly in the folder of a prefix; subfolders are skipped without a look at their paths. `next` returns the
/// first path in a range.
fn children<'a>(
    prefix: &str,
    next: impl Fn((Bound<&str>, Bound<&str>)) -> Option<&'a Arc<str>>,
) -> impl Iterator<Item = &'a Arc<str>> {
    let mut from = Bound::Included(prefix.to_owned());
    std::iter::from_fn(move || {
        loop {
            let path = next((from.as_ref().map(String::as_str), Bound::Unbounded))?;
            let rest = path.strip_prefix(prefix)?;
            match rest.find('/') {
                None => {
                    from = Bound::Excluded(path.to_string());
                    return Some(path);
                }
                // Continues after all paths in this subfolder: `0` is the character after `/`.
                Some(end) => from = Bound::Included(format!("{prefix}{}0", &rest[..end])),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrange(names: &[&str]) -> FileMap {
        FileMap::arrange(names.iter().map(|name| ((*name).to_owned(), None)), 7)
    }

    #[test]
    fn slashes_make_folders_and_a_file_is_never_a_folder_too() {
        let map = arrange(&["chair.gltf", "textures/wood.png", "textures", "a/b/c"]);
        let names = |folder: &str| -> Vec<String> {
            map.rows(folder).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(
            names(""),
            ["a", "chair.gltf", "textures", "textures%2Fwood.png"]
        );
        assert_eq!(names("a"), ["b"]);
        assert_eq!(names("a/b"), ["c"]);
        assert_eq!(
            map.find("textures"),
            Some(Arranged::File("textures".into()))
        );
        assert_eq!(map.find("a"), Some(Arranged::Folder("a".into())));
        assert_eq!(
            map.path_of("textures/wood.png").unwrap().as_ref(),
            "textures%2Fwood.png"
        );
    }

    #[test]
    fn a_folder_is_listed_without_looking_at_what_is_in_its_folders() {
        let names: Vec<String> = (0..50)
            .flat_map(|folder| (0..20).map(move |file| format!("{folder}/{file}")))
            .chain(["0".to_owned() + "0", "top".to_owned()])
            .collect();
        let map = FileMap::arrange(names.into_iter().map(|name| (name, None)), 7);
        assert_eq!(map.rows("").len(), 52);
        assert_eq!(map.rows("7").len(), 20);
        let looks = std::cell::Cell::new(0);
        let found = children("", |from| {
            looks.set(looks.get() + 1);
            map.files.range::<str, _>(from).next().map(|(path, _)| path)
        });
        assert_eq!(found.count(), 2);
        assert!(looks.get() <= 53, "{}", looks.get());
    }

    proptest! {
        #[test]
        fn every_name_is_one_file_and_no_path_leaves_its_folder(
            names in prop::collection::hash_set("[ab./%\u{1}]{0,6}", 0..20)
        ) {
            let map = FileMap::arrange(names.iter().map(|name| (name.clone(), None)), 7);
            prop_assert_eq!(map.len(), names.len());
            for (path, _) in map.files() {
                prop_assert!(path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{}", path);
                prop_assert!(!map.folders.contains(path));
                let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
                prop_assert!(map.rows(parent).contains(&(name.to_owned(), Arranged::File(Arc::clone(path)))));
            }
        }
    }
}
