//! A source that several results are measured against, whoever made them.

use std::path::Path;

use glam::DVec3;

use super::super::caught::caught;
use super::super::error::EngineError;
use super::super::pictures::ModelPictures;
use super::super::surface::{Distances, Surface};
use super::model::Model;

/// Number of moments of its animations in which a model is measured.
const POSES: usize = 6;

/// A source, drawn and measured once.
#[derive(Debug)]
pub struct Reference {
    pictures: ModelPictures,
    surface: Surface,
    /// The point of the world that both are measured from.
    origin: DVec3,
    /// The same at several moments of its animations.
    moments: Vec<(ModelPictures, Surface)>,
}

/// How a result differs from its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Measures {
    /// The mean difference of the pictures as FLIP gives it: 0 (equal) to 1.
    pub flip: f64,
    /// The similarity: 0 (completely different) to 100 (equal).
    pub score: f64,
    /// The similarity of the worst tile of all pictures: 0 to 100.
    pub worst_tile: f64,
    /// Distances of points of the source from the result, in percent of the source's diagonal.
    pub there: Distances,
    /// Distances of points of the result from the source, in percent of the source's diagonal.
    pub back: Distances,
    /// `None` if nothing moves or the animations differ.
    pub in_motion: Option<InMotion>,
}

/// How a result differs from its source at several moments of their animations.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct InMotion {
    /// The mean of [`Measures::flip`] over the moments.
    pub flip: f64,
    /// The greatest 99th percentile of the distances, there or back.
    pub p99: f64,
}

impl Reference {
    /// Draws and measures a source. With `views` the six views are written into that folder, which must exist, as
    /// `source-….png`.
    ///
    /// # Errors
    /// If a view cannot be written.
    pub fn new(source: &mut Model, views: Option<&Path>) -> Result<Reference, EngineError> {
        caught(|| {
            let pictures = ModelPictures::draw(source.scene());
            if let Some(folder) = views {
                pictures.write_views(folder, "source")?;
            }
            let surface = Surface::of(source.scene());
            let origin = source.scene().origin;
            let poses = source.scene().poses(POSES);
            let moments = poses.iter().map(|pose| {
                source.scene_mut().in_pose(pose, |posed| {
                    (ModelPictures::draw(posed), Surface::of(posed))
                })
            });
            Ok(Reference {
                pictures,
                surface,
                origin,
                moments: moments.collect(),
            })
        })
    }

    /// Measures a result, which must be at the same place as the source. `views` is a folder, and the beginning of the
    /// names of the pictures in it.
    ///
    /// # Errors
    /// If a view cannot be written.
    pub fn measure(
        &self,
        result: &mut Model,
        views: Option<(&Path, &str)>,
    ) -> Result<Measures, EngineError> {
        caught(|| {
            result.scene_mut().origin = self.origin;
            let drawn = self.pictures.draw_where_it_is(result.scene());
            if let Some((folder, name)) = views {
                drawn.write_views(folder, name)?;
            }
            let comparison = self.pictures.compare(&drawn);
            let [there, back] = self.surface.distances(&Surface::of(result.scene()));
            Ok(Measures {
                flip: comparison.mean_difference(),
                score: comparison.average_score(),
                worst_tile: comparison
                    .worst_tile()
                    .map_or(100.0, |(_, tile)| tile.score),
                there,
                back,
                in_motion: self.in_motion(result),
            })
        })
    }

    fn in_motion(&self, result: &mut Model) -> Option<InMotion> {
        let poses = result.scene().poses(POSES);
        if self.moments.is_empty() || poses.len() != self.moments.len() {
            return None;
        }
        let (mut flip, mut p99) = (0.0, 0.0f64);
        for (pose, (pictures, surface)) in poses.iter().zip(&self.moments) {
            result.scene_mut().in_pose(pose, |posed| {
                let drawn = pictures.draw_where_it_is(posed);
                flip += pictures.compare(&drawn).mean_difference();
                let [there, back] = surface.distances(&Surface::of(posed));
                p99 = p99.max(there.p99).max(back.p99);
            });
        }
        Some(InMotion {
            flip: flip / poses.len() as f64,
            p99,
        })
    }
}
