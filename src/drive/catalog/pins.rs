//! Keeps pinned models in the cache: what it has lost of them (damage, a cleared cache, new content on the service) is
//! fetched again in the background.

use std::sync::Arc;

use crate::cache::lies_below;
use crate::drive::catalog::maps::store::known_map;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::urls::remote_file;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::listing::Record as _;
use crate::drive::values::node::RemoteFolder;
use crate::drive::values::sizes::ContentTable;
use crate::wire::{AssetId, RapidId};

/// Pauses before the first look after a mount and between the others, as multiples of the refresh time. With the default
/// refresh time they are 30 s and 10 min.
const FIRST_LOOK: u32 = 3;
const LOOK_EVERY: u32 = 60;

/// The task that looks after pinned models.
pub async fn keep_pins(catalog: Arc<Catalog>) {
    let mut pause = catalog.config.refresh * FIRST_LOOK;
    loop {
        tokio::time::sleep(pause).await;
        pause = catalog.config.refresh * LOOK_EVERY;
        match refill(&catalog).await {
            Ok(Refilled::AsFarAsPossible) => {}
            Ok(Refilled::NoRoom) => {
                tracing::warn!(
                    "the cache has no room for all pinned models; they are not fetched again"
                );
                return;
            }
            Err(error) => tracing::debug!(%error, "pinned models are looked at again later"),
        }
    }
}

enum Refilled {
    AsFarAsPossible,
    /// The cache did not keep what was fetched. Fetching it again would only cost bandwidth.
    NoRoom,
}

async fn refill(catalog: &Arc<Catalog>) -> DriveResult<Refilled> {
    for pin in catalog.cache.pins() {
        for folder in folders_of(catalog, &pin) {
            let Some(map) = known_map(catalog, folder) else {
                continue;
            };
            let pinned = map
                .files()
                .map(|(path, _)| path)
                .filter(|path| lies_below(&ContentTable::object_name(folder, path), &pin));
            for path in pinned {
                match refill_file(catalog, folder, path).await {
                    Ok(true) | Err(DriveError::NotFound) => {}
                    Ok(false) => return Ok(Refilled::NoRoom),
                    Err(error) => return Err(error),
                }
                // If everything is cached, nothing above waits, and the loop would block other tasks.
                tokio::task::yield_now().await;
            }
        }
    }
    Ok(Refilled::AsFarAsPossible)
}

/// Fetches what the cache lacks of a file; false if the cache did not keep it.
async fn refill_file(
    catalog: &Arc<Catalog>,
    folder: RemoteFolder,
    path: &Arc<str>,
) -> DriveResult<bool> {
    let file = remote_file(catalog, folder, path).await?;
    if file.is_complete() {
        return Ok(true);
    }
    file.fetch_first(file.size()).await?;
    Ok(file.is_complete())
}

/// The folders that a pin covers, at least in part.
fn folders_of(catalog: &Catalog, pin: &str) -> Vec<RemoteFolder> {
    let mut parts = pin.split('/');
    let (family, id) = (parts.next(), parts.next());
    let known = catalog.known();
    let is_meant = |number: &u64| id.is_none_or(|id| id == number.to_string());
    let assets: Vec<u64> = match family {
        Some("raw") => known.assets.rows().map(|row| row.number()).collect(),
        _ => Vec::new(),
    };
    let rapids: Vec<u64> = match family {
        Some("rapid") => known.rapids.rows().map(|row| row.number()).collect(),
        _ => Vec::new(),
    };
    drop(known);
    let assets = assets.into_iter().filter(is_meant).map(AssetId);
    let assets = assets.filter(|asset| !has_local_copy(catalog, *asset));
    let rapids = rapids.into_iter().filter(is_meant).map(RapidId);
    let of_assets = assets.flat_map(|asset| {
        [
            RemoteFolder::AssetFiles(asset),
            RemoteFolder::AssetAnalysis(asset),
            RemoteFolder::AssetRenders(asset),
            RemoteFolder::AssetConverted(asset),
            RemoteFolder::AssetPbr(asset),
        ]
    });
    let of_rapids = rapids.flat_map(|rapid| {
        [
            RemoteFolder::RapidFiles(rapid),
            RemoteFolder::RapidAnalysis(rapid),
            RemoteFolder::RapidRenders(rapid),
        ]
    });
    of_assets.chain(of_rapids).collect()
}

/// True while the files that were copied in are on this machine.
fn has_local_copy(catalog: &Catalog, asset: AssetId) -> bool {
    let uploads = catalog.outbox.uploads();
    let sent = uploads.sent_record(asset);
    let mut files = sent.iter().flat_map(|record| &record.entries);
    files.any(|file| file.sent_as.is_some() && uploads.open_sent(asset, &file.path).is_some())
}
