//! The place and scale of each geometry in the joined space.

use glam::{Mat3, Mat4, Vec3};

use super::super::super::scene::{Bounds, Draw, Geometry, Scene};
use super::space::JoinedSpace;

/// Each geometry of triangles and the matrix of the draw that shows it largest.
pub(super) fn placed_geometries(scene: &Scene) -> Vec<(usize, Mat4)> {
    scene
        .geometries
        .iter()
        .zip(scene.largest_draws())
        .enumerate()
        .filter(|(_, (geometry, _))| geometry.triangle_count() > 0)
        .map(|(index, (geometry, draw))| {
            let matrix = draw.map(|draw| placing_matrix(&draw, geometry));
            (index, matrix.unwrap_or(Mat4::IDENTITY))
        })
        .collect()
}

/// The matrix of a draw; that of the first vertex for a skin. A matrix without an inverse is replaced.
fn placing_matrix(draw: &Draw, geometry: &Geometry) -> Mat4 {
    let matrix = match (&draw.joints, geometry.vertex_count()) {
        (Some(_), 1..) => draw.vertex_matrix(geometry, 0),
        _ => draw.world,
    };
    let scale = Mat3::from_mat4(matrix).determinant().abs().cbrt();
    let longest = [matrix.x_axis, matrix.y_axis, matrix.z_axis]
        .iter()
        .map(|axis| axis.truncate().length())
        .fold(0.0, f32::max);
    let can_be_undone = matrix.is_finite() && scale > 1e-12 && scale > longest * 1e-3;
    if can_be_undone {
        matrix
    } else {
        Mat4::IDENTITY
    }
}

/// The longest side of a part in the joined space.
pub(super) fn size_of_part(geometry: &Geometry, to_joined: Mat4, space: &JoinedSpace) -> f32 {
    let mut bounds = None;
    for position in geometry.positions().chunks_exact(3) {
        let position = to_joined.transform_point3(Vec3::from_slice(position));
        Bounds::grow(&mut bounds, space.pulled_in(position));
    }
    bounds
        .map_or(1.0, |bounds| bounds.size().max_element())
        .clamp(1e-4, 1.0)
}

/// The length of one unit of texture coordinates in the joined space: the ratio of the lengths of edges. Edges to strays
/// would outweigh all others.
pub(super) fn tex_coord_scale(geometry: &Geometry, to_joined: Mat4, space: &JoinedSpace) -> f32 {
    let Some(coords) = geometry.attribute("TEXCOORD_0") else {
        return 1.0;
    };
    let place = |vertex: u32| to_joined.transform_point3(geometry.position(vertex));
    let (mut in_space, mut in_texture) = (0.0f64, 0.0f64);
    for corners in geometry.indices.chunks_exact(3) {
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            let (one, other) = (corners[one], corners[other]);
            let (from, to) = (place(one), place(other));
            if space.is_stray(from) || space.is_stray(to) {
                continue;
            }
            let edge = to - from;
            let (a, b) = (coords.at(one as usize), coords.at(other as usize));
            in_space += f64::from(edge.length());
            in_texture += f64::from((b[0] - a[0]).hypot(b[1] - a[1]));
        }
    }
    let scale = (in_space / in_texture) as f32;
    if scale.is_finite() && scale > 0.0 {
        scale.clamp(1e-6, 1e6)
    } else {
        1.0
    }
}

/// The targets that move vertices most.
pub(super) fn strongest_targets(geometry: &Geometry, count: usize) -> Vec<usize> {
    let mut strengths: Vec<(usize, f32)> = geometry
        .targets
        .iter()
        .enumerate()
        .filter_map(|(index, target)| {
            let deltas = target.iter().find(|deltas| deltas.name == "POSITION")?;
            let strength = deltas.values.iter().map(|number| number * number).sum();
            Some((index, strength))
        })
        .collect();
    strengths.sort_by(|one, other| other.1.total_cmp(&one.1));
    strengths.truncate(count);
    strengths.into_iter().map(|(index, _)| index).collect()
}
