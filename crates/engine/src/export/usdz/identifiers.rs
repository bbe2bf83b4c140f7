//! Names as USD allows them.

use std::collections::BTreeSet;

/// The name as an identifier that is not taken yet.
pub(super) fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let base = identifier(name);
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

/// A name as USD allows it: letters, digits and underscores of ASCII, no digit first.
pub(super) fn identifier(name: &str) -> String {
    let mut plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect();
    if plain.is_empty() || plain.starts_with(|letter: char| letter.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    plain
}
