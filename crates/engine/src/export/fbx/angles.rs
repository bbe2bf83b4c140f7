//! Rotations as angles.

use glam::{DQuat, EulerRot};

/// Angles around x, y and z in degrees, which apply in this order; those nearest to `before` of the equal ones.
pub(super) fn angles_of(rotation: DQuat, before: Option<[f64; 3]>) -> [f64; 3] {
    let (z, y, x) = rotation.to_euler(EulerRot::ZYX);
    let own = [x, y, z].map(f64::to_degrees);
    let Some(before) = before else {
        return own;
    };
    let near = |angles: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|axis| {
            angles[axis] + ((before[axis] - angles[axis]) / 360.0).round() * 360.0
        })
    };
    let distance =
        |angles: &[f64; 3]| -> f64 { angles.iter().zip(before).map(|(a, b)| (a - b).abs()).sum() };
    let [own, other] = [own, [own[0] + 180.0, 180.0 - own[1], own[2] + 180.0]].map(near);
    if distance(&other) < distance(&own) {
        other
    } else {
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_go_on_without_jumps() {
        let mut before = None;
        for step in 0..100 {
            let turn = DQuat::from_rotation_y(f64::from(step) * 0.1) * DQuat::from_rotation_x(0.3);
            let angles = angles_of(turn, before);
            let [x, y, z] = angles.map(f64::to_radians);
            let again = DQuat::from_euler(EulerRot::ZYX, z, y, x);
            assert!(again.dot(turn).abs() > 0.9999, "{step}: {angles:?}");
            if let Some(before) = before {
                let jump = (0..3)
                    .map(|axis| f64::abs(angles[axis] - before[axis]))
                    .fold(0.0, f64::max);
                assert!(jump < 45.0, "{step}: {before:?} {angles:?}");
            }
            before = Some(angles);
        }
    }
}
