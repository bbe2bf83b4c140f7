//! The files of service folders: names, stored permanently if they cannot change, and signed URLs, kept in
//! memory until they expire.

pub(super) mod fetch;
pub(super) mod store;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use crate::drive::catalog::asking::wait_for_fetch;
use crate::drive::catalog::data::file_maps::Kept;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::flight::FlightEnd;
use crate::drive::catalog::maps::fetch::fetch_map;
use crate::drive::catalog::maps::store::{asset_is_final, known_map, rapid_is_final};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::filemap::FileMap;
use crate::drive::values::node::{Model, RemoteFolder};
use crate::wire::{SignedUrl, Timestamp};

/// Lifetime of a URL without an expiry time.
const URL_TTL: Duration = Duration::from_secs(600);
/// A URL is renewed this long before it expires.
const RENEW_BEFORE_SECS: i64 = 60;

/// The names of a folder must be requested again.
pub fn mark_files_stale(catalog: &Catalog, folder: RemoteFolder) {
    catalog.maps.mark_stale(&catalog.meta, folder);
}

/// The number of contents that a file has had, which is part of its inode's identity.
pub fn content_count(catalog: &Catalog, folder: RemoteFolder, path: &str) -> u32 {
    catalog.contents.count(folder, path)
}

/// The files of a service folder; the last known ones while the service is away.
pub async fn file_map(catalog: &Arc<Catalog>, folder: RemoteFolder) -> DriveResult<Arc<FileMap>> {
    let kept = catalog.maps.known(&catalog.meta, folder);
    if let Some(kept) = &kept
        && is_up_to_date(catalog, kept)
    {
        return Ok(Arc::clone(&kept.map));
    }
    let fetch_end = join_map_fetch(catalog, folder);
    wait_for_fetch(catalog, fetch_end, kept.is_some()).await?;
    let map = catalog.maps.get(folder).or(kept).map(|kept| kept.map);
    map.ok_or(DriveError::NotFound)
}

/// A signed URL of a file; with `renew`, a new one.
pub async fn url_of(
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
pub async fn learn_folders(catalog: &Arc<Catalog>, model: Model) {
    let folders: Vec<RemoteFolder> = match model {
        Model::Raw(home) => match catalog.asset_of(home) {
            Some(asset) if asset_is_final(catalog, asset) => {
                let row = catalog.asset(asset);
                let may_have = [
                    (
                        row.as_ref()
                            .is_some_and(|row| row.has_renders != Some(false)),
                        RemoteFolder::AssetRenders(asset),
                    ),
                    (true, RemoteFolder::AssetConverted(asset)),
                    (
                        row.is_some_and(|row| row.may_have_materials()),
                        RemoteFolder::AssetPbr(asset),
                    ),
                ];
                let may_have = may_have.into_iter().filter(|(may, _)| *may);
                may_have.map(|(_, folder)| folder).collect()
            }
            _ => return,
        },
        Model::Rapid(rapid) if rapid_is_final(catalog, rapid) => {
            match catalog.rapid(rapid).and_then(|row| row.has_renders) {
                Some(false) => return,
                _ => vec![RemoteFolder::RapidRenders(rapid)],
            }
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
        .is_some_and(|kept| !is_up_to_date(catalog, &kept));
    if is_old {
        drop(join_map_fetch(catalog, folder));
    }
}

fn is_up_to_date(catalog: &Catalog, kept: &Kept) -> bool {
    kept.is_settled
        || kept
            .received
            .is_some_and(|at| at.elapsed() < catalog.config.refresh)
}

async fn fetched_map(catalog: &Arc<Catalog>, folder: RemoteFolder) -> DriveResult<Arc<FileMap>> {
    join_map_fetch(catalog, folder).await?;
    catalog
        .maps
        .get(folder)
        .map(|kept| kept.map)
        .ok_or(DriveError::NotFound)
}

fn join_map_fetch(catalog: &Arc<Catalog>, folder: RemoteFolder) -> FlightEnd {
    catalog.join_flight(FlightKey::Files(folder), |shared| async move {
        fetch_map(&shared, folder).await
    })
}

fn usable_url(kept: &Kept, path: &str) -> Option<SignedUrl> {
    let url = kept.map.file(path)?.url.clone()?;
    let works = match url.expires_at() {
        Some(expires) => Timestamp::now().plus_seconds(RENEW_BEFORE_SECS) < expires,
        None => kept.received?.elapsed() < URL_TTL,
    };
    works.then_some(url)
}
