//! The size of each file, from the storage: requested once for a file that does not change, in parallel for a
//! folder that was just listed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::Semaphore;

use crate::cache::{BLOCK_LEN_BYTES, ObjectKey};
use crate::client::{ClientError, ObjectMeta, RangeReply};
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::blobs::probe_report;
use crate::drive::catalog::change::Change;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::flight::FlightEnd;
use crate::drive::catalog::maps::fetch::fetch_map;
use crate::drive::catalog::maps::store::known_map;
use crate::drive::catalog::maps::url_of;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::RemoteFolder;
use crate::drive::values::sizes::{Content, ContentTable};
use crate::wire::AssetId;

/// Size requests in parallel for a listed folder.
const AT_ONCE: usize = 32;
/// Time for which a folder counts as just listed.
const LISTED_LATELY: Duration = Duration::from_secs(30);
/// In larger folders, sizes are requested one by one as needed.
const MAX_AHEAD: usize = 2000;

/// Size, version and time of a file. Waits if they are not known.
pub async fn content_of(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
    path: &Arc<str>,
) -> DriveResult<Content> {
    if let Some(content) = catalog.contents.get(folder, path) {
        return Ok(content);
    }
    if catalog.watched.is_listed_lately(folder, LISTED_LATELY) {
        size_ahead(catalog, folder, path);
    }
    join_size_fetch(catalog, folder, Arc::clone(path)).await?;
    catalog
        .contents
        .get(folder, path)
        .ok_or(DriveError::NotFound)
}

/// Size, version and time of a file, if known.
pub fn known_content(catalog: &Catalog, folder: RemoteFolder, path: &str) -> Option<Content> {
    catalog.contents.get(folder, path)
}

/// A reader found a file changed: the next open sees the new content under a new inode.
pub async fn refetch_changed_content(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
    path: &Arc<str>,
) {
    let count = catalog.contents.count(folder, path);
    if let Err(error) = join_size_fetch(catalog, folder, Arc::clone(path)).await {
        tracing::warn!(path = &**path, error = %error, "a changed file could not be requested again");
        return;
    }
    if catalog.contents.count(folder, path) == count {
        return;
    }
    catalog.report(Change::File {
        folder,
        path: Arc::clone(path),
    });
}

fn join_size_fetch(catalog: &Arc<Catalog>, folder: RemoteFolder, path: Arc<str>) -> FlightEnd {
    let key = FlightKey::Size(folder, Arc::clone(&path));
    catalog.join_flight(
        key,
        |shared| async move { probe(&shared, folder, &path).await },
    )
}

/// Requests size and first block in one request, and stores the block: a small file needs no more.
pub fn join_first_block_fetch(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
    path: Arc<str>,
) -> FlightEnd {
    let key = FlightKey::Size(folder, Arc::clone(&path));
    catalog.join_flight(key, |shared| async move {
        // With a shared cache the block may be there.
        let first = match shared.cache.shared_cache() {
            Some(_) => None,
            None => take_first_block(&shared, folder, &path).await,
        };
        match first {
            Some(()) => Ok(()),
            None => probe(&shared, folder, &path).await,
        }
    })
}

async fn take_first_block(catalog: &Arc<Catalog>, folder: RemoteFolder, path: &str) -> Option<()> {
    let url = url_of(catalog, folder, path, false).await.ok()?;
    let asked = catalog
        .client
        .transfers()
        .get_range(&url, 0, Some(BLOCK_LEN_BYTES), None);
    let RangeReply {
        meta, mut stream, ..
    } = asked.await.ok()?;
    let size = size_of(catalog, folder, path, &meta).ok()?;
    let modified = meta.last_modified.map(Into::into);
    catalog
        .contents
        .store(folder, path, size, meta.etag.clone(), modified);
    let mut pieces = Vec::new();
    while let Some(Ok(piece)) = stream.next().await {
        pieces.push(piece);
    }
    let key = ObjectKey {
        name: ContentTable::object_name(folder, path),
        size,
        etag: meta.etag,
    };
    catalog.reading.keep_first(&key, &pieces);
    Some(())
}

async fn probe(catalog: &Arc<Catalog>, folder: RemoteFolder, path: &Arc<str>) -> DriveResult<()> {
    match folder {
        // The directory of a zip contains the sizes of all its files.
        RemoteFolder::AssetMembers(_) => return fetch_map(catalog, folder).await,
        RemoteFolder::RapidQc(rapid) => return probe_report(catalog, rapid, path).await,
        _ => {}
    }
    let url = url_of(catalog, folder, path, false).await?;
    let mut reply = catalog.client.transfers().probe(&url).await;
    if matches!(
        reply,
        Err(ClientError::Expired { .. } | ClientError::Forbidden { .. })
    ) {
        let url = url_of(catalog, folder, path, true).await?;
        reply = catalog.client.transfers().probe(&url).await;
    }
    let meta = send_with_deadline(catalog, async { reply }).await?;
    let size = size_of(catalog, folder, path, &meta)?;
    catalog.contents.store(
        folder,
        path,
        size,
        meta.etag,
        meta.last_modified.map(Into::into),
    );
    Ok(())
}

/// The size that the storage reports, unless the record of the model says another.
fn size_of(
    catalog: &Catalog,
    folder: RemoteFolder,
    path: &str,
    meta: &ObjectMeta,
) -> DriveResult<u64> {
    let size = meta.size.ok_or_else(|| {
        DriveError::Unreachable(
            "the storage did not report the size of the file; try again later".into(),
        )
    })?;
    let recorded = match folder {
        RemoteFolder::AssetFiles(asset) => recorded_size(catalog, asset, path),
        _ => None,
    };
    match recorded {
        Some(recorded) if contradicts(recorded, size, meta) => {
            Err(DriveError::Unreachable(format!(
                "{path}: the storage sends {size} bytes, but the service has recorded {recorded}; a proxy may have \
                 changed the file on its way, so it is not read"
            )))
        }
        _ => Ok(size),
    }
}

/// The size of the only file of a model. The record has one number for all files, and the service may have packed or
/// unpacked a zip.
fn recorded_size(catalog: &Catalog, asset: AssetId, path: &str) -> Option<u64> {
    let map = known_map(catalog, RemoteFolder::AssetFiles(asset))?;
    let is_alone = map.files().count() == 1 && !path.to_ascii_lowercase().ends_with(".zip");
    let recorded = catalog.asset(asset)?.size?;
    (is_alone && recorded > 0).then_some(recorded)
}

/// True if the size is not the recorded one and nothing proves the content. A proxy that changes the content of a reply
/// removes its ETag or makes it weak.
fn contradicts(recorded: u64, size: u64, meta: &ObjectMeta) -> bool {
    let is_proven = meta
        .etag
        .as_deref()
        .is_some_and(|etag| etag.starts_with('"'));
    size != recorded && !is_proven
}

/// A tool that lists a folder and looks at its first file will look at the others.
fn size_ahead(catalog: &Arc<Catalog>, folder: RemoteFolder, asked: &Arc<str>) {
    let Some(map) = known_map(catalog, folder) else {
        return;
    };
    let Some(turn) = catalog.watched.begin_sizing(folder) else {
        return;
    };
    let unknown: Vec<Arc<str>> = map
        .files()
        .map(|(path, _)| path)
        .filter(|path| *path != asked && catalog.contents.get(folder, path).is_none())
        .take(MAX_AHEAD)
        .cloned()
        .collect();
    catalog.spawn(|shared| async move {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = Vec::new();
        for path in unknown {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                break;
            };
            let fetch_end = join_size_fetch(&shared, folder, path);
            tasks.push(tokio::spawn(async move {
                // A reader of the file gets the error itself.
                let _ = fetch_end.await;
                drop(permit);
            }));
        }
        for task in tasks {
            let _ = task.await;
        }
        drop(turn);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_nothing_proves_must_be_the_recorded_one() {
        let meta = |etag: Option<&str>| ObjectMeta {
            etag: etag.map(str::to_owned),
            ..ObjectMeta::default()
        };
        assert!(contradicts(1000, 400, &meta(None)));
        assert!(contradicts(1000, 400, &meta(Some("W/\"v1\""))));
        assert!(!contradicts(1000, 400, &meta(Some("\"v1\""))));
        assert!(!contradicts(1000, 1000, &meta(None)));
    }
}
