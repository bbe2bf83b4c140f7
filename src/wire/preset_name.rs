//! The preset that a name means, and why a result that was made with one is stale. A drive and a service answer alike.

use serde::Serialize;

use super::id::PresetId;

/// What a name of a preset means.
#[derive(Debug, PartialEq, Eq)]
pub enum PresetNamed {
    One(PresetId),
    Nothing,
    /// Several presets of the account have the name.
    Several(Vec<PresetId>),
}

/// The preset that a name means, of those of the account and those of the service: of two with one name the account's own.
/// `NAME~ID`, as a drive shows one whose name another has, means the preset with that id.
pub fn find_preset(
    name: &str,
    own: &[(&str, PresetId)],
    factory: &[(&str, PresetId)],
) -> PresetNamed {
    let of_name = |presets: &[(&str, PresetId)]| -> Vec<PresetId> {
        let found = presets.iter().filter(|(known, _)| *known == name);
        found.map(|(_, id)| *id).collect()
    };
    let with_id = || {
        let mut presets = own.iter().chain(factory);
        presets.find(|(known, id)| is_with_id(name, known, id.0))
    };
    match (&of_name(own)[..], of_name(factory).first(), with_id()) {
        ([id], ..) | ([], Some(id), _) | ([], None, Some((_, id))) => PresetNamed::One(*id),
        ([], None, None) => PresetNamed::Nothing,
        (several, ..) => PresetNamed::Several(several.to_vec()),
    }
}

/// True if `shown` is `name~id`, which always means the object of this name and id.
pub fn is_with_id(shown: &str, name: &str, id: u64) -> bool {
    let rest = shown
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('~'));
    rest.is_some_and(|rest| rest == id.to_string())
}

/// Why a result is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Staleness {
    /// A newer version has taken the name of its source model.
    SourceReplaced,
    /// The preset that its text names has another configuration.
    PresetChanged,
}
