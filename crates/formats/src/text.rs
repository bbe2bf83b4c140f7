//! The encodings of texts that users write: UTF-8 with or without a byte order mark, and UTF-16, which editors and shells
//! of Windows write.

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
}
