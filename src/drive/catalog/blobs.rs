//! Small files that the service generates on request: reports and preset zips. Their size is unknown before, so
//! a caller that needs the size fetches the file, which is then stored in the block cache.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::cache::{BLOCK_LEN_BYTES, ObjectKey};
use crate::client::{Download, Priority};
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::blob_sizes::{MISSING, keep_len, known_blob_len};
use crate::drive::catalog::change::Change;
use crate::drive::catalog::data::blobs::Blob;
use crate::drive::catalog::data::flight_key::FlightKey;
use crate::drive::catalog::models::store_rapid_detail;
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::{Bundle, RemoteFolder};
use crate::wire::RapidId;

/// Maximum size of a report.
const MAX_BYTES: usize = 64 << 20;

/// The content of a small file.
pub async fn read_blob(catalog: &Arc<Catalog>, blob: &Blob) -> DriveResult<Bytes> {
    if let Some(bytes) = catalog
        .blobs
        .get(blob)
        .or_else(|| cached_blob(catalog, blob))
    {
        return Ok(bytes);
    }
    let fetched = blob.clone();
    catalog
        .join_flight(FlightKey::Blob(blob.clone()), |shared| async move {
            let bytes = fetch_blob(&shared, &fetched).await?;
            keep_blob(&shared, fetched, bytes);
            Ok(())
        })
        .await?;
    catalog.blobs.get(blob).ok_or(DriveError::NotFound)
}

/// The size of a small file, known after it was read.
pub async fn blob_len(catalog: &Arc<Catalog>, blob: &Blob) -> DriveResult<u64> {
    match known_blob_len(catalog, blob) {
        Some(len) => Ok(len),
        None => Ok(read_blob(catalog, blob).await?.len() as u64),
    }
}

/// Finds the size of a report, or that it does not exist.
pub(super) async fn probe_report(
    catalog: &Arc<Catalog>,
    rapid: RapidId,
    path: &str,
) -> DriveResult<()> {
    let (folder, blob) = (RemoteFolder::RapidQc(rapid), report_at(rapid, path));
    match read_blob(catalog, &blob).await {
        Ok(bytes) => {
            catalog
                .contents
                .store(folder, path, bytes.len() as u64, None, None);
            Ok(())
        }
        Err(DriveError::NotFound) => {
            keep_len(catalog, &blob.to_string(), MISSING);
            let began = Instant::now();
            let record = catalog.client.rapids().get(rapid, Priority::Interactive);
            store_rapid_detail(catalog, &send_with_deadline(catalog, record).await?, began);
            catalog.report(Change::NoFile);
            Err(DriveError::NotFound)
        }
        Err(error) => Err(error),
    }
}

/// The small file behind a file of `qc/`.
pub fn report_at(rapid: RapidId, path: &str) -> Blob {
    let format = path.rsplit_once('.').map_or(path, |(format, _)| format);
    Blob::Report(rapid, format.into())
}

fn cached_blob(catalog: &Catalog, blob: &Blob) -> Option<Bytes> {
    let size = known_blob_len(catalog, blob)?;
    let cached = catalog.cache.object(&object_key(blob, size)).ok()?;
    cached.read(0, size).ok().flatten()
}

fn keep_blob(catalog: &Catalog, blob: Blob, bytes: Bytes) {
    let len = bytes.len() as u64;
    keep_len(catalog, &blob.to_string(), len);
    if let Ok(cached) = catalog.cache.object(&object_key(&blob, len)) {
        for (block, number) in bytes.chunks(BLOCK_LEN_BYTES as usize).zip(0..) {
            if let Err(error) = cached.write_block(number, block) {
                tracing::debug!(error = %error, "a file is not cached");
                break;
            }
        }
    }
    catalog.blobs.put(blob, bytes);
}

async fn fetch_blob(catalog: &Catalog, blob: &Blob) -> DriveResult<Bytes> {
    let (client, now) = (&catalog.client, Priority::Interactive);
    let download = match blob {
        Blob::Report(rapid, format) => {
            send_with_deadline(catalog, client.rapids().quality_report(*rapid, format, now)).await
        }
        Blob::PresetOf(rapid) => {
            send_with_deadline(catalog, client.rapids().preset_zip(*rapid, now)).await
        }
        Blob::Preset(Bundle::Both, preset, _) => {
            send_with_deadline(catalog, client.presets().zip(*preset, now)).await
        }
        Blob::Preset(Bundle::CommandLine, preset, _) => {
            send_with_deadline(catalog, client.presets().rpdx(*preset, now)).await
        }
    };
    collect_body(download?).await
}

async fn collect_body(mut download: Download) -> DriveResult<Bytes> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = download.stream.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > MAX_BYTES {
            return Err(DriveError::Unreachable(format!(
                "the service sent more than {} MB for a generated file",
                MAX_BYTES >> 20
            )));
        }
    }
    Ok(bytes.freeze())
}

fn object_key(blob: &Blob, size: u64) -> ObjectKey {
    ObjectKey {
        name: blob.to_string(),
        size,
        etag: None,
    }
}
