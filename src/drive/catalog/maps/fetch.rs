//! Requests the files of one folder of the service.

use std::sync::Arc;

use tokio::time::Instant;

use crate::client::Priority;
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::change::Change;
use crate::drive::catalog::maps::store::{asset_is_final, known_map, rapid_is_final, store_files};
use crate::drive::catalog::models::{store_asset_detail, store_rapid_detail};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::RemoteFolder;
use crate::wire::{AssetId, Downloads, PbrDownloads};

/// Requests the files of a folder and stores them.
pub async fn fetch_map(catalog: &Arc<Catalog>, folder: RemoteFolder) -> DriveResult<()> {
    let (client, now) = (&catalog.client, Priority::Interactive);
    let began = Instant::now();
    match folder {
        RemoteFolder::AssetFiles(asset) => {
            let files = send_with_deadline(catalog, client.assets().downloads(asset, now)).await?;
            store_files(catalog, folder, &files, asset_is_final(catalog, asset));
        }
        RemoteFolder::AssetAnalysis(asset) => {
            let record = send_with_deadline(catalog, client.assets().get(asset, now)).await?;
            store_asset_detail(catalog, &record, began);
        }
        RemoteFolder::AssetMembers(asset) => {
            (catalog.fetch_members)(Arc::clone(catalog), asset).await?;
        }
        RemoteFolder::AssetRenders(asset) => {
            let files =
                or_none(send_with_deadline(catalog, client.assets().renders(asset, now)).await)?;
            store_files(catalog, folder, &files, asset_is_final(catalog, asset));
        }
        RemoteFolder::AssetPbr(asset) => {
            let files =
                or_none(send_with_deadline(catalog, client.assets().pbr(asset, now)).await)?;
            store_files(
                catalog,
                folder,
                &pbr_files(&files),
                asset_is_final(catalog, asset),
            );
        }
        RemoteFolder::AssetConverted(asset) => {
            let files =
                or_none(send_with_deadline(catalog, client.assets().converted(asset, now)).await)?;
            store_converted(catalog, asset, &files);
        }
        RemoteFolder::RapidFiles(rapid)
        | RemoteFolder::RapidAnalysis(rapid)
        | RemoteFolder::RapidQc(rapid) => {
            let record = send_with_deadline(catalog, client.rapids().get(rapid, now)).await?;
            store_rapid_detail(catalog, &record, began);
        }
        RemoteFolder::RapidRenders(rapid) => {
            let files =
                or_none(send_with_deadline(catalog, client.rapids().renders(rapid, now)).await)?;
            // Pictures may come after the result.
            let is_settled = rapid_is_final(catalog, rapid) && !files.is_empty();
            store_files(catalog, folder, &files, is_settled);
        }
    }
    Ok(())
}

/// Formats may be added at any time; a new one is reported.
fn store_converted(catalog: &Catalog, asset: AssetId, files: &Downloads) {
    let folder = RemoteFolder::AssetConverted(asset);
    let before = known_map(catalog, folder).map_or(0, |map| map.files().count());
    store_files(catalog, folder, files, false);
    if files.iter().count() != before {
        catalog.report(Change::Files(folder));
    }
}

/// A folder that the service does not have is empty.
fn or_none<T: Default>(files: DriveResult<T>) -> DriveResult<T> {
    match files {
        Err(DriveError::NotFound) => Ok(T::default()),
        other => other,
    }
}

/// Materials and pictures, each in a folder of their own.
fn pbr_files(files: &PbrDownloads) -> Downloads {
    let materials = files.materials.iter().map(|file| ("materials", file));
    let pictures = files.qc.iter().map(|file| ("qc", file));
    materials
        .chain(pictures)
        .map(|(folder, (name, url))| (format!("{folder}/{name}"), url.clone()))
        .collect()
}
