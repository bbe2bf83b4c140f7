//! STL.

use super::{Upload, no_row_is_silent};

const FACET: &str =
    "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n";

fn upload(bytes: Vec<u8>) -> Upload {
    vec![("m.stl".to_owned(), bytes)]
}

fn text(more: &str) -> Upload {
    upload(format!("solid part\n{FACET}{more}endsolid part\n").into_bytes())
}

/// A triangle with this header and these marks, and bytes after it.
fn binary(header: &[u8], marks: [u8; 2], after: &[u8]) -> Upload {
    let mut bytes = header.to_vec();
    bytes.resize(80, b' ');
    bytes.extend(1u32.to_le_bytes());
    for number in [0f32, 0., 1., 0., 0., 0., 1., 0., 0., 0., 1., 0.] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(marks);
    bytes.extend(after);
    upload(bytes)
}

#[test]
fn everything_in_an_stl_is_read_or_named() {
    let plain = text("");
    let texts = [
        ("color", "color 1 0 0\n".to_owned()),
        (
            "material",
            "material \"steel\"\nmaterial \"wood\"\n".to_owned(),
        ),
        ("solids", format!("endsolid part\nsolid other\n{FACET}")),
        (
            "fewer than three corners",
            "facet\nouter loop\nvertex 0 0 0\nvertex 1 1 1\nendloop\nendfacet\n".to_owned(),
        ),
        (
            "fewer than three corners",
            "facet\nouter loop\nendloop\nendfacet\n".to_owned(),
        ),
        (
            "fewer than three corners",
            "facet\nouter loop\nvertex 5 5 5\n".to_owned(),
        ),
        // Read: a loop of four corners, and one without an end.
        (
            "corners",
            "outer loop\nvertex 0 0 1\nvertex 1 0 1\nvertex 1 1 1\nvertex 0 1 1\nendloop\n"
                .to_owned(),
        ),
        (
            "end",
            "outer loop\nvertex 0 0 1\nvertex 1 0 1\nvertex 1 1 1\n".to_owned(),
        ),
    ];
    let texts = texts.map(|(name, more)| (name.to_owned(), plain.clone(), text(&more)));
    let empty = binary(b"", [0, 0], b"");
    let binaries = [
        ("header", binary(b"COLOR=\xff\0\0\xff", [0, 0], b"")),
        ("header", binary(b"made by x,MATERIAL=abcd", [0, 0], b"")),
        ("colours or other marks", binary(b"", [7, 0x80], b"")),
        ("bytes after", binary(b"", [0, 0], b"end")),
    ];
    let binaries = binaries.map(|(name, with)| (name.to_owned(), empty.clone(), with));
    no_row_is_silent(texts.into_iter().chain(binaries));
}
