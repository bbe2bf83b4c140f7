//! Unwraps a low mesh and computes the tangents that its normal map is baked for.

use glam::Vec3;
use meshopt::{TangentOptions, generate_tangents};

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
    mesh.attributes.retain(|known| known.name != "TANGENT");
    if mesh.attribute("NORMAL").is_none() {
        split_corners(mesh);
        let normals = flat_normals(mesh);
        mesh.attributes.push(Attribute::new("NORMAL", 3, normals));
    }
    let tangents = tangents(mesh);
    split_corners(mesh);
    mesh.attributes.push(Attribute::new("TANGENT", 4, tangents));
    weld_by(mesh, |_| true);
    mesh.compact();
}

/// Gives each corner a vertex of its own, in order.
fn split_corners(mesh: &mut Geometry) {
    let corners = std::mem::take(&mut mesh.indices);
    mesh.keep_vertices(&corners);
    mesh.indices = (0..corners.len() as u32).collect();
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

/// Four numbers for each corner, as MikkTSpace computes them (<http://www.mikktspace.com>), which is what glTF asks for.
fn tangents(mesh: &Geometry) -> Vec<f32> {
    let values = |name: &str| mesh.attribute(name).map_or(&[][..], |found| &found.values);
    let positions = values("POSITION").as_chunks().0;
    let units: Vec<[f32; 3]> = values("NORMAL")
        .as_chunks()
        .0
        .iter()
        .map(|it| Vec3::from_array(*it).normalize_or(Vec3::Y).to_array())
        .collect();
    // v points down in the image, and the bitangent points up.
    let coords = values("TEXCOORD_0").as_chunks().0.iter();
    let coords: Vec<[f32; 2]> = coords.map(|[u, v]| [*u, 1.0 - v]).collect();
    let compatible = TangentOptions::Compatible;
    let found = generate_tangents(Some(&mesh.indices), positions, &units, &coords, compatible);
    let corners = mesh.indices.iter().zip(found);
    corners
        .flat_map(|(vertex, [x, y, z, sign])| {
            let normal = Vec3::from_array(units[*vertex as usize]);
            let tangent = Vec3::new(x, y, z);
            // A degenerate triangle has no tangent; any direction along the surface is valid.
            let unit = (tangent - normal * normal.dot(tangent))
                .try_normalize()
                .unwrap_or_else(|| normal.any_orthonormal_vector());
            [unit.x, unit.y, unit.z, sign.signum()]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use bevy_mikktspace::TangentSpace;

    use super::*;
    use crate::sample::{ChairDetail, write_chair_with};

    /// Corners, three for each face.
    struct Corners<'g> {
        mesh: &'g Geometry,
        tangents: Vec<Vec3>,
        signs: Vec<f32>,
    }

    impl Corners<'_> {
        fn values<const N: usize>(&self, name: &str, face: usize, corner: usize) -> [f32; N] {
            let values = self.mesh.attribute(name).unwrap().values.as_chunks().0;
            values[self.mesh.indices[face * 3 + corner] as usize]
        }
    }

    impl bevy_mikktspace::Geometry for Corners<'_> {
        fn num_faces(&self) -> usize {
            self.mesh.indices.len() / 3
        }

        fn num_vertices_of_face(&self, _face: usize) -> usize {
            3
        }

        fn position(&self, face: usize, corner: usize) -> [f32; 3] {
            self.values("POSITION", face, corner)
        }

        fn normal(&self, face: usize, corner: usize) -> [f32; 3] {
            Vec3::from_array(self.values("NORMAL", face, corner))
                .normalize_or(Vec3::Y)
                .to_array()
        }

        fn tex_coord(&self, face: usize, corner: usize) -> [f32; 2] {
            let [u, v] = self.values("TEXCOORD_0", face, corner);
            [u, 1.0 - v]
        }

        fn set_tangent(&mut self, found: Option<TangentSpace>, face: usize, corner: usize) {
            let [x, y, z, sign] = found.map_or([0.0; 4], |found| found.tangent_encoded());
            self.tangents[face * 3 + corner] = Vec3::new(x, y, z);
            self.signs[face * 3 + corner] = sign;
        }
    }

    #[test]
    fn tangents_are_those_of_mikktspace() {
        let dir = tempfile::tempdir().unwrap();
        let chair = write_chair_with(dir.path(), ChairDetail::Small).unwrap();
        let scene = crate::import::import(&chair.dir, &chair.names)
            .unwrap()
            .scene;
        let has_all = |mesh: &&Geometry| {
            ["NORMAL", "TEXCOORD_0"]
                .iter()
                .all(|it| mesh.attribute(it).is_some())
        };
        let meshes: Vec<_> = scene.geometries.iter().filter(has_all).collect();
        assert!(!meshes.is_empty());
        for mesh in meshes {
            let zeros = vec![Vec3::ZERO; mesh.indices.len()];
            let signs = vec![0.0; mesh.indices.len()];
            let mut corners = Corners {
                mesh,
                tangents: zeros,
                signs,
            };
            bevy_mikktspace::generate_tangents(&mut corners).unwrap();
            for (at, ours) in tangents(mesh).as_chunks().0.iter().enumerate() {
                let [x, y, z, sign]: [f32; 4] = *ours;
                let normal =
                    Vec3::from_array(bevy_mikktspace::Geometry::normal(&corners, at / 3, at % 3));
                let theirs = corners.tangents[at];
                let theirs = (theirs - normal * normal.dot(theirs)).normalize_or_zero();
                // A degenerate triangle has none there.
                if theirs != Vec3::ZERO {
                    let angle = Vec3::new(x, y, z).angle_between(theirs).to_degrees();
                    assert!(
                        angle < 0.1 && sign == corners.signs[at],
                        "corner {at}: {angle} degrees, {sign}"
                    );
                }
            }
        }
    }
}
