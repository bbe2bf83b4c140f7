//! Checks and parsing that the texts of jobs and presets have in common.

use assetfs_formats::printable::printable;
use serde_json::Value;

use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::names;
use crate::outbox::names::FileName;
use crate::wire::{PresetId, PresetNamed, PresetText, PresetTextError, find_preset, strict_json};

/// The maximum length of the text of a job or preset.
pub const TEXT_MAX_BYTES: usize = 8 << 20;

pub fn check_length(name: &str, text: &[u8]) -> OutboxResult<()> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(OutboxError::Invalid(format!(
            "{name} has {} bytes; a job or a preset has at most {} MB",
            text.len(),
            TEXT_MAX_BYTES >> 20
        )));
    }
    Ok(())
}

/// The longest name in a text, in characters: of a preset, of an embed, of exported files.
pub const NAME_MAX_CHARS: usize = 255;

/// True for a name that a text may have.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= NAME_MAX_CHARS
}

/// A reason that quotes a text: the text may have megabytes in one key, and reasons are kept in the journal and in logs.
pub fn shortened(reason: String) -> String {
    printable(&reason).into_owned()
}

/// True if a file is sent to the service: its text is not empty, and its name is not temporary.
pub fn is_sendable(name: &str, text: &[u8]) -> bool {
    is_sendable_name(name) && !text.iter().all(u8::is_ascii_whitespace)
}

/// True if a file of this name is sent to the service.
pub fn is_sendable_name(name: &str) -> bool {
    names::judge_file(name) == FileName::Plain && PresetText::is_file_name(name)
}

/// The name of a text without its extension: that of its status, of the link to its result, and in the note on the result.
pub fn text_stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() && PresetText::is_file_name(name) => stem,
        _ => name,
    }
}

/// Why a file of this name is kept here and never sent; `None` if it would be.
pub fn why_never_sent(name: &str) -> Option<String> {
    (!is_sendable_name(name)).then(|| {
        let stem = names::stem(name.trim_start_matches('.'));
        format!(
            "{name} is kept here and not sent, because only files named .json or .rpdx are; name it {stem}.json to send it"
        )
    })
}

/// The preset that a name means, see [`find_preset`].
///
/// # Errors
/// A sentence if there is none, or if several of the account have the name: a job with the wrong one is paid, too.
pub fn preset_named(
    name: &str,
    own: &[(&str, PresetId)],
    factory: &[(&str, PresetId)],
) -> Result<PresetId, String> {
    match find_preset(name, own, factory) {
        PresetNamed::One(id) => Ok(id),
        PresetNamed::Nothing => {
            let names: Vec<&str> = own.iter().chain(factory).map(|(known, _)| *known).collect();
            let names = names.join(", ");
            Err(shortened(format!(
                "there is no preset {name:?}; there are: {names}"
            )))
        }
        PresetNamed::Several(several) => Err(several_presets(name, &several)),
    }
}

/// Which presets have a name that means none of them alone.
pub fn several_presets(name: &str, several: &[PresetId]) -> String {
    let mut ids = several.to_vec();
    ids.sort_unstable();
    let files: Vec<String> = ids.iter().map(|id| format!("{name}~{id}.json")).collect();
    let (first, last) = (ids[0], ids[ids.len() - 1]);
    format!(
        "{} presets are named {name:?}: {}, of which one is listed as {name}.json. Say which one by its id \
         ({{\"preset_id\": {first}}} in a text, or the name \"{name}~{last}\"), or copy its file; to end this, rename \
         one of them",
        ids.len(),
        files.join(", ")
    )
}

/// Parses a text as JSON; the error contains line and column.
pub fn parse_json(name: &str, text: &[u8]) -> Result<Value, String> {
    strict_json(&assetfs_formats::text::utf8(text)).map_err(|error| {
        let whole = error.to_string();
        let reason = match whole.rsplit_once(" at line ") {
            _ if error.is_eof() => "the text ends too early",
            Some((reason, _)) => reason,
            None => whole.as_str(),
        };
        let (line, column) = (error.line(), error.column());
        match error.is_data() {
            true => format!("{name}: {reason} at line {line}, column {column}"),
            false => format!("{name} is not JSON: {reason} at line {line}, column {column}"),
        }
    })
}

/// Parses the text of a preset or of a configuration.
pub fn parse_config(name: &str, text: &[u8]) -> Result<PresetText, String> {
    read_config(name, text).map_err(shortened)
}

fn read_config(name: &str, text: &[u8]) -> Result<PresetText, String> {
    let Value::Object(map) = parse_json(name, text)? else {
        return Err(format!(
            "{name} is no configuration: it is not a JSON object"
        ));
    };
    let preset = PresetText::from_map(map).map_err(|error| not_a_preset(name, &error))?;
    match preset.config.is_empty() {
        true => Err(format!("{name} is an empty configuration")),
        false => Ok(preset),
    }
}

pub fn not_a_preset(name: &str, error: &PresetTextError) -> String {
    match error {
        PresetTextError::Config(error) => format!("{name}: {error}"),
        PresetTextError::NoConfig(_) | PresetTextError::UnexpectedKey { .. } => {
            format!("{name} {error}")
        }
    }
}
