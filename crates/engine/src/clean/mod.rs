//! Clean-up without visible change: removes numbers that are not finite, duplicate vertices and materials,
//! triangles without area, and unused entries.

mod animations;
mod degenerate;
mod draw_order;
mod duplicates;
mod finite;
mod keyframes;
mod normalize;
mod prune;
mod weld;

use rayon::prelude::*;

use super::scene::{Geometry, Mode, Scene};
use draw_order::DrawOrder;

/// Numbers of removed objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Vertices that were equal to another in every attribute.
    pub welded_vertices: usize,
    /// Triangles with two corners at the same place.
    pub degenerate_triangles: usize,
    /// Triangles with a corner that is not finite.
    pub broken_triangles: usize,
    /// Materials that were equal to another.
    pub shared_materials: usize,
}

/// Cleans all geometry of the scene.
pub fn clean(scene: &mut Scene) -> Cleaned {
    let each: Vec<Cleaned> = scene
        .geometries
        .par_iter_mut()
        .map(|geometry| {
            let broken_triangles = finite::repair(geometry);
            if geometry.mode != Mode::Triangles {
                return Cleaned {
                    broken_triangles,
                    ..Cleaned::default()
                };
            }
            let welded_vertices = weld::weld(geometry);
            let degenerate_triangles = degenerate::remove(geometry);
            geometry.compact();
            Cleaned {
                welded_vertices,
                degenerate_triangles,
                broken_triangles,
                ..Cleaned::default()
            }
        })
        .collect();
    let shared_materials = duplicates::share(scene);
    each.into_iter()
        .fold(Cleaned::default(), |sum, one| Cleaned {
            welded_vertices: sum.welded_vertices + one.welded_vertices,
            degenerate_triangles: sum.degenerate_triangles + one.degenerate_triangles,
            broken_triangles: sum.broken_triangles + one.broken_triangles,
            shared_materials,
        })
}

/// Prepares all geometry for export: unit normals, weights that sum to one, an order of triangles
/// and vertices that is fast to draw.
pub fn finish(scene: &mut Scene) {
    scene.geometries.par_iter_mut().for_each(|geometry| {
        normalize::normalize_attributes(geometry);
        if geometry.mode == Mode::Triangles {
            draw_order::reorder(geometry, DrawOrder::Fast);
        }
    });
}

/// Orders triangles so that packing them with meshopt takes the fewest bytes.
pub fn order_for_packing(scene: &mut Scene) {
    let triangles = |geometry: &&mut Geometry| geometry.mode == Mode::Triangles;
    let geometries = scene.geometries.par_iter_mut().filter(triangles);
    geometries.for_each(|geometry| draw_order::reorder(geometry, DrawOrder::Packed));
}

pub use animations::fix_animations;
pub use keyframes::pack_keyframes;
pub(crate) use normalize::face_normals;
pub(crate) use prune::knows_all_extensions;
pub use prune::prune;
pub use weld::weld_by;
