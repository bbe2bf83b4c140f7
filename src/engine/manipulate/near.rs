//! Joining vertices that lie nearly in the same place.

use std::collections::HashMap;

use glam::{IVec3, Vec3};
use rayon::prelude::*;

use super::super::scene::{Geometry, Mode, Scene};

/// Moves vertices onto an earlier one within `distance`; the clean-up that follows joins those that
/// are then equal. Returns how many moved.
pub(super) fn merge(scene: &mut Scene, distance: f32) -> usize {
    scene
        .geometries
        .par_iter_mut()
        .filter(|geometry| geometry.mode == Mode::Triangles)
        .map(|geometry| merge_in(geometry, distance))
        .sum()
}

fn merge_in(geometry: &mut Geometry, distance: f32) -> usize {
    let Some(positions) = geometry.attribute_mut("POSITION") else {
        return 0;
    };
    let mut cells: HashMap<IVec3, Vec<Vec3>> = HashMap::new();
    let mut moved = 0;
    for position in positions.values.chunks_exact_mut(3) {
        let place = Vec3::from_slice(position);
        let cell = (place / distance).floor().as_ivec3();
        let near = neighbours(cell)
            .filter_map(|cell| cells.get(&cell))
            .flatten()
            .find(|known| known.distance(place) <= distance)
            .copied();
        match near {
            Some(known) if known != place => {
                position.copy_from_slice(&known.to_array());
                moved += 1;
            }
            Some(_) => {}
            None => cells.entry(cell).or_default().push(place),
        }
    }
    moved
}

fn neighbours(cell: IVec3) -> impl Iterator<Item = IVec3> {
    (0..27).map(move |index| {
        let step = IVec3::new(index % 3 - 1, index / 3 % 3 - 1, index / 9 - 1);
        cell.saturating_add(step)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::Attribute;
    use super::*;

    #[test]
    fn only_near_vertices_move() {
        let positions = vec![0.0, 0.0, 0.0, 0.009, 0.0, 0.0, 0.5, 0.0, 0.0];
        let mut geometry = Geometry {
            indices: vec![0, 1, 2],
            attributes: vec![Attribute::new("POSITION", 3, positions)],
            ..Geometry::default()
        };
        assert_eq!(merge_in(&mut geometry, 0.01), 1);
        assert_eq!(
            geometry.positions(),
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]
        );
    }
}
