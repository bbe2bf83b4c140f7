//! What a drive notes on models by tags of its own, so that every machine knows it: the name and the configuration that a
//! result was made with, the files that a source model was made of, the version that it replaces.
//!
//! Anybody who may write tags may write these, so a reader believes none of them without a check.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::id::{AssetId, PresetId};
use super::tag::{MAX_TAG_CHARS, NOTE_PREFIX};

/// What the tags of a result say of the text that it was made with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResultNotes {
    /// The checksum of the text; of an item of a text for several models with `/` and its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The names of the text, without extension. A text that was copied under a second name has both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Names of texts that have another result now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub former_names: Vec<String>,
    /// The checksum of the configuration by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The preset that the text names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<NotedPreset>,
    /// Who sent the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// How a text names its preset.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotedPreset {
    Name(String),
    Id(PresetId),
}

/// What the tags of a source model say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceNotes {
    /// The checksum over the names and contents of its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The model that it is a new version of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<AssetId>,
    /// The first of the versions, if that is another one: it links the others when the model that this one replaces is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_version: Option<AssetId>,
    /// Who sent it; of several that sent it together, always the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl ResultNotes {
    /// Reads the tags of a result. Tags of people are ignored.
    pub fn of_tags<'a>(tags: impl Iterator<Item = &'a str>) -> ResultNotes {
        let mut notes = ResultNotes::default();
        for (key, value) in tags.filter_map(note) {
            match key {
                "text" => notes.text = Some(value.to_owned()),
                "name" => notes.names.extend(unescape(value)),
                "was" => notes.former_names.extend(unescape(value)),
                "config" => {
                    let (config, preset) = value.split_once(';').unwrap_or((value, ""));
                    notes.config = Some(config.to_owned());
                    notes.preset = read_preset(preset);
                }
                "by" => notes.by = first_of(notes.by, value),
                _ => {}
            }
        }
        // The order of tags means nothing.
        for names in [&mut notes.names, &mut notes.former_names] {
            names.sort_unstable();
            names.dedup();
        }
        notes
    }

    /// True for an item of a text for several models.
    pub fn is_of_several(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.contains('/'))
    }

    pub fn is_empty(&self) -> bool {
        *self == ResultNotes::default()
    }
}

impl SourceNotes {
    /// Reads the tags of a source model. Tags of people are ignored.
    pub fn of_tags<'a>(tags: impl Iterator<Item = &'a str>) -> SourceNotes {
        let mut notes = SourceNotes::default();
        let mut older = BTreeSet::new();
        for (key, value) in tags.filter_map(note) {
            match key {
                "source" => notes.source = Some(value.to_owned()),
                "replaces" => older.extend(value.parse().ok().map(AssetId)),
                "by" => notes.by = first_of(notes.by, value),
                _ => {}
            }
        }
        notes.replaces = older.pop_last();
        notes.first_version = older.pop_first();
        notes
    }

    /// The models that it is a newer version of, as far as its tags name them.
    pub fn older(&self) -> impl Iterator<Item = AssetId> + use<> {
        self.replaces.into_iter().chain(self.first_version)
    }
}

/// The tag with the name of the text, without its extension, that a result was made with. A name that is too long for a
/// tag is cut.
pub fn name_note(name: &str) -> String {
    cut_note("name", name)
}

/// The tag with the name of a text that a result was made with, and that has another result now.
pub fn former_name_note(name: &str) -> String {
    cut_note("was", name)
}

/// The tag with who sent a model or a text. A name that is too long for a tag is cut.
pub fn by_note(who: &str) -> String {
    cut_note("by", who)
}

fn cut_note(key: &str, value: &str) -> String {
    let mut value = value;
    loop {
        let note = format!("{NOTE_PREFIX}{key}={}", escape(value));
        match value.char_indices().next_back() {
            Some((last, _)) if note.chars().count() > MAX_TAG_CHARS => value = &value[..last],
            _ => return note,
        }
    }
}

/// The order of tags means nothing, so of two the one that sorts first.
fn first_of(known: Option<String>, value: &str) -> Option<String> {
    known.into_iter().chain(unescape(value)).min()
}

/// The tag with the checksum of the configuration that a result was made with, and with the preset that its text names.
/// A preset whose name does not fit is left out.
pub fn config_note(config: impl std::fmt::Display, preset: Option<&NotedPreset>) -> String {
    let note = format!("{NOTE_PREFIX}config={config}");
    let with_preset = match preset {
        None => return note,
        Some(NotedPreset::Id(id)) => format!("{note};preset_id={id}"),
        Some(NotedPreset::Name(name)) => format!("{note};preset={}", escape(name)),
    };
    match with_preset.chars().count() <= MAX_TAG_CHARS {
        true => with_preset,
        false => note,
    }
}

/// Whether a tag is one of [`config_note`].
pub fn is_config_note(tag: &str) -> bool {
    note(tag).is_some_and(|(key, _)| key == "config")
}

/// The tag with the checksum over the files of a source model.
pub fn source_note(source: impl std::fmt::Display) -> String {
    format!("{NOTE_PREFIX}source={source}")
}

/// The tag of a new version of a source model, with an older one.
pub fn replaces_note(old: AssetId) -> String {
    format!("{NOTE_PREFIX}replaces={old}")
}

fn note(tag: &str) -> Option<(&str, &str)> {
    tag.strip_prefix(NOTE_PREFIX)?.split_once('=')
}

fn read_preset(text: &str) -> Option<NotedPreset> {
    match text.split_once('=')? {
        ("preset", name) => unescape(name).map(NotedPreset::Name),
        ("preset_id", id) => id.parse().ok().map(|id| NotedPreset::Id(PresetId(id))),
        _ => None,
    }
}

/// Characters that a list of tags, or a service that trims, could change: as `%XX`.
fn escape(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        let is_kept = !matches!(character, '%' | ',' | '"') && !character.is_control();
        if is_kept && !character.is_whitespace() || character == ' ' && !escaped.is_empty() {
            escaped.push(character);
            continue;
        }
        let mut buffer = [0; 4];
        for byte in character.encode_utf8(&mut buffer).bytes() {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    if escaped.ends_with(' ') {
        escaped.truncate(escaped.len() - 1);
        escaped.push_str("%20");
    }
    escaped
}

/// `None` for what [`escape`] does not make.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let (digits, after) = after.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    let name = String::from_utf8(bytes).ok()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(tags: &[&str]) -> ResultNotes {
        ResultNotes::of_tags(tags.iter().copied())
    }

    #[test]
    fn the_notes_of_a_result_are_read_as_they_were_written() {
        let by_name = NotedPreset::Name("Web, \"Viewer\"; 50% ".to_owned());
        let config = config_note("00ff", Some(&by_name));
        let notes = read(&[
            "wood",
            "assetfs:text=17/3",
            &name_note("web, small"),
            &name_note("ar"),
            &config,
            "assetfs:later=x",
            &by_note("anna@farm, 3"),
        ]);
        assert_eq!(notes.by.as_deref(), Some("anna@farm, 3"));
        assert_eq!(notes.text.as_deref(), Some("17/3"));
        assert_eq!(notes.names, ["ar", "web, small"]);
        assert_eq!(notes.config.as_deref(), Some("00ff"));
        assert_eq!(notes.preset, Some(by_name));
        let by_id = NotedPreset::Id(PresetId(1002));
        let notes = read(&[&config_note("00ff", Some(&by_id))]);
        assert_eq!(notes.preset, Some(by_id));
        assert_eq!(read(&[&config_note("00ff", None)]).preset, None);
        assert!(!config.contains(',') && !config.contains('"'), "{config}");
        assert!(read(&["wood", "assetfs"]).is_empty());
    }

    #[test]
    fn the_notes_of_a_source_model_are_read_as_they_were_written() {
        let tags = [
            source_note("00ff"),
            replaces_note(AssetId(3)),
            replaces_note(AssetId(7)),
            "wood".to_owned(),
            by_note("ben@b"),
            by_note("anna@a"),
        ];
        let notes = SourceNotes::of_tags(tags.iter().map(String::as_str));
        assert_eq!(notes.by.as_deref(), Some("anna@a"));
        assert_eq!(notes.source.as_deref(), Some("00ff"));
        assert_eq!(notes.replaces, Some(AssetId(7)));
        assert_eq!(notes.first_version, Some(AssetId(3)));
        let wrong = SourceNotes::of_tags(["assetfs:replaces=x"].into_iter());
        assert_eq!(wrong, SourceNotes::default());
    }

    #[test]
    fn what_is_no_note_of_a_drive_is_not_believed() {
        for tag in [
            "assetfs:name=",
            "assetfs:name=a%2",
            "assetfs:name=%FF",
            "assetfs:name=%zz",
        ] {
            assert!(read(&[tag]).names.is_empty(), "{tag}");
        }
        assert_eq!(read(&["assetfs:config=00;preset_id=x"]).preset, None);
    }

    proptest! {
        #[test]
        fn every_name_of_a_text_fits_a_tag_and_comes_back(name in ".{1,60}") {
            let tag = name_note(&name);
            prop_assert!(tag.chars().count() <= MAX_TAG_CHARS);
            prop_assert_eq!(tag.trim(), tag.as_str());
            prop_assert!(!tag.contains(','));
            if escape(&name).chars().count() < 200 {
                prop_assert_eq!(&read(&[&tag]).names, &[name]);
            }
        }

        #[test]
        fn a_long_name_is_cut_to_its_beginning(name in "[a%, é]{200,255}") {
            let tag = name_note(&name);
            prop_assert!(tag.chars().count() <= MAX_TAG_CHARS);
            let names = read(&[&tag]).names;
            prop_assert!(names.iter().all(|it| name.starts_with(it.as_str())), "{:?}", names);
            prop_assert_eq!(names.len(), 1);
        }
    }
}
