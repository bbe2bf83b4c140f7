//! What commands say of a preset that there is not: the names most like it, and what lists all.

use super::exit::WrongUse;

/// What lists the presets, for messages.
pub(super) const PRESET_LIST: &str = "`assetfs preset list`";

/// Minimum similarity of suggested names, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.8;
/// Maximum number of suggested names.
const MAX_NEAR: usize = 3;

/// Refuses a name that none of the known presets has.
pub(super) fn unknown<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> WrongUse {
    let near = near(name, known);
    WrongUse(match near.is_empty() {
        true => format!(
            "there is no preset `{name}`; {PRESET_LIST} lists them, and a JSON file is possible, too"
        ),
        false => format!(
            "there is no preset `{name}`; did you mean {}? {PRESET_LIST} lists all",
            near.join(" or ")
        ),
    })
}

/// A name without case and separators.
pub(super) fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

/// The names most similar to `name`, best first.
fn near<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<String> {
    let wanted = plain(name);
    let mut found: Vec<(f64, &str)> = known
        .into_iter()
        .map(|known| (likeness(&plain(known), &wanted), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    found.sort_by(|one, two| two.0.total_cmp(&one.0));
    let names = found.into_iter().take(MAX_NEAR);
    names.map(|(_, known)| format!("`{known}`")).collect()
}

/// How like two plain names are. One may be a part of the other, or a word of it that is misspelt.
fn likeness(known: &str, wanted: &str) -> f64 {
    if !wanted.is_empty() && known.contains(wanted) {
        return 1.0;
    }
    let words = known
        .split(' ')
        .map(|word| strsim::jaro_winkler(word, wanted));
    words.fold(strsim::jaro_winkler(known, wanted), f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factory_presets::FACTORY;

    #[test]
    fn a_wrong_name_is_answered_with_near_ones_and_with_what_lists_all() {
        for (name, near) in [
            ("Web Veiwer", "did you mean `Web Viewer`"),
            ("Weeb", "did you mean `Web Viewer`"),
            ("mobil ar", "did you mean `Mobile AR`"),
            ("chiars", "did you mean `chairs`?"),
            (
                "marketplace",
                "`Marketplace Standard` or `Marketplace Small`",
            ),
            ("zzz", "no preset `zzz`; `assetfs preset list` lists them"),
        ] {
            let known = FACTORY.iter().map(|preset| preset.name);
            let said = unknown(name, known.chain(["chairs"])).to_string();
            assert!(
                said.contains(near) && said.contains(PRESET_LIST),
                "{name}: {said}"
            );
        }
    }
}
