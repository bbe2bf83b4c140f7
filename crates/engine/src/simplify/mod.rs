//! Simplification: fewer triangles, with one error bound for the whole model.
//!
//! All triangles are joined into one mesh and collapse in the order of the error that they cause, so
//! a small part keeps its shape while a dense flat one gives up its triangles; an equal share for
//! every part would delete the small ones. The budget is a hard limit: a less careful method is used only
//! when the more careful ones cannot reach it.

mod best_recipe;
mod joined;
mod limits;
mod meshopt_calls;
mod motion;
mod recipe;

pub use limits::Limits;
pub use meshopt_calls::Method;

use joined::JoinedMesh;
use motion::Motion;
use recipe::Recipe;

use rayon::prelude::*;

use super::clean::weld_by;
use super::scene::{Attribute, Mode, Scene, Texturing};

#[derive(Debug, Clone, Copy)]
pub struct Simplified {
    /// Drawn triangles before.
    pub before: u64,
    /// Drawn triangles after.
    pub after: u64,
    /// The most that the surface moved, in the world's units (an estimate of the simplifier).
    pub error: f32,
    /// The error as a fraction of the model's longest side.
    pub relative_error: f32,
    /// The least careful method that was used.
    pub method: Method,
    /// Whether the positions could be measured. Otherwise nothing was removed.
    pub is_measured: bool,
}

impl Simplified {
    fn nothing(triangles: u64) -> Simplified {
        Simplified {
            before: triangles,
            after: triangles,
            error: 0.0,
            relative_error: 0.0,
            method: Method::Careful,
            is_measured: true,
        }
    }
}

/// Simplifies the scene to the limits, or as close as the methods get.
pub fn simplify(scene: &mut Scene, limits: &Limits) -> Simplified {
    let before = scene.drawn_triangles();
    if before <= limits.triangles {
        return Simplified::nothing(before);
    }
    let texturings = scene.texturings();
    join_unseen(scene, &texturings);
    let known = SourceInfo {
        motion: Motion::of(scene),
        texturings,
    };
    let mut recipes: Vec<Recipe> = Vec::new();
    for recipe in best_recipe::recipes_for(scene, &known) {
        let recipe = recipe.with(limits);
        if !recipes.contains(&recipe) {
            recipes.push(recipe);
        }
    }
    if recipes.len() == 1 {
        return simplify_by(&recipes[0], scene, limits, &known);
    }
    best_recipe::simplify_by_best(&recipes, scene, limits, &known)
}

/// Facts about a scene before its simplification.
struct SourceInfo {
    /// For each geometry, which of its attributes are visible.
    texturings: Vec<Texturing>,
    motion: Motion,
}

fn simplify_by(
    recipe: &Recipe,
    scene: &mut Scene,
    limits: &Limits,
    known: &SourceInfo,
) -> Simplified {
    let mut done = Simplified::nothing(scene.drawn_triangles());
    let source = JoinedMesh::new(scene, known, recipe);
    // Positions that overflow in the joined space cannot be measured, so such a model is not simplified.
    if !source.is_finite() {
        done.is_measured = false;
        return done;
    }
    let best = match limits.keep_topology {
        true => best_attempt(&source, limits.triangles, &[Method::Strict]),
        false => {
            let methods = [Method::Careful, Method::Pruning, Method::Sloppy];
            best_attempt(&source, limits.triangles, &methods)
        }
    };
    let Some(best) = best else {
        return done;
    };
    best.joined.split_into(scene);
    done.after = scene.drawn_triangles();
    done.error = best.error * source.extent();
    done.relative_error = best.error;
    done.method = best.method;
    done
}

/// The attempt by the first method that meets the budget, else the one with the fewest triangles. `None` if no method
/// removes anything.
fn best_attempt(source: &JoinedMesh, budget: u64, methods: &[Method]) -> Option<Attempt> {
    let mut best: Option<Attempt> = None;
    for method in methods {
        let attempt = match method {
            Method::Pruning => prune(source, best.as_ref(), budget),
            _ => reach_whole(source, budget, *method),
        };
        let known = best
            .as_ref()
            .map_or(source.drawn_triangles(), Attempt::triangles);
        if attempt.triangles() < known && attempt.joined.lost_parts(source).is_empty() {
            best = Some(attempt);
        }
        if best.as_ref().is_some_and(|best| best.triangles() <= budget) {
            break;
        }
    }
    best
}

/// Simplifies by [`Method::Pruning`]. The library removes all loose pieces of about the same size at once; where that
/// leaves far less than the budget, only as many pieces are left out as needed, the smallest first.
fn prune(source: &JoinedMesh, careful: Option<&Attempt>, budget: u64) -> Attempt {
    let pruned = reach_whole(source, budget, Method::Pruning);
    if pruned.triangles() as f64 >= budget as f64 * TOO_FEW {
        return pruned;
    }
    let pieces = source.pieces();
    let coarse = careful.map_or(source, |careful| &careful.joined);
    let room = (budget as f64 * FOR_COARSEST) as u64;
    let left_out = pieces
        .to_leave_out(coarse, room)
        .or_else(|| pieces.to_leave_out(coarse, budget));
    let Some(left_out) = left_out else {
        return pruned;
    };
    let others = source.filtered(|corner| !pieces.is_marked(corner, &left_out));
    let some = Attempt {
        method: Method::Pruning,
        ..reach_whole(&others, budget, Method::Careful)
    };
    let is_better = some.triangles() <= budget && some.triangles() > pruned.triangles();
    if is_better { some } else { pruned }
}

/// Pruning that leaves less than this part of the budget removed too much.
const TOO_FEW: f64 = 0.5;
/// Of the budget, the part that the remaining pieces need in their coarsest form; the rest shapes the large ones.
const FOR_COARSEST: f64 = 0.75;

/// Joins vertices that differ only in attributes that no texture shows, so that these cause no seams.
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

/// Whether an attribute is visible: texture coordinates and tangents are only if a texture reads them.
fn is_seen(attribute: &str, texturing: &Texturing) -> bool {
    match attribute.strip_prefix("TEXCOORD_") {
        Some(set) => set
            .parse()
            .is_ok_and(|set: usize| set < texturing.coordinate_sets),
        None => attribute != "TANGENT" || texturing.coordinate_sets > 0,
    }
}

/// A simplified mesh and the method used.
struct Attempt {
    joined: JoinedMesh,
    error: f32,
    method: Method,
}

impl Attempt {
    fn triangles(&self) -> u64 {
        self.joined.drawn_triangles()
    }
}

/// Simplifies to the budget. Parts that would vanish, and solids that would become flat, are kept in their
/// coarsest form; the other parts get fewer triangles instead.
fn reach_whole(source: &JoinedMesh, budget: u64, method: Method) -> Attempt {
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
