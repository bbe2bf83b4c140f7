//! Random UUIDs, secrets and keys of blobs, from the system's secure random numbers; and how the ids of records are written.

use std::fmt::Write as _;

/// A random UUID (version 4).
pub fn random_uuid() -> String {
    let mut bytes = rand::random::<u128>().to_be_bytes();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex(&bytes);
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// 128 random bits in hexadecimal digits.
pub fn random_name() -> String {
    hex(&rand::random::<u128>().to_be_bytes())
}

/// 256 random bits in hexadecimal digits.
pub fn random_secret() -> String {
    random_name() + &random_name()
}

/// Bytes as hexadecimal digits in lower case.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes any text");
    }
    text
}

/// Decodes hexadecimal digits as [`hex`] writes them.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    if !text.len().is_multiple_of(2) || !text.bytes().all(is_digit) {
        return None;
    }
    (0..text.len() / 2)
        .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok())
        .collect()
}

/// The id that a text writes. Only its digits without leading zeros: `01` or `+1` is another id for other programs, and a
/// typo for people.
pub fn id_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_in_one_way() {
        for (text, number) in [("0", 0), ("1", 1), ("18446744073709551615", u64::MAX)] {
            assert_eq!(id_number(text), Some(number));
        }
        for text in [
            "",
            "01",
            "00",
            "+1",
            "-0",
            "-1",
            " 1",
            "1 ",
            "1.0",
            "1e0",
            "0x1",
            "1_000",
            "٣",
            "18446744073709551616",
        ] {
            assert_eq!(id_number(text), None, "{text}");
        }
    }

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        let uuid = random_uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!("89ab".contains(&uuid[19..20]));
        assert_ne!(uuid, random_uuid());
    }

    #[test]
    fn hexadecimal_digits_come_back_as_bytes() {
        assert_eq!(from_hex(&hex(&[0, 1, 254])), Some(vec![0, 1, 254]));
        for bad in ["0", "0g", "ä", "+1", "0A"] {
            assert!(from_hex(bad).is_none(), "{bad}");
        }
    }
}
