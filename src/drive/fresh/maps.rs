//! The files of the service's folders: names, kept for ever where they cannot change, and URLs,
//! kept in memory for as long as they work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::FlightKey;
use super::flight::Landing;
use crate::client::Priority;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::shared::Shared;
use crate::drive::tree::filemap::FileMap;
use crate::drive::tree::node::{Node, RemoteFolder};
use crate::durable::MetaStore;
use crate::wire::{
    AssetId, BaseAsset, Downloads, RapidId, RapidModel, SignedUrl, Timestamp, UploadStatus,
};

/// Folders of which the URLs are kept in memory.
const MAX_KEPT: usize = 4096;
/// How long a URL is used that does not say when it expires.
const URL_HOLDS: Duration = Duration::from_secs(600);
/// A URL is renewed this long before it expires.
const RENEW_BEFORE_SECS: i64 = 60;
const TABLE: &str = "files";

/// The files in `analysis/`, as the record of a source model names them.
const ANALYSIS_NAMES: [&str; 6] = [
    "error.log",
    "info.log",
    "metrics.json",
    "rpd_info.json",
    "thumb.jpg",
    "warning.log",
];

/// What is known of the service's folders.
#[derive(Default)]
pub(in crate::drive) struct FileMaps {
    kept: Mutex<HashMap<RemoteFolder, Kept>>,
}

#[derive(Clone)]
struct Kept {
    map: Arc<FileMap>,
    /// When the service told; none for names of an earlier mount.
    told: Option<Instant>,
    /// The names cannot change any more.
    is_settled: bool,
}

/// The names of a folder, as they are kept over mounts.
#[derive(Serialize, Deserialize)]
struct StoredNames {
    names: Vec<String>,
    is_settled: bool,
}

impl FileMaps {
    /// The names of a folder must be asked for again.
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
            let removed = store.relaxed().batch(|batch| {
                batch.remove(TABLE, &folder.to_string());
                Ok(())
            });
            if let Err(error) = removed {
                tracing::warn!(folder = %folder, error = %error, "could not forget the names of files");
            }
        }
    }

    /// True when this is not what is kept already.
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
        let removed = store.relaxed().batch(|batch| {
            for (key, _) in &kept {
                batch.remove(TABLE, key);
            }
            Ok(())
        });
        if let Err(error) = removed {
            tracing::warn!(prefix, error = %error, "could not forget the names of files");
        }
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

impl Shared {
    /// The files of a folder of the service, as names; what was known where the service is away.
    pub(in crate::drive) async fn file_map(
        self: &Arc<Self>,
        folder: RemoteFolder,
    ) -> DriveResult<Arc<FileMap>> {
        let kept = self.maps.get(folder).or_else(|| self.stored_names(folder));
        if let Some(kept) = &kept
            && self.holds(kept)
        {
            return Ok(Arc::clone(&kept.map));
        }
        let landing = self.map_landing(folder);
        self.landed(landing, kept.is_some()).await?;
        let map = self.maps.get(folder).or(kept).map(|kept| kept.map);
        map.ok_or(DriveError::NotFound)
    }

    /// The files that are known without asking.
    pub(in crate::drive) fn known_map(&self, folder: RemoteFolder) -> Option<Arc<FileMap>> {
        self.maps
            .get(folder)
            .or_else(|| self.stored_names(folder))
            .map(|kept| kept.map)
    }

    /// A URL of a file that works for a while; with `renew`, one that was not seen before.
    pub(in crate::drive) async fn url_of(
        self: &Arc<Self>,
        folder: RemoteFolder,
        path: &str,
        renew: bool,
    ) -> DriveResult<SignedUrl> {
        if !renew
            && let Some(kept) = self.maps.get(folder)
            && let Some(url) = usable_url(&kept, path)
        {
            return Ok(url);
        }
        let map = self.fetched_map(folder).await?;
        map.file(path)
            .and_then(|source| source.url.clone())
            .ok_or(DriveError::NotFound)
    }

    /// Asks once whether a finished model has views: not every one has.
    pub(in crate::drive) async fn learn_renders(self: &Arc<Self>, node: &Node) {
        let folder = match node {
            Node::Model(home) => match self.asset_of(*home) {
                Some(asset) if self.asset_is_final(asset) => RemoteFolder::AssetRenders(asset),
                _ => return,
            },
            Node::Rapid(rapid) if self.rapid_is_final(*rapid) => RemoteFolder::RapidRenders(*rapid),
            _ => return,
        };
        if let Err(error) = self.file_map(folder).await {
            tracing::debug!(folder = %folder, error = %error, "it is not known whether a model has views");
        }
    }

    /// A job is done: what was known of its files while it ran says nothing any more, and nobody is
    /// shown it, however long the service takes to tell.
    pub(in crate::drive) fn rapid_ended(&self, rapid: RapidId) {
        for folder in [
            RemoteFolder::RapidFiles(rapid),
            RemoteFolder::RapidAnalysis(rapid),
        ] {
            self.maps.drop_unsettled(&self.meta, folder);
        }
    }

    fn holds(&self, kept: &Kept) -> bool {
        kept.is_settled
            || kept
                .told
                .is_some_and(|at| at.elapsed() < self.config.refresh)
    }

    async fn fetched_map(self: &Arc<Self>, folder: RemoteFolder) -> DriveResult<Arc<FileMap>> {
        self.map_landing(folder).await?;
        self.maps
            .get(folder)
            .map(|kept| kept.map)
            .ok_or(DriveError::NotFound)
    }

    fn map_landing(self: &Arc<Self>, folder: RemoteFolder) -> Landing {
        let shared = Arc::clone(self);
        self.flights.join(FlightKey::Files(folder), || async move {
            shared.fetch_map(folder).await
        })
    }

    async fn fetch_map(self: Arc<Self>, folder: RemoteFolder) -> DriveResult<()> {
        let (client, now) = (&self.client, Priority::Interactive);
        match folder {
            RemoteFolder::AssetFiles(asset) => {
                let files = self.asked(client.asset_downloads(asset, now)).await?;
                self.told_files(folder, &files, self.asset_is_final(asset));
            }
            RemoteFolder::AssetAnalysis(asset) => {
                let record = self.asked(client.asset(asset, now)).await?;
                self.told_asset_detail(&record);
            }
            RemoteFolder::AssetRenders(asset) => {
                let files = or_none(self.asked(client.asset_renders(asset, now)).await)?;
                self.told_files(folder, &files, self.asset_is_final(asset));
            }
            RemoteFolder::AssetConverted(asset) => {
                let files = or_none(self.asked(client.asset_converted(asset, now)).await)?;
                self.told_files(folder, &files, false);
            }
            RemoteFolder::RapidFiles(rapid) | RemoteFolder::RapidAnalysis(rapid) => {
                let record = self.asked(client.rapid_model(rapid, now)).await?;
                self.told_rapid_detail(&record);
            }
            RemoteFolder::RapidRenders(rapid) => {
                let files = or_none(self.asked(client.rapid_renders(rapid, now)).await)?;
                self.told_files(folder, &files, self.rapid_is_final(rapid));
            }
        }
        Ok(())
    }

    /// Takes in what the record of a source model says of its files.
    pub(in crate::drive) fn told_asset_files(&self, record: &BaseAsset) {
        let analysis = record
            .downloads
            .iter()
            .filter(|(name, _)| ANALYSIS_NAMES.contains(name));
        let analysis: Downloads = analysis
            .map(|(name, url)| (name.to_owned(), url.clone()))
            .collect();
        let is_settled = record.upload_status == UploadStatus::Complete;
        self.told_files(
            RemoteFolder::AssetAnalysis(record.id),
            &analysis,
            is_settled,
        );
    }

    /// Takes in what the record of an optimized model says of its files.
    pub(in crate::drive) fn told_rapid_files(&self, record: &RapidModel) {
        let is_settled = record.optimization_status.is_final();
        let downloads = &record.downloads;
        let files = if downloads.all.is_empty() {
            by_file_name(&downloads.formats)
        } else {
            downloads.all.clone()
        };
        self.told_files(
            RemoteFolder::RapidFiles(record.id),
            &files,
            is_settled && !files.is_empty(),
        );
        self.told_files(
            RemoteFolder::RapidAnalysis(record.id),
            &analysis_of(record),
            is_settled,
        );
    }

    fn told_files(&self, folder: RemoteFolder, files: &Downloads, is_settled: bool) {
        let named = files
            .iter()
            .map(|(name, url)| (name.to_owned(), Some(url.clone())));
        let map = Arc::new(FileMap::arrange(named, folder.owner_number()));
        let names: Vec<&str> = map
            .files()
            .map(|(_, source)| source.service_name.as_str())
            .collect();
        if self.maps.is_news(folder, &names, is_settled) {
            let stored = StoredNames {
                names: names.into_iter().map(str::to_owned).collect(),
                is_settled,
            };
            keep_names(&self.meta, folder, &stored);
        }
        self.maps.put(
            folder,
            Kept {
                map,
                told: Some(Instant::now()),
                is_settled,
            },
        );
    }

    /// The names that an earlier mount, or this one, was told.
    fn stored_names(&self, folder: RemoteFolder) -> Option<Kept> {
        let StoredNames { names, is_settled } = stored(&self.meta, folder)?;
        let map = FileMap::arrange(
            names.into_iter().map(|name| (name, None)),
            folder.owner_number(),
        );
        let kept = Kept {
            map: Arc::new(map),
            told: None,
            is_settled,
        };
        self.maps.put(folder, kept.clone());
        Some(kept)
    }

    fn asset_is_final(&self, asset: AssetId) -> bool {
        self.known()
            .assets
            .row(asset.0)
            .is_some_and(|row| row.state == UploadStatus::Complete)
    }

    pub(in crate::drive) fn rapid_is_final(&self, rapid: RapidId) -> bool {
        self.known()
            .rapids
            .row(rapid.0)
            .is_some_and(|row| row.state.is_final())
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

/// A folder that the service does not have is empty.
fn or_none(files: DriveResult<Downloads>) -> DriveResult<Downloads> {
    match files {
        Err(DriveError::NotFound) => Ok(Downloads::default()),
        other => other,
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

/// Where the service names formats alone, the file's name is the last part of its URL.
fn by_file_name(formats: &Downloads) -> Downloads {
    formats
        .iter()
        .map(|(format, url)| {
            (
                file_name_of(url).unwrap_or_else(|| format.to_owned()),
                url.clone(),
            )
        })
        .collect()
}

fn file_name_of(url: &SignedUrl) -> Option<String> {
    let parsed = url::Url::parse(url.expose()).ok()?;
    let last = parsed.path_segments()?.next_back()?;
    let name = percent_encoding::percent_decode_str(last)
        .decode_utf8()
        .ok()?;
    (!name.is_empty()).then(|| name.into_owned())
}

fn analysis_of(record: &RapidModel) -> Downloads {
    let thumbnail = record.thumbnail.as_ref();
    let named = [
        ("rpd_info.json", record.rpd_info.as_ref()),
        ("warning.log", record.rpd_warnings.as_ref()),
        ("error.log", record.rpd_error.as_ref()),
        ("metrics.json", record.metrics.as_ref()),
        (
            "thumb.jpg",
            thumbnail.and_then(|thumbnail| thumbnail.first.as_ref()),
        ),
    ];
    let named = named.into_iter().filter_map(|(name, url)| {
        Some((
            name.to_owned(),
            url.filter(|url| !url.expose().is_empty())?.clone(),
        ))
    });
    let turntable = thumbnail
        .map(|thumbnail| thumbnail.turntable.iter())
        .into_iter()
        .flatten();
    let turntable = turntable.map(|(name, url)| (format!("turntable/{name}"), url.clone()));
    named.chain(turntable).collect()
}
