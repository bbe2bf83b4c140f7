//! Templates of the deprecated version 1, with names in braces.

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
