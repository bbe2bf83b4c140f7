//! The files of one upload, with lengths and checksums. Fixed when the upload starts. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::outbox::drafts::info::EntryKind;
use crate::outbox::drafts::tree::{FileBody, Tree};
use crate::outbox::ids::EntryId;
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::outbox::names::{FileName, FolderName};
use crate::outbox::staging::{ContentHash, ContentId};
use crate::wire::AssetId;

/// One file that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its entry in the draft.
    pub entry: EntryId,
    /// Its staged bytes.
    pub content: ContentId,
    /// Its path from the draft's folder, with `/` between names.
    pub path: String,
    pub size: u64,
    /// The checksum of its bytes.
    pub hash: ContentHash,
    pub mtime: Moment,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The name of the new asset.
    pub model_name: String,
    /// The name of the zip in which the files are sent; without it, each file is sent separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip_name: Option<String>,
    /// The zip has the times to the second. Not in uploads that an earlier version began: their zip stays as it was sent.
    #[serde(default)]
    pub has_exact_times: bool,
    /// The files, in order of path.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// The manifest of a draft that becomes the asset of that name. `referred` tells whether a model refers to a file in a service folder. Files that
    /// were never flushed are left out.
    pub fn of(model_name: &str, tree: &Tree, referred: impl Fn(&str) -> bool) -> Manifest {
        let files: Vec<ManifestFile> = sendable_with(tree, referred)
            .into_iter()
            .filter_map(|item| {
                Some(ManifestFile {
                    entry: item.entry,
                    content: item.file.content,
                    size: item.file.size,
                    hash: item.file.hash?,
                    mtime: tree.node(item.entry)?.attributes.mtime,
                    path: item.path,
                })
            })
            .collect();
        let nested = files.iter().any(|file| file.path.contains('/'));
        Manifest {
            zip_name: nested.then(|| format!("{model_name}.zip")),
            model_name: model_name.to_owned(),
            has_exact_times: true,
            files,
        }
    }

    /// The paths, lengths and checksums of what is sent, for a comparison.
    pub fn contents(&self) -> BTreeSet<(String, u64, String)> {
        let files = self.files.iter();
        files
            .map(|file| (file.path.clone(), file.size, file.hash.to_string()))
            .collect()
    }

    /// The join key of its upload: the same on every machine that sends the same bytes under the same names, as the new
    /// version of the same asset. A zip has the times of its files.
    pub fn join_key(&self, replaces: Option<AssetId>) -> String {
        let is_zip = self.zip_name.is_some();
        let times = |file: &ManifestFile| is_zip.then_some(file.mtime.secs);
        let files = self.files.iter();
        let files: Vec<_> = files
            .map(|file| (&file.path, file.size, file.hash.to_string(), times(file)))
            .collect();
        let name = (&self.model_name, &self.zip_name, self.has_exact_times);
        let text = serde_json::to_vec(&(name, files, replaces));
        let text = text.expect("texts and numbers can be written as JSON");
        format!("assetfs upload {}", ContentHash::of(&text))
    }

    /// The names of the objects to send.
    pub fn object_names(&self) -> Vec<String> {
        match &self.zip_name {
            Some(name) => vec![name.clone()],
            None => self.files.iter().map(|file| file.path.clone()).collect(),
        }
    }

    /// True if the service has to unpack it.
    pub fn is_zip(&self) -> bool {
        self.zip_name.is_some() || self.is_one_zip()
    }

    /// Bytes of all files.
    pub fn total_size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    fn is_one_zip(&self) -> bool {
        self.files.len() == 1 && names::extension(&self.files[0].path) == "zip"
    }
}

/// A file of a draft that may be sent.
#[derive(Debug)]
pub struct Sendable<'a> {
    pub entry: EntryId,
    pub path: String,
    pub file: &'a FileBody,
}

/// Why an entry is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// Its name, or that of a folder above it, is junk.
    Junk,
    /// It, or a folder above it, has the temporary name of a copy.
    InFlight,
    /// It is part of a version control folder.
    VersionControl,
    /// It is in a folder with the name of a service folder that no model refers to.
    ServiceFolder,
}

impl Exclusion {
    /// The sentence that `why` prints.
    pub fn sentence(self, path: &str) -> String {
        match self {
            Exclusion::Junk => format!(
                "{path} is kept on this computer and never sent: file managers and editors make files of this name"
            ),
            Exclusion::InFlight => format!(
                "{path} has the temporary name of a file that is still being copied; the model is sent when the file is renamed or removed"
            ),
            Exclusion::VersionControl => {
                format!("{path} belongs to a version control folder, which is never sent")
            }
            Exclusion::ServiceFolder => format!(
                "{path} is kept on this computer and not sent: its folder has the name of a folder that the service fills, and no model refers to it"
            ),
        }
    }
}

/// Why an entry is not sent because of its name. Service folders are checked by [`sendable_with`], because they
/// depend on what models refer to.
pub fn excluded_by_name(tree: &Tree, entry: EntryId) -> Option<Exclusion> {
    let mut at = entry;
    while at != EntryId::ROOT {
        let node = tree.node(at)?;
        let verdict = match node.kind() {
            EntryKind::File => match names::judge_file(&node.name) {
                FileName::Plain => None,
                FileName::Junk => Some(Exclusion::Junk),
                FileName::InFlight => Some(Exclusion::InFlight),
            },
            EntryKind::Folder => match names::judge_folder(&node.name) {
                FolderName::Plain => None,
                FolderName::Junk => Some(Exclusion::Junk),
                FolderName::InFlight => Some(Exclusion::InFlight),
                FolderName::VersionControl => Some(Exclusion::VersionControl),
            },
        };
        if verdict.is_some() {
            return verdict;
        }
        at = node.parent;
    }
    None
}

/// The files of a draft that may be sent by their names, in order of path. Those in service folders are left out.
pub fn sendable(tree: &Tree) -> Vec<Sendable<'_>> {
    sendable_with(tree, |_| false)
}

/// The same, with files in service folders for which `referred` is true.
pub fn sendable_with(tree: &Tree, referred: impl Fn(&str) -> bool) -> Vec<Sendable<'_>> {
    let files = tree.walk();
    files
        .into_iter()
        .filter_map(|(path, entry, node)| {
            let file = node.file()?;
            let by_name = excluded_by_name(tree, entry).is_none();
            let wanted = names::service_folder_of(&path).is_none_or(&referred);
            (by_name && wanted).then_some(Sendable { entry, path, file })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::outbox::drafts::tree::{Attributes, FileState, NodeBody};

    fn tree(paths: &[&str]) -> Tree {
        let attributes = Attributes::new(0o644, Moment { secs: 0, nanos: 0 });
        let mut tree = Tree::new(attributes);
        let mut next = 1;
        for path in paths {
            let mut parent = EntryId::ROOT;
            let parts: Vec<&str> = path.split('/').collect();
            for (at, part) in parts.iter().enumerate() {
                if let Some(found) = tree.child(parent, part) {
                    parent = found;
                    continue;
                }
                let body = if at + 1 == parts.len() {
                    NodeBody::File(FileBody {
                        size: 10,
                        hash: Some(ContentHash(1)),
                        state: FileState::Flushed,
                        ..FileBody::new(ContentId(next))
                    })
                } else {
                    NodeBody::Folder(BTreeMap::new())
                };
                tree.insert(parent, part, EntryId(next), attributes, body)
                    .unwrap();
                parent = EntryId(next);
                next += 1;
            }
        }
        tree
    }

    fn names_of(paths: &[&str]) -> Vec<String> {
        let tree = tree(paths);
        sendable(&tree).into_iter().map(|item| item.path).collect()
    }

    #[test]
    fn junk_and_version_control_are_never_sent() {
        let all = [
            "chair.glb",
            ".DS_Store",
            "__MACOSX/chair.glb",
            ".git/HEAD",
            "sub/.hg/store",
            "sub/wood.png",
            "wood.png~",
        ];
        assert_eq!(names_of(&all), ["chair.glb", "sub/wood.png"]);
    }

    #[test]
    fn a_service_folder_goes_only_when_a_model_refers_to_it() {
        let paths = ["chair.gltf", "renders/front.png", "pbr/wood.png"];
        assert_eq!(names_of(&paths), ["chair.gltf"]);
        let tree = tree(&paths);
        let with = sendable_with(&tree, |folder| folder == "pbr");
        let with: Vec<_> = with.into_iter().map(|item| item.path).collect();
        assert_eq!(with, ["chair.gltf", "pbr/wood.png"]);
    }

    #[test]
    fn a_flat_folder_goes_file_by_file_and_a_nested_one_as_a_zip() {
        let flat = Manifest::of("chair", &tree(&["b.bin", "a.gltf"]), |_| false);
        assert_eq!(flat.object_names(), ["a.gltf", "b.bin"]);
        assert!(!flat.is_zip());
        let nested = Manifest::of("chair", &tree(&["a.gltf", "t/b.png"]), |_| false);
        assert_eq!(nested.object_names(), ["chair.zip"]);
        assert!(nested.is_zip());
    }

    #[test]
    fn a_loose_file_becomes_the_asset_of_its_stem() {
        let loose = Manifest::of("chair", &tree(&["chair.glb"]), |_| false);
        assert_eq!(
            (loose.model_name.as_str(), loose.is_zip()),
            ("chair", false)
        );
        let zip = Manifest::of("chair", &tree(&["chair.zip"]), |_| false);
        assert!(zip.is_zip());
        assert_eq!(zip.object_names(), ["chair.zip"]);
    }
}
