//! Parses MTL files and converts their numbers. Opens no file.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::super::lines::{lines, number, text, words};
use super::map_options::MapUse;
use assetfs_formats::wavefront::{self, unquoted};
use assetfs_render::linear_of_srgb;

/// Statements with numbers that are read.
const READ: &[&str] = &["kd", "ke", "d", "tr", "ns", "pr", "pm"];

/// The numbers and texture references of a material, by key in lower case.
#[derive(Debug, Default)]
pub(super) struct MtlEntry {
    pub(super) numbers: HashMap<String, Vec<f32>>,
    pub(super) maps: HashMap<String, MapUse>,
    /// The library that contains it, relative to the upload: its references are relative to it.
    pub(super) library: PathBuf,
}

/// What a library holds.
#[derive(Debug, Default)]
pub(super) struct MtlFile {
    /// In the order of the file.
    pub(super) materials: Vec<(String, MtlEntry)>,
    /// The statements that change how a material looks and are not read, as they are written. Maps that are not read are
    /// named with their material.
    pub(super) unread: BTreeSet<String>,
}

/// The content of a library; `library` is its path.
pub(super) fn parse(bytes: &[u8], library: &Path) -> MtlFile {
    let mut file = MtlFile::default();
    for (_, line) in lines(bytes) {
        let line = line.trim_ascii();
        let written = words(line).next().unwrap_or_default();
        let rest = line[written.len()..].trim_ascii();
        let written = text(written);
        let key = written.to_lowercase();
        if key.is_empty() || key.starts_with('#') {
            continue;
        }
        if key == "newmtl" {
            let entry = MtlEntry {
                library: library.to_owned(),
                ..MtlEntry::default()
            };
            let name = unquoted(&text(rest)).to_owned();
            file.materials.push((name, entry));
            continue;
        }
        let Some((_, entry)) = file.materials.last_mut() else {
            file.unread.insert(written);
            continue;
        };
        if wavefront::is_map(&key) {
            let statement = wavefront::map(&text(rest));
            entry.maps.insert(key, MapUse::new(statement));
            continue;
        }
        let numbers: Vec<f32> = words(rest).map_while(number).collect();
        if READ.contains(&key.as_str()) && !numbers.is_empty() {
            entry.numbers.insert(key, numbers);
        } else if READ.contains(&key.as_str()) {
            // Colours as spectra or in XYZ, and the halo of `d`.
            let form = text(words(rest).next().unwrap_or_default());
            file.unread.insert(format!("{written} {form}"));
        } else if !is_neutral(&key, &numbers) {
            file.unread.insert(written);
        }
    }
    file
}

/// Whether a statement that is not read has the default value, so that nothing is lost.
fn is_neutral(key: &str, numbers: &[f32]) -> bool {
    let all = |value: f32| !numbers.is_empty() && numbers.iter().all(|number| *number == value);
    match key {
        "ka" | "tf" => all(0.0) || all(1.0),
        "ks" | "ps" | "pc" | "pcr" | "aniso" | "anisor" => all(0.0),
        "ni" => all(0.0) || all(1.0) || all(1.45) || all(1.5),
        // Colour with and without highlights; the others have reflection or refraction.
        "illum" => numbers.iter().all(|number| *number <= 2.0),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn statements_that_say_nothing_new_are_not_named() {
        let text = b"Kd 1 1 1\nnewmtl \"a b\"\nKa 0 0 0\nKs 0 0 0\nillum 2\nNi 1.5\nKd xyz 1 1 1\nTf .5 .5 .5\nillum 7\n";
        let file = parse(text, Path::new("a.mtl"));
        assert_eq!(file.materials[0].0, "a b");
        let unread: Vec<&str> = file.unread.iter().map(String::as_str).collect();
        assert_eq!(unread, ["Kd", "Kd xyz", "Tf", "illum"]);
    }
}
