//! The encodings of texts that users and old programs write: UTF-8 with or without a byte order mark, UTF-16, which editors
//! and shells of Windows write, and Windows-1252.

use std::borrow::Cow;

/// The text as UTF-8 without a byte order mark. Text that is neither UTF-8 nor valid UTF-16 is returned
/// as it is.
pub fn utf8(text: &[u8]) -> Cow<'_, [u8]> {
    type FromBytes = fn([u8; 2]) -> u16;
    let (from_bytes, units): (FromBytes, &[u8]) = match text {
        [0xEF, 0xBB, 0xBF, rest @ ..] => return Cow::Borrowed(rest),
        [0xFF, 0xFE, rest @ ..] => (u16::from_le_bytes, rest),
        [0xFE, 0xFF, rest @ ..] => (u16::from_be_bytes, rest),
        // No text begins with NUL, so a zero byte here is half of a UTF-16 unit.
        [low, 0, ..] if *low != 0 => (u16::from_le_bytes, text),
        [0, low, ..] if *low != 0 => (u16::from_be_bytes, text),
        _ => return Cow::Borrowed(text),
    };
    let (units, rest) = units.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|unit| from_bytes(*unit)).collect();
    match String::from_utf16(&units) {
        Ok(decoded) if rest.is_empty() => Cow::Owned(decoded.into_bytes()),
        _ => Cow::Borrowed(text),
    }
}

/// A line or name as text. What is not UTF-8 is Windows-1252, which is what programs wrote before (and a superset of the
/// printable part of Latin-1).
pub fn decoded(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(text.iter().map(|byte| windows_1252(*byte)).collect()),
    }
}

/// The characters of 0x80 to 0x9F. The five unused ones are control characters, as in the standard of the Web.
const UPPER_CONTROLS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9F => UPPER_CONTROLS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_of_a_text_gives_the_same() {
        let text = "{\"name\": \"Stühle 🪑\"}";
        let units = || text.encode_utf16();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        let after = |mark: &[u8], text: &[u8]| [mark, text].concat();
        for encoded in [
            text.as_bytes().to_vec(),
            after(b"\xEF\xBB\xBF", text.as_bytes()),
            after(b"\xFF\xFE", &little),
            after(b"\xFE\xFF", &big),
            little,
            big,
        ] {
            assert_eq!(utf8(&encoded), text.as_bytes(), "{encoded:x?}");
        }
    }

    #[test]
    fn what_is_no_text_is_left_alone() {
        for bytes in [
            &b""[..],
            b"\0",
            b"\0\0",
            b"{\0}",
            b"\xFF\xFE\x00\xD8",
            b"\xFF",
        ] {
            assert_eq!(utf8(bytes), bytes, "{bytes:x?}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_windows_1252() {
        assert_eq!(decoded("Böden 🪑.png".as_bytes()), "Böden 🪑.png");
        assert_eq!(decoded(b"B\xF6den.png"), "Böden.png");
        assert_eq!(decoded(b"caf\xE9 \x80 \x9Fber \x81"), "café € Ÿber \u{81}");
    }
}
