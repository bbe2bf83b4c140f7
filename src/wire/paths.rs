//! The paths of the API: all of version 2, and of version 1, which the local service answers and the client
//! never calls.
//!
//! Each path is here once, as a template with names in braces, together with its methods. [`fill`] replaces the names
//! by ids and escaped text.

use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that a path segment may contain unescaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Replaces the braces of `template` by `values`, in order.
///
/// # Panics
/// If the template has fewer braces than there are values.
pub fn fill(template: &str, values: &[&(dyn Display + Sync)]) -> String {
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

/// Makes a code for a link that signs in to the page of our own service. Not a part of the API.
pub const SIGN_IN_CODE: &str = "/page/code";

/// Gives up the upload of an asset: deletes the asset, unless another client has joined. Not a part of the API.
pub const ABANDON_UPLOAD: &str = "/api/v2/rawmodel/{id}/api-upload/abandon";

/// Every call of both versions: method and template.
pub fn endpoints() -> impl Iterator<Item = (&'static str, &'static str)> {
    route::CALLS.iter().chain(legacy_route::CALLS).copied()
}

/// Declares a constant for each template, and `CALLS`, the list of all methods and templates.
macro_rules! routes {
    ($($(#[$meta:meta])* $name:ident: $($method:literal)+ => $path:literal;)+) => {
        $($(#[$meta])* pub const $name: &str = $path;)+

        pub(super) const CALLS: &[(&str, &str)] = &[$($(($method, $path),)+)+];
    };
}

/// Version 2.
pub mod route {
    routes! {
        TOKENS: "GET" => "/api/v2/user/tokens";
        CREATE_TOKEN: "POST" => "/api/v2/user/tokens/create";
        TOKEN: "GET" "DELETE" => "/api/v2/user/tokens/{id}";
        START_UPLOAD: "POST" => "/api/v2/rawmodel/api-upload/start";
        /// A GET that has an effect.
        COMPLETE_UPLOAD: "GET" => "/api/v2/rawmodel/{id}/api-upload/complete";
        RETRY_IMPORT: "POST" => "/api/v2/rawmodel/{id}/api-upload/retry";
        ASSETS: "GET" => "/api/v2/rawmodel";
        ASSET: "GET" "PUT" "DELETE" => "/api/v2/rawmodel/{id}";
        DELETE_ASSETS: "POST" => "/api/v2/rawmodel/delete";
        ASSET_TAG: "DELETE" => "/api/v2/rawmodel/{id}/tags/{tagId}";
        ASSET_TAGS: "GET" => "/api/v2/rawmodel/tags";
        ASSET_DOWNLOADS: "GET" => "/api/v2/rawmodel/{id}/downloads";
        ASSET_CONVERTED: "GET" => "/api/v2/rawmodel/{id}/downloads/converted";
        ASSET_PBR: "GET" => "/api/v2/rawmodel/{id}/downloads/pbr";
        ASSET_ZIP: "GET" => "/api/v2/rawmodel/{id}/downloads/zip";
        ASSET_RENDERS: "GET" => "/api/v2/rawmodel/{id}/renders";
        ADD_FORMATS: "POST" => "/api/v2/rawmodel/{id}/addFormats";
        PROCESSED_FORMATS: "GET" => "/api/v2/rawmodel/{id}/processedFormats";
        ASSET_RAPID_MODELS: "GET" => "/api/v2/rawmodel/{id}/rapidmodels";
        /// Optimizations of the last week that run or failed.
        RUNNING_JOBS: "GET" => "/api/v2/rawmodel/jobs";
        OPTIMIZE: "POST" => "/api/v2/rawmodel/optimize/{id}";
        MULTI_OPTIMIZE: "POST" => "/api/v2/rawmodel/optimize";
        RAPID_MODELS: "GET" => "/api/v2/rapidmodel";
        RAPID_MODEL: "GET" "PUT" "DELETE" => "/api/v2/rapidmodel/{id}";
        DELETE_RAPID_MODELS: "POST" => "/api/v2/rapidmodel/delete";
        RAPID_EXPORTS: "GET" => "/api/v2/rapidmodel/{id}/exports";
        RAPID_TAG: "DELETE" => "/api/v2/rapidmodel/{id}/tags/{tagId}";
        RAPID_PRESET_ZIP: "GET" => "/api/v2/rapidmodel/{id}/download/preset";
        RAPID_RENDERS: "GET" => "/api/v2/rapidmodel/{id}/renders";
        RAPID_QC: "GET" => "/api/v2/rapidmodel/{id}/{format}/downloadQc";
        RAPID_TAGS: "GET" => "/api/v2/rapidmodel/tags";
        CREATE_PRESET: "POST" => "/api/v2/preset/create";
        UPDATE_PRESET: "PATCH" => "/api/v2/preset/update";
        FACTORY_PRESETS: "GET" => "/api/v2/preset/factory";
        PRESETS: "GET" => "/api/v2/preset";
        PRESET: "GET" "DELETE" => "/api/v2/preset/{id}";
        PRESET_CATEGORIES: "GET" => "/api/v2/preset/categories";
        /// A configuration in the command-line format, as a zip.
        CONFIG_RPDX: "POST" => "/api/v2/preset/rpdx";
        /// A preset in the command-line format, as a zip.
        PRESET_RPDX: "GET" => "/api/v2/preset/rpdx/{id}";
        /// A preset in both formats, as a zip.
        PRESET_ZIP: "GET" => "/api/v2/preset/{id}/download";
        EMBEDS: "GET" => "/api/v2/embeds";
        EMBED: "GET" "DELETE" => "/api/v2/embeds/{id}";
        CREATE_EMBED: "POST" => "/api/v2/embeds/create";
        CREATE_RAW_EMBED: "POST" => "/api/v2/embeds/raw";
        LOGIN: "POST" => "/api/v2/login";
        DELETE_ACCOUNT: "POST" => "/api/v2/user/delete";
        RAPID_POINTS: "GET" => "/api/v2/user/rapidpoints";
        STORAGE: "GET" => "/api/v2/user/storage";
        WEBHOOKS: "GET" "POST" => "/api/v2/user/webhooks";
        WEBHOOK: "DELETE" => "/api/v2/user/webhooks/{id}";
        TEST_WEBHOOK: "POST" => "/api/v2/user/webhooks/test/{id}";
    }
}

/// Version 1, deprecated.
pub mod legacy_route {
    routes! {
        START_UPLOAD: "POST" => "/api/rawmodel/api-upload/start";
        COMPLETE_UPLOAD: "GET" => "/api/rawmodel/{id}/api-upload/complete";
        /// Optimizes with command-line keys.
        PROCESS: "POST" => "/api/rawmodel/process/{id}";
        OPTIMIZE: "POST" => "/api/rawmodel/optimize/{id}";
        /// Outside `/api`.
        BARE_ASSET: "GET" => "/rawmodel/{id}";
        ASSETS: "GET" "DELETE" => "/api/rawmodel";
        ASSET: "GET" "DELETE" => "/api/rawmodel/{id}";
        RAPID_MODELS: "GET" "DELETE" => "/api/rapidmodel";
        RAPID_MODEL: "GET" "DELETE" => "/api/rapidmodel/{id}";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_carry_ids_and_escape_text() {
        assert_eq!(fill(route::ASSET, &[&1042]), "/api/v2/rawmodel/1042");
        assert_eq!(
            fill(route::ASSET_TAG, &[&1, &2]),
            "/api/v2/rawmodel/1/tags/2"
        );
        assert_eq!(
            fill(route::COMPLETE_UPLOAD, &[&1042]),
            "/api/v2/rawmodel/1042/api-upload/complete"
        );
        assert_eq!(
            fill(route::RAPID_QC, &[&9, &"../x"]),
            "/api/v2/rapidmodel/9/..%2Fx/downloadQc"
        );
    }

    #[test]
    fn every_endpoint_is_listed_once() {
        let mut seen = std::collections::HashSet::new();
        assert!(endpoints().all(|endpoint| seen.insert(endpoint)));
        assert_eq!(route::CALLS.len(), 59);
        assert_eq!(legacy_route::CALLS.len(), 13);
    }
}
