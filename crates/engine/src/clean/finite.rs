//! Repairs values that are not finite: removes triangles with such positions, and gives other attributes a default.

use super::super::scene::{Geometry, Mode};

/// Makes every number finite; returns how many triangles without a finite position were removed.
pub(super) fn repair(geometry: &mut Geometry) -> usize {
    let broken: Vec<bool> = geometry
        .positions()
        .chunks_exact(3)
        .map(|position| !position.iter().all(|number| number.is_finite()))
        .collect();
    let mut removed = 0;
    if broken.contains(&true) {
        let is_whole = |corners: &[u32]| !corners.iter().any(|index| broken[*index as usize]);
        let size = match geometry.mode {
            Mode::Triangles => 3,
            Mode::Lines => 2,
            _ => 1,
        };
        let before = geometry.indices.len();
        geometry.indices = geometry
            .indices
            .chunks_exact(size)
            .filter(|corners| is_whole(corners))
            .flatten()
            .copied()
            .collect();
        removed = (before - geometry.indices.len()) / size;
    }
    let all = geometry
        .attributes
        .iter_mut()
        .chain(geometry.targets.iter_mut().flatten());
    for number in all.flat_map(|attribute| &mut attribute.values) {
        if !number.is_finite() {
            *number = 0.0;
        }
    }
    removed
}
