//! Text of unknown origin for a terminal or a log: names of files and objects, keys of configurations. Messages quote
//! them, and must neither control the terminal that shows them nor fill it.

use std::borrow::Cow;

/// Longest word in characters; names of most file systems are not longer.
const MAX_WORD_CHARS: usize = 255;
/// Longest text in characters.
const MAX_TEXT_CHARS: usize = 4000;

/// One line without control characters: they are escaped, and words and texts that are too long are shortened in
/// their middle. The parts of a path count as words.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_short = text.len() <= MAX_WORD_CHARS;
    if is_short && !text.chars().any(is_control) {
        return text.into();
    }
    let is_end = |letter: char| letter.is_whitespace() || letter == '/';
    let words = text.split_inclusive(is_end);
    let words: String = words.map(|word| shortened_word(word, is_end)).collect();
    let mut plain = String::with_capacity(words.len());
    for letter in shortened(&words, MAX_TEXT_CHARS).chars() {
        match is_control(letter) {
            true => plain.extend(letter.escape_default()),
            false => plain.push(letter),
        }
    }
    plain.into()
}

/// The path of a file in a model or zip: as one word, because zips have paths of 64 kB.
pub fn printable_path(path: &str) -> String {
    printable(&shortened(path, MAX_WORD_CHARS)).into_owned()
}

/// A text of several lines, each of them printable.
pub fn printable_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Control characters of ASCII and Latin-1, line ends of Unicode, and marks that turn the direction of what follows.
pub fn is_control(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A word with what ends it.
fn shortened_word(word: &str, is_end: impl Fn(char) -> bool) -> String {
    let name = word.strip_suffix(is_end).unwrap_or(word);
    shortened(name, MAX_WORD_CHARS).into_owned() + &word[name.len()..]
}

/// The beginning and the end of a text of more than `longest` characters.
fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    // A character has at least one byte.
    let count = match text.len() <= longest {
        true => 0,
        false => text.chars().count(),
    };
    if count <= longest {
        return text.into();
    }
    let kept = longest / 2;
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |it| it.0);
    let (start, end) = (&text[..at(kept)], &text[at(count - kept)..]);
    let gone = super::number_text::grouped((count - 2 * kept) as u64);
    let short = format!("{start}[… {gone} characters …]{end}");
    match short.chars().count() < count {
        true => short.into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_letters_stay() {
        for (text, shown) in [
            ("лиса #2 – 100%", "лиса #2 – 100%"),
            ("a\u{1b}[31mred\u{1b}[0m", "a\\u{1b}[31mred\\u{1b}[0m"),
            (
                "two\nlines\r\n\tof\u{9b}text",
                "two\\nlines\\r\\n\\tof\\u{9b}text",
            ),
            ("gnp.\u{202e}exe", "gnp.\\u{202e}exe"),
        ] {
            assert_eq!(printable(text), shown);
        }
        assert_eq!(printable_lines("a\nb\u{7}"), "a\nb\\u{7}");
    }

    #[test]
    fn a_path_is_no_longer_than_a_name() {
        let path = "folder/".repeat(600) + "chair.glb";
        let shown = printable_path(&path);
        assert!(
            shown.starts_with("folder/folder") && shown.ends_with("/chair.glb"),
            "{shown}"
        );
        assert!(shown.chars().count() < 310, "{shown}");
        assert_eq!(printable_path("a/b.glb"), "a/b.glb");
    }

    #[test]
    fn long_words_and_texts_are_cut_in_their_middle() {
        let key = format!("the key {} is unknown", "ж".repeat(100_000));
        let shown = printable(&key);
        let dots = "[… 99,746 characters …]";
        assert!(
            shown.starts_with("the key жж") && shown.ends_with("жж is unknown"),
            "{shown}"
        );
        assert!(
            shown.contains(dots) && shown.chars().count() < 310,
            "{shown}"
        );
        let path = format!("/{}", "folder/".repeat(60));
        assert_eq!(printable(&path), path, "a path of short names is whole");
        for length in [255, 256, 270] {
            let name = format!("{}/a", "n".repeat(length));
            assert_eq!(printable(&name), name, "nothing would be saved");
        }
        assert!(printable(&"word ".repeat(9000)).chars().count() < 4100);
    }
}
