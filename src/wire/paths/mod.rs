//! The paths of the API, all of version 2 and the deprecated version 1.
//!
//! Each path stands once, as a template in [`route`] or [`legacy_route`]; the functions fill templates in
//! and escape what is not a number, and [`ENDPOINTS`] lists every call there is. Version 1 is served and
//! never called; [`legacy`] has its paths for those who test that.

mod endpoints;
pub mod legacy;
pub mod legacy_route;
pub mod route;

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub use endpoints::ENDPOINTS;

use super::id::{AssetId, EmbedId, PresetId, RapidId, TagId, TokenId, WebhookId};

/// What may stand in a path segment as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

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
}
