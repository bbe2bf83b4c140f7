//! The statements of OBJ and MTL files that name other files: `mtllib`, and the maps of materials with their options.

use crate::extension;

/// A statement such as `map_Kd -s 2 2 1 wood.png`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapStatement {
    /// The file as it is written, spaces included.
    pub file: String,
    /// The options without their dash, in lower case, with their values.
    pub options: Vec<(String, Vec<String>)>,
}

/// Whether an MTL statement with this name refers to a file.
pub fn is_map(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.starts_with("map_") || ["bump", "norm", "disp", "decal", "refl"].contains(&key.as_str())
}

/// The names in an `mtllib` statement, without the word itself. A name may have spaces and quotes: it ends where a word
/// ends with `.mtl`, or at its closing quote.
pub fn libraries(rest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut left = rest.trim();
    while !left.is_empty() {
        let end = match left.strip_prefix('"').and_then(|text| text.find('"')) {
            Some(end) => end + 2,
            None => end_of_library(left),
        };
        let name = unquoted(left[..end].trim());
        if !name.is_empty() {
            names.push(name.to_owned());
        }
        left = left[end..].trim_start();
    }
    names
}

/// Where the first word ends that ends with `.mtl`; the end of the text if there is none.
fn end_of_library(text: &str) -> usize {
    let mut end = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        end += word.len();
        if extension(word.trim_end()) == "mtl" {
            return end;
        }
    }
    end
}

/// The options and the file of a map statement, without its first word.
pub fn map(rest: &str) -> MapStatement {
    let mut statement = MapStatement::default();
    let mut left = rest.trim();
    while let Some(option) = left.strip_prefix('-') {
        let name = option.split_whitespace().next().unwrap_or_default();
        let (least, most) = match name.to_ascii_lowercase().as_str() {
            "o" | "s" | "t" => (1, 3),
            "mm" => (2, 2),
            "blendu" | "blendv" | "cc" | "clamp" | "bm" | "boost" | "texres" | "imfchan"
            | "type" => (1, 1),
            // A file name may start with a dash.
            _ => break,
        };
        let mut after = option[name.len()..].trim_start();
        let mut values = Vec::new();
        for count in 0..most {
            let word = after.split_whitespace().next().unwrap_or_default();
            if count >= least && word.replace(',', ".").parse::<f32>().is_err() {
                break;
            }
            values.push(word.to_owned());
            after = after[word.len()..].trim_start();
        }
        statement.options.push((name.to_ascii_lowercase(), values));
        left = after;
    }
    statement.file = unquoted(left).to_owned();
    statement
}

/// A name without the quotes around it.
pub fn unquoted(name: &str) -> &str {
    name.trim().trim_matches('"').trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_maps_are_split_off_and_spaces_kept() {
        for (line, file) in [
            ("fuze uv.jpg", "fuze uv.jpg"),
            ("-s 1 1 1 wood.png", "wood.png"),
            ("-bm 0.5 -clamp on my bump.png", "my bump.png"),
            ("-o 0.1 tex 2.png", "tex 2.png"),
            ("-dash.png", "-dash.png"),
            ("\"a b.png\"", "a b.png"),
        ] {
            assert_eq!(map(line).file, file);
        }
        let both = map("-S 2 3 1 -clamp on wood.png").options;
        let values = ["2", "3", "1"].map(str::to_owned).to_vec();
        assert_eq!(
            both,
            [
                ("s".to_owned(), values),
                ("clamp".to_owned(), vec!["on".to_owned()])
            ]
        );
    }

    #[test]
    fn a_statement_may_name_several_libraries() {
        for (line, names) in [
            ("a.mtl b.mtl", &["a.mtl", "b.mtl"][..]),
            ("fuze bottle.mtl", &["fuze bottle.mtl"]),
            ("my a.mtl  other b.MTL", &["my a.mtl", "other b.MTL"]),
            ("\"a b.mtl\" c.mtl", &["a b.mtl", "c.mtl"]),
            ("materials", &["materials"]),
            ("", &[]),
        ] {
            assert_eq!(libraries(line), names, "{line}");
        }
    }
}
