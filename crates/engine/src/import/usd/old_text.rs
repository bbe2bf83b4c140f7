//! Writes text layers as the library reads them: with the names of types that USD has today, and with digits on both sides
//! of the point of a number. USD itself still reads the old forms, and files of its own documentation have them.

use super::text_check::token_of;

/// The names of types that older versions wrote and the present ones: the aliases of `Sdf.ValueTypeNames` in usd-core.
/// For the last four there are none; these are names of the same values.
const TYPES: [(&str, &str); 31] = [
    ("Vec2i", "int2"),
    ("Vec2h", "half2"),
    ("Vec2f", "float2"),
    ("Vec2d", "double2"),
    ("Vec3i", "int3"),
    ("Vec3h", "half3"),
    ("Vec3f", "float3"),
    ("Vec3d", "double3"),
    ("Vec4i", "int4"),
    ("Vec4h", "half4"),
    ("Vec4f", "float4"),
    ("Vec4d", "double4"),
    ("Point", "point3d"),
    ("PointFloat", "point3f"),
    ("Normal", "normal3d"),
    ("NormalFloat", "normal3f"),
    ("Vector", "vector3d"),
    ("VectorFloat", "vector3f"),
    ("Color", "color3d"),
    ("ColorFloat", "color3f"),
    ("Quath", "quath"),
    ("Quatf", "quatf"),
    ("Quatd", "quatd"),
    ("Matrix2d", "matrix2d"),
    ("Matrix3d", "matrix3d"),
    ("Matrix4d", "matrix4d"),
    ("Frame", "frame4d"),
    ("Transform", "matrix4d"),
    ("PointIndex", "int"),
    ("EdgeIndex", "int"),
    ("FaceIndex", "int"),
];

/// The text as it is written today; `None` if it is.
pub(super) fn modern(text: &[u8]) -> Option<Vec<u8>> {
    let mut written = Vec::new();
    let (mut at, mut copied) = (0, 0);
    // Whether the last token consists of digits.
    let mut is_whole = false;
    while at < text.len() {
        let token = token_of(&text[at..]);
        let rest = &text[at + token.len()..];
        let replaced: Option<&[u8]> = match token {
            b"." if begins_number(&text[..at], rest) => Some(b"0."),
            b"." if is_whole && ends_digits(rest) => Some(b".0"),
            [b'A'..=b'Z', ..] if is_before_name(rest) => present_name(token),
            _ => None,
        };
        if let Some(replaced) = replaced {
            written.extend_from_slice(&text[copied..at]);
            written.extend_from_slice(replaced);
            copied = at + token.len();
        }
        is_whole = token.iter().all(u8::is_ascii_digit);
        at += token.len();
    }
    if copied == 0 {
        return None;
    }
    written.extend_from_slice(&text[copied..]);
    Some(written)
}

fn present_name(word: &[u8]) -> Option<&'static [u8]> {
    let known = TYPES.iter().find(|(old, _)| old.as_bytes() == word);
    known.map(|(_, present)| present.as_bytes())
}

/// Whether a name follows a word, on its line: then the word is a type. Brackets make it one of arrays.
fn is_before_name(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"[]").unwrap_or(rest);
    let name = rest.trim_ascii_start();
    let space = &rest[..rest.len() - name.len()];
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    !space.is_empty() && !space.contains(&b'\n') && name.first().is_some_and(is_letter)
}

/// Whether the point between these two texts is the first character of a number, as in `.5`.
fn begins_number(before: &[u8], rest: &[u8]) -> bool {
    let is_gap = |byte: &u8| byte.is_ascii_whitespace() || b"([,=:+-".contains(byte);
    before.last().is_some_and(is_gap) && rest.first().is_some_and(u8::is_ascii_digit)
}

/// Whether the number before this text has no digits after its point: an exponent may follow, but no name.
fn ends_digits(rest: &[u8]) -> bool {
    match rest {
        [b'e' | b'E', exponent @ ..] => {
            let digits = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+"));
            digits
                .unwrap_or(exponent)
                .first()
                .is_some_and(u8::is_ascii_digit)
        }
        [next, ..] => !next.is_ascii_alphanumeric() && *next != b'_',
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_types_and_short_numbers_are_written_as_today() {
        for (old, present) in [
            (
                "custom Matrix4d a = ((1, 0), (0, 1))",
                "custom matrix4d a = ((1, 0), (0, 1))",
            ),
            (
                "PointFloat[] points = [(.5, -.25, 1.5)]",
                "point3f[] points = [(0.5, -0.25, 1.5)]",
            ),
            ("Color Color = (.1,.2,.3)", "color3d Color = (0.1,0.2,0.3)"),
            ("double a = 10.", "double a = 10.0"),
            ("double[] a = [-1.e3, 2.]", "double[] a = [-1.0e3, 2.0]"),
            ("    metersPerUnit = .01", "    metersPerUnit = 0.01"),
        ] {
            let written = modern(old.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), present);
            assert_eq!(modern(present.as_bytes()), None, "{present}");
        }
        for text in [
            "def Frame \"Vec3f a\"",
            "rel Color\nrel Normal",
            "# Vec3f a = (.5)",
            "float3 inputs:1.connect = </A.b>",
            "float inputs:1.e = 2",
            "string s = '''Matrix4d a .5'''",
            "float3 a.timeSamples = { 1.5: 2 }",
            "rel material:binding = </A.5> (doc = \"Vec3f a\")",
        ] {
            assert_eq!(modern(text.as_bytes()), None, "{text}");
        }
    }
}
