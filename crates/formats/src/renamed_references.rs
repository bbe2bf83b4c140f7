//! Renames the files that a model names in its text: URIs of glTF, `mtllib` of OBJ and the maps of MTL.
//!
//! Everything else keeps its bytes: numbers are not parsed and written again.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use percent_encoding::percent_decode_str;

use crate::extension;
use crate::file_names::uri_of_name;
use crate::references::after_word;
use crate::wavefront;

/// The new names of files by the old ones, all in one folder.
pub type NewNames = BTreeMap<String, String>;

/// The key of a file in a glTF.
const URI: &str = "\"uri\"";

/// Copies the text of a file called `name`, with new names for the files that it names. Files of other formats name none.
pub fn name_again(
    name: &str,
    text: &mut impl BufRead,
    new: &NewNames,
    out: &mut impl Write,
) -> io::Result<()> {
    match extension(name).as_str() {
        "gltf" => {
            let mut whole = Vec::new();
            text.read_to_end(&mut whole)?;
            match std::str::from_utf8(&whole) {
                Ok(json) => out.write_all(gltf(json, new).as_bytes()),
                Err(_) => out.write_all(&whole),
            }
        }
        "obj" => each_line(text, out, |line| libraries(line, new)),
        "mtl" => each_line(text, out, |line| map(line, new)),
        _ => io::copy(text, out).map(drop),
    }
}

fn gltf(text: &str, new: &NewNames) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(URI) {
        let (before, after) = rest.split_at(at + URI.len());
        out.push_str(before);
        rest = after;
        let Some((until, literal)) = text_after_colon(after) else {
            continue;
        };
        rest = &after[until + literal.len()..];
        out.push_str(&after[..until]);
        match new_uri(literal, new) {
            Some(uri) => out.extend(["\"", &uri, "\""]),
            None => out.push_str(literal),
        }
    }
    out + rest
}

/// The JSON string after a colon, with its quotes, and its offset in `after`.
fn text_after_colon(after: &str) -> Option<(usize, &str)> {
    let value = after.trim_start().strip_prefix(':')?.trim_start();
    let inside = value.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = inside.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })?;
    Some((after.len() - value.len(), &value[..end + 2]))
}

fn new_uri(literal: &str, new: &NewNames) -> Option<String> {
    if literal.starts_with("\"data:") {
        return None;
    }
    let uri: String = serde_json::from_str(literal).ok()?;
    let plain = percent_decode_str(uri.trim_start_matches("./"));
    let name = new.get(&*plain.decode_utf8().ok()?)?;
    Some(uri_of_name(name))
}

/// Copies lines, of which `renamed` makes others.
fn each_line(
    text: &mut impl BufRead,
    out: &mut impl Write,
    renamed: impl Fn(&str) -> Option<String>,
) -> io::Result<()> {
    let mut line = Vec::new();
    while text.read_until(b'\n', &mut line)? > 0 {
        let known = std::str::from_utf8(&line).ok();
        match known.and_then(|line| renamed(line.trim_end())) {
            Some(other) => {
                let plain = line.trim_ascii_end().len();
                out.write_all(other.as_bytes())?;
                out.write_all(&line[plain..])?;
            }
            None => out.write_all(&line)?,
        }
        line.clear();
    }
    Ok(())
}

fn libraries(line: &str, new: &NewNames) -> Option<String> {
    let rest = after_word(line.trim_start(), "mtllib")?;
    let known = wavefront::libraries(rest);
    if !known.iter().any(|name| new.contains_key(name)) {
        return None;
    }
    let names = known.iter().map(|name| new.get(name).unwrap_or(name));
    let names: Vec<&str> = names.map(String::as_str).collect();
    Some(format!("mtllib {}", names.join(" ")))
}

fn map(line: &str, new: &NewNames) -> Option<String> {
    let key = line.split_whitespace().next()?;
    let rest = after_word(line.trim_start(), key).filter(|_| wavefront::is_map(key))?;
    let file = wavefront::map(rest).file;
    let before = line.strip_suffix(&file)?;
    Some(format!("{before}{}", new.get(&file)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(name: &str, text: &str) -> String {
        let new = [
            ("chair.bin", "chair web.bin"),
            ("chair.mtl", "chair_web.mtl"),
            ("chair_texture_0.png", "chair_web_texture_0.png"),
        ];
        let new = new.map(|(old, new)| (old.to_owned(), new.to_owned()));
        let mut out = Vec::new();
        name_again(name, &mut text.as_bytes(), &NewNames::from(new), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_gltf_names_the_new_files_and_keeps_everything_else() {
        let text = r#"{"a":1.10, "buffers":[{"uri" : "chair.bin"},{"uri":"./chair%2Ebin"},{"uri":"data:x"}],
            "images":[{"uri":"chair_texture_0.png"},{"uri":"wood.png"}],"extras":{"t":"\"uri\":\"chair.bin\"","uri":7}}"#;
        let expected = text
            .replace(r#""uri" : "chair.bin""#, r#""uri" : "chair%20web.bin""#)
            .replace("./chair%2Ebin", "chair%20web.bin")
            .replace("chair_texture_0.png", "chair_web_texture_0.png");
        assert_eq!(renamed("a.gltf", text), expected);
        for len in 0..text.len() {
            renamed("a.gltf", &text[..len]);
        }
    }

    #[test]
    fn obj_and_mtl_name_the_new_files() {
        assert_eq!(
            renamed("a.obj", "# x\r\nmtllib chair.mtl other.mtl\r\nv 1 2 3"),
            "# x\r\nmtllib chair_web.mtl other.mtl\r\nv 1 2 3"
        );
        assert_eq!(
            renamed(
                "a.mtl",
                "newmtl chair.mtl\nmap_Kd -s 2 2 1 chair_texture_0.png\nmap_Ks wood.png\n"
            ),
            "newmtl chair.mtl\nmap_Kd -s 2 2 1 chair_web_texture_0.png\nmap_Ks wood.png\n"
        );
        assert_eq!(renamed("a.glb", "chair.bin"), "chair.bin");
    }
}
