//! Converts names of the service to safe file names and back.
//!
//! Invariant: for any text, [`safe_name`] returns one path component that is not `.`, `..`, empty or
//! `.assetfs`, contains nothing that would confuse a terminal, and has at most 255 bytes. A text that is such a
//! component stays as it is, also with `%XX` in it: it may be the name that a user gave, and is the same on every machine.
//! If the name was not shortened, the text is this name or what [`original_name`] returns. [`super::claims`] decides which
//! of two equal names wins.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;

/// Maximum length of a name.
pub const NAME_MAX_BYTES: usize = 255;

/// The folder that is never listed and always resolves.
pub const HIDDEN_FOLDER: &str = ".assetfs";

/// Replaces the empty name.
const EMPTY: &str = "%-";

/// A path from the top of the drive for a message. Without the leading slash, so that it does not look like a path of the
/// machine.
pub fn shown_path(path: &str) -> &str {
    match path.trim_start_matches('/') {
        "" => "the top folder",
        below => below,
    }
}

/// A name of a file for a message: bytes that are not text are shown as `\xE9`.
pub fn shown_name(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    Cow::Owned(shown)
}

/// Makes a service name safe. `id` is inserted before the extension if the name must be shortened.
pub fn safe_name(service_name: &str, id: u64) -> String {
    fit(&escape(service_name), id)
}

/// The text for which [`safe_name`] made this name, if it had to escape the text and did not shorten it.
pub fn original_name(name: &str) -> Cow<'_, str> {
    if name == EMPTY {
        return Cow::Borrowed("");
    }
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let bytes = name.as_bytes();
    let mut original = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if let Some(byte) = escape_at(bytes, at) {
            original.push(byte);
            at += 3;
        } else {
            original.push(bytes[at]);
            at += 1;
        }
    }
    match String::from_utf8(original) {
        Ok(text) => Cow::Owned(text),
        // Not made by `safe_name`: it escapes whole characters only.
        Err(_) => Cow::Borrowed(name),
    }
}

/// Splits a download name at `/` into folders if every part is safe; else the whole name becomes one safe
/// component.
pub fn safe_path(service_name: &str, id: u64) -> Vec<String> {
    let parts: Vec<&str> = service_name.split('/').collect();
    let every_part_is_safe =
        parts.len() <= MAX_DEPTH && parts.iter().all(|part| is_safe_name(part));
    if every_part_is_safe {
        parts.into_iter().map(str::to_owned).collect()
    } else {
        vec![safe_name(service_name, id)]
    }
}

/// True for a name that a file can have as it is.
fn is_safe_name(name: &str) -> bool {
    name.len() <= NAME_MAX_BYTES && !must_be_escaped(name)
}

fn must_be_escaped(name: &str) -> bool {
    matches!(name, "" | "." | ".." | HIDDEN_FOLDER) || name.chars().any(is_unsafe)
}

/// Maximum depth of folders in a download name.
const MAX_DEPTH: usize = 32;

/// `name~id`, shortened to fit; `extension` (with its dot, or empty) stays last.
pub fn with_id(stem: &str, id: u64, extension: &str) -> String {
    with_ending(stem, &format!("~{id}{extension}"))
}

/// `stem` with `ending`, shortened to fit.
pub fn with_ending(stem: &str, ending: &str) -> String {
    let room = NAME_MAX_BYTES.saturating_sub(ending.len());
    format!("{}{ending}", cut(stem, room))
}

/// Splits `name~12` into `name` and 12 if the digits are in canonical form.
pub fn split_id(name: &str) -> Option<(&str, u64)> {
    let (stem, digits) = name.rsplit_once('~')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let id: u64 = digits.parse().ok()?;
    (id.to_string() == digits).then_some((stem, id))
}

/// True for a name that ends in `~digits`, which could be mistaken for another object's.
pub fn ends_in_id(name: &str) -> bool {
    name.rsplit_once('~')
        .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Splits off the extension, with its dot; a leading dot does not begin one.
pub fn split_extension(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= 32 => name.split_at(dot),
        _ => (name, ""),
    }
}

fn escape(service_name: &str) -> Cow<'_, str> {
    match service_name {
        "" => return EMPTY.into(),
        "." => return "%2E".into(),
        ".." => return "%2E%2E".into(),
        HIDDEN_FOLDER => return "%2Eassetfs".into(),
        _ if !must_be_escaped(service_name) => return service_name.into(),
        _ => {}
    }
    let bytes = service_name.as_bytes();
    let mut escaped = String::with_capacity(service_name.len());
    for (at, character) in service_name.char_indices() {
        let reads_as_escape = character == '%' && escape_at(bytes, at).is_some();
        if reads_as_escape || is_unsafe(character) {
            push_escaped(&mut escaped, character);
        } else {
            escaped.push(character);
        }
    }
    escaped.into()
}

fn push_escaped(text: &mut String, character: char) {
    let mut buffer = [0; 4];
    for byte in character.encode_utf8(&mut buffer).bytes() {
        write!(text, "%{byte:02X}").expect("writing to a String does not fail");
    }
}

/// The byte of `%XX` at this position.
fn escape_at(bytes: &[u8], at: usize) -> Option<u8> {
    let [b'%', high, low] = bytes.get(at..at + 3)? else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

/// Characters that end a name, or that make a terminal show something else.
fn is_unsafe(character: char) -> bool {
    matches!(
        character,
        '/' | '\u{61C}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2066}'..='\u{2069}'
    ) || character.is_control()
}

fn fit(name: &str, id: u64) -> String {
    if name.len() <= NAME_MAX_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = split_extension(name);
    with_id(stem, id, extension)
}

/// The longest prefix of `text` within `room` bytes that ends at a character boundary and not inside an escape.
fn cut(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    let mut end = text.floor_char_boundary(room);
    let bytes = text.as_bytes();
    for back in 1..=2 {
        if end >= back && escape_at(bytes, end - back).is_some() {
            end -= back;
            break;
        }
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_and_override_characters_become_escapes_and_dots_and_the_empty_name_too() {
        for (service_name, name) in [
            ("chair", "chair"),
            ("a/b", "a%2Fb"),
            ("../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"),
            ("nul\0", "nul%00"),
            ("\u{202E}gpj.exe", "%E2%80%AEgpj.exe"),
            ("line\nbreak", "line%0Abreak"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("...", "..."),
            ("", "%-"),
            (".assetfs", "%2Eassetfs"),
            ("50%", "50%"),
            ("50% wood", "50% wood"),
            ("50%25\n", "50%2525%0A"),
            ("%2f/", "%252f%2F"),
            ("-rf", "-rf"),
            ("🪑", "🪑"),
        ] {
            assert_eq!(safe_name(service_name, 7), name);
            assert_eq!(original_name(name), service_name);
        }
    }

    #[test]
    fn a_name_that_a_file_can_have_stays_as_it_is() {
        for name in ["a%20b", "50%25", "%2f", "a%2Fb", "%-", "%E2%80%AE"] {
            assert_eq!(safe_name(name, 7), name);
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_with_its_id_before_the_extension() {
        let name = safe_name(&format!("{}.glb", "é".repeat(200)), 42);
        assert!(name.ends_with("é~42.glb"), "{name}");
        assert!(name.len() <= NAME_MAX_BYTES);
        let escapes = safe_name(&"\u{1}".repeat(100), 9);
        assert!(escapes.ends_with("%01~9"), "{escapes}");
    }

    #[test]
    fn slashes_in_download_names_separate_folders_when_every_part_is_safe() {
        assert_eq!(safe_path("textures/wood.png", 1), ["textures", "wood.png"]);
        // A file that was copied in has its own name on every machine.
        for name in ["Metal%20rough.dat", "100%25", "a%2Fb", "%-"] {
            assert_eq!(safe_path(name, 1), [name]);
            assert_eq!(safe_path(&format!("tex/{name}"), 1), ["tex", name]);
        }
        for hostile in ["../x", "/etc/passwd", "a//b", "a/", "a/.assetfs", "a/b\0c"] {
            assert_eq!(safe_path(hostile, 1), [safe_name(hostile, 1)]);
        }
    }

    #[test]
    fn a_long_name_is_cut_for_its_ending() {
        assert_eq!(with_ending("web", ".status"), "web.status");
        for stem in ["a".repeat(250), "🪑".repeat(62), "%2F".repeat(83)] {
            let name = with_ending(&stem, ".status");
            assert!(
                name.len() <= NAME_MAX_BYTES && name.ends_with(".status"),
                "{name}"
            );
        }
    }

    #[test]
    fn only_digits_as_we_write_them_are_an_id() {
        assert_eq!(split_id("chair~12"), Some(("chair", 12)));
        for other in ["chair", "chair~", "chair~012", "chair~1x", "chair~+1"] {
            assert_eq!(split_id(other), None);
        }
        assert!(ends_in_id("chair~012"));
    }

    fn comes_from(name: &str, service_name: &str) -> bool {
        name == service_name || original_name(name) == service_name
    }

    proptest! {
        #[test]
        fn every_service_name_is_safe_and_short_names_can_be_undone(service_name in ".{0,80}", id: u64) {
            let name = safe_name(&service_name, id);
            prop_assert!(is_safe_name(&name), "{name:?}");
            if escape(&service_name).len() <= NAME_MAX_BYTES {
                prop_assert!(comes_from(&name, &service_name), "{name:?}");
            }
        }

        #[test]
        fn percent_signs_can_be_undone(service_name in "[%0-9A-Fa-f\u{1}/.-]{0,40}") {
            let name = safe_name(&service_name, 1);
            prop_assert!(is_safe_name(&name), "{name:?}");
            prop_assert!(comes_from(&name, &service_name), "{name:?}");
        }

        #[test]
        fn long_names_stay_safe(service_name in "[a-z%\u{1}é🪑/.]{0,400}", id: u64) {
            prop_assert!(is_safe_name(&safe_name(&service_name, id)));
        }

        #[test]
        fn different_names_stay_different(a in "[%25./a\u{1}]{0,12}", b in "[%25./a\u{1}]{0,12}") {
            prop_assume!(a != b && must_be_escaped(&a) == must_be_escaped(&b));
            prop_assert_ne!(safe_name(&a, 1), safe_name(&b, 1));
        }
    }
}
