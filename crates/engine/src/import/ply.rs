//! PLY, text and binary: scans with colours and normals, and point clouds.
//!
//! Vertices of a binary file are read by fixed strides and faces by one pass over the bytes, so a
//! scan of millions of triangles takes milliseconds. Elements and properties that we do not know are
//! skipped by their declared sizes; every count is checked against the bytes that follow.

mod body;
mod header;

use std::fs;
use std::path::Path;

use super::super::document::uri::InputFiles;
use super::super::document::{ComponentType, DocumentError};
use super::super::scene::{Attribute, Geometry, Mode, Storage};
use super::super::settings::MeshCompression;
use super::super::srgb::linear_of_srgb;
use super::images::plain_image;
use super::normals::add_creased;
use super::scene_builder::SceneBuilder;
use super::{ImportError, Imported};
use body::Body;
use header::Header;
use serde_json::json;

/// Reads the file `model` in `dir`.
pub(super) fn import(dir: &Path, model: &Path) -> Result<Imported, ImportError> {
    let path = dir.join(model);
    let bytes = fs::read(&path).map_err(|source| DocumentError::Io { path, source })?;
    let file = super::file_name(model);
    let damaged = |what: String| ImportError::Damaged {
        file: file.clone(),
        what,
    };
    let header = Header::read(&bytes).map_err(damaged)?;
    let body = Body::read(&header, &bytes[header.len_bytes..]).map_err(damaged)?;
    let mut warnings = Vec::new();
    let geometry = build(body, &mut warnings).map_err(damaged)?;
    let mut size_bytes = bytes.len() as u64;
    let name = model
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mut builder = SceneBuilder::new();
    let has_coords = geometry.attribute("TEXCOORD_0").is_some();
    let texture = header.texture_file.as_ref().filter(|_| has_coords);
    let material = texture.and_then(|texture| {
        let found = super::find_file(&InputFiles::new(dir), model, texture);
        let read = found.and_then(|path| {
            let bytes = fs::read(&path).map_err(|error| error.to_string())?;
            size_bytes += bytes.len() as u64;
            plain_image(bytes, &path)
        });
        match read {
            Ok((bytes, media_type)) => {
                let image = builder.add_image(texture, &media_type, bytes);
                let texture = builder.add_texture(image);
                Some(builder.add_material(json!({ "pbrMetallicRoughness": {
                    "baseColorTexture": { "index": texture },
                    "metallicFactor": 0.0, "roughnessFactor": 0.9,
                } })))
            }
            Err(why) => {
                warnings.push(format!("the texture \"{texture}\" is left out: {why}"));
                None
            }
        }
    });
    let mesh = builder.add_mesh(name.as_deref(), vec![(geometry, material)]);
    builder.add_root(name.as_deref(), mesh);
    Ok(Imported {
        packing: MeshCompression::None,
        scene: builder.finish(),
        model: model.to_owned(),
        format: "ply",
        size_bytes,
        warnings,
    })
}

fn build(body: Body, warnings: &mut Vec<String>) -> Result<Geometry, String> {
    let count = body.positions.len() / 3;
    if count == 0 {
        return Err("holds no vertices".to_owned());
    }
    if let Some(beyond) = body.indices.iter().find(|index| **index as usize >= count) {
        return Err(format!(
            "has a face that names vertex {beyond}, but there are only {count}"
        ));
    }
    let is_cloud = body.indices.is_empty();
    let mut attributes = vec![Attribute::new("POSITION", 3, body.positions)];
    let has_normals = body.normals.len() == count * 3;
    if has_normals {
        attributes.push(Attribute::new("NORMAL", 3, body.normals));
    }
    if body.coords.len() == count * 2 {
        attributes.push(Attribute::new("TEXCOORD_0", 2, body.coords));
    }
    if body.colors.len() == count * 4 {
        attributes.push(colors(&body.colors));
    }
    let mut geometry = Geometry {
        mode: if is_cloud {
            Mode::Points
        } else {
            Mode::Triangles
        },
        indices: if is_cloud {
            (0..count as u32).collect()
        } else {
            body.indices
        },
        attributes,
        ..Geometry::default()
    };
    if is_cloud {
        warnings
            .push("the file is a point cloud; points are passed through as they are".to_owned());
    } else {
        geometry.compact();
        if !has_normals {
            add_creased(&mut geometry);
        }
    }
    Ok(geometry)
}

/// Converts vertex colours from sRGB to linear light, as glTF requires.
fn colors(rgba: &[f32]) -> Attribute {
    let is_opaque = rgba.chunks_exact(4).all(|color| color[3] >= 1.0);
    let width = if is_opaque { 3 } else { 4 };
    let values = rgba
        .chunks_exact(4)
        .flat_map(|color| {
            let linear = |part: f32| linear_of_srgb(part.clamp(0.0, 1.0));
            [
                linear(color[0]),
                linear(color[1]),
                linear(color[2]),
                color[3].clamp(0.0, 1.0),
            ]
            .into_iter()
            .take(width)
        })
        .collect();
    Attribute {
        storage: Storage {
            component: ComponentType::U16,
            normalized: true,
        },
        ..Attribute::new("COLOR_0", width, values)
    }
}
