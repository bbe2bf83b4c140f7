//! The files that a model names: buffers and images of glTF and GLB, `mtllib` of OBJ, maps of MTL, asset paths of USD
//! layers in text form.
//!
//! Returns paths relative to the folder of the upload; [`resolve`](super::resolve) finds the files that they mean. Files outside of the
//! folder, on another machine or embedded in the file are not returned.

mod usda;

use std::fs::File;
use std::io;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};

use serde::Deserialize;

use crate::resolve::{Found, ModelFiles, Target};
use crate::text::decoded;
use crate::{extension, wavefront};

/// Longer JSON is not parsed.
const JSON_MAX_BYTES: u64 = 256 << 20;
/// Longer lines of an OBJ or MTL are skipped.
const LINE_MAX_BYTES: u64 = 64 * 1024;

/// One file that a model names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The file that names it.
    pub from: String,
    /// Its path relative to the folder of the upload. Several if the text is ambiguous; any of them is enough.
    pub paths: Vec<String>,
    /// Its minimum length, if the model contains it.
    pub min_len: Option<u64>,
    pub need: Need,
}

impl Reference {
    /// The file of the upload that is meant.
    pub fn find_in<'a>(&self, files: &'a ModelFiles) -> Found<'a> {
        files.find(&self.from, &self.paths)
    }
}

/// The effect of a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The model can be imported, but looks different: a texture, a material library.
    ForLooks,
    /// The model lacks geometry: a buffer of a glTF, without which the service refuses it, or a layer of USD.
    ForImport,
}

/// The references of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    pub files: Vec<Reference>,
    /// True if the text is truncated.
    pub cut_short: bool,
}

/// The files that the file at `path` in the upload names.
pub fn find(path: &str, file: &File) -> io::Result<References> {
    match extension(path).as_str() {
        "gltf" => gltf(path, file),
        "glb" => glb(path, file),
        "obj" => lines(path, file, obj_line),
        "mtl" => lines(path, file, mtl_line),
        "usda" | "usd" => usda::find(path, file),
        _ => Ok(References::default()),
    }
}

/// The files that the text of the glTF at `path` names, buffers first.
pub fn named_by_gltf(path: &str, text: &[u8]) -> Vec<Reference> {
    document(path, text).files
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    buffers: Vec<Item>,
    #[serde(default)]
    images: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    uri: Option<String>,
    byte_length: Option<u64>,
}

fn gltf(from: &str, mut file: &File) -> io::Result<References> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(JSON_MAX_BYTES).read_to_end(&mut text)?;
    Ok(document(from, &text))
}

fn glb(from: &str, mut file: &File) -> io::Result<References> {
    let mut head = [0; 20];
    file.seek(SeekFrom::Start(0))?;
    if file.read_exact(&mut head).is_err() || !head.starts_with(b"glTF") || &head[16..] != b"JSON" {
        return Ok(References::default());
    }
    let len = u32::from_le_bytes(head[12..16].try_into().expect("four bytes"));
    let len = u64::from(len).min(JSON_MAX_BYTES);
    // Many small files are read one after the other, each with as few calls as possible.
    let mut text = Vec::with_capacity(len.min(64 << 10) as usize);
    file.take(len).read_to_end(&mut text)?;
    Ok(document(from, &text))
}

fn document(from: &str, text: &[u8]) -> References {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let document: Document = match serde_json::from_slice(text) {
        Ok(document) => document,
        Err(error) => {
            return References {
                files: Vec::new(),
                cut_short: error.is_eof(),
            };
        }
    };
    let buffers = document.buffers.into_iter();
    let buffers = buffers.map(|item| (item, Need::ForImport));
    let images = document.images.into_iter();
    let files = buffers
        .chain(images.map(|item| (item, Need::ForLooks)))
        .filter_map(|(item, need)| {
            reference(from, &[&item.uri?], need).map(|reference| Reference {
                min_len: item.byte_length,
                ..reference
            })
        })
        .collect();
    References {
        files,
        cut_short: false,
    }
}

type LineReader = fn(&str, &str) -> Vec<Reference>;

fn lines(from: &str, mut file: &File, names_of: LineReader) -> io::Result<References> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut found = References::default();
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line)? {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        // Skips vertices and faces, which are most lines and never name a file.
        let first = line.iter().find(|b| !b.is_ascii_whitespace());
        if matches!(first, Some(b'v' | b'f' | b'#') | None) {
            continue;
        }
        found.files.extend(names_of(from, decoded(line).trim()));
    }
    found.files.sort();
    found.files.dedup();
    Ok(found)
}

/// Reads a line up to its end, which may be a CR alone, or to the maximum length; false at the end of the file.
fn read_line(reader: &mut impl io::BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut has_read = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(has_read);
        }
        has_read = true;
        let end = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let room = LINE_MAX_BYTES as usize - line.len();
        line.extend_from_slice(&part[..part.len().min(room)]);
        let taken = part.len() + usize::from(end.is_some());
        reader.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn obj_line(from: &str, line: &str) -> Vec<Reference> {
    let rest = after_word(line, "mtllib");
    let names = rest.map(wavefront::libraries).unwrap_or_default();
    names
        .iter()
        .filter_map(|name| reference(from, &[name], Need::ForLooks))
        .collect()
}

fn mtl_line(from: &str, line: &str) -> Vec<Reference> {
    let key = line.split_whitespace().next().unwrap_or_default();
    let rest = after_word(line, key).filter(|_| wavefront::is_map(key));
    let Some(rest) = rest else {
        return Vec::new();
    };
    let name = wavefront::map(rest).file;
    let mut readings = vec![name.as_str()];
    if name != rest {
        readings.push(rest);
    }
    reference(from, &readings, Need::ForLooks)
        .into_iter()
        .collect()
}

pub(crate) fn after_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    let trimmed = rest.trim_start();
    (rest.len() != trimmed.len() && !trimmed.is_empty()).then_some(trimmed)
}

/// The reference that `readings` of a text in the file `from` make, if it names a file below the folder of the upload.
fn reference(from: &str, readings: &[&str], need: Need) -> Option<Reference> {
    let mut paths = Vec::new();
    for reading in readings {
        let Some(Target::Inside(found)) = Target::of(from, reading.trim_matches('"')) else {
            continue;
        };
        for path in found {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    (!paths.is_empty()).then(|| Reference {
        from: from.to_owned(),
        paths,
        min_len: None,
        need,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn found(path: &str, bytes: &[u8]) -> References {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        find(path, &file).unwrap()
    }

    fn paths(path: &str, text: &str) -> Vec<String> {
        let found = found(path, text.as_bytes());
        found
            .files
            .into_iter()
            .map(|it| it.paths[0].clone())
            .collect()
    }

    const GLTF: &str = r#"{"buffers":[{"uri":"chair%20a.bin","byteLength":7},{"byteLength":3}],
        "images":[{"uri":"textures/wood.png"},{"uri":"data:image/png;base64,AA"},{"bufferView":0},
        {"uri":"https://x.example/a.png"},{"uri":"../../b.png"},{"uri":"./tex/../c.png"}]}"#;

    #[test]
    fn gltf_names_buffers_and_images_below_the_upload() {
        assert_eq!(
            paths("chair.gltf", GLTF),
            ["chair a.bin", "textures/wood.png", "c.png"]
        );
        assert_eq!(
            found("chair.gltf", GLTF.as_bytes()).files[0].min_len,
            Some(7)
        );
        assert_eq!(paths("sub/chair.gltf", GLTF)[1], "sub/textures/wood.png");
    }

    #[test]
    fn every_cut_of_a_gltf_is_seen() {
        for len in 0..GLTF.len() {
            assert!(found("a.gltf", &GLTF.as_bytes()[..len]).cut_short, "{len}");
        }
        assert!(!found("a.gltf", b"{ not json").cut_short);
    }

    #[test]
    fn glb_is_read_through_its_json_chunk() {
        let mut glb = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        glb.extend((GLTF.len() as u32).to_le_bytes());
        glb.extend(b"JSON");
        glb.extend(GLTF.as_bytes());
        assert_eq!(found("a.glb", &glb).files.len(), 3);
    }

    #[test]
    fn obj_and_mtl_names_may_hold_spaces_and_options() {
        assert_eq!(
            paths("a.obj", "# x\nmtllib fuze bottle.mtl\nv 1 2 3\n"),
            ["fuze bottle.mtl"]
        );
        assert_eq!(paths("a.obj", "mtllib a.mtl b.mtl"), ["a.mtl", "b.mtl"]);
        assert_eq!(
            paths("a.obj", "\u{feff}mtllib a.mtl b.mtl"),
            ["a.mtl", "b.mtl"]
        );
        assert_eq!(
            paths("a.obj", "# Mac\rmtllib \"a.mtl\"\rv 0 0 0"),
            ["a.mtl"]
        );
        let table = [
            ("MAP_KD wood.png", "wood.png"),
            ("map_Kd fuze uv.jpg", "fuze uv.jpg"),
            ("\tmap_Bump -bm 0.5 tex\\n.png", "tex/n.png"),
            ("map_Kd -s 1 1 1 -o 0 0 my wood.png", "my wood.png"),
            ("map_Kd -clamp on wood.png", "wood.png"),
            ("norm n.png", "n.png"),
        ];
        for (line, expected) in table {
            assert_eq!(paths("a.mtl", line)[0], expected, "{line}");
        }
        assert!(paths("a.mtl", "map_Kd C:\\work\\wood.png").is_empty());
        assert!(paths("a.mtl", "Kd 1 1 1\nnewmtl bump").is_empty());
    }

    #[test]
    fn names_that_are_not_utf_8_are_windows_1252() {
        let named = |path: &str, text: &[u8]| found(path, text).files[0].paths[0].clone();
        assert_eq!(named("a.obj", b"mtllib M\xF6bel.mtl\n"), "Möbel.mtl");
        assert_eq!(named("a.mtl", b"map_Kd B\xF6den.png\n"), "Böden.png");
        assert_eq!(
            named(
                "a.usda",
                b"#usda 1.0\ndef \"A\" { asset a = @B\xF6den.png@ }"
            ),
            "Böden.png"
        );
        assert_eq!(named("a.mtl", "map_Kd Böden.png\n".as_bytes()), "Böden.png");
    }

    #[test]
    fn the_text_of_a_gltf_names_its_buffers_and_then_its_images() {
        let text =
            br#"{"images":[{"uri":"../textures/./wood.png"},{"uri":"https://x.example/y.png"}],
            "buffers":[{"uri":"a%20b.bin"},{"uri":"data:x;base64,AA"},{}]}"#;
        let named = named_by_gltf("scene/chair.gltf", text);
        let likeliest: Vec<&str> = named.iter().map(|it| it.paths[0].as_str()).collect();
        assert_eq!(likeliest, ["scene/a b.bin", "textures/wood.png"]);
        assert!(named_by_gltf("chair.gltf", b"no glTF").is_empty());
    }
}
