//! Merges vertices that are closer together than a distance.
//!
//! Distances are measured in the world, in the rest pose. A geometry that is drawn several times is measured where it
//! is drawn largest, so that no vertex moves farther than the distance anywhere.

use std::collections::HashMap;

use glam::{IVec3, Vec3};
use rayon::prelude::*;

use super::super::scene::{Geometry, Mode, Scene};

/// Moves vertices onto an earlier one within `distance`; the clean-up that follows joins those that
/// are then equal. Returns how many moved.
pub(crate) fn merge(scene: &mut Scene, distance: f32) -> usize {
    let draws = scene.largest_draws();
    scene
        .geometries
        .par_iter_mut()
        .zip(draws)
        .filter(|(geometry, _)| geometry.mode == Mode::Triangles)
        .map(|(geometry, draw)| {
            let places = match draw {
                Some(draw) => draw.world_positions(geometry),
                None => plain_positions(geometry),
            };
            merge_at(geometry, &places, distance)
        })
        .sum()
}

fn plain_positions(geometry: &Geometry) -> Vec<Vec3> {
    let positions = geometry.positions().chunks_exact(3);
    positions.map(Vec3::from_slice).collect()
}

/// Merges the vertices of a geometry by their places in the world.
fn merge_at(geometry: &mut Geometry, places: &[Vec3], distance: f32) -> usize {
    let Some(positions) = geometry.attribute_mut("POSITION") else {
        return 0;
    };
    let mut cells: HashMap<IVec3, Vec<usize>> = HashMap::new();
    let mut moved = 0;
    let side = cell_side(places, distance);
    for (vertex, place) in places.iter().enumerate() {
        if !place.is_finite() {
            continue;
        }
        let cell = (*place / side).floor().as_ivec3();
        let near = neighbours(cell)
            .filter_map(|cell| cells.get(&cell))
            .flatten()
            .find(|known| places[**known].distance(*place) <= distance)
            .copied();
        let Some(known) = near else {
            cells.entry(cell).or_default().push(vertex);
            continue;
        };
        let [from, to] = [known * 3, vertex * 3];
        if positions.values[from..from + 3] != positions.values[to..to + 3] {
            positions.values.copy_within(from..from + 3, to);
            moved += 1;
        }
    }
    moved
}

/// The side of the cells in which near vertices are looked for: `distance`, but so large that the number of every cell fits
/// into an integer.
fn cell_side(places: &[Vec3], distance: f32) -> f32 {
    /// Floats tell no more cells apart.
    const MAX_CELLS: f32 = (1 << 22) as f32;
    let finite = places.iter().filter(|place| place.is_finite());
    let farthest = finite.fold(0.0, |most: f32, place| most.max(place.abs().max_element()));
    distance.max(farthest / MAX_CELLS).max(f32::MIN_POSITIVE)
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
        let places = plain_positions(&geometry);
        assert_eq!(merge_at(&mut geometry, &places, 0.01), 1);
        assert_eq!(
            geometry.positions(),
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]
        );
    }

    #[test]
    fn distances_that_no_float_resolves_merge_equal_places_alone_and_soon() {
        let count = 300_000;
        let positions: Vec<f32> = (0..count)
            .flat_map(|at| {
                [
                    1.0 + (at / 2) as f32 * 1e-3,
                    2.0,
                    f32::INFINITY.min(at as f32),
                ]
            })
            .collect();
        for distance in [0.0, 1e-30, 1e-9] {
            let mut geometry = Geometry {
                indices: vec![0, 1, 2],
                attributes: vec![Attribute::new("POSITION", 3, positions.clone())],
                ..Geometry::default()
            };
            let places = plain_positions(&geometry);
            assert_eq!(merge_at(&mut geometry, &places, distance), 0, "{distance}");
        }
        let mut places = vec![Vec3::splat(f32::INFINITY); count];
        places[1] = Vec3::ONE;
        assert_eq!(cell_side(&places, 1e-3), 1e-3);
    }
}
