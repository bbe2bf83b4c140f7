//! The CSS that a viewer configuration may bring: declarations of harmless properties with plain values.
//!
//! Nothing that comes out can end its rule, load anything or reach another element.

/// The longest text that is looked at.
const MAX_BYTES: usize = 4_096;

/// Properties that move, size and colour one element.
const PROPERTIES: &str = "align-items align-self background background-color border border-color border-radius border-style \
    border-width bottom box-shadow color display filter flex flex-direction font-size font-style font-weight gap \
    height justify-content left letter-spacing line-height margin margin-bottom margin-left margin-right \
    margin-top max-height max-width min-height min-width object-fit opacity overflow padding padding-bottom \
    padding-left padding-right padding-top position right text-align top transform transform-origin visibility \
    width z-index";

/// Functions that compute a length, a colour or a shape.
const FUNCTIONS: &str = "blur brightness calc clamp contrast drop-shadow grayscale hsl hsla linear-gradient max min opacity \
    radial-gradient rgb rgba rotate saturate scale translate translatex translatey";

/// The declarations of `text` that are harmless, ready to stand in a rule.
pub fn declarations(text: &str) -> String {
    if text.len() > MAX_BYTES {
        return String::new();
    }
    text.split(';').filter_map(harmless).collect()
}

/// Whether [`declarations`] leaves nothing of `text` out.
pub fn is_all_harmless(text: &str) -> bool {
    let mut given = text.split(';').filter(|part| !part.trim().is_empty());
    text.len() <= MAX_BYTES && given.all(|declaration| harmless(declaration).is_some())
}

fn lists(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// One declaration, if it is harmless.
fn harmless(declaration: &str) -> Option<String> {
    let (property, value) = declaration.split_once(':')?;
    let property = property.trim().to_ascii_lowercase();
    let value = value.trim();
    let is_harmless = lists(PROPERTIES, &property) && is_plain(value);
    is_harmless.then(|| format!("{property}:{value};"))
}

/// Whether a value holds numbers, words, colours and known functions only.
fn is_plain(value: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || " .,%#()+-*/!".contains(c);
    if value.is_empty() || !value.chars().all(known) || value.contains("/*") {
        return false;
    }
    let opened = value.matches('(').count();
    if opened != value.matches(')').count() {
        return false;
    }
    value.match_indices('(').all(|(at, _)| {
        let before = &value[..at];
        let start = before
            .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .map_or(0, |place| place + 1);
        let name = before[start..].to_ascii_lowercase();
        name.is_empty() || lists(FUNCTIONS, &name)
    })
}

/// A colour as `#rgb`, `#rrggbb` or with transparency.
pub fn color(text: &str) -> Option<&str> {
    let digits = text.trim().strip_prefix('#')?;
    let good =
        [3, 4, 6, 8].contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_hexdigit());
    good.then(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_declarations_pass_and_all_others_fall() {
        for (text, expected) in [
            (
                "width: 50px; Height:calc(100% - 2em)",
                "width:50px;height:calc(100% - 2em);",
            ),
            (
                "color: #fff; transform: rotate(45deg) scale(2)",
                "color:#fff;transform:rotate(45deg) scale(2);",
            ),
            ("background: url(//evil)", ""),
            ("background: UrL(x)", ""),
            ("width: expression(alert(1))", ""),
            ("behavior: x; -moz-binding: y; content: z", ""),
            ("width: 1px } body { color: red", ""),
            ("width: 1px</style><script>alert(1)</script>", ""),
            ("width: \\75rl(x)", ""),
            (
                "width: 1px; @import 'x'; height: 2px",
                "width:1px;height:2px;",
            ),
            ("width: /* x */ 1px", ""),
            ("width: image-set(x)", ""),
            ("width: var(--x)", ""),
            ("width: (1", ""),
        ] {
            assert_eq!(declarations(text), expected, "{text}");
        }
        assert_eq!(declarations(&"width:1px;".repeat(1_000)), "");
    }

    #[test]
    fn a_color_is_a_color() {
        assert_eq!(color(" #fFf "), Some("#fFf"));
        assert_eq!(color("#11223344"), Some("#11223344"));
        for bad in ["red", "#12", "#ggg", "#fff;}", ""] {
            assert_eq!(color(bad), None, "{bad}");
        }
    }
}
