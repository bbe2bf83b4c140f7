//! Sheared matrices. A node of glTF has a translation, a rotation and a scale, which have no shear; two nodes, one in the
//! other, can show any matrix.

use glam::{DMat3, DMat4, DVec3};

/// Each sweep turns every pair of columns once; three columns need fewer than ten.
const MAX_SWEEPS: usize = 30;

/// Whether a matrix is no translation, rotation and scale: its columns are not at right angles.
pub(super) fn is_sheared(matrix: DMat4) -> bool {
    let [x, y, z] = columns(matrix);
    let is_slanted = |a: DVec3, b: DVec3| {
        let lengths = a.length() * b.length();
        lengths.is_finite() && a.dot(b).abs() > 1e-5 * lengths
    };
    is_slanted(x, y) || is_slanted(y, z) || is_slanted(z, x)
}

/// Splits a sheared matrix into two without shear, whose product it is: the outer one translates, rotates and scales, the
/// inner one rotates. One-sided Jacobi
/// iteration (Hestenes 1958): rotations of two columns at a time make all of them orthogonal.
pub(super) fn two_parts(matrix: DMat4) -> [DMat4; 2] {
    let mut outer = columns(matrix);
    let mut turn = [DVec3::X, DVec3::Y, DVec3::Z];
    for _ in 0..MAX_SWEEPS {
        let mut is_done = true;
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let (a, b) = (outer[p].length_squared(), outer[q].length_squared());
            let across = outer[p].dot(outer[q]);
            if across.abs() <= 1e-15 * (a * b).sqrt() {
                continue;
            }
            is_done = false;
            let slope = (b - a) / (2.0 * across);
            let tangent = slope.signum() / (slope.abs() + (1.0 + slope * slope).sqrt());
            let cos = 1.0 / (1.0 + tangent * tangent).sqrt();
            let sin = cos * tangent;
            for set in [&mut outer, &mut turn] {
                let (first, second) = (set[p], set[q]);
                set[p] = cos * first - sin * second;
                set[q] = sin * first + cos * second;
            }
        }
        if is_done {
            break;
        }
    }
    let turn = DMat3::from_cols(turn[0], turn[1], turn[2]).transpose();
    let [x, y, z] = outer.map(|column| column.extend(0.0));
    let outer = DMat4::from_cols(x, y, z, matrix.w_axis);
    [outer, DMat4::from_mat3(turn)]
}

fn columns(matrix: DMat4) -> [DVec3; 3] {
    [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|column| column.truncate())
}

#[cfg(test)]
mod tests {
    use super::super::placement::split;
    use super::*;

    #[test]
    fn two_parts_without_shear_make_a_sheared_matrix() {
        let leaning = DMat3::from_cols(
            DVec3::new(1.0, 0.0, 0.0),
            DVec3::new(0.7, 1.0, 0.0),
            DVec3::new(0.2, -3.0, 0.5),
        );
        for linear in [leaning, leaning * -1.0, leaning * 1e-6] {
            let matrix =
                DMat4::from_translation(DVec3::new(1.0, 2.0, 3.0)) * DMat4::from_mat3(linear);
            assert!(is_sheared(matrix));
            let [outer, inner] = two_parts(matrix);
            let whole = [outer, inner].map(|part| {
                assert!(!is_sheared(part));
                let (scale, turn, place) = split(part);
                DMat4::from_scale_rotation_translation(scale, turn, place)
            });
            let whole = whole[0] * whole[1];
            assert!(whole.abs_diff_eq(matrix, 1e-9), "{whole} {matrix}");
        }
        let plain =
            DMat4::from_scale(DVec3::new(2.0, -3.0, 0.0)) * DMat4::from_translation(DVec3::ONE);
        assert!(!is_sheared(plain));
    }
}
