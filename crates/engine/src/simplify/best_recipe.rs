//! Chooses the best of several recipes, for models that are small enough to try all of them.
//!
//! The recipes tried depend on the model alone and never on time, so the same model always gives the same result.

use rayon::prelude::*;

use super::super::scene::{Scene, Texturing};
use super::comparer::{ResultComparer, has_few_pixels};
use super::limits::Limits;
use super::recipe::{Recipe, Traits};
use super::{Simplified, SourceInfo, simplify_by};

/// Triangle counts of models for which recipes are compared. Larger models look good with the default recipe and take
/// long to draw; for smaller ones the recipes hardly differ.
const TRIANGLES: std::ops::RangeInclusive<u64> = 100..=3_000;

/// The recipes worth trying on a model.
pub(super) fn recipes_for(scene: &Scene, known: &SourceInfo) -> Vec<Recipe> {
    if !TRIANGLES.contains(&scene.drawn_triangles()) || !has_few_pixels(scene) {
        return vec![Recipe::default()];
    }
    let has = |name: &str, is_seen: &dyn Fn(&Texturing) -> bool| {
        let mut all = scene.geometries.iter().zip(&known.texturings);
        all.any(|(geometry, seen)| geometry.attribute(name).is_some() && is_seen(seen))
    };
    Recipe::all(Traits {
        normals: has("NORMAL", &|_| true),
        coords: has("TEXCOORD_0", &|seen| seen.coordinate_sets > 0),
        motion: known.motion.skinned_poses() > 0,
    })
}

/// Simplifies the scene by each recipe and keeps the result that is most similar to it.
pub(super) fn simplify_by_best(
    recipes: &[Recipe],
    scene: &mut Scene,
    limits: &Limits,
    known: &SourceInfo,
) -> Simplified {
    let Some(judge) = ResultComparer::new(scene, &known.motion) else {
        return simplify_by(&recipes[0], scene, limits, known, None);
    };
    let tried: Vec<(Simplified, f64, Scene)> = recipes
        .par_iter()
        .map(|recipe| {
            let mut result = scene.clone();
            let done = simplify_by(recipe, &mut result, limits, known, Some(&judge));
            let loss = judge.loss(&mut result);
            (done, loss, result)
        })
        .collect();
    // A recipe may miss the limit or need a less careful method. Of equal results the earlier recipe wins.
    let rank = |done: &Simplified| (done.after.max(limits.triangles), done.method);
    let best = tried.into_iter().min_by(|one, other| {
        let by_rank = rank(&one.0).cmp(&rank(&other.0));
        by_rank.then(one.1.total_cmp(&other.1))
    });
    let (done, _, result) = best.expect("there is at least one recipe");
    *scene = result;
    done
}
