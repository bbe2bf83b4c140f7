//! Known files of service folders: in memory with signed URLs; on disk, for later mounts, by name only.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::drive::values::filemap::FileMap;
use crate::drive::values::node::RemoteFolder;
use crate::durable::MetaStore;
use crate::locks::Locked;

/// Maximum number of folders whose URLs are in memory.
const MAX_KEPT: usize = 4096;
const TABLE: &str = "files";

/// The known file maps.
#[derive(Default)]
pub struct FileMaps {
    kept: Mutex<HashMap<RemoteFolder, Kept>>,
}

/// The files of one folder.
#[derive(Clone)]
pub(in crate::drive::catalog) struct Kept {
    pub(in crate::drive::catalog) map: Arc<FileMap>,
    /// Time of the response; `None` for names of an earlier mount.
    pub(in crate::drive::catalog) received: Option<Instant>,
    /// The names cannot change any more.
    pub(in crate::drive::catalog) is_settled: bool,
}

/// The stored names of a folder.
#[derive(Serialize, Deserialize)]
struct StoredNames {
    names: Vec<String>,
    is_settled: bool,
}

impl FileMaps {
    /// The names of a folder must be requested again.
    pub fn mark_stale(&self, store: &MetaStore, folder: RemoteFolder) {
        if let Some(kept) = self.kept.locked().get_mut(&folder) {
            kept.is_settled = false;
            kept.received = None;
        }
        if let Some(names) = stored(store, folder).filter(|names| names.is_settled) {
            let doubted = StoredNames {
                is_settled: false,
                ..names
            };
            keep_names(store, folder, &doubted);
        }
    }

    /// Forgets the names of a folder that could still change.
    pub(in crate::drive::catalog) fn drop_unsettled(
        &self,
        store: &MetaStore,
        folder: RemoteFolder,
    ) {
        let mut all = self.kept.locked();
        if all.get(&folder).is_some_and(|kept| !kept.is_settled) {
            all.remove(&folder);
        }
        drop(all);
        if stored(store, folder).is_some_and(|names| !names.is_settled) {
            forget_names(store, [folder.to_string()]);
        }
    }

    /// Forgets the names of a folder.
    pub(in crate::drive::catalog) fn drop_folder(&self, store: &MetaStore, folder: RemoteFolder) {
        self.kept.locked().remove(&folder);
        forget_names(store, [folder.to_string()]);
    }

    /// Stores the files of a folder that the service has just sent.
    pub(in crate::drive::catalog) fn keep(
        &self,
        store: &MetaStore,
        folder: RemoteFolder,
        map: &Arc<FileMap>,
        is_settled: bool,
    ) {
        let names: Vec<&str> = map
            .files()
            .map(|(_, source)| source.service_name.as_str())
            .collect();
        if self.differs_from_stored(folder, &names, is_settled) {
            let stored = StoredNames {
                names: names.into_iter().map(str::to_owned).collect(),
                is_settled,
            };
            keep_names(store, folder, &stored);
        }
        let kept = Kept {
            map: Arc::clone(map),
            received: Some(Instant::now()),
            is_settled,
        };
        self.put(folder, kept);
    }

    /// True if it differs from the stored map.
    fn differs_from_stored(&self, folder: RemoteFolder, names: &[&str], is_settled: bool) -> bool {
        let all = self.kept.locked();
        let Some(kept) = all.get(&folder) else {
            return true;
        };
        let before = kept
            .map
            .files()
            .map(|(_, source)| source.service_name.as_str());
        kept.is_settled != is_settled || !before.eq(names.iter().copied())
    }

    /// Forgets a model whose folders' names begin with `prefix` and a slash.
    pub fn forget(&self, store: &MetaStore, prefix: &str) {
        let prefix = format!("{prefix}/");
        self.kept
            .locked()
            .retain(|folder, _| !folder.to_string().starts_with(&prefix));
        let kept: Vec<(String, StoredNames)> = store.scan(TABLE, &prefix).unwrap_or_default();
        forget_names(store, kept.into_iter().map(|(key, _)| key));
    }

    pub(in crate::drive::catalog) fn get(&self, folder: RemoteFolder) -> Option<Kept> {
        self.kept.locked().get(&folder).cloned()
    }

    fn put(&self, folder: RemoteFolder, kept: Kept) {
        let mut all = self.kept.locked();
        if all.len() >= MAX_KEPT && !all.contains_key(&folder) {
            let oldest = all
                .iter()
                .min_by_key(|(_, kept)| kept.received)
                .map(|(folder, _)| *folder);
            if let Some(oldest) = oldest {
                all.remove(&oldest);
            }
        }
        all.insert(folder, kept);
    }

    /// The known content of a folder: from memory, else the names that an earlier mount stored.
    pub(in crate::drive::catalog) fn known(
        &self,
        store: &MetaStore,
        folder: RemoteFolder,
    ) -> Option<Kept> {
        self.get(folder).or_else(|| self.restored(store, folder))
    }

    fn restored(&self, store: &MetaStore, folder: RemoteFolder) -> Option<Kept> {
        let StoredNames { names, is_settled } = stored(store, folder)?;
        let map = FileMap::arrange(
            names.into_iter().map(|name| (name, None)),
            folder.subject().number(),
        );
        let kept = Kept {
            map: Arc::new(map),
            received: None,
            is_settled,
        };
        self.put(folder, kept.clone());
        Some(kept)
    }

    /// True while there is room for folders that nobody has asked for: half of it is for those that somebody has.
    pub(in crate::drive::catalog) fn has_room(&self) -> bool {
        self.kept.locked().len() < MAX_KEPT / 2
    }
}

/// Names that cannot be deleted now are requested again later.
fn forget_names(store: &MetaStore, keys: impl IntoIterator<Item = String>) {
    let removed = store.relaxed().batch(|batch| {
        for key in keys {
            batch.remove(TABLE, &key);
        }
        Ok(())
    });
    if let Err(error) = removed {
        tracing::warn!(error = %error, "could not delete the names of files");
    }
}

fn stored(store: &MetaStore, folder: RemoteFolder) -> Option<StoredNames> {
    store.get(TABLE, &folder.to_string()).ok().flatten()
}

fn keep_names(store: &MetaStore, folder: RemoteFolder, names: &StoredNames) {
    if let Err(error) = store.relaxed().put(TABLE, &folder.to_string(), names) {
        tracing::warn!(folder = %folder, error = %error, "could not store the names of files");
    }
}
