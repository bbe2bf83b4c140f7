//! Mends the normals of the low mesh. The simplifier moves normals like any attribute: where it merges the two sides of a
//! thin part, they may point into the surface, and where it merges a bevel into an edge, they lean away from both sides.
//!
//! Rays along such normals hit what is behind, and a normal map cannot hold a direction below its surface. Between leaning
//! normals, renderers also disagree: some normalize the interpolated normal before they apply a normal map (three.js,
//! this engine), others do not (Cycles, as MikkTSpace asks), and large flat sides show gradients there. So corners whose
//! normal leans too far from their triangle get the mean normal of the triangles around them that face alike, weighted by
//! area: large sides keep their own normal, and the small triangles between them bend.

use glam::Vec3;

use super::super::clean::weld_by;
use super::super::scene::Geometry;
use super::places::numbered_places;

/// The cosine of the largest angle between the normal of a corner and its triangle, where a normal map holds the rest.
const LEANS_LEAST: f32 = 0.8;
/// The same without a normal map: there, normals that lean make coarse meshes look round.
const LEANS_LEAST_ALONE: f32 = 0.2;
/// The cosine of the largest angle between triangles whose normals are mixed. Smaller angles split more vertices.
const ALIKE: f32 = 0.6;

/// Replaces normals that lean too far from a triangle. Vertices are split where their corners differ then.
pub(super) fn mend(mesh: &mut Geometry, has_normal_map: bool) {
    let least = match has_normal_map {
        true => LEANS_LEAST,
        false => LEANS_LEAST_ALONE,
    };
    let faces: Vec<Face> = (0..mesh.indices.len() / 3)
        .map(|triangle| Face::of(mesh, triangle))
        .collect();
    let leans: Vec<bool> = (0..mesh.indices.len())
        .map(|corner| {
            let normals = mesh.attribute("NORMAL");
            normals.is_some_and(|normals| {
                let normal = Vec3::from_slice(normals.at(mesh.indices[corner] as usize));
                let face = faces[corner / 3].normal;
                face != Vec3::ZERO && normal.dot(face) < least
            })
        })
        .collect();
    if !leans.contains(&true) {
        return;
    }
    let mended = mended_normals(mesh, &faces, &leans);
    let corners = std::mem::take(&mut mesh.indices);
    mesh.keep_vertices(&corners);
    mesh.indices = (0..corners.len() as u32).collect();
    if let Some(normals) = mesh.attribute_mut("NORMAL") {
        for (corner, normal) in mended {
            normals.values[corner * 3..corner * 3 + 3].copy_from_slice(&normal.to_array());
        }
    }
    weld_by(mesh, |_| true);
    mesh.compact();
}

/// The corners that get a new normal, and these. Corners of one group get the same, so that few vertices are split.
fn mended_normals(mesh: &Geometry, faces: &[Face], leans: &[bool]) -> Vec<(usize, Vec3)> {
    let mut mended = Vec::new();
    for corners in corners_at_places(mesh) {
        if !corners.iter().any(|corner| leans[*corner]) {
            continue;
        }
        for group in groups_of(&corners, faces) {
            if !group.iter().any(|corner| leans[*corner]) {
                continue;
            }
            let first = &faces[group[0] / 3];
            let sum: Vec3 = group.iter().map(|corner| faces[corner / 3].across).sum();
            let normal = sum.normalize_or(first.normal);
            mended.extend(group.into_iter().map(|corner| (corner, normal)));
        }
    }
    mended
}

/// The plane of a triangle.
struct Face {
    /// A unit vector, or zero if it has no area.
    normal: Vec3,
    /// The normal with twice the area as its length.
    across: Vec3,
}

impl Face {
    fn of(mesh: &Geometry, triangle: usize) -> Face {
        let [a, b, c] = [0, 1, 2].map(|at| mesh.position(mesh.indices[triangle * 3 + at]));
        let across = (b - a).cross(c - a);
        Face {
            normal: across.normalize_or_zero(),
            across,
        }
    }
}

/// The corners of triangles at each place of a mesh.
fn corners_at_places(mesh: &Geometry) -> Vec<Vec<usize>> {
    let (of_vertex, positions) = numbered_places(mesh);
    let mut places = vec![Vec::new(); positions.len()];
    for (corner, vertex) in mesh.indices.iter().enumerate() {
        places[of_vertex[*vertex as usize]].push(corner);
    }
    places
}

/// Groups the corners at a place whose triangles face nearly as the largest triangle of their group.
fn groups_of(corners: &[usize], faces: &[Face]) -> Vec<Vec<usize>> {
    let mut waiting = corners.to_vec();
    let size = |corner: &usize| faces[corner / 3].across.length_squared();
    waiting.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let mut groups = Vec::new();
    while let Some(largest) = waiting.first() {
        let facing = faces[largest / 3].normal;
        let (group, others): (Vec<usize>, Vec<usize>) = waiting.iter().partition(|corner| {
            *corner == largest || faces[*corner / 3].normal.dot(facing) >= ALIKE
        });
        groups.push(group);
        waiting = others;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::Attribute;
    use super::*;

    /// A bevel that was merged into an edge: the normals on it lean by 45 degrees away from both sides. Only a normal map
    /// can take over what they do.
    #[test]
    fn the_sides_of_an_edge_get_their_own_normals() {
        let positions = vec![0., 0., 0., 0., 1., 0., 1., 0., 0., 0., 0., -1.];
        let between = Vec3::new(-1.0, 0.0, 1.0).normalize().to_array();
        let normals = [between, between, [0., 0., 1.], [-1., 0., 0.]].concat();
        let mut mesh = Geometry {
            indices: vec![0, 2, 1, 0, 1, 3],
            attributes: vec![
                Attribute::new("POSITION", 3, positions),
                Attribute::new("NORMAL", 3, normals),
            ],
            ..Geometry::default()
        };
        let mut alone = mesh.clone();
        mend(&mut alone, false);
        assert_eq!(alone, mesh);
        mend(&mut mesh, true);
        assert_eq!(mesh.vertex_count(), 6);
        let normals = mesh.attribute("NORMAL").unwrap();
        for (corner, vertex) in mesh.indices.iter().enumerate() {
            let side = if corner < 3 { Vec3::Z } else { Vec3::NEG_X };
            assert_eq!(
                normals.at(*vertex as usize),
                side.to_array(),
                "corner {corner}"
            );
        }
    }

    #[test]
    fn normals_that_point_into_the_surface_are_replaced_and_others_stay() {
        // Two triangles in a plane; at one shared corner the normal points down.
        let positions = vec![0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.];
        let tilted = Vec3::new(0.3, 0.0, 1.0).normalize().to_array();
        let mut normals = [tilted, [0., 0., -1.], [0., 0., 1.], [0., 0., 1.]].concat();
        let mut mesh = Geometry {
            indices: vec![0, 1, 2, 2, 1, 3],
            attributes: vec![
                Attribute::new("POSITION", 3, positions),
                Attribute::new("NORMAL", 3, normals.clone()),
            ],
            ..Geometry::default()
        };
        mend(&mut mesh, true);
        normals[3..6].copy_from_slice(&[0., 0., 1.]);
        assert_eq!(mesh.vertex_count(), 4);
        assert_eq!(mesh.attribute("NORMAL").unwrap().values, normals);
        let mended = mesh.clone();
        mend(&mut mesh, true);
        assert_eq!(mesh.indices, mended.indices);
    }
}
