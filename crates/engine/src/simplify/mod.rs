//! Simplification: fewer triangles, with one error bound for the whole model.
//!
//! All triangles are joined into one mesh and collapse in the order of the error that they cause, so
//! a small part keeps its shape while a dense flat one gives up its triangles; an equal share for
//! every part would delete the small ones. The budget is a hard limit: a less careful method is used only
//! where the more careful one cannot reach it, or leaves nothing for the shape of the large pieces.

mod best_recipe;
mod comparer;
mod joined;
mod limits;
mod meshopt_calls;
mod motion;
mod reach;
mod recipe;
mod thinning;

pub use limits::Limits;
pub use meshopt_calls::Method;
use meshopt_calls::is_too_crowded;

use comparer::ResultComparer;
use joined::JoinedMesh;
use motion::Motion;
use reach::{Attempt, reach_whole};
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
        return simplify_by(&recipes[0], scene, limits, &known, None);
    }
    best_recipe::simplify_by_best(&recipes, scene, limits, &known)
}

/// Facts about a scene before its simplification.
struct SourceInfo {
    /// For each geometry, which of its attributes are visible.
    texturings: Vec<Texturing>,
    motion: Motion,
}

/// Simplifies by one recipe. Where several attempts are worth a look, `judge` chooses, or one that is made for it.
fn simplify_by(
    recipe: &Recipe,
    scene: &mut Scene,
    limits: &Limits,
    known: &SourceInfo,
    judge: Option<&ResultComparer>,
) -> Simplified {
    let mut done = Simplified::nothing(scene.drawn_triangles());
    let source = JoinedMesh::new(scene, known, recipe);
    // Positions that overflow in the joined space cannot be measured, so such a model is not simplified.
    if !source.is_finite() {
        done.is_measured = false;
        return done;
    }
    let mut attempts = match limits.keep_topology {
        true => vec![reach_whole(&source, limits.triangles, Method::Strict)],
        false => make_attempts(&source, limits.triangles),
    };
    let before = source.drawn_triangles();
    attempts.retain(|attempt| {
        attempt.triangles() < before && attempt.joined.lost_parts(&source).is_empty()
    });
    let Some(best) = best_of(attempts, scene, limits, known, judge) else {
        return done;
    };
    best.joined.split_into(scene);
    done.after = scene.drawn_triangles();
    done.error = best.error * source.extent();
    done.relative_error = best.error;
    done.method = best.method;
    done
}

/// The attempts among which the best is chosen. The first is the most careful one; if it keeps the shape and leaves room for
/// the loose pieces, it is the only one.
fn make_attempts(source: &JoinedMesh, budget: u64) -> Vec<Attempt> {
    if is_too_crowded(source) {
        return merged(source, budget);
    }
    let careful = reach_whole(source, budget, Method::Careful);
    let is_met = careful.triangles() <= budget;
    let pieces = source.pieces();
    let keeps_shape = is_met && careful.error < COARSE;
    if keeps_shape && pieces.have_room_in(source, budget) {
        return vec![careful];
    }
    let mut others = thinning::thinned(source, &pieces, &careful, budget);
    // Where pieces are left out, merged ones may look better, even if the careful result keeps the shape of what is left.
    others.extend(merged(source, budget));
    others.insert(0, careful);
    others
}

/// Results of merging the vertices of each cell of a grid, for the budget and for its [`rungs`]. Whether such a result looks
/// good depends on where the borders of the cells lie, so a result with fewer triangles may look better.
fn merged(source: &JoinedMesh, budget: u64) -> Vec<Attempt> {
    let mut budgets = rungs(budget);
    budgets.insert(0, budget);
    budgets.dedup();
    let each = budgets.into_par_iter();
    let each = each.map(|budget| reach_whole(source, budget, Method::Sloppy));
    let mut attempts: Vec<Attempt> = each.collect();
    // Small models give the same result for several budgets, and drawing it takes the most time.
    attempts.dedup_by(|one, other| one.joined.is_drawn_like(&other.joined));
    attempts
}

/// Fixed numbers of triangles from the budget down to half of it: 4, 5, 6 or 7 times a power of two, the largest first.
/// A slightly higher budget has mostly the same numbers, so it has the same results to choose from.
fn rungs(budget: u64) -> Vec<u64> {
    let rung = |below: u64| {
        let step = (1 << below.checked_ilog2()?) / 4;
        (step > 0).then(|| below / step * step)
    };
    std::iter::successors(rung(budget), |above| rung(above - 1))
        .take_while(|it| *it > budget / 2)
        .collect()
}

/// Error, as a fraction of the model's size, above which a careful result may look worse than a less careful one.
const COARSE: f32 = 0.03;

/// Of the attempts that are within the limit, or else of those with the fewest triangles, the one that looks most like
/// the scene. The distance of the surfaces does not count: pieces that were left out are far from
/// any surface, however little that is visible.
fn best_of(
    mut attempts: Vec<Attempt>,
    scene: &Scene,
    limits: &Limits,
    known: &SourceInfo,
    judge: Option<&ResultComparer>,
) -> Option<Attempt> {
    let over = |attempt: &Attempt| attempt.triangles().max(limits.triangles);
    let least = attempts.iter().map(over).min()?;
    attempts.retain(|attempt| over(attempt) == least);
    if attempts.len() == 1 {
        return attempts.pop();
    }
    let own = match judge {
        Some(_) => None,
        None => ResultComparer::new(&mut scene.clone(), &known.motion),
    };
    let Some(judge) = judge.or(own.as_ref()) else {
        return attempts.into_iter().next();
    };
    let similarity = |attempt: &Attempt| {
        let mut result = scene.clone();
        attempt.joined.split_into(&mut result);
        judge.similarity(&result)
    };
    let found: Vec<f64> = attempts.par_iter().map(similarity).collect();
    // Of equal ones the first is the most careful.
    let judged = attempts.into_iter().zip(found).rev();
    let best = judged.max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(best.0)
}

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
