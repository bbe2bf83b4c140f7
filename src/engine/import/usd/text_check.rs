//! Checks how deep the brackets of a layer in text form nest, before the library reads it: it calls itself for each level,
//! and a full stack ends the process.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

/// Prims in prims take one bracket for each level, variants three.
const MAX_NESTING: usize = 1_000;

/// Whether the library may read the file; the error says what is wrong.
pub(super) fn check(mut file: &File) -> io::Result<()> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    file.rewind()?;
    if nests_too_deep(&text) {
        let what = format!("the text nests more than {MAX_NESTING} brackets");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(())
}

/// Brackets in strings, comments, paths and names of files do not count.
fn nests_too_deep(text: &[u8]) -> bool {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        at += match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return true;
                }
                1
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                1
            }
            b'"' | b'\'' => tripled(rest).unwrap_or_else(|| quoted(rest)),
            b'@' => tripled(rest).unwrap_or_else(|| 1 + to(&rest[1..], b"@")),
            b'<' => to(rest, b">"),
            b'#' => to(rest, b"\n"),
            b'/' if rest.starts_with(b"/*") => 2 + to(&rest[2..], b"*/"),
            _ => 1,
        };
    }
    false
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
