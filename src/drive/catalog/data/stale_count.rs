//! The last count of stale results.

use crate::wire::AssetId;

/// The last count of stale results, and what it was made from.
#[derive(Debug, Default)]
pub struct StaleCount {
    /// The versions of the listings of models, results and presets.
    pub versions: [u64; 4],
    /// The models that were replaced through this drive.
    pub replaced_here: Vec<(AssetId, AssetId)>,
    pub count: u64,
}
