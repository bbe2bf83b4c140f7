//! Chooses the best of several recipes, for models that are small enough to try all of them.
//!
//! Each result is compared with the source in six small pictures and by the distance of the surfaces, and
//! animated models also in several poses. The recipes tried depend on the model alone and never on time, so the
//! same model always gives the same result.

use rayon::prelude::*;

use super::super::compare::quick_difference;
use super::super::render::{
    BoundingBox, Picture, PreparedScene, RenderScene, RenderSettings, View,
};
use super::super::scene::{Pose, Scene, Texturing};
use super::super::surface::Surface;
use super::super::textures::dimensions;
use super::limits::Limits;
use super::motion::Motion;
use super::recipe::{Recipe, Traits};
use super::{Simplified, SourceInfo, simplify_by};

/// Triangle counts of models for which recipes are compared. Larger models look good with the default recipe and take
/// long to draw; for smaller ones the recipes hardly differ.
const TRIANGLES: std::ops::RangeInclusive<u64> = 100..=3_000;
/// Maximum number of texture pixels: decoding more takes longer than all other steps.
const MOST_PIXELS: u64 = 6 << 20;
/// The pictures by which results are compared.
const PICTURES: RenderSettings = RenderSettings {
    size: 96,
    samples: 1,
    background: Some([236, 237, 239]),
    sky_lights: 0,
};

/// The recipes worth trying on a model.
pub(super) fn recipes_for(scene: &Scene, known: &SourceInfo) -> Vec<Recipe> {
    let drawn = scene
        .images
        .iter()
        .filter_map(|image| dimensions(&image.bytes));
    let pixels: u64 = drawn
        .map(|(width, height)| u64::from(width) * u64::from(height))
        .sum();
    if !TRIANGLES.contains(&scene.drawn_triangles()) || pixels > MOST_PIXELS {
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
        return simplify_by(&recipes[0], scene, limits, known);
    };
    let tried: Vec<(Simplified, f64, Scene)> = recipes
        .par_iter()
        .map(|recipe| {
            let mut result = scene.clone();
            let done = simplify_by(recipe, &mut result, limits, known);
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

/// The source, drawn and measured.
struct ResultComparer {
    prepared: PreparedScene,
    bounds: BoundingBox,
    pictures: Vec<(View, Picture)>,
    surface: Surface,
    /// The surface in each pose.
    moved: Vec<(Pose, Surface)>,
}

impl ResultComparer {
    /// Draws and measures the source; `None` if nothing of it is visible.
    fn new(scene: &mut Scene, motion: &Motion) -> Option<ResultComparer> {
        let adapted = RenderScene::from_model(scene).scene;
        let bounds = adapted.bounding_box()?;
        let prepared = PreparedScene::new(&adapted);
        let moved = motion.poses.iter();
        let moved = moved.map(|pose| (pose.clone(), scene.in_pose(pose, Surface::of)));
        Some(ResultComparer {
            moved: moved.collect(),
            pictures: prepared.render_six(&bounds, &PICTURES),
            prepared,
            bounds,
            surface: Surface::of(scene),
        })
    }

    /// The distance of a result from the source; smaller is better. The factors are the mean and the worst difference of
    /// the pictures, the distance of the surfaces and the same in motion, so no recipe wins by one of them alone.
    fn loss(&self, result: &mut Scene) -> f64 {
        let shape = self.prepared.reshaped(&RenderScene::shape_of(result));
        let pictures = shape.render_six(&self.bounds, &PICTURES);
        let looks = quick_difference(&self.pictures, &pictures);
        let factor = |value: f64, least: f64| value.max(least).ln();
        let apart =
            |source: &Surface, result: &Surface| factor(source.quick_distance(result), 1e-3);
        let at_rest = apart(&self.surface, &Surface::of(result));
        let moved = self.moved.iter();
        let moved: f64 = moved
            .map(|(pose, source)| apart(source, &result.in_pose(pose, Surface::of)))
            .sum();
        let in_motion = moved / self.moved.len().max(1) as f64;
        2.0 * factor(looks.mean, 1e-4) + factor(looks.worst_tile, 1e-3) + at_rest + in_motion
    }
}
