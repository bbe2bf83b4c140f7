//! Converts a scene to triangles in world space, for formats without nodes. Positions are measured from the scene's origin,
//! which writers add in 64 bits.
//!
//! Skins and morph targets are in their rest pose. A mesh that is drawn twice is written twice.

use glam::{Mat3, Vec3};

use super::super::scene::{Geometry, Scene};

/// The triangles of one primitive as one node draws them.
#[derive(Debug)]
pub(super) struct FlatPart {
    /// The name of its node or mesh.
    pub(super) name: Option<String>,
    /// Index into the scene's materials.
    pub(super) material: Option<usize>,
    /// Whether it is the first part of a mesh that a node draws.
    pub(super) begins_object: bool,
    /// Positions in world space, measured from the scene's origin.
    pub(super) positions: Vec<Vec3>,
    /// Unit vectors in world space, one for each position, or none.
    pub(super) normals: Vec<Vec3>,
    /// One for each position, or none; v points down, as in glTF.
    pub(super) coords: Vec<[f32; 2]>,
    /// Linear colour and alpha, one for each position, or none.
    pub(super) colors: Vec<[f32; 4]>,
    /// Three for each triangle.
    pub(super) indices: Vec<u32>,
}

/// Whether the default scene draws any triangle.
pub fn draws_triangles(scene: &Scene) -> bool {
    let is_drawn = |mesh: usize| {
        scene.meshes[mesh]
            .primitives
            .iter()
            .any(|primitive| scene.geometries[primitive.geometry].triangle_count() > 0)
    };
    scene.draws().iter().any(|draw| is_drawn(draw.mesh))
}

/// All triangles of the default scene.
pub(super) fn flatten(scene: &Scene) -> Vec<FlatPart> {
    let mut parts = Vec::new();
    for draw in scene.draws() {
        let mesh = &scene.meshes[draw.mesh];
        let node = scene.list("nodes")[draw.node]["name"].as_str();
        let name = node.or(mesh.name()).map(str::to_owned);
        let first = parts.len();
        for primitive in &mesh.primitives {
            let geometry = &scene.geometries[primitive.geometry];
            if geometry.triangle_count() == 0 {
                continue;
            }
            let fixed = draw
                .joints
                .is_none()
                .then(|| draw.normal_matrix(geometry, 0));
            let normals = geometry.attribute("NORMAL").map_or(Vec::new(), |normals| {
                normals
                    .values
                    .chunks_exact(3)
                    .enumerate()
                    .map(|(vertex, normal)| {
                        let turn = fixed.unwrap_or_else(|| draw.normal_matrix(geometry, vertex));
                        (turn * Vec3::from_slice(normal)).normalize_or(Vec3::Y)
                    })
                    .collect()
            });
            let coords = geometry
                .attribute("TEXCOORD_0")
                .map_or(Vec::new(), |coords| coords.values.as_chunks().0.to_vec());
            let mut indices = geometry.indices.clone();
            // A mirroring matrix turns triangles inside out, so two of their corners are swapped.
            if Mat3::from_mat4(draw.vertex_matrix(geometry, 0)).determinant() < 0.0 {
                indices
                    .chunks_exact_mut(3)
                    .for_each(|corners| corners.swap(1, 2));
            }
            parts.push(FlatPart {
                name: name.clone(),
                material: primitive.material,
                begins_object: parts.len() == first,
                positions: draw.world_positions(geometry),
                normals,
                coords,
                colors: colors_of(geometry),
                indices,
            });
        }
    }
    parts
}

/// The colour of each vertex; empty if the geometry has none.
fn colors_of(geometry: &Geometry) -> Vec<[f32; 4]> {
    geometry.attribute("COLOR_0").map_or(Vec::new(), |colors| {
        (0..colors.count())
            .map(|vertex| match *colors.at(vertex) {
                [red, green, blue] => [red, green, blue, 1.0],
                [red, green, blue, alpha] => [red, green, blue, alpha],
                _ => [1.0; 4],
            })
            .collect()
    })
}
