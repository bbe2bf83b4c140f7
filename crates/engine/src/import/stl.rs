//! STL, text and binary: triangles without materials or colours. Colours, which no two programs store alike, are named in
//! a warning.
//!
//! Corners at the same place become one vertex; without normals a viewer shades each face flat, as
//! STL means it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use glam::DVec3;

use super::super::document::DocumentError;
use super::super::scene::{Attribute, Geometry};
use super::super::settings::MeshCompression;
use super::error::ImportError;
use super::far;
use super::imported::Imported;
use super::lines::{lines, number, words};
use super::scene_builder::SceneBuilder;
use assetfs_formats::number_text::grouped;

const HEADER_LEN_BYTES: usize = 84;
const TRIANGLE_LEN_BYTES: usize = 50;

/// Reads the file `model` in `dir`.
pub(super) fn import(dir: &Path, model: &Path) -> Result<Imported, ImportError> {
    let path = dir.join(model);
    let bytes = fs::read(&path).map_err(|source| DocumentError::Io { path, source })?;
    let file = super::file_names::file_name(model);
    let is_text = is_text(&bytes);
    let (geometry, offset) = if is_text {
        read_text(&file, &bytes)?
    } else {
        read_binary(&file, &bytes)?
    };
    let warnings = match is_text {
        true => Vec::new(),
        false => unread(&file, &bytes),
    };
    if geometry.indices.is_empty() {
        return Err(ImportError::Damaged {
            file,
            what: "holds no triangles".to_owned(),
        });
    }
    let name = model
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mut builder = SceneBuilder::new();
    builder.set_offset(offset);
    let mesh = builder.add_mesh(name.as_deref(), vec![(geometry, None)]);
    builder.add_root(name.as_deref(), mesh);
    Ok(Imported {
        packing: MeshCompression::None,
        scene: builder.finish(),
        model: model.to_owned(),
        format: "stl",
        size_bytes: bytes.len() as u64,
        warnings,
    })
}

/// Text starts with `solid`. Some binary files do as well, but their length matches their triangle count.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let says_solid = start
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    let is_exactly_binary =
        bytes.len() >= HEADER_LEN_BYTES && bytes.len() as u64 == binary_len_bytes(count_of(bytes));
    let head = &bytes[..bytes.len().min(1024)];
    says_solid && !is_exactly_binary && !head.contains(&0)
}

fn count_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[80..84].try_into().expect("four bytes"))
}

fn binary_len_bytes(count: u32) -> u64 {
    HEADER_LEN_BYTES as u64 + u64::from(count) * TRIANGLE_LEN_BYTES as u64
}

/// The triangles, and the offset of their positions.
fn read_binary(file: &str, bytes: &[u8]) -> Result<(Geometry, DVec3), ImportError> {
    let damaged = |what: String| ImportError::Damaged {
        file: file.to_owned(),
        what,
    };
    if bytes.len() < HEADER_LEN_BYTES {
        return Err(damaged(
            "is neither a text nor a binary STL file".to_owned(),
        ));
    }
    let count = count_of(bytes);
    if (bytes.len() as u64) < binary_len_bytes(count) {
        return Err(damaged(format!(
            "is truncated: the header says {} triangles, which take {} bytes, the file has {}",
            grouped(count.into()),
            grouped(binary_len_bytes(count)),
            grouped(bytes.len() as u64)
        )));
    }
    let triangles = bytes[HEADER_LEN_BYTES..].chunks_exact(TRIANGLE_LEN_BYTES);
    let corners = triangles.take(count as usize).flat_map(|triangle| {
        let (numbers, _) = triangle[12..48].as_chunks::<4>();
        let at = |place: usize| f64::from(f32::from_le_bytes(numbers[place]));
        [0, 3, 6].map(|corner| DVec3::new(at(corner), at(corner + 1), at(corner + 2)))
    });
    Ok(joined(corners))
}

/// What a binary file has besides triangles: two bytes of each, where some programs write its colour, and bytes after them.
fn unread(file: &str, bytes: &[u8]) -> Vec<String> {
    let count = count_of(bytes);
    let triangles = bytes[HEADER_LEN_BYTES..].chunks_exact(TRIANGLE_LEN_BYTES);
    let marked = triangles
        .take(count as usize)
        .filter(|triangle| triangle[48..] != [0, 0]);
    let beyond = bytes.len() as u64 - binary_len_bytes(count);
    [
        (
            marked.count() as u64,
            "triangles have colours or other marks, which are not read",
        ),
        (beyond, "bytes after the triangles are not read"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{file}: {} {what}", grouped(count)))
    .collect()
}

/// The triangles, and the offset of their positions.
fn read_text(file: &str, bytes: &[u8]) -> Result<(Geometry, DVec3), ImportError> {
    let mut triangles: Vec<DVec3> = Vec::new();
    let mut corners: Vec<DVec3> = Vec::new();
    for (line_number, line) in lines(bytes) {
        let mut parts = words(&line);
        let key = parts.next().unwrap_or_default();
        if key.eq_ignore_ascii_case(b"vertex") {
            let numbers: Vec<f64> = parts.map_while(number).collect();
            let [x, y, z] = numbers[..] else {
                return Err(ImportError::Damaged {
                    file: file.to_owned(),
                    what: format!("line {line_number} is not a vertex of three numbers"),
                });
            };
            corners.push(DVec3::new(x, y, z));
        } else if key.eq_ignore_ascii_case(b"endloop") {
            // A loop of more than three corners is not in the format, but some programs write it.
            for at in 1..corners.len().saturating_sub(1) {
                triangles.extend([corners[0], corners[at], corners[at + 1]]);
            }
            corners.clear();
        }
    }
    Ok(joined(triangles.into_iter()))
}

/// The triangles of corners, and the offset of their positions. Corners at the same place become one vertex.
fn joined(corners: impl Iterator<Item = DVec3> + Clone) -> (Geometry, DVec3) {
    let offset = far::offset_of(corners.clone());
    let mut builder = VertexBuilder::default();
    corners.for_each(|corner| builder.add(far::near(corner, offset)));
    (builder.finish(), offset)
}

/// Vertices by place.
#[derive(Default)]
struct VertexBuilder {
    known: HashMap<[u32; 3], u32>,
    positions: Vec<f32>,
    indices: Vec<u32>,
}

impl VertexBuilder {
    fn add(&mut self, position: [f32; 3]) {
        let bits = position.map(|number| (number + 0.0).to_bits());
        let next = self.known.len() as u32;
        let vertex = *self.known.entry(bits).or_insert(next);
        if vertex == next {
            self.positions.extend(position);
        }
        self.indices.push(vertex);
    }

    fn finish(self) -> Geometry {
        Geometry {
            indices: self.indices,
            attributes: vec![Attribute::new("POSITION", 3, self.positions)],
            ..Geometry::default()
        }
    }
}
