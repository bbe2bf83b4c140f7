//! USDZ: a USD stage as text and its images in an aligned, uncompressed archive.
//!
//! The stage holds the hierarchy, meshes, materials, skins and the first animation of the default scene. A mesh that is drawn
//! more than once is written once and referenced. Morph targets are written as they are at rest; the warnings say so.

mod arkit;
mod geometry;
mod lines;
mod material;
mod shared;
mod skeleton;
mod stage;

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

pub use arkit::arkit_issues;

use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::super::scene::Scene;
use super::ExportError;
use super::flat::{has_points_or_lines, has_targets};

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

/// Warnings about the parts of a scene that a usdz cannot hold.
pub(super) fn losses(scene: &Scene) -> Vec<String> {
    let mut lost = Vec::new();
    let animations = scene.list("animations");
    if animations.len() > 1 {
        let name = animations[0]["name"].as_str().unwrap_or("the first");
        lost.push(format!(
            "usdz holds one animation: \"{name}\" is written, {} others are left out",
            animations.len() - 1
        ));
    }
    for (is_there, what) in [
        (has_targets(scene), "morph targets"),
        (has_points_or_lines(scene), "points and lines"),
    ] {
        if is_there {
            lost.push(format!("usdz cannot hold {what}; they are left out"));
        }
    }
    lost
}

/// The name as an identifier that is not taken yet.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let base = identifier(name);
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

/// A number as USD reads it.
fn number(value: f32) -> f32 {
    if value.is_finite() { value } else { 0.0 }
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
