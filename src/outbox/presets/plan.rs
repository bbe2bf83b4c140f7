//! What to do next about the text of a preset: a pure function of what is held here and of the presets that
//! the service has.
//!
//! Invariant: a file name means one preset. One is made only if the service has none of that name
//! and none that was parked under it.

use crate::wire::{OptimizerConfig, Preset, PresetId, is_with_id};

/// What to do next about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetStep {
    /// Nothing: the service says the same already.
    Same(PresetId),
    /// Give the preset this text, and this name.
    Update(PresetId),
    /// Make a preset.
    Create,
}

/// The next step for the text `config` of the preset `name`; `parked` is the preset whose file was renamed to
/// a backup name.
pub fn next_preset_step(
    known: &[Preset],
    name: &str,
    parked: Option<PresetId>,
    config: &OptimizerConfig,
) -> PresetStep {
    match find(known, name, parked) {
        None => PresetStep::Create,
        Some(found) if name_for(found, name) == found.name && found.config.meaning_eq(config) => {
            PresetStep::Same(found.id)
        }
        Some(found) => PresetStep::Update(found.id),
    }
}

/// The name that a preset gets when the file `name` is written: its own if that file is `NAME~ID`, which is how a preset
/// is shown whose name another one has.
pub fn name_for<'a>(preset: &'a Preset, name: &'a str) -> &'a str {
    match is_with_id(name, &preset.name, preset.id.0) {
        true => &preset.name,
        false => name,
    }
}

/// The preset of a file: the parked one while it exists, else that of the name, else that of the name with an id.
pub fn find<'a>(known: &'a [Preset], name: &str, parked: Option<PresetId>) -> Option<&'a Preset> {
    let by_id = parked.and_then(|id| known.iter().find(|preset| preset.id == id));
    // Of several with one name the oldest is the one that the name shows.
    let by_name = || {
        known
            .iter()
            .filter(|preset| preset.name == name)
            .min_by_key(|preset| preset.id)
    };
    let by_suffix = || {
        let mut presets = known.iter();
        presets.find(|preset| is_with_id(name, &preset.name, preset.id.0))
    };
    by_id.or_else(by_name).or_else(by_suffix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn preset(id: u64, name: &str, count: u64) -> Preset {
        let text = serde_json::json!({"id": id, "name": name, "config": {"limits": count}});
        serde_json::from_value(text).unwrap()
    }

    fn config(count: u64) -> OptimizerConfig {
        OptimizerConfig::parse(&format!("{{\"limits\":{count}}}")).unwrap()
    }

    proptest! {
        #[test]
        fn nothing_is_made_beside_one_that_the_name_stands_for(
            known in prop::collection::vec((1..9u64, 0..3usize, 0..3u64), 0..6),
            parked in prop::option::of(1..9u64),
            wanted in 0..3u64,
        ) {
            let names = ["web", "tv", "phone"];
            let known: Vec<Preset> = known.into_iter().map(|(id, name, count)| preset(id, names[name], count)).collect();
            let parked = parked.map(PresetId);
            let step = next_preset_step(&known, "web", parked, &config(wanted));
            let stands = known.iter().any(|it| it.name == "web" || Some(it.id) == parked);
            prop_assert_eq!(step == PresetStep::Create, !stands);
            if let PresetStep::Update(id) | PresetStep::Same(id) = step {
                let mut found = known.iter().filter(|it| it.id == id);
                prop_assert!(found.any(|it| it.name == "web" || Some(id) == parked));
            }
        }
    }

    #[test]
    fn a_file_with_an_id_is_the_preset_of_that_name_and_id_and_keeps_its_name() {
        let known = [preset(3, "web", 1), preset(5, "web", 2)];
        let step = |name, wanted| next_preset_step(&known, name, None, &config(wanted));
        assert_eq!(step("web~5", 2), PresetStep::Same(PresetId(5)));
        assert_eq!(step("web~5", 9), PresetStep::Update(PresetId(5)));
        assert_eq!(step("web~3", 9), PresetStep::Update(PresetId(3)));
        assert_eq!(step("tv~5", 9), PresetStep::Create);
        assert_eq!(step("web~7", 9), PresetStep::Create);
        assert_eq!(name_for(&known[1], "web~5"), "web");
        assert_eq!(name_for(&known[1], "tv"), "tv");
    }

    #[test]
    fn an_editors_detour_over_a_backup_keeps_the_id() {
        let known = [preset(3, "web", 1), preset(5, "web", 2)];
        let step = |parked, wanted| next_preset_step(&known, "web", parked, &config(wanted));
        assert_eq!(step(None, 1), PresetStep::Same(PresetId(3)));
        assert_eq!(step(None, 9), PresetStep::Update(PresetId(3)));
        assert_eq!(step(Some(PresetId(5)), 9), PresetStep::Update(PresetId(5)));
        assert_eq!(step(Some(PresetId(8)), 9), PresetStep::Update(PresetId(3)));
        assert_eq!(
            next_preset_step(&known, "new", None, &config(1)),
            PresetStep::Create
        );
    }
}
