//! USDZ: a USD stage as text and its images in an aligned, uncompressed archive.
//!
//! The stage holds the hierarchy, meshes and materials of the default scene. Skins and morph targets are written in
//! their rest pose and animations are left out; the warnings say so.

mod arkit;
mod material;
mod stage;

use std::io::{Cursor, Write};

pub use arkit::arkit_issues;

use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::super::scene::Scene;
use super::ExportError;

/// Every file in the archive starts at a multiple of this, so that it can be mapped into memory.
const ALIGNMENT: u16 = 64;

pub fn write_usdz(scene: &Scene, stem: &str) -> Result<Vec<u8>, ExportError> {
    let stage = stage::write_stage(scene);
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .with_alignment(ALIGNMENT);
    let main = (
        format!("{}.usda", identifier(stem)),
        stage.text.into_bytes().into(),
    );
    for (name, bytes) in std::iter::once(main).chain(stage.images) {
        archive
            .start_file(name, options)
            .and_then(|()| Ok(archive.write_all(&bytes)?))
            .map_err(|error| ExportError::Archive(error.to_string()))?;
    }
    let file = archive
        .finish()
        .map_err(|error| ExportError::Archive(error.to_string()))?;
    Ok(file.into_inner())
}

/// A name as USD allows it: letters, digits and underscores of ASCII, no digit first.
fn identifier(name: &str) -> String {
    let mut plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '_'
            }
        })
        .collect();
    if plain.is_empty() || plain.starts_with(|letter: char| letter.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    plain
}
