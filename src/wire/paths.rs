//! The paths of the API, all of version 2 and the deprecated version 1.
//!
//! Each path stands once, as a template in [`route`] or [`legacy_route`]; the functions fill templates in
//! and escape what is not a number, and [`ENDPOINTS`] lists every call there is. Version 1 is served and
//! never called; [`legacy`] has its paths for those who test that.

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::id::{AssetId, EmbedId, PresetId, RapidId, TagId, TokenId, WebhookId};

/// What may stand in a path segment as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Templates of version 2, with names in braces.
pub mod route {
    /// The account's API tokens.
    pub const TOKENS: &str = "/api/v2/user/tokens";
    /// Makes an API token.
    pub const CREATE_TOKEN: &str = "/api/v2/user/tokens/create";
    /// One API token.
    pub const TOKEN: &str = "/api/v2/user/tokens/{id}";
    /// Starts an upload.
    pub const START_UPLOAD: &str = "/api/v2/rawmodel/api-upload/start";
    /// Ends an upload; a GET that has an effect.
    pub const COMPLETE_UPLOAD: &str = "/api/v2/rawmodel/{id}/api-upload/complete";
    /// Tries a failed import again.
    pub const RETRY_IMPORT: &str = "/api/v2/rawmodel/{id}/api-upload/retry";
    /// All base assets, in pages.
    pub const ASSETS: &str = "/api/v2/rawmodel";
    /// One base asset.
    pub const ASSET: &str = "/api/v2/rawmodel/{id}";
    /// Deletes several base assets.
    pub const DELETE_ASSETS: &str = "/api/v2/rawmodel/delete";
    /// A tag on a base asset.
    pub const ASSET_TAG: &str = "/api/v2/rawmodel/{id}/tags/{tagId}";
    /// All tags on base assets.
    pub const ASSET_TAGS: &str = "/api/v2/rawmodel/tags";
    /// The files of a base asset.
    pub const ASSET_DOWNLOADS: &str = "/api/v2/rawmodel/{id}/downloads";
    /// The converted files of a base asset.
    pub const ASSET_CONVERTED: &str = "/api/v2/rawmodel/{id}/downloads/converted";
    /// The converted materials of a base asset.
    pub const ASSET_PBR: &str = "/api/v2/rawmodel/{id}/downloads/pbr";
    /// All files of a base asset as one zip.
    pub const ASSET_ZIP: &str = "/api/v2/rawmodel/{id}/downloads/zip";
    /// The views of a base asset.
    pub const ASSET_RENDERS: &str = "/api/v2/rawmodel/{id}/renders";
    /// Converts a base asset.
    pub const ADD_FORMATS: &str = "/api/v2/rawmodel/{id}/addFormats";
    /// The conversions of a base asset.
    pub const PROCESSED_FORMATS: &str = "/api/v2/rawmodel/{id}/processedFormats";
    /// The rapid models of a base asset.
    pub const ASSET_RAPID_MODELS: &str = "/api/v2/rawmodel/{id}/rapidmodels";
    /// Optimizations of the last week that run or failed.
    pub const RUNNING_JOBS: &str = "/api/v2/rawmodel/jobs";
    /// Optimizes a base asset.
    pub const OPTIMIZE: &str = "/api/v2/rawmodel/optimize/{id}";
    /// Optimizes several base assets.
    pub const MULTI_OPTIMIZE: &str = "/api/v2/rawmodel/optimize";
    /// All rapid models, in pages.
    pub const RAPID_MODELS: &str = "/api/v2/rapidmodel";
    /// One rapid model.
    pub const RAPID_MODEL: &str = "/api/v2/rapidmodel/{id}";
    /// Deletes several rapid models.
    pub const DELETE_RAPID_MODELS: &str = "/api/v2/rapidmodel/delete";
    /// The exports of a rapid model.
    pub const RAPID_EXPORTS: &str = "/api/v2/rapidmodel/{id}/exports";
    /// A tag on a rapid model.
    pub const RAPID_TAG: &str = "/api/v2/rapidmodel/{id}/tags/{tagId}";
    /// The preset that made a rapid model, as a zip.
    pub const RAPID_PRESET_ZIP: &str = "/api/v2/rapidmodel/{id}/download/preset";
    /// The views of a rapid model.
    pub const RAPID_RENDERS: &str = "/api/v2/rapidmodel/{id}/renders";
    /// The quality report of one format.
    pub const RAPID_QC: &str = "/api/v2/rapidmodel/{id}/{format}/downloadQc";
    /// All tags on rapid models.
    pub const RAPID_TAGS: &str = "/api/v2/rapidmodel/tags";
    /// Makes a preset.
    pub const CREATE_PRESET: &str = "/api/v2/preset/create";
    /// Changes a preset.
    pub const UPDATE_PRESET: &str = "/api/v2/preset/update";
    /// The service's presets.
    pub const FACTORY_PRESETS: &str = "/api/v2/preset/factory";
    /// The user's presets.
    pub const PRESETS: &str = "/api/v2/preset";
    /// One preset.
    pub const PRESET: &str = "/api/v2/preset/{id}";
    /// The categories of presets.
    pub const PRESET_CATEGORIES: &str = "/api/v2/preset/categories";
    /// A configuration in the command-line format, as a zip.
    pub const CONFIG_RPDX: &str = "/api/v2/preset/rpdx";
    /// A preset in the command-line format, as a zip.
    pub const PRESET_RPDX: &str = "/api/v2/preset/rpdx/{id}";
    /// A preset in both formats, as a zip.
    pub const PRESET_ZIP: &str = "/api/v2/preset/{id}/download";
    /// All embeds, in pages.
    pub const EMBEDS: &str = "/api/v2/embeds";
    /// One embed.
    pub const EMBED: &str = "/api/v2/embeds/{id}";
    /// Makes an embed of a rapid model.
    pub const CREATE_EMBED: &str = "/api/v2/embeds/create";
    /// Makes an embed of a base asset.
    pub const CREATE_RAW_EMBED: &str = "/api/v2/embeds/raw";
    /// Signs in; the one call without a token.
    pub const LOGIN: &str = "/api/v2/login";
    /// Ends the account.
    pub const DELETE_ACCOUNT: &str = "/api/v2/user/delete";
    /// What is left to optimize with.
    pub const RAPID_POINTS: &str = "/api/v2/user/rapidpoints";
    /// What is left to store in.
    pub const STORAGE: &str = "/api/v2/user/storage";
    /// The account's webhooks.
    pub const WEBHOOKS: &str = "/api/v2/user/webhooks";
    /// One webhook.
    pub const WEBHOOK: &str = "/api/v2/user/webhooks/{id}";
    /// Sends a test event.
    pub const TEST_WEBHOOK: &str = "/api/v2/user/webhooks/test/{id}";
}

/// Templates of the deprecated version 1.
pub mod legacy_route {
    /// Starts an upload.
    pub const START_UPLOAD: &str = "/api/rawmodel/api-upload/start";
    /// Ends an upload.
    pub const COMPLETE_UPLOAD: &str = "/api/rawmodel/{id}/api-upload/complete";
    /// Optimizes with command-line keys.
    pub const PROCESS: &str = "/api/rawmodel/process/{id}";
    /// Optimizes a base asset.
    pub const OPTIMIZE: &str = "/api/rawmodel/optimize/{id}";
    /// One base asset, outside `/api`.
    pub const BARE_ASSET: &str = "/rawmodel/{id}";
    /// All base assets.
    pub const ASSETS: &str = "/api/rawmodel";
    /// One base asset.
    pub const ASSET: &str = "/api/rawmodel/{id}";
    /// All rapid models.
    pub const RAPID_MODELS: &str = "/api/rapidmodel";
    /// One rapid model.
    pub const RAPID_MODEL: &str = "/api/rapidmodel/{id}";
}

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

/// The template with its braces filled in, in order.
fn filled(template: &str, values: &[&dyn Display]) -> String {
    let mut path = String::with_capacity(template.len() + 16);
    let mut rest = template;
    for value in values {
        let (before, after) = rest
            .split_once('{')
            .expect("a template has a brace for each value");
        let (_, after) = after
            .split_once('}')
            .expect("a brace in a template is closed");
        path.push_str(before);
        path.extend(utf8_percent_encode(&value.to_string(), SEGMENT));
        rest = after;
    }
    path.push_str(rest);
    path
}

/// The account's API tokens.
pub fn tokens() -> String {
    route::TOKENS.to_owned()
}

/// Makes an API token.
pub fn create_token() -> String {
    route::CREATE_TOKEN.to_owned()
}

/// One API token.
pub fn token(id: TokenId) -> String {
    filled(route::TOKEN, &[&id])
}

/// Starts an upload.
pub fn start_upload() -> String {
    route::START_UPLOAD.to_owned()
}

/// Ends an upload; a GET that has an effect.
pub fn complete_upload(id: AssetId) -> String {
    filled(route::COMPLETE_UPLOAD, &[&id])
}

/// Tries a failed import again.
pub fn retry_import(id: AssetId) -> String {
    filled(route::RETRY_IMPORT, &[&id])
}

/// All base assets, in pages.
pub fn assets() -> String {
    route::ASSETS.to_owned()
}

/// One base asset.
pub fn asset(id: AssetId) -> String {
    filled(route::ASSET, &[&id])
}

/// Deletes several base assets.
pub fn delete_assets() -> String {
    route::DELETE_ASSETS.to_owned()
}

/// A tag on a base asset.
pub fn asset_tag(id: AssetId, tag: TagId) -> String {
    filled(route::ASSET_TAG, &[&id, &tag])
}

/// All tags on base assets.
pub fn asset_tags() -> String {
    route::ASSET_TAGS.to_owned()
}

/// The files of a base asset.
pub fn asset_downloads(id: AssetId) -> String {
    filled(route::ASSET_DOWNLOADS, &[&id])
}

/// The converted files of a base asset.
pub fn asset_converted(id: AssetId) -> String {
    filled(route::ASSET_CONVERTED, &[&id])
}

/// The converted materials of a base asset.
pub fn asset_pbr(id: AssetId) -> String {
    filled(route::ASSET_PBR, &[&id])
}

/// All files of a base asset as one zip.
pub fn asset_zip(id: AssetId) -> String {
    filled(route::ASSET_ZIP, &[&id])
}

/// The views of a base asset.
pub fn asset_renders(id: AssetId) -> String {
    filled(route::ASSET_RENDERS, &[&id])
}

/// Converts a base asset.
pub fn add_formats(id: AssetId) -> String {
    filled(route::ADD_FORMATS, &[&id])
}

/// The conversions of a base asset.
pub fn processed_formats(id: AssetId) -> String {
    filled(route::PROCESSED_FORMATS, &[&id])
}

/// The rapid models of a base asset.
pub fn asset_rapid_models(id: AssetId) -> String {
    filled(route::ASSET_RAPID_MODELS, &[&id])
}

/// Optimizations of the last week that run or failed.
pub fn running_jobs() -> String {
    route::RUNNING_JOBS.to_owned()
}

/// Optimizes a base asset.
pub fn optimize(id: AssetId) -> String {
    filled(route::OPTIMIZE, &[&id])
}

/// Optimizes several base assets.
pub fn multi_optimize() -> String {
    route::MULTI_OPTIMIZE.to_owned()
}

/// All rapid models, in pages.
pub fn rapid_models() -> String {
    route::RAPID_MODELS.to_owned()
}

/// One rapid model.
pub fn rapid_model(id: RapidId) -> String {
    filled(route::RAPID_MODEL, &[&id])
}

/// Deletes several rapid models.
pub fn delete_rapid_models() -> String {
    route::DELETE_RAPID_MODELS.to_owned()
}

/// The exports of a rapid model.
pub fn rapid_exports(id: RapidId) -> String {
    filled(route::RAPID_EXPORTS, &[&id])
}

/// A tag on a rapid model.
pub fn rapid_tag(id: RapidId, tag: TagId) -> String {
    filled(route::RAPID_TAG, &[&id, &tag])
}

/// The preset that made a rapid model, as a zip.
pub fn rapid_preset_zip(id: RapidId) -> String {
    filled(route::RAPID_PRESET_ZIP, &[&id])
}

/// The views of a rapid model.
pub fn rapid_renders(id: RapidId) -> String {
    filled(route::RAPID_RENDERS, &[&id])
}

/// The quality report of one format.
pub fn rapid_qc(id: RapidId, format: &str) -> String {
    filled(route::RAPID_QC, &[&id, &format])
}

/// All tags on rapid models.
pub fn rapid_tags() -> String {
    route::RAPID_TAGS.to_owned()
}

/// Makes a preset.
pub fn create_preset() -> String {
    route::CREATE_PRESET.to_owned()
}

/// Changes a preset.
pub fn update_preset() -> String {
    route::UPDATE_PRESET.to_owned()
}

/// The service's presets.
pub fn factory_presets() -> String {
    route::FACTORY_PRESETS.to_owned()
}

/// The user's presets.
pub fn presets() -> String {
    route::PRESETS.to_owned()
}

/// One preset.
pub fn preset(id: PresetId) -> String {
    filled(route::PRESET, &[&id])
}

/// The categories of presets.
pub fn preset_categories() -> String {
    route::PRESET_CATEGORIES.to_owned()
}

/// A configuration in the command-line format, as a zip.
pub fn config_rpdx() -> String {
    route::CONFIG_RPDX.to_owned()
}

/// A preset in the command-line format, as a zip.
pub fn preset_rpdx(id: PresetId) -> String {
    filled(route::PRESET_RPDX, &[&id])
}

/// A preset in both formats, as a zip.
pub fn preset_zip(id: PresetId) -> String {
    filled(route::PRESET_ZIP, &[&id])
}

/// All embeds, in pages.
pub fn embeds() -> String {
    route::EMBEDS.to_owned()
}

/// One embed.
pub fn embed(id: EmbedId) -> String {
    filled(route::EMBED, &[&id])
}

/// Makes an embed of a rapid model.
pub fn create_embed() -> String {
    route::CREATE_EMBED.to_owned()
}

/// Makes an embed of a base asset.
pub fn create_raw_embed() -> String {
    route::CREATE_RAW_EMBED.to_owned()
}

/// Signs in; the one call without a token.
pub fn login() -> String {
    route::LOGIN.to_owned()
}

/// Ends the account.
pub fn delete_account() -> String {
    route::DELETE_ACCOUNT.to_owned()
}

/// What is left to optimize with.
pub fn rapid_points() -> String {
    route::RAPID_POINTS.to_owned()
}

/// What is left to store in.
pub fn storage() -> String {
    route::STORAGE.to_owned()
}

/// The account's webhooks.
pub fn webhooks() -> String {
    route::WEBHOOKS.to_owned()
}

/// One webhook.
pub fn webhook(id: WebhookId) -> String {
    filled(route::WEBHOOK, &[&id])
}

/// Sends a test event.
pub fn test_webhook(id: WebhookId) -> String {
    filled(route::TEST_WEBHOOK, &[&id])
}

/// Paths of the deprecated version 1.
pub mod legacy {
    use super::{AssetId, RapidId, filled, legacy_route};

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_carry_ids_and_escape_text() {
        assert_eq!(asset(AssetId(1042)), "/api/v2/rawmodel/1042");
        assert_eq!(asset_tag(AssetId(1), TagId(2)), "/api/v2/rawmodel/1/tags/2");
        assert_eq!(
            complete_upload(AssetId(1042)),
            "/api/v2/rawmodel/1042/api-upload/complete"
        );
        assert_eq!(
            rapid_qc(RapidId(9), "../x"),
            "/api/v2/rapidmodel/9/..%2Fx/downloadQc"
        );
        assert_eq!(legacy::rapid_model(RapidId(9)), "/api/rapidmodel/9");
    }

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
