//! Simplification: fewer triangles, with one error bound for the whole model.
//!
//! All triangles are joined into one mesh and collapse in the order of the error that they cause, so
//! a small part keeps its shape while a dense flat one gives up its triangles; an equal share for
//! every part would delete the small ones. The budget is a hard limit: means are chosen from careful
//! to sloppy, and only when the gentler ones cannot reach it.

mod calls;
mod joined;

pub use calls::Means;

use joined::{AttributeWeights, Joined};

use rayon::prelude::*;

use super::clean::weld_by;
use super::scene::{Attribute, Mode, Scene, Texturing};

/// How the simplification went.
#[derive(Debug, Clone, Copy)]
pub struct Simplified {
    /// Drawn triangles before.
    pub before: u64,
    /// Drawn triangles after.
    pub after: u64,
    /// The most that the surface moved, in the world's units (an estimate of the simplifier).
    pub error: f32,
    /// The same as a part of the model's longest side.
    pub relative_error: f32,
    /// What it took.
    pub means: Means,
}

/// What the simplifier may do.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// At most so many drawn triangles.
    pub triangles: u64,
    /// Whether every seam, border and piece stays, even where the budget cannot be met so.
    pub keep_topology: bool,
}

/// Found by comparing pictures and surface distances on the sample models: a higher weight of the
/// normals costs shape, a lower one costs shading. A map of normals hides half of what theirs do.
const WEIGHTS: AttributeWeights = AttributeWeights {
    normal: 0.4,
    mapped_normal: 0.2,
    tangent: 0.15,
    color: 0.2,
    tex_coord: 0.3,
};

/// Simplifies the scene to the limits, or as near as the means allow.
pub fn simplify(scene: &mut Scene, limits: &Limits) -> Simplified {
    let before = scene.drawn_triangles();
    let mut done = Simplified {
        before,
        after: before,
        error: 0.0,
        relative_error: 0.0,
        means: Means::Careful,
    };
    if before <= limits.triangles {
        return done;
    }
    let texturings = scene.texturings();
    join_unseen(scene, &texturings);
    let source = Joined::new(scene, &texturings, &WEIGHTS);
    // A model too large for its numbers has no shape to measure; it stays as it is.
    if !source.is_finite() {
        return done;
    }
    let means: &[Means] = match limits.keep_topology {
        true => &[Means::Strict],
        false => &[Means::Careful, Means::Pruning, Means::Sloppy],
    };
    let mut best = Attempt {
        joined: source.clone(),
        error: 0.0,
        means: Means::Careful,
    };
    for means in means {
        let attempt = reach_whole(&source, limits.triangles, *means);
        let is_better = attempt.joined.drawn_triangles() < best.joined.drawn_triangles();
        if is_better && attempt.joined.vanished_parts(&source).is_empty() {
            best = attempt;
        }
        if best.joined.drawn_triangles() <= limits.triangles {
            break;
        }
    }
    best.joined.split_into(scene);
    done.after = scene.drawn_triangles();
    done.error = best.error * source.extent;
    done.relative_error = best.error;
    done.means = best.means;
    done
}

/// Joins vertices that differ only in what no texture shows, so that it does not part the surface.
fn join_unseen(scene: &mut Scene, texturings: &[Texturing]) {
    let geometries = scene.geometries.par_iter_mut().zip(texturings);
    geometries.for_each(|(geometry, texturing)| {
        let is_seen = |attribute: &Attribute| is_seen(&attribute.name, texturing);
        if geometry.mode == Mode::Triangles && !geometry.all_attributes().all(is_seen) {
            weld_by(geometry, is_seen);
            geometry.compact();
        }
    });
}

/// Whether an attribute shows: texture coordinates and tangents do only where a texture reads them.
fn is_seen(attribute: &str, texturing: &Texturing) -> bool {
    match attribute.strip_prefix("TEXCOORD_") {
        Some(set) => set
            .parse()
            .is_ok_and(|set: usize| set < texturing.coordinate_sets),
        None => attribute != "TANGENT" || texturing.coordinate_sets > 0,
    }
}

/// A simplified mesh and what it took.
struct Attempt {
    joined: Joined,
    error: f32,
    means: Means,
}

/// Simplifies to the budget; parts that would vanish are kept in their coarsest form, and the
/// others pay for them.
fn reach_whole(source: &Joined, budget: u64, means: Means) -> Attempt {
    let mut kept: Vec<(usize, Joined)> = Vec::new();
    let (mut joined, mut error) = reach(source, budget, means);
    for _ in 0..MAX_RESCUES {
        let is_kept = |part: &usize| kept.iter().any(|(known, _)| known == part);
        let mut vanished = joined.vanished_parts(source);
        vanished.retain(|part| !is_kept(part));
        if vanished.is_empty() {
            break;
        }
        kept.extend(
            vanished
                .into_iter()
                .map(|part| (part, coarsest(source.alone(part)))),
        );
        let cost: u64 = kept.iter().map(|(_, part)| part.drawn_triangles()).sum();
        let parts: Vec<usize> = kept.iter().map(|(part, _)| *part).collect();
        let others = source.without(&parts);
        if others.indices.is_empty() {
            joined = others;
            break;
        }
        (joined, error) = reach(&others, budget.saturating_sub(cost), means);
    }
    for (part, alone) in &kept {
        joined.restore(*part, alone);
    }
    Attempt {
        joined,
        error,
        means,
    }
}

/// How often parts that vanished are taken out of the competition.
const MAX_RESCUES: usize = 4;

/// A part in as few triangles as the means allow, from four on, but some.
fn coarsest(part: Joined) -> Joined {
    let mut best = part.clone();
    for target in [4, 8, 16, 32] {
        for means in [Means::Careful, Means::Sloppy] {
            let mut coarse = part.clone();
            calls::simplify(&mut coarse, target, means);
            let is_some = !coarse.indices.is_empty();
            if is_some && coarse.indices.len() < best.indices.len() {
                best = coarse;
            }
        }
        if best.indices.len() <= target * 6 {
            break;
        }
    }
    best
}

/// Simplifies to at most `budget` drawn triangles with the given means.
///
/// Stored and drawn triangles differ where a mesh is drawn several times, and which meshes give up
/// how much shows only afterwards: the stored target is then found in a few tries.
fn reach(source: &Joined, budget: u64, means: Means) -> (Joined, f32) {
    let stored = source.indices.len() as f64 / 3.0;
    let drawn = source.drawn_triangles() as f64;
    let mut low = 0.0;
    let mut high = stored;
    let mut target = (budget as f64 * stored / drawn).floor();
    let mut best: Option<(Joined, f32)> = None;
    for _ in 0..MAX_TRIES {
        let mut joined = source.clone();
        let error = calls::simplify(&mut joined, target as usize, means);
        let drawn = joined.drawn_triangles();
        let left = joined.indices.len() as f64 / 3.0;
        let is_better = best
            .as_ref()
            .is_none_or(|(best, _)| match best.drawn_triangles() {
                known if known > budget => drawn < known,
                known => drawn <= budget && drawn > known,
            });
        if is_better {
            best = Some((joined, error));
        }
        let is_close = drawn <= budget && drawn as f64 >= budget as f64 * CLOSE_ENOUGH;
        // Fewer than asked for cannot be had when the simplifier stopped above its own target.
        let is_stuck = left > target && drawn > budget;
        if is_close
            || is_stuck
            || source
                .parts
                .iter()
                .all(|part| part.uses == source.parts[0].uses)
        {
            break;
        }
        if drawn > budget {
            high = target;
        } else {
            low = target;
        }
        let guess = target * budget as f64 / drawn.max(1) as f64;
        target = if guess > low && guess < high {
            guess.floor()
        } else {
            ((low + high) / 2.0).floor()
        };
    }
    best.expect("at least one try was made")
}

/// Tries at finding the stored target behind a drawn budget.
const MAX_TRIES: usize = 6;
/// A result this near below the budget is taken.
const CLOSE_ENOUGH: f64 = 0.98;
