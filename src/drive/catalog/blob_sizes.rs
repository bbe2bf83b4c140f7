//! Stores the sizes of generated files across mounts, and which of them the service does not have.

use crate::drive::catalog::data::blobs::Blob;
use crate::drive::catalog::parts::Catalog;
use crate::wire::{OptimizationStatus, RapidModel, Timestamp};

const TABLE: &str = "blobs";
/// Stored as the size of a file that the service does not have.
pub(super) const MISSING: u64 = u64::MAX;
/// Models that were optimized earlier have no reports.
const FIRST_REPORTS: &str = "2024-07-01T00:00:00Z";

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

/// Deletes the stored sizes of a model.
pub fn forget_blobs(catalog: &Catalog, prefix: &str) {
    let prefix = format!("{prefix}/");
    catalog.blobs.forget(&prefix);
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
pub fn kept_len(catalog: &Catalog, name: &str) -> Option<u64> {
    catalog.meta.get(TABLE, name).ok().flatten()
}

/// Stores the size of a generated file.
pub fn keep_len(catalog: &Catalog, name: &str, len: u64) {
    if let Err(error) = catalog.meta.relaxed().put(TABLE, name, &len) {
        tracing::warn!(name, error = %error, "could not store a length");
    }
}

/// The stored size of a small file that the service has.
pub(super) fn known_blob_len(catalog: &Catalog, blob: &Blob) -> Option<u64> {
    kept_len(catalog, &blob.to_string()).filter(|len| *len != MISSING)
}
