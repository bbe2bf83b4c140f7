//! Factory presets, and rules for all presets.

pub use crate::factory_presets::{FACTORY, FactoryPreset, categories, factory};

/// The version of the optimizer.
pub const CORE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether a preset needs a newer optimizer than this one; `None` if `version` is not a version.
pub fn needs_newer_core(version: &str) -> Option<bool> {
    Some(parts(version)? > parts(CORE_VERSION)?)
}

/// The end of the message for a preset that needs a newer optimizer.
pub fn too_old_for(version: &str) -> String {
    format!("needs version {version} of the optimizer core, and this one is {CORE_VERSION}")
}

/// The numbers of a version: one to four, the missing ones 0. A part after `-` or `+` is ignored.
fn parts(version: &str) -> Option<[u64; 4]> {
    let numbers = version.trim().trim_start_matches('v');
    let numbers = numbers.split(['-', '+']).next().unwrap_or_default();
    let mut parts = [0; 4];
    for (place, number) in numbers.split('.').enumerate() {
        // The parser's error adds nothing: the text is not a version.
        *parts.get_mut(place)? = number.parse().ok()?;
    }
    Some(parts)
}

/// The version of the preset format.
pub const RPDX_VERSION: &str = "2.5";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_does_everything_that_factory_presets_ask_for() {
        for preset in FACTORY {
            let settings = assetfs_engine::settings::Settings::read(&preset.config().0);
            assert!(settings.is_ok_and(|settings| settings.not_done.is_empty()));
        }
    }

    #[test]
    fn versions_are_compared_number_by_number() {
        for (version, newer) in [
            (CORE_VERSION, Some(false)),
            ("0", Some(false)),
            ("0.0.99", Some(false)),
            ("999.0", Some(true)),
            ("v999.1.2-beta.3+build", Some(true)),
            ("", None),
            ("new", None),
            ("1.2.3.4.5", None),
        ] {
            assert_eq!(needs_newer_core(version), newer, "{version}");
        }
    }
}
