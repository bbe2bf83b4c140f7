//! The texts of presets as they were written. A text is shown as long as the service has the same JSON value, so a preset
//! reads as the bytes that were written. Pure.

use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::names;
use crate::outbox::presets::book::{HeldPreset, PresetBook, PresetRecord};
use crate::outbox::presets::info::SavedPreset;
use crate::outbox::texts::{self, is_sendable_name};
use crate::wire::Preset;

/// Limits of the texts that are kept only for their form; beyond them the oldest are dropped.
const LISTED_MAX_BYTES: usize = 16 << 20;
const LISTED_MAX_TEXTS: usize = 1000;

/// True for the names under which presets of the service are shown. Files with other names of presets
/// (`.rpdx`) are taken in, and never stand for the preset that came of them.
pub fn is_shown_name(name: &str) -> bool {
    is_sendable_name(name) && names::extension(name) == "json"
}

/// The text held under a name, if the service has it.
pub fn saved(name: &str, held: &HeldPreset) -> Option<SavedPreset> {
    let preset = held.saved?;
    let written = texts::parse_config(name, &held.text.0).ok()?;
    let text = match is_shown_name(name) {
        true => String::from_utf8(held.text.0.clone()).ok()?,
        false => written.config.to_pretty_text(),
    };
    Some(SavedPreset {
        name: name.to_owned(),
        preset,
        config: written.config,
        text,
        description: held.description.clone().or(written.description),
        mtime: held.at.into(),
        is_listed: held.listed,
    })
}

/// The records to write for `texts` after the service listed `presets`. A text that was written since then gets none.
pub fn records_of_list(
    book: &PresetBook,
    texts: &[SavedPreset],
    presets: &[Preset],
) -> Vec<PresetRecord> {
    let is_held = |text: &&SavedPreset| {
        let held = book.held.get(&text.name);
        held.and_then(|held| saved(&text.name, held)).as_ref() == Some(*text)
    };
    let record = |text: &SavedPreset| {
        let listed = presets.iter().find(|preset| preset.id == text.preset);
        let has_value = listed.is_some_and(|preset| preset.config.meaning_eq(&text.config));
        let name = text.name.clone();
        match has_value && is_shown_name(&name) {
            true if text.is_listed => None,
            true => Some(PresetRecord::Listed { name }),
            false => Some(PresetRecord::Dropped { name }),
        }
    };
    texts.iter().filter(is_held).filter_map(record).collect()
}

/// The oldest text that is kept only for its form, if those are too many or too long.
pub fn surplus(book: &PresetBook) -> Option<String> {
    let listed = || book.held.iter().filter(|(_, held)| held.listed);
    let bytes: usize = listed().map(|(_, held)| held.text.0.len()).sum();
    if bytes <= LISTED_MAX_BYTES && listed().count() <= LISTED_MAX_TEXTS {
        return None;
    }
    let oldest = listed().min_by_key(|(_, held)| held.at)?;
    Some(oldest.0.clone())
}

/// The text of a preset as it is shown, and its time.
pub fn shown(book: &PresetBook, preset: &Preset) -> (Blob, Moment) {
    let held = book.held.iter();
    let mut saved = held.filter_map(|(name, held)| Some((saved(name, held)?, held.at)));
    let written =
        saved.find(|(it, _)| it.preset == preset.id && it.config.meaning_eq(&preset.config));
    if let Some((written, at)) = written {
        return (Blob(written.text.into_bytes()), at);
    }
    let text = preset.config.to_pretty_text().into_bytes();
    let at = preset.updated_at.or(preset.created_at);
    let at = at.map_or_else(Moment::now, |at| std::time::SystemTime::from(at).into());
    (Blob(text), at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::PresetId;

    fn book_with(texts: usize, bytes: usize) -> PresetBook {
        let mut book = PresetBook::default();
        for number in 0..texts {
            let name = format!("{number:04}.json");
            let mut text = b"{\"limits\":1}".to_vec();
            text.resize(bytes, b' ');
            let at = Moment {
                secs: 1_000_000 - number as i64,
                nanos: 0,
            };
            let preset = Some(PresetId(number as u64));
            for record in [
                PresetRecord::TextKept {
                    name: name.clone(),
                    text: Blob(text),
                    at,
                    wanted: true,
                    maker: None,
                },
                PresetRecord::Saved {
                    name: name.clone(),
                    preset,
                },
                PresetRecord::Listed { name },
            ] {
                book.apply(&record);
            }
        }
        book
    }

    #[test]
    fn the_texts_that_are_kept_are_bounded_in_number_and_size_and_the_oldest_goes_first() {
        assert_eq!(surplus(&book_with(LISTED_MAX_TEXTS, 20)), None);
        let oldest = surplus(&book_with(LISTED_MAX_TEXTS + 1, 20));
        assert_eq!(oldest, Some(format!("{LISTED_MAX_TEXTS:04}.json")));
        assert_eq!(surplus(&book_with(2, LISTED_MAX_BYTES / 2)), None);
        let oldest = surplus(&book_with(2, LISTED_MAX_BYTES / 2 + 1));
        assert_eq!(oldest.as_deref(), Some("0001.json"));
    }

    #[test]
    fn a_preset_has_one_written_text() {
        let mut book = book_with(2, 20);
        let name = "0001.json".to_owned();
        let preset = Some(PresetId(0));
        book.apply(&PresetRecord::Saved { name, preset });
        let left: Vec<_> = book.held.keys().collect();
        assert_eq!(left, ["0001.json"]);
    }
}
