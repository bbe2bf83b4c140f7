//! The pictures of a job: a thumbnail, a turntable, six views of the source, six of each export, their differences and scores.
//!
//! Analysis and optimization call this module. The source is drawn once and kept; each export is drawn with the
//! source's camera, so that its pictures can be laid over the source's pixel by pixel.

mod badge;
pub mod files;
#[cfg(test)]
mod tests;

use std::io::Cursor;
use std::sync::OnceLock;

use glam::{DMat4, DVec3};
use image::imageops::FilterType;
use image::{ImageFormat, ImageReader};

use super::render::{BoundingBox, ConvertedModel, Picture, PreparedScene, RenderSettings, View};
use super::scene::Scene;
use super::surface::Surface;
use assetfs_formats::warnings::Warning;
use assetfs_render::compare::{Comparison, PictureSet, Sheet, side_by_side};
pub use badge::{Badge, badged};

/// The folder for pictures, below a job's output folder.
pub const RENDERS_FOLDER: &str = "renders";
/// The folder for pictures of a result from all around, below a job's output folder.
pub const TURNTABLE_FOLDER: &str = "turntable";
/// The thumbnail's name in a job's output folder.
pub const THUMBNAIL_NAME: &str = "thumb.jpg";
/// The large picture's name in [`RENDERS_FOLDER`].
pub const OVERVIEW_NAME: &str = "overview.jpg";
/// The name of a small picture that is drawn alone.
pub const ICON_NAME: &str = "icon.png";
/// The name of the picture of source and result, if it is requested.
pub const BEFORE_AFTER_NAME: &str = "before-after.png";

/// The bounding box of a model without triangles.
const NOTHING: BoundingBox = BoundingBox {
    low: glam::Vec3::splat(-0.5),
    high: glam::Vec3::splat(0.5),
};

/// Pixels on each side of the pictures that are compared. Unoptimized code renders ten times slower and is only used for tests, so
/// it renders a quarter of the pixels.
pub const PICTURE_SIZE: usize = if cfg!(debug_assertions) { 256 } else { 512 };

/// Pixels on each side of pictures for looking at: the overview, and the views that the page shows large.
pub const LARGE_SIZE: usize = 2 * PICTURE_SIZE;

/// Number of sky lights in thumbnails.
const THUMBNAIL_LIGHTS: usize = if cfg!(debug_assertions) { 4 } else { 32 };

/// Surfaces of more triangles are not measured: the search tree takes about 150 bytes for a triangle.
const MAX_MEASURED_TRIANGLES: usize = 2_000_000;

/// Distances of two surfaces: 99th percentiles in percent of the source's diagonal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SurfaceDistances {
    /// Of points of the source from the result: great where something is missing.
    pub of_source: f64,
    /// Of points of the result from the source: great where something was added or bent.
    pub of_result: f64,
}

/// A model and its pictures.
#[derive(Debug)]
pub struct ModelPictures {
    scene: PreparedScene,
    /// The point of the world that the scene is measured from.
    origin: DVec3,
    bounds: BoundingBox,
    /// The pictures that are compared: the six views, then the views from inside.
    compared: OnceLock<Vec<(View, Picture)>>,
    /// The views from inside of the source's rooms.
    inside: OnceLock<Vec<View>>,
    surface: OnceLock<Surface>,
    /// The six views for looking at, as PNG.
    large: OnceLock<Vec<(View, Vec<u8>)>>,
    /// The large picture for users.
    shown: OnceLock<Picture>,
    /// Pixels on each side of the six pictures; views from inside have half as many.
    size: usize,
    /// Whether it is drawn without its materials.
    is_bare: bool,
    /// Images of the model that could not be decoded.
    pub warnings: Vec<Warning>,
}

impl ModelPictures {
    /// Draws a model. A model without triangles gives empty pictures.
    pub fn draw(model: &Scene) -> ModelPictures {
        let drawn = ModelPictures::undrawn(model);
        drawn.compared();
        drawn
    }

    /// As [`ModelPictures::draw`], but the pictures that are compared are drawn when they are needed.
    pub fn undrawn(model: &Scene) -> ModelPictures {
        let adapted = ConvertedModel::of(model);
        let bounds = adapted.scene.bounding_box().unwrap_or(NOTHING);
        let scene = PreparedScene::new(&adapted.scene).coarsened(&bounds);
        ModelPictures {
            warnings: adapted.warnings,
            ..ModelPictures::of(scene, bounds, model.origin)
        }
    }

    /// The same model in pictures of half the sides, for quick comparisons.
    pub fn smaller(&self) -> ModelPictures {
        self.draw_like_this(self.scene.clone(), self.size / 2)
    }

    /// The same model without its materials. Results that are compared with it are rendered without theirs, too.
    pub fn bare(&self) -> ModelPictures {
        ModelPictures {
            is_bare: true,
            ..self.draw_like_this(self.scene.bare(), self.size)
        }
    }

    /// Draws a result with the same cameras. The result must not have been moved as a whole.
    pub fn draw_where_it_is(&self, result: &Scene) -> ModelPictures {
        self.draw_result(result, DMat4::IDENTITY)
    }

    /// Draws a result of this model with the same cameras. `moved` is how the job moved the model as a whole, from the
    /// source's space to the result's; it is undone for the pictures.
    pub fn draw_result(&self, result: &Scene, moved: DMat4) -> ModelPictures {
        let adapted = measured_from(self.origin, result, moved.inverse());
        let mut scene = PreparedScene::new(&adapted.scene).coarsened(&self.bounds);
        if self.is_bare {
            scene = scene.bare();
        }
        ModelPictures {
            warnings: adapted.warnings,
            ..self.draw_like_this(scene, self.size)
        }
    }

    /// Draws a scene with the cameras of this one, in pictures of so many pixels on each side.
    fn draw_like_this(&self, scene: PreparedScene, size: usize) -> ModelPictures {
        let drawn = ModelPictures {
            inside: OnceLock::from(self.inside().to_vec()),
            size,
            is_bare: self.is_bare,
            ..ModelPictures::of(scene, self.bounds, self.origin)
        };
        drawn.compared();
        drawn
    }

    /// Without pictures.
    fn of(scene: PreparedScene, bounds: BoundingBox, origin: DVec3) -> ModelPictures {
        ModelPictures {
            scene,
            origin,
            bounds,
            compared: OnceLock::new(),
            inside: OnceLock::new(),
            surface: OnceLock::new(),
            large: OnceLock::new(),
            shown: OnceLock::new(),
            size: PICTURE_SIZE,
            is_bare: false,
            warnings: Vec::new(),
        }
    }

    fn inside(&self) -> &[View] {
        let find = || self.scene.inside_views(&self.bounds);
        self.inside.get_or_init(find)
    }

    /// The pictures that are compared.
    fn compared(&self) -> &[(View, Picture)] {
        self.compared.get_or_init(|| {
            let settings = RenderSettings {
                size: self.size,
                ..RenderSettings::default()
            };
            let mut pictures = self.scene.render_six(&self.bounds, &settings);
            let smaller = RenderSettings {
                size: self.size / 2,
                samples: if cfg!(debug_assertions) { 1 } else { 2 },
                ..RenderSettings::default()
            };
            let inside = self
                .scene
                .render_inside(self.inside(), &self.bounds, &smaller);
            pictures.extend(inside);
            pictures
        })
    }

    /// How far the surface of a result, which [`ModelPictures::draw_result`] drew, is from this one, and this one from
    /// the result: 99th percentiles in percent of the diagonal. `None` for models of so many triangles that the search
    /// would take too much memory.
    pub fn distances(&self, result: &ModelPictures) -> Option<SurfaceDistances> {
        let (source, result) = (self.surface()?, result.surface()?);
        let [of_source, of_result] = source.quick_distances(result);
        Some(SurfaceDistances {
            of_source,
            of_result,
        })
    }

    fn surface(&self) -> Option<&Surface> {
        let count = self.scene.triangle_count();
        let is_measured = (1..=MAX_MEASURED_TRIANGLES).contains(&count) && !self.scene.is_coarse();
        is_measured.then(|| {
            let measured = || Surface::from_triangles(self.scene.triangles_in_world());
            self.surface.get_or_init(measured)
        })
    }

    /// Compares this model with `result`, which [`ModelPictures::draw_result`] drew.
    pub fn compare(&self, result: &ModelPictures) -> Comparison {
        Comparison::new(self.gallery(), result.gallery())
    }

    fn gallery(&self) -> PictureSet<'_> {
        PictureSet {
            scene: &self.scene,
            pictures: self.compared(),
        }
    }

    /// This model and its result, drawn by [`ModelPictures::draw_result`], next to each other.
    pub fn before_and_after(&self, result: &ModelPictures) -> Sheet {
        // The source may have several results.
        let before = self.shown.get_or_init(|| shown(&self.scene, &self.bounds));
        let after = shown(&result.scene, &self.bounds);
        side_by_side(&[before, &after])
    }

    /// The picture of one of the six views.
    pub fn view(&self, view: View) -> Option<&Picture> {
        self.compared()
            .iter()
            .find(|(found, _)| *found == view)
            .map(|(_, picture)| picture)
    }

    /// The three-quarter view.
    pub fn three_quarter(&self, settings: &RenderSettings) -> Picture {
        self.scene
            .render(View::ThreeQuarter, &self.bounds, settings)
    }
}

/// A model and its result next to each other in the three-quarter view, with one camera. The picture is for users, not
/// for measurement.
pub fn before_and_after(source: &Scene, result: &Scene) -> Sheet {
    let [source, result] =
        [source, result].map(|model| measured_from(source.origin, model, DMat4::IDENTITY).scene);
    let bounds = source.bounding_box().unwrap_or(NOTHING);
    let [before, after] = [source, result]
        .map(|scene| PreparedScene::new(&scene).coarsened(&bounds))
        .map(|scene| shown(&scene, &bounds));
    side_by_side(&[&before, &after])
}

/// A model after a transform of the world, measured from a point that may be another than its own.
fn measured_from(origin: DVec3, model: &Scene, by: DMat4) -> ConvertedModel {
    let mut adapted = ConvertedModel::of(model);
    let by = DMat4::from_translation(-origin) * by * DMat4::from_translation(model.origin);
    if by != DMat4::IDENTITY {
        for instance in &mut adapted.scene.instances {
            instance.world = (by * instance.world.as_dmat4()).as_mat4();
        }
    }
    adapted
}

/// A model in the three-quarter view, as in its thumbnail: `size` pixels on each side.
pub fn icon(model: &Scene, size: usize) -> Picture {
    let adapted = ConvertedModel::of(model);
    let bounds = adapted.scene.bounding_box().unwrap_or(NOTHING);
    let scene = PreparedScene::new(&adapted.scene).coarsened(&bounds);
    let settings = RenderSettings {
        size,
        sky_lights: lights_for(&scene, THUMBNAIL_LIGHTS),
        ..RenderSettings::default()
    };
    scene.render(View::ThreeQuarter, &bounds, &settings)
}

/// The largest thumbnail that is decoded, in pixels on each side and in bytes of memory.
const MAX_THUMBNAIL: (u32, u64) = (8192, 256 << 20);

/// A thumbnail, as PNG with at most `size` pixels on each side. It is never enlarged.
///
/// # Errors
/// When it is no JPEG, is damaged, or is too large to be a thumbnail.
pub fn icon_of_thumbnail(jpeg: &[u8], size: u32) -> image::ImageResult<Vec<u8>> {
    let (side, memory) = MAX_THUMBNAIL;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(side);
    limits.max_image_height = Some(side);
    limits.max_alloc = Some(memory);
    let mut reader = ImageReader::with_format(Cursor::new(jpeg), ImageFormat::Jpeg);
    reader.limits(limits);
    let mut picture = reader.decode()?;
    if picture.width() > size || picture.height() > size {
        picture = picture.resize(size, size, FilterType::Triangle);
    }
    let mut png = Vec::new();
    picture
        .into_rgb8()
        .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
    Ok(png)
}

/// A picture for users, with many samples and soft light.
fn shown(scene: &PreparedScene, bounds: &BoundingBox) -> Picture {
    let (size, samples, most_lights) = if cfg!(debug_assertions) {
        (PICTURE_SIZE, 1, THUMBNAIL_LIGHTS)
    } else {
        (720, 3, 64)
    };
    let settings = RenderSettings {
        size,
        samples,
        sky_lights: lights_for(scene, most_lights),
        ..RenderSettings::default()
    };
    scene.render(View::ThreeQuarter, bounds, &settings)
}

/// The number of sky lights: each draws all triangles once, so large models get fewer.
fn lights_for(scene: &PreparedScene, most: usize) -> usize {
    (4_000_000 / scene.triangle_count().max(1)).clamp(most.min(12), most)
}
