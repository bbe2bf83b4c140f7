//! Reorders triangles and vertices for fast drawing.

use super::super::scene::{Geometry, is_crowded};

/// Reorders triangles for the vertex cache, then vertices by first use.
pub(super) fn reorder(geometry: &mut Geometry) {
    let count = geometry.vertex_count();
    let is_sound = geometry.indices.len().is_multiple_of(3)
        && geometry
            .indices
            .iter()
            .all(|index| (*index as usize) < count);
    if is_sound && !geometry.indices.is_empty() {
        if !is_crowded(&geometry.indices, count) {
            geometry.indices = meshopt::optimize_vertex_cache(&geometry.indices, count);
        }
        geometry.compact();
    }
}
