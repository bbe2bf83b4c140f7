//! All triangles of a scene as one mesh in one space, so that one error bound holds for all of them.
//!
//! Each geometry is placed where a node draws it largest. Borders that two parts share become seams that collapse
//! together, so no crack opens between them; parts that coincide are moved apart by a tiny distance, because the
//! simplifier would otherwise treat them as one. Seams are crossed only if everything that differs across them counts
//! in the error, and never between parts.

mod borders;
mod build;
pub(super) mod pieces;
mod placement;
mod seams;
mod shape;
mod space;
mod write_back;

use std::sync::Arc;

use glam::Mat4;
use meshopt::SimplifyVertex;

use super::recipe::Recipe;
use space::JoinedSpace;

/// One geometry's part of the joined mesh.
#[derive(Debug, Clone)]
pub(super) struct JoinedPart {
    /// Index into the scene's geometries.
    pub(super) geometry: usize,
    /// Its vertices: `first_vertex..end_vertex`.
    pub(super) first_vertex: usize,
    pub(super) end_vertex: usize,
    /// Matrices from the geometry's space to the joined space, and back.
    to_joined: Mat4,
    from_joined: Mat4,
    /// Number of draws of the geometry.
    pub(super) uses: u64,
    /// Attribute values are multiplied by these in the joined mesh.
    normal_scale: f32,
    tangent_scale: f32,
    color_scale: f32,
    tex_coord_scale: f32,
    /// Whether a texture shows its texture coordinates.
    shows_coords: bool,
}

/// The scene's triangles as one mesh.
#[derive(Debug, Clone, Default)]
pub(super) struct JoinedMesh {
    pub(super) indices: Vec<u32>,
    pub(super) positions: Vec<[f32; 3]>,
    /// `weights.len()` numbers for each vertex.
    pub(super) attributes: Vec<f32>,
    pub(super) weights: Vec<f32>,
    /// For each vertex, whether its seam must not be crossed, and the flags of the recipe.
    pub(super) protections: Vec<SimplifyVertex>,
    pub(super) parts: Vec<JoinedPart>,
    /// The part of each vertex.
    part_of_vertex: Arc<Vec<u32>>,
    pub(super) recipe: Recipe,
    space: JoinedSpace,
    columns: Columns,
}

/// The first column of each attribute in a vertex of the joined mesh.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    normal: Option<usize>,
    tangent: Option<usize>,
    color: Option<usize>,
    tex_coord: Option<usize>,
    morphs: Option<usize>,
    morph_count: usize,
    motion: Option<usize>,
    pose_count: usize,
}

impl JoinedMesh {
    /// Whether two results of one source have the same triangles at the same places.
    pub(super) fn is_drawn_like(&self, other: &JoinedMesh) -> bool {
        self.indices == other.indices
            && self.positions == other.positions
            && self.attributes == other.attributes
    }

    /// Whether every position is a number.
    pub(super) fn is_finite(&self) -> bool {
        self.positions
            .iter()
            .flatten()
            .all(|number| number.is_finite())
    }

    /// World units per unit of the joined space.
    pub(super) fn extent(&self) -> f32 {
        self.space.extent
    }

    /// Triangles as a viewer counts them.
    pub(super) fn drawn_triangles(&self) -> u64 {
        self.triangles_of_parts()
            .iter()
            .zip(&self.parts)
            .map(|(count, part)| count * part.uses)
            .sum()
    }

    /// The remaining triangles of each part.
    pub(super) fn triangles_of_parts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.parts.len()];
        for corners in self.indices.chunks_exact(3) {
            counts[self.part_of(corners[0])] += 1;
        }
        counts
    }

    /// Some parts, each as a mesh of its own, in the same order. `wanted` names no part twice.
    pub(super) fn split(&self, wanted: &[usize]) -> Vec<JoinedMesh> {
        let mut slots = vec![None; self.parts.len()];
        for (slot, part) in wanted.iter().enumerate() {
            slots[*part] = Some(slot);
        }
        let mut indices: Vec<Vec<u32>> = vec![Vec::new(); wanted.len()];
        for corners in self.indices.chunks_exact(3) {
            let part = self.part_of(corners[0]);
            if let Some(slot) = slots[part] {
                let first = self.parts[part].first_vertex as u32;
                indices[slot].extend(corners.iter().map(|index| index - first));
            }
        }
        let parts = wanted.iter().zip(indices);
        parts
            .map(|(part, indices)| self.alone(*part, indices))
            .collect()
    }

    /// One part as a mesh of its own; `indices` are its triangles, counted from its first vertex.
    fn alone(&self, part: usize, indices: Vec<u32>) -> JoinedMesh {
        let known = &self.parts[part];
        let (first, end) = (known.first_vertex, known.end_vertex);
        let stride = self.weights.len();
        JoinedMesh {
            indices,
            positions: self.positions[first..end].to_vec(),
            attributes: self.attributes[first * stride..end * stride].to_vec(),
            weights: self.weights.clone(),
            protections: self.protections[first..end].to_vec(),
            parts: vec![JoinedPart {
                first_vertex: 0,
                end_vertex: end - first,
                ..known.clone()
            }],
            part_of_vertex: Arc::new(vec![0; end - first]),
            recipe: self.recipe,
            space: self.space,
            columns: self.columns,
        }
    }

    /// The same mesh with the triangles of which `keep` says so; it gets the first corner of each.
    pub(super) fn filtered(&self, keep: impl Fn(u32) -> bool) -> JoinedMesh {
        let indices = self
            .indices
            .chunks_exact(3)
            .filter(|corners| keep(corners[0]))
            .flatten()
            .copied()
            .collect();
        JoinedMesh {
            indices,
            ..self.without_triangles()
        }
    }

    /// The same vertices and parts without any triangle.
    pub(super) fn without_triangles(&self) -> JoinedMesh {
        JoinedMesh {
            indices: Vec::new(),
            positions: self.positions.clone(),
            attributes: self.attributes.clone(),
            weights: self.weights.clone(),
            protections: self.protections.clone(),
            parts: self.parts.clone(),
            part_of_vertex: Arc::clone(&self.part_of_vertex),
            ..*self
        }
    }

    /// Adds the triangles of a part that was simplified alone; this mesh must have none of that part.
    pub(super) fn restore(&mut self, part: usize, alone: &JoinedMesh) {
        let first = self.parts[part].first_vertex;
        let stride = self.weights.len();
        self.positions[first..first + alone.positions.len()].copy_from_slice(&alone.positions);
        self.attributes[first * stride..first * stride + alone.attributes.len()]
            .copy_from_slice(&alone.attributes);
        let offset = first as u32;
        self.indices
            .extend(alone.indices.iter().map(|index| index + offset));
    }

    /// The index of the part that a vertex belongs to.
    pub(super) fn part_of(&self, vertex: u32) -> usize {
        self.part_of_vertex[vertex as usize] as usize
    }
}

fn scaled(to: &mut [f32], from: &[f32], factor: f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from * factor;
    }
}
