//! Reaches a number of triangles by one method. No part vanishes, and no solid part becomes flat.

use rayon::prelude::*;

use super::joined::JoinedMesh;
use super::meshopt_calls::{self, Method};

/// A simplified mesh and the method used.
pub(super) struct Attempt {
    pub(super) joined: JoinedMesh,
    pub(super) error: f32,
    pub(super) method: Method,
}

impl Attempt {
    pub(super) fn triangles(&self) -> u64 {
        self.joined.drawn_triangles()
    }
}

/// Simplifies to the budget. Parts that would vanish, and solids that would become flat, are kept in their
/// coarsest form; the other parts get fewer triangles instead.
pub(super) fn reach_whole(source: &JoinedMesh, budget: u64, method: Method) -> Attempt {
    let mut is_kept = vec![false; source.parts.len()];
    let mut kept: Vec<(usize, JoinedMesh)> = Vec::new();
    let (mut joined, mut error) = reach(source, budget, method);
    for _ in 0..MAX_RESCUES {
        let mut lost = joined.lost_parts(source);
        lost.retain(|part| !is_kept[*part]);
        if lost.is_empty() {
            break;
        }
        let coarse = source.split(&lost).into_par_iter().map(coarsest);
        kept.par_extend(lost.par_iter().copied().zip(coarse.collect::<Vec<_>>()));
        for part in lost {
            is_kept[part] = true;
        }
        let cost: u64 = kept.iter().map(|(_, part)| part.drawn_triangles()).sum();
        let others = source.filtered(|corner| !is_kept[source.part_of(corner)]);
        if others.indices.is_empty() {
            joined = others;
            break;
        }
        (joined, error) = reach(&others, budget.saturating_sub(cost), method);
    }
    for (part, alone) in &kept {
        joined.restore(*part, alone);
    }
    Attempt {
        joined,
        error,
        method,
    }
}

/// Maximum number of times that lost parts are set aside and the rest is simplified again.
const MAX_RESCUES: usize = 4;

/// A part with as few triangles as possible, at least four, such that it is not lost.
fn coarsest(part: JoinedMesh) -> JoinedMesh {
    let mut best = part.clone();
    for target in [4, 8, 16, 32] {
        for method in [Method::Careful, Method::Sloppy] {
            let mut coarse = part.clone();
            meshopt_calls::simplify(&mut coarse, target, method);
            let is_there = coarse.lost_parts(&part).is_empty();
            if is_there && coarse.indices.len() < best.indices.len() {
                best = coarse;
            }
        }
        if best.indices.len() <= target * 6 {
            break;
        }
    }
    best
}

/// Simplifies to at most `budget` drawn triangles with the given method.
///
/// Stored and drawn triangles differ if a mesh is drawn several times, and how many triangles each mesh loses is known
/// only afterwards. So the stored target is searched for in a few tries.
fn reach(source: &JoinedMesh, budget: u64, method: Method) -> (JoinedMesh, f32) {
    let stored = source.indices.len() as f64 / 3.0;
    let drawn = source.drawn_triangles() as f64;
    let mut low = 0.0;
    let mut high = stored;
    let mut target = (budget as f64 * stored / drawn).floor();
    let mut best: Option<(JoinedMesh, f32)> = None;
    for _ in 0..MAX_TRIES {
        let mut joined = source.clone();
        let error = meshopt_calls::simplify(&mut joined, target as usize, method);
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
        // A lower target does not help if the simplifier stopped above its own target.
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

/// Maximum number of tries to find the stored target for a drawn budget.
const MAX_TRIES: usize = 6;
/// A result above this fraction of the budget is accepted.
const CLOSE_ENOUGH: f64 = 0.98;
