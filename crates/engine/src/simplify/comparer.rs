//! Compares simplified results with their source, to choose among them: six small pictures, the distance of the surfaces,
//! and the same in the poses of animations.

use super::super::render::{
    BoundingBox, ConvertedModel, Picture, PreparedScene, RenderSettings, View,
};
use super::super::scene::{Pose, Scene};
use super::super::surface::Surface;
use super::super::textures::dimensions;
use super::motion::Motion;
use assetfs_render::compare::{Comparison, PictureSet, QuickDifference, quick_difference};

/// Maximum number of texture pixels: decoding more takes longer than all other steps.
const MAX_PIXELS: u64 = 6 << 20;
/// The pictures by which results are compared.
const PICTURES: RenderSettings = RenderSettings {
    size: 96,
    samples: 1,
    background: Some([236, 237, 239]),
    sky_lights: 0,
};

/// Whether the textures of a scene are few enough to be drawn.
pub(super) fn has_few_pixels(scene: &Scene) -> bool {
    let drawn = scene
        .images
        .iter()
        .filter_map(|image| dimensions(&image.bytes));
    let pixels: u64 = drawn
        .map(|(width, height)| u64::from(width) * u64::from(height))
        .sum();
    pixels <= MAX_PIXELS
}

/// The source, drawn and measured.
pub(super) struct ResultComparer {
    prepared: PreparedScene,
    bounds: BoundingBox,
    /// The six views, then those from inside.
    pictures: Vec<(View, Picture)>,
    /// The views from inside of its rooms; none if it has no rooms.
    inside: Vec<View>,
    surface: Surface,
    /// The surface in each pose.
    moved: Vec<(Pose, Surface)>,
}

impl ResultComparer {
    /// Draws and measures the source; `None` if nothing of it is visible. Large textures are not drawn.
    pub(super) fn new(scene: &mut Scene, motion: &Motion) -> Option<ResultComparer> {
        let adapted = match has_few_pixels(scene) {
            true => ConvertedModel::of(scene).scene,
            false => ConvertedModel::shape_of(scene),
        };
        let bounds = adapted.bounding_box()?;
        let prepared = PreparedScene::new(&adapted);
        let moved = motion.poses.iter();
        let moved = moved.map(|pose| (pose.clone(), scene.in_pose(pose, Surface::of)));
        let inside = prepared.inside_views(&bounds);
        Some(ResultComparer {
            moved: moved.collect(),
            pictures: pictures_of(&prepared, &bounds, &inside),
            inside,
            prepared,
            bounds,
            surface: Surface::of(scene),
        })
    }

    /// The similarity of a result, from 0 to 100: as a job measures it, in smaller pictures. What is chosen by another
    /// measure may look worse by this one than what a lower limit gives.
    pub(super) fn similarity(&self, result: &Scene) -> f64 {
        let shape = self.shape_of(result);
        let pictures = pictures_of(&shape, &self.bounds, &self.inside);
        let [before, after] = [(&self.prepared, &self.pictures), (&shape, &pictures)]
            .map(|(scene, pictures)| PictureSet { scene, pictures });
        Comparison::new(before, after).average_score()
    }

    fn shape_of(&self, result: &Scene) -> PreparedScene {
        self.prepared.reshaped(&ConvertedModel::shape_of(result))
    }

    /// How different the pictures of a result are: those from outside or from inside, whichever differ more.
    fn looks(&self, result: &Scene) -> QuickDifference {
        let pictures = pictures_of(&self.shape_of(result), &self.bounds, &self.inside);
        let outside = pictures.len() - self.inside.len();
        let (before, before_inside) = self.pictures.split_at(outside);
        let (after, after_inside) = pictures.split_at(outside);
        let one = quick_difference(before, after);
        let other = quick_difference(before_inside, after_inside);
        QuickDifference {
            mean: one.mean.max(other.mean),
            worst_tile: one.worst_tile.max(other.worst_tile),
        }
    }

    /// The distance of a result from the source; smaller is better. The factors are the mean and the worst difference of
    /// the pictures, the distance of the surfaces and the same in motion, so no recipe wins by one of them alone.
    pub(super) fn loss(&self, result: &mut Scene) -> f64 {
        let looks = self.looks(result);
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

fn pictures_of(
    scene: &PreparedScene,
    bounds: &BoundingBox,
    inside: &[View],
) -> Vec<(View, Picture)> {
    let mut pictures = scene.render_six(bounds, &PICTURES);
    pictures.extend(scene.render_inside(inside, bounds, &PICTURES));
    pictures
}
