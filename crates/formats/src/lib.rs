//! The table of file formats: the known extensions of 3D models, which are read and written, and the media types of
//! models and their other files.
//!
//! This is the lowest layer. The engine takes from it what it reads, the drive and the outbox what a model is, the
//! service what it converts to. [`rank_models`] chooses the model file of an upload. [`references`] finds the files
//! that a model names, and [`renamed_references`] renames them in its text. [`resolve`] finds which of its files they mean, and
//! [`input_files`] does that for a folder of this machine. [`wholeness`] checks whether a file is complete, if its format allows that. All read an open file and open
//! none. [`text`] decodes texts; [`printable`] and [`number_text`] say names and numbers of models in messages.
//! [`warnings`] has the codes of warnings, [`file_names`] the rules for names of files that are written.

pub mod file_names;
mod images;
pub mod input_files;
pub mod junk;
mod model_format;
pub mod number_text;
pub mod printable;
pub mod references;
pub mod renamed_references;
pub mod resolve;
mod rows;
pub mod shell;
mod table;
pub mod text;
pub mod warnings;
pub mod wavefront;
pub mod wholeness;
mod written;
pub mod zip;

use std::cmp::Reverse;

pub use images::{
    GltfUse, ImageKind, ImageKindRow, TextureFormat, TextureFormatRow, gltf_image_extensions,
};
pub use model_format::{Import, Kind, ModelFormat, Parts};
pub use table::MODELS;
pub use written::{
    FileFormat, FileFormatRow, GeometryPacking, HeldContent, HeldMaterials, ImageNames,
    written_in_words,
};

/// The format of a model file, by its name or path.
pub fn of_name(name: &str) -> Option<&'static ModelFormat> {
    of_extension(&extension(name))
}

/// The format with this extension; case is ignored.
pub fn of_extension(extension: &str) -> Option<&'static ModelFormat> {
    MODELS
        .iter()
        .find(|format| format.extension.eq_ignore_ascii_case(extension))
}

/// The extensions of the formats that are read, best first.
pub fn read() -> impl Iterator<Item = &'static str> {
    let read = MODELS.iter().filter(|format| format.is_read());
    read.map(|format| format.extension)
}

/// The media type of a file, by its name or path; `None` if it is unknown.
pub fn media_type(name: &str) -> Option<&'static str> {
    let extension = extension(name);
    let beside = table::BESIDE.iter().find(|(known, _)| *known == extension);
    // The others are not expected beside models.
    let image =
        || ImageKind::of_extension(&extension).filter(|kind| kind.row().gltf != GltfUse::Forbidden);
    of_extension(&extension)
        .and_then(|format| format.media_type)
        .or(beside.map(|(_, media_type)| *media_type))
        .or_else(|| Some(image()?.media_type()))
}

/// The extension of a name or path in lower case, or empty. A name whose only dot is its first character has none.
pub fn extension(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

/// The models among the files of an upload, the chosen one first. `files` are paths and sizes.
///
/// Formats of meshes that the engine reads come first, then archives, then CAD files that it reads, then other formats. Within these the order is: fewest
/// parent folders, format, largest file, name. So the choice is deterministic.
pub fn rank_models<'a>(files: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<&'a str> {
    let mut found: Vec<_> = files
        .into_iter()
        .filter_map(|(name, size)| {
            let extension = extension(name);
            let rank = MODELS.iter().position(|it| it.extension == extension)?;
            let format = &MODELS[rank];
            let use_of = match format.kind {
                // They need another program, which may be missing.
                Kind::Cad if format.is_read() => 2,
                _ if format.is_read() => 0,
                Kind::Archive => 1,
                _ => 3,
            };
            Some((use_of, name.matches('/').count(), rank, Reverse(size), name))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(.., name)| name).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_extension_is_listed_twice_and_all_are_lower_case() {
        let mut seen = HashSet::new();
        let models = MODELS.iter().map(|format| format.extension);
        let beside = table::BESIDE.iter().map(|(known, _)| *known);
        let images = ImageKind::ALL.iter().map(|kind| kind.row());
        let images = images.flat_map(|row| [Some(row.name), row.other_name]);
        for extension in models.chain(beside).chain(images.flatten()) {
            assert!(seen.insert(extension), "{extension}");
            assert_eq!(extension, extension.to_lowercase());
        }
    }

    #[test]
    fn the_model_of_an_upload_is_the_same_for_every_caller() {
        let cases: &[(&[(&str, u64)], &str)] = &[
            (
                &[("wood.png", 9), ("c.bin", 9), ("chair.gltf", 1)],
                "chair.gltf",
            ),
            (&[("a/b.obj", 1), ("b.obj", 1), ("b.mtl", 1)], "b.obj"),
            (&[("chair.gltf", 1), ("chair.glb", 1)], "chair.glb"),
            // Fewer parent folders count more than the format.
            (&[("parts/chair.glb", 1), ("chair.obj", 1)], "chair.obj"),
            (&[("small.glb", 1), ("large.glb", 2)], "large.glb"),
            (&[("b.glb", 1), ("a.glb", 1)], "a.glb"),
            // Meshes that are read, then archives, then CAD files that are read, then other formats.
            (&[("chair.blend", 1), ("a/chair.step", 1)], "a/chair.step"),
            (
                &[("chair.step", 1), ("deep/er/chair.stl", 1)],
                "deep/er/chair.stl",
            ),
            (&[("chair.step", 1), ("chair.zip", 1)], "chair.zip"),
            (&[("Füchs.GLB", 1)], "Füchs.GLB"),
        ];
        for (files, model) in cases {
            let ranked = rank_models(files.iter().copied());
            assert_eq!(ranked.first(), Some(model), "{files:?}");
        }
        assert!(rank_models([("readme", 1), ("a.png", 1)]).is_empty());
    }

    #[test]
    fn a_media_type_is_known_for_models_and_what_stands_beside_them() {
        for (name, media_type) in [
            ("chair.GLB", Some("model/gltf-binary")),
            ("a.b/chair.gltf", Some("model/gltf+json")),
            ("chair.usdz", Some("model/vnd.usdz+zip")),
            ("chair.ply", Some("model/ply")),
            ("wood.jpeg", Some("image/jpeg")),
            ("page.html", None),
            ("chair.blend", None),
            (".glb", None),
            ("a.b/readme", None),
        ] {
            assert_eq!(super::media_type(name), media_type, "{name}");
        }
    }

    #[test]
    fn every_format_that_is_written_is_a_format_of_models_with_a_media_type() {
        for name in FileFormat::NAMES {
            let known = of_extension(name).and_then(|format| format.media_type);
            assert!(known.is_some(), "{name}");
        }
        assert!(FileFormat::NAMES.is_sorted());
    }
}
