//! Checks a layer in text form before the library reads it. The library recurses for each level of brackets, and loops
//! forever when it looks for the parents of a damaged name or path. Either can end the process.

use std::io;

use super::values::is_plain_text;

/// Prims in prims take one bracket for each level, variants three.
const MAX_NESTING: usize = 1_000;

/// Whether the library may read a text; the error says what is wrong.
pub(super) fn check(text: &[u8]) -> io::Result<()> {
    match fault_of(text) {
        None => Ok(()),
        Some(what) => Err(io::Error::new(io::ErrorKind::InvalidData, what)),
    }
}

/// What is wrong with a text. Brackets in strings, comments, paths and names of files do not count.
fn fault_of(text: &[u8]) -> Option<String> {
    let (mut at, mut depth) = (0, 0usize);
    // Whether `def`, `over` or `class` came before, perhaps with a type: then a string is the name of a prim.
    let mut is_name = false;
    while let Some(byte) = text.get(at) {
        let token = token_of(&text[at..]);
        let damaged = |what: &str| {
            let line = 1 + text[..at].iter().filter(|byte| **byte == b'\n').count();
            let shown = String::from_utf8_lossy(&token[..token.len().min(MAX_SHOWN_BYTES)]);
            Some(format!("line {line}: {shown} is no {what}"))
        };
        match byte {
            b'(' | b'[' | b'{' if depth == MAX_NESTING => {
                return Some(format!("the text nests more than {MAX_NESTING} brackets"));
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' | b'\'' if is_name && !is_plain_name(token) => return damaged("name of a prim"),
            b'<' if !is_plain_path(token) => return damaged("path"),
            _ => {}
        }
        is_name = match token {
            b"def" | b"over" | b"class" => true,
            _ => is_name && (is_letter(*byte) || byte.is_ascii_whitespace()),
        };
        at += token.len();
    }
    None
}

/// The greatest number of bytes of a damaged name or path that an error message shows.
const MAX_SHOWN_BYTES: usize = 60;

/// The word, string, path, comment, name of a file or single byte at the beginning of a text.
pub(super) fn token_of(text: &[u8]) -> &[u8] {
    let length = match text[0] {
        b'"' | b'\'' => tripled(text).unwrap_or_else(|| quoted(text)),
        b'@' => tripled(text).unwrap_or_else(|| 1 + to(&text[1..], b"@")),
        b'<' => to(text, b">"),
        b'#' => to(text, b"\n"),
        b'/' if text.starts_with(b"/*") => 2 + to(&text[2..], b"*/"),
        byte if is_letter(byte) => text.iter().take_while(|byte| is_letter(**byte)).count(),
        _ => 1,
    };
    &text[..length.min(text.len())]
}

/// Whether a byte may be part of a word, as a type is.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a name between its quotes can be one part of a path.
fn is_plain_name(quoted: &[u8]) -> bool {
    is_plain_text(&String::from_utf8_lossy(quoted)) && !quoted.iter().any(|it| b"<>/.".contains(it))
}

/// Whether each brace of a path in angle brackets closes one that opens a variant, and it has no spaces and parentheses.
fn is_plain_path(path: &[u8]) -> bool {
    let mut is_open = false;
    for byte in path {
        match byte {
            b'{' if is_open => return false,
            b'{' => is_open = true,
            b'}' if !is_open => return false,
            b'}' => is_open = false,
            b'(' | b')' => return false,
            byte if byte.is_ascii_whitespace() => return false,
            _ => {}
        }
    }
    !is_open
}

/// Bytes up to the end of the first `mark`, or all.
fn to(text: &[u8], mark: &[u8]) -> usize {
    let start = text.windows(mark.len()).position(|part| part == mark);
    start.map_or(text.len(), |start| start + mark.len())
}

/// Bytes of what begins and ends with three of the first byte; `None` if it does not.
fn tripled(text: &[u8]) -> Option<usize> {
    let mark = [text[0]; 3];
    let inner = text.strip_prefix(&mark)?;
    let end = inner.windows(mark.len()).position(|part| part == mark)?;
    Some(end + 2 * mark.len())
}

/// Bytes of a string in which a backslash takes the next byte with it.
fn quoted(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'\\' => 2,
            byte if *byte == text[0] => return at + 1,
            _ => 1,
        };
    }
    text.len()
}
