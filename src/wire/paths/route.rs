//! Templates of version 2, with names in braces.

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
