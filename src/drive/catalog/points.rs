//! The log of points: every optimization that this drive has seen costs one. It is kept when the result is deleted, because
//! the service does not list it any more then.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drive::catalog::data::known::Known;
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::known::KnownRapid;
use crate::drive::values::listing::Changes;
use crate::durable::MetaStore;
use crate::wire::{AssetId, NotedPreset, RapidId, Timestamp};

const TABLE: &str = "points";

/// What an optimization costs.
pub const POINTS_OF_A_RESULT: u64 = 1;

/// One optimization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointSpent {
    pub result: RapidId,
    pub time: Option<Timestamp>,
    /// The name of its source model.
    pub model: String,
    pub model_id: Option<AssetId>,
    /// The name of its text, without extension.
    pub text: Option<String>,
    pub preset: Option<NotedPreset>,
    pub config: Option<String>,
}

impl PointSpent {
    fn of(row: &KnownRapid) -> PointSpent {
        PointSpent {
            result: row.id,
            time: row.created,
            // The service names a result after its model.
            model: row.name.clone(),
            model_id: row.source,
            text: row.made_with.clone(),
            preset: row.notes.preset.clone(),
            config: row.notes.config.clone(),
        }
    }
}

/// Every point, by the id of the result. The second value is false for a result that is deleted.
pub fn points_spent(catalog: &Catalog) -> Vec<(PointSpent, bool)> {
    let kept: Vec<(String, PointSpent)> = catalog.meta.scan(TABLE, "").unwrap_or_default();
    let mut points: BTreeMap<RapidId, (PointSpent, bool)> = kept
        .into_iter()
        .map(|(_, point)| (point.result, (point, false)))
        .collect();
    let known = catalog.known();
    for row in known.rapids.rows() {
        points.insert(row.id, (PointSpent::of(row), true));
    }
    points.into_values().collect()
}

/// Keeps what has appeared or ended.
pub(super) fn keep_points(meta: &MetaStore, known: &Known, changes: &Changes) {
    let ids = changes.appeared.iter().chain(&changes.state_changed);
    keep(meta, ids.filter_map(|id| known.rapids.row(*id)));
}

/// Keeps the results that an earlier version of the drive has stored without a log.
pub(super) fn keep_known_points(meta: &MetaStore, known: &Known) {
    let is_kept = |row: &&KnownRapid| {
        let kept = meta.get::<PointSpent>(TABLE, &key(row.id));
        kept.ok().flatten().is_some()
    };
    keep(meta, known.rapids.rows().filter(|row| !is_kept(row)));
}

fn keep<'a>(meta: &MetaStore, rows: impl Iterator<Item = &'a KnownRapid>) {
    let kept = meta.relaxed().batch(|batch| {
        for row in rows {
            batch.put(TABLE, &key(row.id), &PointSpent::of(row))?;
        }
        Ok(())
    });
    if let Err(error) = kept {
        tracing::warn!(error = %error, "the log of points could not be written");
    }
}

fn key(rapid: RapidId) -> String {
    format!("{:020}", rapid.0)
}
