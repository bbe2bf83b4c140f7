//! Small files that the service generates on request: reports and preset zips. Their size is unknown before, so
//! a caller that needs the size fetches the file, which is then stored in the block cache.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;

use super::change::Change;
use crate::cache::{BLOCK_LEN_BYTES, ObjectKey};
use crate::client::{Download, Priority};
use crate::drive::catalog::asking::{FlightKey, asked};
use crate::drive::catalog::models::told_rapid_detail;
use crate::drive::catalog::state::Catalog;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::{Bundle, RemoteFolder};
use crate::wire::{OptimizationStatus, PresetId, RapidId, RapidModel, Timestamp};

/// Maximum size of a report.
const MAX_BYTES: usize = 64 << 20;
/// Maximum number of files in memory, used if the cache accepts nothing.
const MAX_HELD: usize = 8;
const TABLE: &str = "blobs";
/// Stored as the size of a file that the service does not have.
const MISSING: u64 = u64::MAX;
/// Models that were optimized earlier have no reports.
const FIRST_REPORTS: &str = "2024-07-01T00:00:00Z";

/// A small file that the service generates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::drive) enum Blob {
    /// The report of one format of a rapid model.
    Report(RapidId, Arc<str>),
    /// The preset of a rapid model.
    PresetOf(RapidId),
    /// A preset, with a checksum of its text.
    Preset(Bundle, PresetId, u64),
}

/// Stable: cached objects and stored sizes have this name.
impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blob::Report(rapid, format) => write!(f, "rapid/{rapid}/report/{format}"),
            Blob::PresetOf(rapid) => write!(f, "rapid/{rapid}/preset.zip"),
            Blob::Preset(bundle, preset, text) => {
                write!(f, "presets/{preset}/{}/{text:x}", bundle.name())
            }
        }
    }
}

/// The small files in memory, newest last.
#[derive(Default)]
pub(in crate::drive) struct Blobs {
    held: Mutex<VecDeque<(Blob, Bytes)>>,
}

impl Blobs {
    fn get(&self, blob: &Blob) -> Option<Bytes> {
        let held = self.lock();
        let found = held.iter().find(|(of, _)| of == blob);
        found.map(|(_, bytes)| bytes.clone())
    }

    fn put(&self, blob: Blob, bytes: Bytes) {
        let mut held = self.lock();
        held.retain(|(of, _)| *of != blob);
        if held.len() >= MAX_HELD {
            held.pop_front();
        }
        held.push_back((blob, bytes));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Blob, Bytes)>> {
        self.held.lock().expect("no panic while files are held")
    }
}

/// The content of a small file.
pub(in crate::drive) async fn read_blob(catalog: &Arc<Catalog>, blob: &Blob) -> DriveResult<Bytes> {
    if let Some(bytes) = catalog
        .blobs
        .get(blob)
        .or_else(|| cached_blob(catalog, blob))
    {
        return Ok(bytes);
    }
    let (shared, fetched) = (Arc::clone(catalog), blob.clone());
    catalog
        .flights
        .join(FlightKey::Blob(blob.clone()), || async move {
            let bytes = fetch_blob(&shared, &fetched).await?;
            keep_blob(&shared, fetched, bytes);
            Ok(())
        })
        .await?;
    catalog.blobs.get(blob).ok_or(DriveError::NotFound)
}

/// The size of a small file, known after it was read.
pub(in crate::drive) async fn blob_len(catalog: &Arc<Catalog>, blob: &Blob) -> DriveResult<u64> {
    match known_blob_len(catalog, blob) {
        Some(len) => Ok(len),
        None => Ok(read_blob(catalog, blob).await?.len() as u64),
    }
}

/// The names of the reports of a rapid model: one for each of its formats, except those that the service does
/// not have.
pub(super) fn reports_of(catalog: &Catalog, record: &RapidModel) -> Vec<String> {
    let is_done = record.optimization_status == OptimizationStatus::Done;
    let first = FIRST_REPORTS.parse::<Timestamp>().ok();
    let is_too_old = record.created_at.is_some_and(|at| Some(at) < first);
    if !is_done || is_too_old {
        return Vec::new();
    }
    let formats = record.downloads.formats.iter().map(|(format, _)| format);
    formats
        .filter(|format| {
            let blob = Blob::Report(record.id, (*format).into());
            kept_len(catalog, &blob.to_string()) != Some(MISSING)
        })
        .map(|format| format!("{format}.json"))
        .collect()
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
                .told(folder, path, bytes.len() as u64, None, None);
            Ok(())
        }
        Err(DriveError::NotFound) => {
            keep_len(catalog, &blob.to_string(), MISSING);
            let began = Instant::now();
            let record = asked(
                catalog,
                catalog.client.rapids().get(rapid, Priority::Interactive),
            );
            told_rapid_detail(catalog, &record.await?, began);
            catalog.report(Change::NoFile(folder, path.into()));
            Err(DriveError::NotFound)
        }
        Err(error) => Err(error),
    }
}

/// The small file behind a file of `qc/`.
pub(in crate::drive) fn report_at(rapid: RapidId, path: &str) -> Blob {
    let format = path.rsplit_once('.').map_or(path, |(format, _)| format);
    Blob::Report(rapid, format.into())
}

/// Deletes what is stored of a model.
pub(in crate::drive) fn forget_blobs(catalog: &Catalog, prefix: &str) {
    let prefix = format!("{prefix}/");
    catalog
        .blobs
        .lock()
        .retain(|(blob, _)| !blob.to_string().starts_with(&prefix));
    let kept: Vec<(String, u64)> = catalog.meta.scan(TABLE, &prefix).unwrap_or_default();
    let removed = catalog.meta.relaxed().batch(|batch| {
        for (name, _) in &kept {
            batch.remove(TABLE, name);
        }
        Ok(())
    });
    if let Err(error) = removed {
        tracing::warn!(prefix, error = %error, "could not forget lengths");
    }
}

/// The stored size of a generated file.
pub(in crate::drive) fn kept_len(catalog: &Catalog, name: &str) -> Option<u64> {
    catalog.meta.get(TABLE, name).ok().flatten()
}

pub(in crate::drive) fn keep_len(catalog: &Catalog, name: &str, len: u64) {
    if let Err(error) = catalog.meta.relaxed().put(TABLE, name, &len) {
        tracing::warn!(name, error = %error, "could not keep a length");
    }
}

fn known_blob_len(catalog: &Catalog, blob: &Blob) -> Option<u64> {
    kept_len(catalog, &blob.to_string()).filter(|len| *len != MISSING)
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
            asked(catalog, client.rapids().quality_report(*rapid, format, now)).await
        }
        Blob::PresetOf(rapid) => asked(catalog, client.rapids().preset_zip(*rapid, now)).await,
        Blob::Preset(Bundle::Both, preset, _) => {
            asked(catalog, client.presets().zip(*preset, now)).await
        }
        Blob::Preset(Bundle::CommandLine, preset, _) => {
            asked(catalog, client.presets().rpdx(*preset, now)).await
        }
    };
    collected(download?).await
}

async fn collected(mut download: Download) -> DriveResult<Bytes> {
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
