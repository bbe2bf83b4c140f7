//! Lines and numbers of text formats, read as bytes since such files are not always UTF-8.

use assetfs_formats::text::decoded;

/// The lines of a text, each with its number from 1; a backslash at the end joins the next line. Lines may end with CR
/// alone. A byte order mark is skipped.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, std::borrow::Cow<'_, [u8]>)> {
    let mut rest = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut number = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let first = number + 1;
        let mut joined: Option<Vec<u8>> = None;
        loop {
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let line = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[][..], |end| match rest[end..].starts_with(b"\r\n") {
                true => &rest[end + 2..],
                false => &rest[end + 1..],
            });
            number += 1;
            let continues = line.ends_with(b"\\") && !rest.is_empty();
            let line = if continues {
                &line[..line.len() - 1]
            } else {
                line
            };
            match (&mut joined, continues) {
                (None, false) => return Some((first, line.into())),
                (None, true) => joined = Some(line.to_vec()),
                (Some(start), _) => start.extend_from_slice(line),
            }
            if !continues {
                return Some((first, joined.unwrap_or_default().into()));
            }
        }
    })
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
}

/// A word as a number; a comma counts as a decimal point, as some programs write it.
pub(super) fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(word).ok()?;
    text.parse()
        .ok()
        .or_else(|| text.replace(',', ".").parse().ok())
}

/// A word or line as text.
pub(super) fn text(bytes: &[u8]) -> String {
    decoded(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_joins_lines() {
        let found: Vec<_> = lines(b"a \\\r\nb\r\nc")
            .map(|(number, line)| (number, line.into_owned()))
            .collect();
        assert_eq!(found, [(1, b"a b".to_vec()), (3, b"c".to_vec())]);
    }

    #[test]
    fn lines_end_with_lf_or_cr_and_a_mark_at_the_start_is_skipped() {
        let found: Vec<_> = lines(b"\xEF\xBB\xBFa\rb\r\nc\n\rd")
            .map(|(_, line)| line.into_owned())
            .collect();
        assert_eq!(found, [&b"a"[..], b"b", b"c", b"", b"d"]);
    }
}
