//! Safe wrappers of the simplifiers of `meshopt`; nothing else calls them.
//!
//! The library does not check lengths and indices. Every call is checked here before and after, so a wrong
//! input is a panic or an unchanged mesh, never an access out of bounds.

use meshopt::{SimplifyOptions, VertexDataAdapter};
use rayon::prelude::*;

use super::super::scene::is_crowded;
use super::joined::JoinedMesh;

/// The library refuses more attributes for a vertex.
pub(super) const MAX_ATTRIBUTES: usize = 32;

/// An error limit that no collapse reaches; its square is finite.
const NO_LIMIT: f32 = 1e10;

/// The methods of simplification, from the most to the least careful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Edges collapse; seams collapse only along themselves.
    Strict,
    /// Seams of normals, tangents, colours and texture coordinates may be crossed if the error is small, measured like
    /// that of the shape. Borders and parts are kept.
    Careful,
    /// Like [`Method::Careful`], after small loose pieces were left out.
    Pruning,
    /// Vertices are clustered in a grid; topology is lost.
    Sloppy,
}

impl Method {
    fn options(self) -> SimplifyOptions {
        match self {
            Method::Strict => SimplifyOptions::None,
            Method::Careful | Method::Pruning | Method::Sloppy => SimplifyOptions::Permissive,
        }
    }
}

fn check(joined: &JoinedMesh) {
    let count = joined.positions.len();
    assert!(joined.indices.len().is_multiple_of(3), "whole triangles");
    assert!(
        joined.indices.iter().all(|index| (*index as usize) < count),
        "indices in range"
    );
    assert!(
        joined.weights.len() <= MAX_ATTRIBUTES,
        "few enough attributes"
    );
    assert_eq!(
        joined.attributes.len(),
        count * joined.weights.len(),
        "every vertex has every attribute"
    );
    assert_eq!(
        joined.protections.len(),
        count,
        "every vertex is protected or not"
    );
    assert!(
        joined
            .positions
            .iter()
            .flatten()
            .all(|number| number.is_finite()),
        "positions are numbers"
    );
}

/// Whether only [`Method::Sloppy`] ends in time: the others go through all triangles of a vertex for each of them.
pub(super) fn is_too_crowded(joined: &JoinedMesh) -> bool {
    is_crowded(&joined.indices, joined.positions.len())
}

/// Simplifies to at most `target` triangles if the method allows it. The remaining vertices get the positions and
/// attributes with the least error. Returns the error made, in units of the joined space.
pub(super) fn simplify(joined: &mut JoinedMesh, target: usize, method: Method) -> f32 {
    match method {
        Method::Strict if is_too_crowded(joined) => 0.0,
        Method::Careful | Method::Pruning if is_too_crowded(joined) => {
            simplify_sloppy(joined, target)
        }
        Method::Sloppy => simplify_sloppy(joined, target),
        _ => run(joined, target, method.options() | joined.recipe.options()),
    }
}

fn run(joined: &mut JoinedMesh, target: usize, options: SimplifyOptions) -> f32 {
    check(joined);
    if joined.indices.is_empty() {
        return 0.0;
    }
    let mut error = 0.0;
    let target = (target * 3).min(joined.indices.len());
    let before = joined.positions.clone();
    let length = meshopt::simplify_with_update(
        &mut joined.indices,
        &mut joined.positions,
        &mut joined.attributes,
        &joined.weights,
        joined.weights.len() * size_of::<f32>(),
        Some(&joined.protections),
        target,
        NO_LIMIT,
        options | SimplifyOptions::ErrorAbsolute,
        Some(&mut error),
    );
    joined.indices.truncate(length);
    // Sums of numbers of very different magnitude may overflow; such a vertex keeps its position.
    for (position, before) in joined.positions.iter_mut().zip(before) {
        if !position.iter().all(|number| number.is_finite()) {
            *position = before;
        }
    }
    check(joined);
    error
}

/// Simplifies by clustering to about `target` triangles, and not more; vertices stay where they are.
///
/// Clustering ignores parts, so each part is clustered alone, all with cells of one size. The size is searched for: the
/// library counts triangles before it leaves out those that are there twice, and would stop far below the target.
fn simplify_sloppy(joined: &mut JoinedMesh, target: usize) -> f32 {
    check(joined);
    let counts = joined.triangles_of_parts();
    let parts: Vec<usize> = (0..counts.len()).filter(|part| counts[*part] > 0).collect();
    let alone = joined.split(&parts);
    let extents: Vec<f32> = alone.par_iter().map(extent_of).collect();
    let (mut fine, mut coarse) = (FINEST_CELL, 1.0);
    let mut best = clustered(&alone, &extents, coarse);
    for _ in 0..CELL_TRIES {
        let cell = f32::sqrt(fine * coarse);
        let found = clustered(&alone, &extents, cell);
        match found.iter().map(Vec::len).sum::<usize>() <= target * 3 {
            true => (coarse, best) = (cell, found),
            false => fine = cell,
        }
    }
    joined.indices.clear();
    for (part, indices) in parts.iter().zip(best) {
        let first = joined.parts[*part].first_vertex as u32;
        joined
            .indices
            .extend(indices.iter().map(|index| index + first));
    }
    check(joined);
    coarse
}

/// The least size of a cell, as a part of the model's size.
const FINEST_CELL: f32 = 1e-3;
/// Sizes of cells that are tried.
const CELL_TRIES: usize = 12;

/// The triangles of each part that are left if vertices in a cell of this size become one.
fn clustered(parts: &[JoinedMesh], extents: &[f32], cell: f32) -> Vec<Vec<u32>> {
    let each = parts.par_iter().zip(extents);
    each.map(|(part, extent)| {
        let bytes = meshopt::typed_to_bytes(&part.positions);
        let adapter = VertexDataAdapter::new(bytes, size_of::<[f32; 3]>(), 0)
            .expect("positions are three floats each");
        // With a target of 0, the error is the size of a cell.
        let of_part = (cell / extent.max(f32::MIN_POSITIVE)).min(1.0);
        meshopt::simplify_sloppy(&part.indices, &adapter, 0, of_part, None)
    })
    .collect()
}

/// The longest side of the box around all vertices of a part, used or not, as the library measures it.
fn extent_of(part: &JoinedMesh) -> f32 {
    let along = |axis: usize| part.positions.iter().map(move |position| position[axis]);
    let size = |axis: usize| {
        let low = along(axis).fold(f32::INFINITY, f32::min);
        let high = along(axis).fold(f32::NEG_INFINITY, f32::max);
        high - low
    };
    [0, 1, 2].map(size).into_iter().fold(0.0, f32::max)
}
