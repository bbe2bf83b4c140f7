//! The list of all calls there are, each once.

use super::{legacy_route, route};

/// Every call of version 2 and 1: method and template.
pub const ENDPOINTS: &[(&str, &str)] = &[
    ("GET", route::TOKENS),
    ("POST", route::CREATE_TOKEN),
    ("GET", route::TOKEN),
    ("DELETE", route::TOKEN),
    ("POST", route::START_UPLOAD),
    ("GET", route::COMPLETE_UPLOAD),
    ("POST", route::RETRY_IMPORT),
    ("GET", route::ASSETS),
    ("GET", route::ASSET),
    ("PUT", route::ASSET),
    ("DELETE", route::ASSET),
    ("POST", route::DELETE_ASSETS),
    ("DELETE", route::ASSET_TAG),
    ("GET", route::ASSET_TAGS),
    ("GET", route::ASSET_DOWNLOADS),
    ("GET", route::ASSET_CONVERTED),
    ("GET", route::ASSET_PBR),
    ("GET", route::ASSET_ZIP),
    ("GET", route::ASSET_RENDERS),
    ("POST", route::ADD_FORMATS),
    ("GET", route::PROCESSED_FORMATS),
    ("GET", route::ASSET_RAPID_MODELS),
    ("GET", route::RUNNING_JOBS),
    ("POST", route::OPTIMIZE),
    ("POST", route::MULTI_OPTIMIZE),
    ("GET", route::RAPID_MODELS),
    ("GET", route::RAPID_MODEL),
    ("PUT", route::RAPID_MODEL),
    ("DELETE", route::RAPID_MODEL),
    ("POST", route::DELETE_RAPID_MODELS),
    ("GET", route::RAPID_EXPORTS),
    ("DELETE", route::RAPID_TAG),
    ("GET", route::RAPID_PRESET_ZIP),
    ("GET", route::RAPID_RENDERS),
    ("GET", route::RAPID_QC),
    ("GET", route::RAPID_TAGS),
    ("POST", route::CREATE_PRESET),
    ("PATCH", route::UPDATE_PRESET),
    ("GET", route::FACTORY_PRESETS),
    ("GET", route::PRESETS),
    ("GET", route::PRESET),
    ("DELETE", route::PRESET),
    ("GET", route::PRESET_CATEGORIES),
    ("POST", route::CONFIG_RPDX),
    ("GET", route::PRESET_RPDX),
    ("GET", route::PRESET_ZIP),
    ("GET", route::EMBEDS),
    ("GET", route::EMBED),
    ("DELETE", route::EMBED),
    ("POST", route::CREATE_EMBED),
    ("POST", route::CREATE_RAW_EMBED),
    ("POST", route::LOGIN),
    ("POST", route::DELETE_ACCOUNT),
    ("GET", route::RAPID_POINTS),
    ("GET", route::STORAGE),
    ("GET", route::WEBHOOKS),
    ("POST", route::WEBHOOKS),
    ("DELETE", route::WEBHOOK),
    ("POST", route::TEST_WEBHOOK),
    ("POST", legacy_route::START_UPLOAD),
    ("GET", legacy_route::COMPLETE_UPLOAD),
    ("POST", legacy_route::PROCESS),
    ("POST", legacy_route::OPTIMIZE),
    ("GET", legacy_route::BARE_ASSET),
    ("GET", legacy_route::ASSETS),
    ("DELETE", legacy_route::ASSETS),
    ("GET", legacy_route::ASSET),
    ("DELETE", legacy_route::ASSET),
    ("GET", legacy_route::RAPID_MODELS),
    ("DELETE", legacy_route::RAPID_MODELS),
    ("GET", legacy_route::RAPID_MODEL),
    ("DELETE", legacy_route::RAPID_MODEL),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_listed_once() {
        let mut seen = std::collections::HashSet::new();
        assert!(ENDPOINTS.iter().all(|endpoint| seen.insert(endpoint)));
        let current = ENDPOINTS
            .iter()
            .filter(|(_, path)| path.starts_with("/api/v2/"))
            .count();
        assert_eq!(current, 59);
    }
}
