//! Reorders triangles and vertices for fast drawing, or for few bytes of packed indices.

use super::super::scene::{Geometry, is_crowded};

/// What triangles are ordered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrawOrder {
    /// The cache of vertices of graphics cards.
    Fast,
    /// Packing; in strips, which the cache of vertices takes nearly as well.
    Packed,
}

/// Reorders triangles, then vertices by first use.
pub(super) fn reorder(geometry: &mut Geometry, order: DrawOrder) {
    let count = geometry.vertex_count();
    let is_sound = geometry.indices.len().is_multiple_of(3)
        && geometry
            .indices
            .iter()
            .all(|index| (*index as usize) < count);
    if is_sound && !geometry.indices.is_empty() {
        if !is_crowded(&geometry.indices, count) {
            let ordered = match order {
                DrawOrder::Fast => meshopt::optimize_vertex_cache,
                DrawOrder::Packed => meshopt::optimize_vertex_cache_strip,
            };
            geometry.indices = ordered(&geometry.indices, count);
        }
        geometry.compact();
    }
}
