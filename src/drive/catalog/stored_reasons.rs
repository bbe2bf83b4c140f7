//! Stores why models failed, across mounts.

use crate::drive::catalog::parts::Catalog;
use crate::wire::ModelId;

const TABLE: &str = "reasons";

/// The reason from an error log.
pub fn reason_of(catalog: &Catalog, subject: ModelId) -> Option<String> {
    kept_reason(catalog, subject).filter(|reason| !reason.is_empty())
}

/// The same; empty if the log contains no reason, so that it is not read again.
pub(super) fn kept_reason(catalog: &Catalog, subject: ModelId) -> Option<String> {
    catalog.meta.get(TABLE, &subject.to_string()).ok().flatten()
}

/// Stores the reason from an error log.
pub(super) fn keep_reason(catalog: &Catalog, subject: ModelId, reason: &str) {
    let kept = catalog
        .meta
        .relaxed()
        .put(TABLE, &subject.to_string(), &reason);
    if let Err(error) = kept {
        tracing::warn!(subject = %subject, error = %error, "could not store a reason");
    }
}

/// Forgets the reason: the model changed.
pub fn forget_reason(catalog: &Catalog, subject: ModelId) {
    if kept_reason(catalog, subject).is_some() {
        let forgotten = catalog.meta.relaxed().batch(|batch| {
            batch.remove(TABLE, &subject.to_string());
            Ok(())
        });
        if let Err(error) = forgotten {
            tracing::warn!(subject = %subject, error = %error, "could not delete a reason");
        }
    }
}
