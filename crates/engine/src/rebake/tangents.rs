//! Unwraps a low mesh and computes the tangents that its normal map is baked for.

use bevy_mikktspace::{TangentSpace, generate_tangents};
use glam::Vec3;

use super::super::clean::weld_by;
use super::super::scene::{Attribute, Geometry};
use super::super::unwrap::Unwrapped;

/// The low mesh with the texture coordinates of its unwrapping and, if wanted, tangents.
pub(super) fn with_coordinates(
    low: &Geometry,
    unwrapped: &Unwrapped,
    wants_tangents: bool,
) -> Geometry {
    let mut mesh = low.clone();
    mesh.keep_vertices(&unwrapped.source);
    mesh.indices.clone_from(&unwrapped.indices);
    let coords = unwrapped.uvs.as_flattened().to_vec();
    mesh.attributes
        .push(Attribute::new("TEXCOORD_0", 2, coords));
    if wants_tangents {
        add_to(&mut mesh);
    }
    mesh
}

/// Gives a mesh the tangents of its first set of texture coordinates in place of others that it has. Tangents belong to
/// corners: a vertex whose corners differ is split. A mesh without normals gets those of its triangles.
pub(super) fn add_to(mesh: &mut Geometry) {
    let corners = std::mem::take(&mut mesh.indices);
    mesh.keep_vertices(&corners);
    mesh.indices = (0..corners.len() as u32).collect();
    mesh.attributes.retain(|known| known.name != "TANGENT");
    if mesh.attribute("NORMAL").is_none() {
        let normals = flat_normals(mesh);
        mesh.attributes.push(Attribute::new("NORMAL", 3, normals));
    }
    let tangents = tangents(mesh);
    mesh.attributes.push(Attribute::new("TANGENT", 4, tangents));
    weld_by(mesh, |_| true);
    mesh.compact();
}

/// The normal of its triangle for each corner of a mesh whose corners are its vertices, in order.
fn flat_normals(mesh: &Geometry) -> Vec<f32> {
    let triangles = mesh.indices.chunks_exact(3);
    triangles
        .flat_map(|corners| {
            let [a, b, c] = [0, 1, 2].map(|at| mesh.position(corners[at]));
            let normal = (b - a).cross(c - a).normalize_or(Vec3::Y).to_array();
            [normal; 3].concat()
        })
        .collect()
}

/// Corners, three for each face.
struct Corners<'g> {
    positions: &'g [f32],
    normals: &'g [f32],
    coords: &'g [f32],
    tangents: Vec<f32>,
}

impl bevy_mikktspace::Geometry for Corners<'_> {
    fn num_faces(&self) -> usize {
        self.positions.len() / 9
    }

    fn num_vertices_of_face(&self, _face: usize) -> usize {
        3
    }

    fn position(&self, face: usize, corner: usize) -> [f32; 3] {
        let at = (face * 3 + corner) * 3;
        [0, 1, 2].map(|axis| self.positions[at + axis])
    }

    fn normal(&self, face: usize, corner: usize) -> [f32; 3] {
        let at = (face * 3 + corner) * 3;
        [0, 1, 2].map(|axis| self.normals[at + axis])
    }

    fn tex_coord(&self, face: usize, corner: usize) -> [f32; 2] {
        let at = (face * 3 + corner) * 2;
        [self.coords[at], self.coords[at + 1]]
    }

    fn set_tangent(&mut self, found: Option<TangentSpace>, face: usize, corner: usize) {
        let normal = Vec3::from_array(self.normal(face, corner));
        let [x, y, z, sign] = found.map_or([0.0; 4], |found| found.tangent_encoded());
        let tangent = Vec3::new(x, y, z);
        // A degenerate triangle has no tangent; any direction along the surface is valid.
        let unit = (tangent - normal * normal.dot(tangent))
            .try_normalize()
            .unwrap_or_else(|| normal.normalize_or(Vec3::Y).any_orthonormal_vector());
        // v points down in the image, and in glTF the bitangent points up.
        let sign = if sign < 0.0 { 1.0 } else { -1.0 };
        let at = (face * 3 + corner) * 4;
        self.tangents[at..at + 4].copy_from_slice(&[unit.x, unit.y, unit.z, sign]);
    }
}

/// Four numbers for each corner of a mesh whose corners are its vertices, in order.
fn tangents(mesh: &Geometry) -> Vec<f32> {
    let values = |name: &str| mesh.attribute(name).map_or(&[][..], |found| &found.values);
    let mut corners = Corners {
        positions: values("POSITION"),
        normals: values("NORMAL"),
        coords: values("TEXCOORD_0"),
        tangents: vec![0.0; mesh.indices.len() * 4],
    };
    generate_tangents(&mut corners).expect("the algorithm has no errors");
    corners.tangents
}
