//! The files that a USD layer in text form names: asset paths, `@like/this.png@`. Text and comments are skipped.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};

use super::{Need, Reference, References};
use crate::extension;
use crate::text::decoded;

/// Longer asset paths are not read.
const MAX_PATH_BYTES: usize = 4096;

/// Where the scanner is in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    Comment,
    /// A string that ends with so many of this character.
    Text {
        quote: u8,
        count: u8,
    },
    /// A path that ends with so many `@`.
    Path {
        count: u8,
    },
}

struct Scanner {
    place: Place,
    /// How often the last character came in a row.
    run: (u8, u8),
    is_escaped: bool,
    /// How many brackets are open.
    depth: i64,
    path: Vec<u8>,
    paths: Vec<String>,
}

/// The files that the layer `from` names.
pub(super) fn find(from: &str, mut file: &File) -> io::Result<References> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    if !reader.fill_buf()?.starts_with(b"#usda") {
        return Ok(References::default());
    }
    let mut scanner = Scanner {
        place: Place::Code,
        run: (0, 0),
        is_escaped: false,
        depth: 0,
        path: Vec::new(),
        paths: Vec::new(),
    };
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        let len = bytes.len();
        bytes.iter().for_each(|byte| scanner.read(*byte));
        reader.consume(len);
    }
    scanner.end_of_run();
    let is_over = matches!(scanner.place, Place::Code | Place::Comment);
    let mut files: Vec<Reference> = scanner
        .paths
        .iter()
        .filter_map(|path| reference(from, path))
        .collect();
    files.sort();
    files.dedup();
    Ok(References {
        files,
        cut_short: !is_over || scanner.depth > 0,
    })
}

/// The file that an asset path names. A path in a package names the package; `<UDIM>` stands for many files.
fn reference(from: &str, path: &str) -> Option<Reference> {
    let outer = path.split_once('[').map_or(path, |(package, _)| package);
    if outer.contains("<UDIM>") || outer.contains('`') {
        return None;
    }
    let need = match extension(outer).starts_with("usd") {
        true => Need::ForImport,
        false => Need::ForLooks,
    };
    super::reference(from, &[outer], need)
}

impl Scanner {
    fn read(&mut self, byte: u8) {
        let (last, count) = self.run;
        if last != 0 && byte == last && count < 3 && !self.is_escaped {
            self.run.1 += 1;
            return;
        }
        if last != 0 {
            self.end_of_run();
        }
        match self.place {
            Place::Code => match byte {
                b'#' => self.place = Place::Comment,
                b'"' | b'\'' | b'@' => self.run = (byte, 1),
                b'{' | b'(' | b'[' => self.depth += 1,
                b'}' | b')' | b']' => self.depth -= 1,
                _ => {}
            },
            Place::Comment if byte == b'\n' => self.place = Place::Code,
            Place::Comment => {}
            Place::Text { quote, .. } => match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                _ if byte == quote => self.run = (byte, 1),
                _ => {}
            },
            Place::Path { .. } if byte == b'@' => self.run = (byte, 1),
            Place::Path { .. } if self.path.len() < MAX_PATH_BYTES => self.path.push(byte),
            Place::Path { .. } => {}
        }
    }

    /// Ends a row of quotes or `@`: it begins or ends a text or a path, or is part of it.
    fn end_of_run(&mut self) {
        let (byte, count) = std::mem::take(&mut self.run);
        if count == 0 {
            return;
        }
        match self.place {
            // Two are an empty text or path.
            Place::Code if count == 2 => {}
            Place::Code if byte == b'@' => self.place = Place::Path { count },
            Place::Code => self.place = Place::Text { quote: byte, count },
            Place::Text { count: wanted, .. } => {
                if count >= wanted {
                    self.place = Place::Code;
                }
            }
            Place::Path { count: wanted } if count >= wanted => {
                let path = std::mem::take(&mut self.path);
                self.paths.push(decoded(&path).into_owned());
                self.place = Place::Code;
            }
            Place::Path { .. } => self.path.extend(std::iter::repeat_n(b'@', count.into())),
            Place::Comment => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn found(text: &str) -> References {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        find("sub/a.usda", &file).unwrap()
    }

    const LAYER: &str = r##"#usda 1.0
(
    doc = """a "text" with @none.usda@ in it"""
    subLayers = [@./light.usda@, @../../secret.usda@, @https://x.example/a.usda@]
)
# @comment.usda@
def Xform "A@b.png" (references = @@@odd@name.usdc@@@</A> payload = @box.usdz[in.usd]@)
{
    asset inputs:file = @../wood 1.png@
    asset inputs:none = @@
    string a = "\"@c.png@"
    asset inputs:many = @tiles.<UDIM>.png@
    asset again = @../wood 1.png@
}
"##;

    #[test]
    fn layers_and_textures_are_named_and_texts_are_not() {
        let found = found(LAYER);
        let paths: Vec<(&str, Need)> = found
            .files
            .iter()
            .map(|it| (it.paths[0].as_str(), it.need))
            .collect();
        let expected = [
            ("sub/box.usdz", Need::ForImport),
            ("sub/light.usda", Need::ForImport),
            ("sub/odd@name.usdc", Need::ForImport),
            ("wood 1.png", Need::ForLooks),
        ];
        assert_eq!(paths, expected);
        assert!(!found.cut_short);
    }

    #[test]
    fn a_layer_that_ends_in_the_middle_is_cut_short() {
        let body = LAYER.find("{\n    asset").unwrap() + 1;
        for len in (body..LAYER.len() - 2).chain([20, 60]) {
            assert!(found(&LAYER[..len]).cut_short, "{}", &LAYER[..len]);
        }
        assert_eq!(found("PXR-USDC @a.png@"), References::default());
    }
}
