//! Safe wrappers of the simplifiers of `meshopt`; nothing else calls them.
//!
//! The library does not check lengths and indices. Every call is checked here before and after, so a wrong
//! input is a panic or an unchanged mesh, never an access out of bounds.

use meshopt::{SimplifyOptions, VertexDataAdapter};
use rayon::prelude::*;

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
    /// Loose pieces smaller than the error made so far are removed as well.
    Pruning,
    /// Vertices are clustered in a grid; topology is lost.
    Sloppy,
}

impl Method {
    fn options(self) -> SimplifyOptions {
        match self {
            Method::Strict => SimplifyOptions::None,
            Method::Careful => SimplifyOptions::Permissive,
            Method::Pruning | Method::Sloppy => {
                SimplifyOptions::Prune | SimplifyOptions::Permissive
            }
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

/// Simplifies to at most `target` triangles if the method allows it. The remaining vertices get the positions and
/// attributes with the least error. Returns the error made, in units of the joined space.
pub(super) fn simplify(joined: &mut JoinedMesh, target: usize, method: Method) -> f32 {
    match method {
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

/// Simplifies by clustering to at most `target` triangles; vertices stay where they are.
///
/// Clustering ignores parts, so each part is clustered alone, with a share of the target.
fn simplify_sloppy(joined: &mut JoinedMesh, target: usize) -> f32 {
    if joined.parts.len() == 1 {
        return cluster(joined, target);
    }
    let counts = joined.triangles_of_parts();
    let total: u64 = counts.iter().sum();
    let parts: Vec<usize> = (0..counts.len()).filter(|part| counts[*part] > 0).collect();
    let alone = joined.split(&parts);
    let clustered: Vec<(f32, JoinedMesh)> = parts
        .par_iter()
        .zip(alone)
        .map(|(part, mut alone)| {
            let share = (target as u64 * counts[*part] / total.max(1)) as usize;
            (cluster(&mut alone, share), alone)
        })
        .collect();
    joined.indices.clear();
    let mut error: f32 = 0.0;
    for (part, (moved, alone)) in parts.into_iter().zip(clustered) {
        error = error.max(moved);
        joined.restore(part, &alone);
    }
    error
}

fn cluster(joined: &mut JoinedMesh, target: usize) -> f32 {
    check(joined);
    if joined.indices.is_empty() {
        return 0.0;
    }
    let bytes = meshopt::typed_to_bytes(&joined.positions);
    let adapter = VertexDataAdapter::new(bytes, size_of::<[f32; 3]>(), 0)
        .expect("positions are three floats each");
    let mut error = 0.0;
    let target = (target * 3).min(joined.indices.len());
    joined.indices =
        meshopt::simplify_sloppy(&joined.indices, &adapter, target, 1.0, Some(&mut error));
    check(joined);
    error
}
