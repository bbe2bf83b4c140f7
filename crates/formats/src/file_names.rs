//! Names of the files of a model, as every system can have them and as glTF writes them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Longer names with an extension exceed the limits of some file systems.
const MAX_STEM_LEN_CHARS: usize = 120;
/// Linux and zip readers take 255 bytes; the rest is for a number and an extension. A letter of most scripts has two to
/// four bytes.
const MAX_STEM_LEN_BYTES: usize = 200;

/// The name without an extension, without characters that some file system refuses, and not too long.
pub fn safe_stem(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
            letter if letter.is_control() => '_',
            letter => letter,
        })
        .take(MAX_STEM_LEN_CHARS)
        .collect();
    let plain = &plain[..plain.floor_char_boundary(MAX_STEM_LEN_BYTES)];
    let plain = plain.trim().trim_start_matches('.').trim_end_matches('.');
    if plain.is_empty() {
        return "model".to_owned();
    }
    plain.to_owned()
}

/// A file name as a URI: percent-encodes every character that is not unreserved.
pub fn uri_of_name(name: &str) -> String {
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'/');
    utf8_percent_encode(name, KEPT).to_string()
}
