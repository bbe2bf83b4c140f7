//! Paths of the deprecated version 1. The service answers at them; the client never asks.

use super::{filled, legacy_route};
use crate::wire::id::{AssetId, RapidId};

/// Starts an upload.
pub fn start_upload() -> String {
    legacy_route::START_UPLOAD.to_owned()
}

/// Ends an upload.
pub fn complete_upload(id: AssetId) -> String {
    filled(legacy_route::COMPLETE_UPLOAD, &[&id])
}

/// Optimizes with command-line keys.
pub fn process(id: AssetId) -> String {
    filled(legacy_route::PROCESS, &[&id])
}

/// Optimizes a base asset.
pub fn optimize(id: AssetId) -> String {
    filled(legacy_route::OPTIMIZE, &[&id])
}

/// One base asset, outside `/api`.
pub fn bare_asset(id: AssetId) -> String {
    filled(legacy_route::BARE_ASSET, &[&id])
}

/// All base assets.
pub fn assets() -> String {
    legacy_route::ASSETS.to_owned()
}

/// One base asset.
pub fn asset(id: AssetId) -> String {
    filled(legacy_route::ASSET, &[&id])
}

/// All rapid models.
pub fn rapid_models() -> String {
    legacy_route::RAPID_MODELS.to_owned()
}

/// One rapid model.
pub fn rapid_model(id: RapidId) -> String {
    filled(legacy_route::RAPID_MODEL, &[&id])
}
