//! Parses MTL files and converts their numbers. Opens no file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::super::srgb::linear_of_srgb;
use super::super::lines::{lines, number, text, words};

/// The numbers and texture references of a material, by key.
#[derive(Debug, Default)]
pub(super) struct MtlEntry {
    pub(super) numbers: HashMap<String, Vec<f32>>,
    pub(super) maps: HashMap<String, String>,
    /// The library that contains it, relative to the upload: its references are relative to it.
    pub(super) library: PathBuf,
}

/// The materials of a library, in its order; `library` is its path.
pub(super) fn parse(bytes: &[u8], library: &Path) -> Vec<(String, MtlEntry)> {
    let mut entries = Vec::new();
    let mut current: Option<(String, MtlEntry)> = None;
    for (_, line) in lines(bytes) {
        let line = line.trim_ascii();
        let key = words(line).next().unwrap_or_default();
        let rest = line[key.len()..].trim_ascii();
        let key = text(key).to_lowercase();
        if key == "newmtl" {
            entries.extend(current.take());
            let entry = MtlEntry {
                library: library.to_owned(),
                ..MtlEntry::default()
            };
            current = Some((text(rest), entry));
            continue;
        }
        let Some((_, entry)) = &mut current else {
            continue;
        };
        let is_map =
            key.starts_with("map_") || ["bump", "norm", "disp", "decal"].contains(&key.as_str());
        if is_map {
            entry.maps.insert(key, file_of_map(rest));
        } else {
            entry
                .numbers
                .insert(key, words(rest).map_while(number).collect());
        }
    }
    entries.extend(current);
    entries
}

impl MtlEntry {
    pub(super) fn one(&self, key: &str) -> Option<f32> {
        self.numbers.get(key)?.first().copied()
    }

    pub(super) fn three(&self, key: &str) -> Option<[f32; 3]> {
        match self.numbers.get(key)?[..] {
            [red, green, blue, ..] => Some([red, green, blue]),
            [grey] => Some([grey; 3]),
            _ => None,
        }
    }
}

pub(super) fn linear(color: [f32; 3]) -> [f32; 3] {
    color.map(|part| linear_of_srgb(part.clamp(0.0, 1.0)))
}

pub(super) fn base_color(entry: &MtlEntry, has_map: bool) -> [f32; 4] {
    let color = entry.three("kd").map_or([1.0; 3], linear);
    // Black times a texture would be black; files with such a colour mean the texture alone.
    let [red, green, blue] = if has_map && color == [0.0; 3] {
        [1.0; 3]
    } else {
        color
    };
    [red, green, blue, opacity(entry)]
}

/// `d`, else one minus `Tr`. `Tr 1` is ignored, because some programs write it for opaque materials.
pub(super) fn opacity(entry: &MtlEntry) -> f32 {
    let of_tr = entry.one("tr").filter(|tr| *tr < 1.0).map(|tr| 1.0 - tr);
    entry.one("d").or(of_tr).unwrap_or(1.0).clamp(0.0, 1.0)
}

pub(super) fn roughness(entry: &MtlEntry) -> f32 {
    let of_shininess = entry
        .one("ns")
        .map(|shininess| (2.0 / (shininess.max(0.0) + 2.0)).sqrt());
    entry
        .one("pr")
        .or(of_shininess)
        .unwrap_or(0.9)
        .clamp(0.0, 1.0)
}

/// The file of a map: the rest of the line after the options, spaces included.
fn file_of_map(rest: &[u8]) -> String {
    let whole = text(rest);
    let mut left = whole.as_str();
    while let Some(option) = left.strip_prefix('-') {
        let name = option.split_whitespace().next().unwrap_or_default();
        let (least, most) = match name {
            "o" | "s" | "t" => (1, 3),
            "mm" => (2, 2),
            "blendu" | "blendv" | "cc" | "clamp" | "bm" | "boost" | "texres" | "imfchan"
            | "type" => (1, 1),
            // A file name may start with a dash.
            _ => break,
        };
        let mut after = option[name.len()..].trim_start();
        for count in 0..most {
            let word = after.split_whitespace().next().unwrap_or_default();
            if count >= least && number(word.as_bytes()).is_none() {
                break;
            }
            after = after[word.len()..].trim_start();
        }
        left = after;
    }
    left.trim().trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_maps_are_skipped_and_spaces_kept() {
        for (line, file) in [
            ("fuze uv.jpg", "fuze uv.jpg"),
            ("-s 1 1 1 wood.png", "wood.png"),
            ("-bm 0.5 -clamp on my bump.png", "my bump.png"),
            ("-o 0.1 tex 2.png", "tex 2.png"),
            ("-dash.png", "-dash.png"),
            ("\"a b.png\"", "a b.png"),
        ] {
            assert_eq!(file_of_map(line.as_bytes()), file);
        }
    }

    #[test]
    fn a_tr_of_one_is_taken_for_opaque() {
        let entry = |key: &str, value: f32| MtlEntry {
            numbers: [(key.to_owned(), vec![value])].into(),
            ..MtlEntry::default()
        };
        assert_eq!(opacity(&entry("tr", 1.0)), 1.0);
        assert_eq!(opacity(&entry("tr", 0.25)), 0.75);
        assert_eq!(opacity(&entry("d", 0.5)), 0.5);
    }
}
