//! Geometry of a PLY file whose corners or faces have values of their own: one part for each texture.

use std::collections::BTreeMap;

use super::super::colors::colors_of_srgb;
use super::body::Body;
use crate::alike::{bits_of, distinct};
use crate::scene::{Attribute, Geometry};

/// A corner: its vertex, and the bits of its texture coordinates and colour.
type PlyCorner = (u32, [u32; 2], [u32; 4]);

/// The parts of the model by the number of their texture; below zero for none.
pub(super) fn parts(body: &Body) -> BTreeMap<i32, Geometry> {
    let mut triangles: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    for triangle in 0..body.indices.len() / 3 {
        let texture = body.textures.get(triangle).copied().unwrap_or(0);
        triangles.entry(texture.max(-1)).or_default().push(triangle);
    }
    let of_texture = |(texture, triangles): (i32, Vec<usize>)| (texture, part(body, &triangles));
    triangles.into_iter().map(of_texture).collect()
}

fn part(body: &Body, triangles: &[usize]) -> Geometry {
    let vertices = &body.vertices;
    let corners = triangles
        .iter()
        .flat_map(|triangle| triangle * 3..triangle * 3 + 3);
    let keys = corners.map(|at| -> PlyCorner {
        (
            body.indices[at],
            bits(&body.corner_coords, at),
            bits(&body.corner_colors, at),
        )
    });
    let (corners, indices) = distinct(keys);
    let of_vertices = |values: &[f32], width: usize| -> Vec<f32> {
        let starts = corners.iter().map(|(vertex, ..)| *vertex as usize * width);
        starts
            .flat_map(|start| values[start..start + width].to_vec())
            .collect()
    };
    let positions = of_vertices(&vertices.positions, 3);
    let mut attributes = vec![Attribute::new("POSITION", 3, positions)];
    if !vertices.normals.is_empty() {
        let normals = of_vertices(&vertices.normals, 3);
        attributes.push(Attribute::new("NORMAL", 3, normals));
    }
    let coords = match (body.corner_coords.is_empty(), vertices.coords.is_empty()) {
        (false, _) => corners
            .iter()
            .flat_map(|(_, coords, _)| coords.map(f32::from_bits))
            .collect(),
        (true, false) => of_vertices(&vertices.coords, 2),
        (true, true) => Vec::new(),
    };
    if !coords.is_empty() {
        attributes.push(Attribute::new("TEXCOORD_0", 2, coords));
    }
    let colors = match (body.corner_colors.is_empty(), vertices.colors.is_empty()) {
        (false, _) => corners
            .iter()
            .flat_map(|(.., color)| color.map(f32::from_bits))
            .collect(),
        (true, false) => of_vertices(&vertices.colors, 4),
        (true, true) => Vec::new(),
    };
    if !colors.is_empty() {
        attributes.push(colors_of_srgb(colors.as_chunks().0.iter().copied()));
    }
    Geometry {
        indices,
        attributes,
        ..Geometry::default()
    }
}

/// The bits of the values of a corner; zeros without values.
fn bits<const N: usize>(values: &[f32], corner: usize) -> [u32; N] {
    match values.get(corner * N..corner * N + N) {
        Some(values) => bits_of(std::array::from_fn(|at| values[at])),
        None => [0; N],
    }
}
