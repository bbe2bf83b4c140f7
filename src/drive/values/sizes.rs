//! Size, version and time of remote files, stored across mounts so that an immutable file is requested at most
//! once.
//!
//! Invariant: a size here comes from the storage. When the version changes, the content number is incremented,
//! which gives the file a new inode.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::node::RemoteFolder;
use crate::durable::MetaStore;
use crate::locks::Locked;
use crate::wire::{AssetId, RapidId};

/// The content of one remote file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Its length in bytes.
    pub size: u64,
    /// Its version (ETag).
    pub etag: Option<String>,
    /// Last-Modified.
    pub modified: Option<SystemTime>,
    /// Number of contents that the file has had.
    pub count: u32,
}

/// One file of a folder.
#[derive(Debug, Clone)]
pub struct ReportedSize {
    /// Its path in the folder.
    pub path: Arc<str>,
    /// Its length in bytes.
    pub size: u64,
    /// Its version.
    pub etag: Option<String>,
    /// When it was last changed.
    pub modified: Option<SystemTime>,
}

/// All known contents. Reads are cheap; writes go to the store and may be lost in a crash, which costs one
/// request each.
#[derive(Debug)]
pub struct ContentTable {
    known: Mutex<HashMap<String, Content>>,
    store: MetaStore,
}

const TABLE: &str = "contents";

impl ContentTable {
    /// Reads the store.
    pub fn new(store: &MetaStore) -> ContentTable {
        ContentTable {
            known: Mutex::new(HashMap::new()),
            store: store.relaxed(),
        }
    }

    /// The stable name of a file, for the store and for the block cache.
    pub fn object_name(folder: RemoteFolder, path: &str) -> String {
        format!("{folder}/{path}")
    }

    /// The folder and path of such a name.
    pub fn place_of(name: &str) -> Option<(RemoteFolder, Arc<str>)> {
        let (family, rest) = name.split_once('/')?;
        let (id, rest) = rest.split_once('/')?;
        let (area, path) = rest.split_once('/')?;
        let number = id.parse().ok()?;
        let (asset, rapid) = (AssetId(number), RapidId(number));
        let folders = [
            RemoteFolder::AssetFiles(asset),
            RemoteFolder::AssetMembers(asset),
            RemoteFolder::AssetAnalysis(asset),
            RemoteFolder::AssetRenders(asset),
            RemoteFolder::AssetConverted(asset),
            RemoteFolder::AssetPbr(asset),
            RemoteFolder::RapidFiles(rapid),
            RemoteFolder::RapidAnalysis(rapid),
            RemoteFolder::RapidRenders(rapid),
            RemoteFolder::RapidQc(rapid),
        ];
        let text = format!("{family}/{id}/{area}");
        let folder = folders.into_iter().find(|it| it.to_string() == text)?;
        Some((folder, path.into()))
    }

    /// What is known of a file.
    pub fn get(&self, folder: RemoteFolder, path: &str) -> Option<Content> {
        let name = Self::object_name(folder, path);
        if let Some(content) = self.known.locked().get(&name) {
            return Some(content.clone());
        }
        let stored: Option<Content> = self.store.get(TABLE, &name).ok().flatten();
        if let Some(content) = &stored {
            self.known.locked().insert(name, content.clone());
        }
        stored
    }

    /// Number of contents that the file has had, part of its identity.
    pub fn count(&self, folder: RemoteFolder, path: &str) -> u32 {
        self.get(folder, path).map_or(0, |content| content.count)
    }

    /// Stores what the storage reported. Returns it with its content number.
    pub fn store(
        &self,
        folder: RemoteFolder,
        path: &str,
        size: u64,
        etag: Option<String>,
        modified: Option<SystemTime>,
    ) -> Content {
        let reported = ReportedSize {
            path: path.into(),
            size,
            etag,
            modified,
        };
        let (content, is_new) = self.learned(folder, &reported);
        if is_new {
            let name = Self::object_name(folder, path);
            if let Err(error) = self.store.put(TABLE, &name, &content) {
                tracing::warn!(name, error = %error, "could not store the size of a file");
            }
            self.known.locked().insert(name, content.clone());
        }
        content
    }

    /// The same for several files of one folder, in one transaction.
    pub fn store_all(&self, folder: RemoteFolder, files: impl Iterator<Item = ReportedSize>) {
        let news: Vec<(String, Content)> = files
            .filter_map(|reported| {
                let (content, is_new) = self.learned(folder, &reported);
                is_new.then(|| (Self::object_name(folder, &reported.path), content))
            })
            .collect();
        let kept = self.store.batch(|batch| {
            for (name, content) in &news {
                batch.put(TABLE, name, content)?;
            }
            Ok(())
        });
        if let Err(error) = kept {
            tracing::warn!(folder = %folder, error = %error, "could not store the sizes of files");
        }
        self.known.locked().extend(news);
    }

    fn learned(&self, folder: RemoteFolder, reported: &ReportedSize) -> (Content, bool) {
        let before = self.get(folder, &reported.path);
        let count = match &before {
            None => 0,
            Some(known) if is_same_version(known, reported.size, reported.etag.as_deref()) => {
                known.count
            }
            Some(known) => known.count.wrapping_add(1),
        };
        let content = Content {
            size: reported.size,
            etag: reported.etag.clone(),
            modified: reported.modified,
            count,
        };
        let is_new = before.as_ref() != Some(&content);
        (content, is_new)
    }

    /// Deletes a file, or everything of a model whose name starts with `prefix`.
    pub fn forget(&self, prefix: &str) {
        self.known
            .locked()
            .retain(|name, _| !name.starts_with(prefix));
        let stored: Vec<(String, Content)> = self.store.scan(TABLE, prefix).unwrap_or_default();
        let removed = self.store.batch(|batch| {
            for (name, _) in &stored {
                batch.remove(TABLE, name);
            }
            Ok(())
        });
        if let Err(error) = removed {
            tracing::warn!(prefix, error = %error, "could not delete the sizes of files");
        }
    }
}

/// Without two versions only the sizes can be compared.
fn is_same_version(known: &Content, size: u64, etag: Option<&str>) -> bool {
    let same_etag = match (known.etag.as_deref(), etag) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    known.size == size && same_etag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_name_tells_its_folder_and_path_again() {
        for folder in [
            RemoteFolder::AssetFiles(AssetId(7)),
            RemoteFolder::AssetAnalysis(AssetId(7)),
            RemoteFolder::AssetRenders(AssetId(7)),
            RemoteFolder::AssetConverted(AssetId(7)),
            RemoteFolder::RapidFiles(RapidId(8)),
            RemoteFolder::RapidAnalysis(RapidId(8)),
            RemoteFolder::RapidRenders(RapidId(8)),
            RemoteFolder::AssetMembers(AssetId(7)),
            RemoteFolder::AssetPbr(AssetId(7)),
            RemoteFolder::RapidQc(RapidId(8)),
        ] {
            let name = ContentTable::object_name(folder, "a/b c.png");
            let place = ContentTable::place_of(&name).unwrap();
            assert_eq!(place, (folder, "a/b c.png".into()));
        }
        assert_eq!(ContentTable::place_of("raw/7/other/a"), None);
    }
}
