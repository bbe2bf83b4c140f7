//! PLY, text and binary: scans with colours and normals, and point clouds.
//!
//! Vertices of a binary file are read by fixed strides and faces by one pass over the bytes, so a scan of millions of
//! triangles takes milliseconds. Elements and properties that we do not know are skipped by their declared sizes and
//! named in a warning; every count is checked against the bytes that follow.

mod body;
mod corners;
mod header;
mod source;
mod vertices;

use std::fs;
use std::path::Path;

use super::super::scene::{Attribute, Geometry, Mode};
use super::colors::colors_of_srgb;
use super::error::ImportError;
use super::file_names::read_file;
use super::images::plain_image;
use super::imported::Imported;
use super::normals::add_creased;
use super::scene_builder::SceneBuilder;
use assetfs_formats::input_files::InputFiles;
use assetfs_formats::warnings::{Warning, WarningKind};
use body::Body;
use header::Header;
use serde_json::json;

/// Properties of vertices that only Gaussian splats have: as they are trained, and as SuperSplat packs them.
const OF_SPLATS: &[&str] = &["f_dc_0", "rot_0", "packed_position", "packed_rotation"];

/// Reads the file `model` in `dir`.
pub(super) fn import(dir: &Path, model: &Path) -> Result<Imported, ImportError> {
    let (file, bytes) = read_file(dir, model)?;
    let damaged = |what: String| ImportError::Damaged {
        file: file.clone(),
        what,
    };
    let header = Header::read(&bytes).map_err(damaged)?;
    if is_splat(&header) {
        return Err(super::error::gaussian_splat(&file));
    }
    let mut body = Body::read(&header, &bytes[header.len_bytes..]).map_err(damaged)?;
    body.pad();
    let mut builder = SceneBuilder::new();
    let left_out = std::mem::take(&mut body.left_out).into_iter();
    builder.warnings = left_out.map(|what| what.of(&file)).collect();
    let offset = body.vertices.offset;
    let parts = build(body, &mut builder.warnings).map_err(damaged)?;
    builder.set_offset(offset);
    let mut textures = Textures {
        dir,
        model,
        size_bytes: bytes.len() as u64,
    };
    let parts = textures.put_on(parts, &header.texture_files, &mut builder);
    let name = model
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mesh = builder.add_mesh(name.as_deref(), parts);
    builder.add_root(name.as_deref(), mesh);
    Ok(builder.finish_model(model, "ply", textures.size_bytes))
}

fn is_splat(header: &Header) -> bool {
    let vertices = header.element("vertex");
    vertices.is_some_and(|vertices| OF_SPLATS.iter().any(|name| vertices.has(name)))
}

/// Reads the images that the comments of a file name.
struct Textures<'a> {
    dir: &'a Path,
    model: &'a Path,
    /// Bytes of the model and all files read for it.
    size_bytes: u64,
}

impl Textures<'_> {
    /// Gives each part the material of its texture. The number of a texture is its index in `names`.
    fn put_on(
        &mut self,
        parts: Vec<(Geometry, i32)>,
        names: &[String],
        builder: &mut SceneBuilder,
    ) -> Vec<(Geometry, Option<usize>)> {
        let is_used = |number: usize| {
            let shows = |(part, own): &(Geometry, i32)| {
                *own == number as i32 && part.attribute("TEXCOORD_0").is_some()
            };
            parts.iter().any(shows)
        };
        let mut materials = Vec::new();
        for (number, name) in names.iter().enumerate() {
            materials.push(match is_used(number) {
                true => self.material(name, builder),
                false => {
                    builder.warn(WarningKind::BadTexture, format!(
                        "the texture \"{name}\" is left out: no texture coordinates of the file refer to it"
                    ));
                    None
                }
            });
        }
        let material_of = |number: i32| {
            let number = usize::try_from(number).ok()?;
            materials.get(number).copied().flatten()
        };
        if let Some((_, number)) = parts
            .iter()
            .find(|(_, number)| *number > 0 && *number as usize >= names.len())
        {
            builder.warn(WarningKind::Damaged, format!(
                "faces have the texnumber {number}, but the file names {} textures; these faces get no texture",
                names.len()
            ));
        }
        parts
            .into_iter()
            .map(|(part, number)| (part, material_of(number)))
            .collect()
    }

    fn material(&mut self, texture: &str, builder: &mut SceneBuilder) -> Option<usize> {
        let found = super::file_names::find_file(&InputFiles::new(self.dir), self.model, texture);
        let read = found.and_then(|path| {
            let bytes = fs::read(&path).map_err(|error| error.to_string())?;
            self.size_bytes += bytes.len() as u64;
            Ok(plain_image(bytes, &path)?)
        });
        match read {
            Ok((bytes, kind)) => {
                let image = builder.add_image(texture, kind, bytes);
                let texture = builder.add_texture(image);
                Some(builder.add_material(json!({ "pbrMetallicRoughness": {
                    "baseColorTexture": { "index": texture },
                    "metallicFactor": 0.0, "roughnessFactor": 0.9,
                } })))
            }
            Err(why) => {
                builder.warnings.push(why.warning(texture));
                None
            }
        }
    }
}

/// The parts of the model, each with the number of its texture.
fn build(body: Body, warnings: &mut Vec<Warning>) -> Result<Vec<(Geometry, i32)>, String> {
    let count = body.vertices.count();
    if count == 0 {
        return Err("holds no vertices".to_owned());
    }
    if let Some(beyond) = body.indices.iter().find(|index| **index as usize >= count) {
        return Err(format!(
            "has a face that names vertex {beyond}, but there are only {count}"
        ));
    }
    if body.indices.is_empty() {
        warnings.push(Warning::new(
            WarningKind::NotRead,
            "the file is a point cloud; points are passed through as they are",
        ));
        return Ok(vec![(of_vertices(body), 0)]);
    }
    for (of_corners, of_vertices, what) in [
        (
            &body.corner_coords,
            &body.vertices.coords,
            "texture coordinates",
        ),
        (&body.corner_colors, &body.vertices.colors, "colours"),
    ] {
        if !of_corners.is_empty() && !of_vertices.is_empty() {
            warnings.push(Warning::new(
                WarningKind::NotRead,
                format!("faces and vertices have {what}; those of the faces are read"),
            ));
        }
    }
    let has_own_corners = !body.corner_coords.is_empty()
        || !body.corner_colors.is_empty()
        || !body.textures.is_empty();
    let has_normals = !body.vertices.normals.is_empty();
    let mut parts: Vec<(Geometry, i32)> = match has_own_corners {
        true => corners::parts(&body)
            .into_iter()
            .map(|(texture, part)| (part, texture))
            .collect(),
        false => vec![(of_vertices(body), 0)],
    };
    for (geometry, _) in &mut parts {
        geometry.compact();
        if !has_normals {
            add_creased(geometry);
        }
    }
    Ok(parts)
}

/// One geometry with the values of the vertices.
fn of_vertices(body: Body) -> Geometry {
    let vertices = body.vertices;
    let is_cloud = body.indices.is_empty();
    let all = 0..vertices.count() as u32;
    let mut attributes = vec![Attribute::new("POSITION", 3, vertices.positions)];
    if !vertices.normals.is_empty() {
        attributes.push(Attribute::new("NORMAL", 3, vertices.normals));
    }
    if !vertices.coords.is_empty() {
        attributes.push(Attribute::new("TEXCOORD_0", 2, vertices.coords));
    }
    if !vertices.colors.is_empty() {
        let colors = vertices.colors.as_chunks().0.iter().copied();
        attributes.push(colors_of_srgb(colors));
    }
    Geometry {
        mode: match is_cloud {
            true => Mode::Points,
            false => Mode::Triangles,
        },
        indices: match is_cloud {
            true => all.collect(),
            false => body.indices,
        },
        attributes,
        ..Geometry::default()
    }
}
