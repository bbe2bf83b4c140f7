//! The files of service folders: names, stored permanently if they cannot change, and signed URLs, kept in
//! memory until they expire.

pub(super) mod told;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use super::flight::FlightEnd;
use crate::drive::catalog::asking::{FlightKey, landed};
use crate::drive::catalog::maps::told::{asset_is_final, fetch_map, rapid_is_final};
use crate::drive::catalog::state::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::filemap::FileMap;
use crate::drive::values::node::{Model, RemoteFolder};
use crate::durable::MetaStore;
use crate::wire::{RapidId, SignedUrl, Timestamp};

/// Maximum number of folders whose URLs are in memory.
const MAX_KEPT: usize = 4096;
/// Lifetime of a URL without an expiry time.
const URL_HOLDS: Duration = Duration::from_secs(600);
/// A URL is renewed this long before it expires.
const RENEW_BEFORE_SECS: i64 = 60;
const TABLE: &str = "files";

/// The known file maps.
#[derive(Default)]
pub(in crate::drive) struct FileMaps {
    kept: Mutex<HashMap<RemoteFolder, Kept>>,
}

#[derive(Clone)]
struct Kept {
    map: Arc<FileMap>,
    /// Time of the response; `None` for names of an earlier mount.
    told: Option<Instant>,
    /// The names cannot change any more.
    is_settled: bool,
}

/// The stored names of a folder.
#[derive(Serialize, Deserialize)]
struct StoredNames {
    names: Vec<String>,
    is_settled: bool,
}

impl FileMaps {
    /// The names of a folder must be requested again.
    pub(in crate::drive) fn doubt(&self, store: &MetaStore, folder: RemoteFolder) {
        if let Some(kept) = self.lock().get_mut(&folder) {
            kept.is_settled = false;
            kept.told = None;
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
    fn drop_unsettled(&self, store: &MetaStore, folder: RemoteFolder) {
        let mut all = self.lock();
        if all.get(&folder).is_some_and(|kept| !kept.is_settled) {
            all.remove(&folder);
        }
        drop(all);
        if stored(store, folder).is_some_and(|names| !names.is_settled) {
            forget_names(store, [folder.to_string()]);
        }
    }

    /// True if it differs from what is stored.
    fn is_news(&self, folder: RemoteFolder, names: &[&str], is_settled: bool) -> bool {
        let all = self.lock();
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
    pub(in crate::drive) fn forget(&self, store: &MetaStore, prefix: &str) {
        let prefix = format!("{prefix}/");
        self.lock()
            .retain(|folder, _| !folder.to_string().starts_with(&prefix));
        let kept: Vec<(String, StoredNames)> = store.scan(TABLE, &prefix).unwrap_or_default();
        forget_names(store, kept.into_iter().map(|(key, _)| key));
    }

    fn get(&self, folder: RemoteFolder) -> Option<Kept> {
        self.lock().get(&folder).cloned()
    }

    fn put(&self, folder: RemoteFolder, kept: Kept) {
        let mut all = self.lock();
        if all.len() >= MAX_KEPT && !all.contains_key(&folder) {
            let oldest = all
                .iter()
                .min_by_key(|(_, kept)| kept.told)
                .map(|(folder, _)| *folder);
            if let Some(oldest) = oldest {
                all.remove(&oldest);
            }
        }
        all.insert(folder, kept);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RemoteFolder, Kept>> {
        self.kept.lock().expect("no panic while file maps are held")
    }
}

/// The names of a folder must be requested again.
pub(in crate::drive) fn doubt_files(catalog: &Catalog, folder: RemoteFolder) {
    catalog.maps.doubt(&catalog.meta, folder);
}

/// The number of contents that a file has had, which is part of its inode's identity.
pub(in crate::drive) fn content_count(catalog: &Catalog, folder: RemoteFolder, path: &str) -> u32 {
    catalog.contents.count(folder, path)
}

/// The files of a service folder; the last known ones while the service is away.
pub(in crate::drive) async fn file_map(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
) -> DriveResult<Arc<FileMap>> {
    let kept = catalog
        .maps
        .get(folder)
        .or_else(|| stored_names(catalog, folder));
    if let Some(kept) = &kept
        && holds(catalog, kept)
    {
        return Ok(Arc::clone(&kept.map));
    }
    let landing = map_landing(catalog, folder);
    landed(catalog, landing, kept.is_some()).await?;
    let map = catalog.maps.get(folder).or(kept).map(|kept| kept.map);
    map.ok_or(DriveError::NotFound)
}

/// The known files, without a request.
pub(in crate::drive) fn known_map(catalog: &Catalog, folder: RemoteFolder) -> Option<Arc<FileMap>> {
    catalog
        .maps
        .get(folder)
        .or_else(|| stored_names(catalog, folder))
        .map(|kept| kept.map)
}

/// A signed URL of a file; with `renew`, a new one.
pub(in crate::drive) async fn url_of(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
    path: &str,
    renew: bool,
) -> DriveResult<SignedUrl> {
    if !renew
        && let Some(kept) = catalog.maps.get(folder)
        && let Some(url) = usable_url(&kept, path)
    {
        return Ok(url);
    }
    let map = fetched_map(catalog, folder).await?;
    map.file(path)
        .and_then(|source| source.url.clone())
        .ok_or(DriveError::NotFound)
}

/// Requests once which optional folders a finished model has, and again in the background when the model is
/// looked at: others may have converted it meanwhile.
pub(in crate::drive) async fn learn_folders(catalog: &Arc<Catalog>, model: Model) {
    let folders: Vec<RemoteFolder> = match model {
        Model::Raw(home) => match catalog.asset_of(home) {
            Some(asset) if asset_is_final(catalog, asset) => {
                let pbr = RemoteFolder::AssetPbr(asset);
                let row = catalog.known().assets.row(asset.0).cloned();
                let has_pbr = row.is_some_and(|row| row.may_have_materials());
                let always = [
                    RemoteFolder::AssetRenders(asset),
                    RemoteFolder::AssetConverted(asset),
                ];
                always.into_iter().chain(has_pbr.then_some(pbr)).collect()
            }
            _ => return,
        },
        Model::Rapid(rapid) if rapid_is_final(catalog, rapid) => {
            vec![RemoteFolder::RapidRenders(rapid)]
        }
        _ => return,
    };
    let unknown = folders
        .iter()
        .filter(|folder| known_map(catalog, **folder).is_none());
    let learned = join_all(unknown.map(|folder| file_map(catalog, *folder))).await;
    for error in learned.into_iter().filter_map(Result::err) {
        tracing::debug!(error = %error, "it is not known which folders a model has");
    }
    for folder in folders {
        look_again_at(catalog, folder);
    }
}

/// Refreshes a map that may have grown, in the background.
fn look_again_at(catalog: &Arc<Catalog>, folder: RemoteFolder) {
    let is_old = catalog
        .maps
        .get(folder)
        .is_some_and(|kept| !holds(catalog, &kept));
    if is_old && catalog.maps.lock().len() < MAX_KEPT {
        drop(map_landing(catalog, folder));
    }
}

/// A job is done: forgets the files that were known while it ran, so that they are not shown.
pub(in crate::drive) fn rapid_ended(catalog: &Catalog, rapid: RapidId) {
    for folder in [
        RemoteFolder::RapidFiles(rapid),
        RemoteFolder::RapidAnalysis(rapid),
    ] {
        catalog.maps.drop_unsettled(&catalog.meta, folder);
    }
}

fn holds(catalog: &Catalog, kept: &Kept) -> bool {
    kept.is_settled
        || kept
            .told
            .is_some_and(|at| at.elapsed() < catalog.config.refresh)
}

async fn fetched_map(catalog: &Arc<Catalog>, folder: RemoteFolder) -> DriveResult<Arc<FileMap>> {
    map_landing(catalog, folder).await?;
    catalog
        .maps
        .get(folder)
        .map(|kept| kept.map)
        .ok_or(DriveError::NotFound)
}

fn map_landing(catalog: &Arc<Catalog>, folder: RemoteFolder) -> FlightEnd {
    let shared = Arc::clone(catalog);
    catalog
        .flights
        .join(FlightKey::Files(folder), || async move {
            fetch_map(&shared, folder).await
        })
}

/// The stored names.
fn stored_names(catalog: &Catalog, folder: RemoteFolder) -> Option<Kept> {
    let StoredNames { names, is_settled } = stored(&catalog.meta, folder)?;
    let map = FileMap::arrange(
        names.into_iter().map(|name| (name, None)),
        folder.subject().number(),
    );
    let kept = Kept {
        map: Arc::new(map),
        told: None,
        is_settled,
    };
    catalog.maps.put(folder, kept.clone());
    Some(kept)
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
        tracing::warn!(error = %error, "could not forget the names of files");
    }
}

fn stored(store: &MetaStore, folder: RemoteFolder) -> Option<StoredNames> {
    store.get(TABLE, &folder.to_string()).ok().flatten()
}

fn keep_names(store: &MetaStore, folder: RemoteFolder, names: &StoredNames) {
    if let Err(error) = store.relaxed().put(TABLE, &folder.to_string(), names) {
        tracing::warn!(folder = %folder, error = %error, "could not keep the names of files");
    }
}

fn usable_url(kept: &Kept, path: &str) -> Option<SignedUrl> {
    let url = kept.map.file(path)?.url.clone()?;
    let works = match url.expires_at() {
        Some(expires) => Timestamp::now().plus_seconds(RENEW_BEFORE_SECS) < expires,
        None => kept.told?.elapsed() < URL_HOLDS,
    };
    works.then_some(url)
}
