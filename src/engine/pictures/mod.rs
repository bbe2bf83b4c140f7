//! The pictures of a job: a thumbnail, a turntable, six views of the source, six of each export, their differences and scores.
//!
//! Analysis and optimization call this module. The source is drawn once and kept; each export is drawn with the
//! source's camera, so that its pictures can be laid over the source's pixel by pixel.

use std::io::Cursor;
use std::path::Path;
use std::sync::OnceLock;

use glam::Mat4;
use image::imageops::FilterType;
use image::{ImageFormat, ImageReader};
use rayon::prelude::*;

use super::compare::{Comparison, PictureSet, Sheet, side_by_side};
use super::error::EngineError;
use super::render::{BoundingBox, Picture, PreparedScene, RenderScene, RenderSettings, View};
use super::scene::Scene;
use super::surface::Surface;

/// The folder for pictures, below a job's output folder.
pub const RENDERS_FOLDER: &str = "renders";
/// The folder for pictures of a result from all around, below a job's output folder.
pub const TURNTABLE_FOLDER: &str = "turntable";
/// The thumbnail's name in a job's output folder.
pub const THUMBNAIL_NAME: &str = "thumb.jpg";
/// The name of a small picture that is drawn alone.
pub const ICON_NAME: &str = "icon.png";
/// The name of the picture of source and result, if it is requested.
pub const BEFORE_AFTER_NAME: &str = "before-after.png";

/// The bounding box of a model without triangles.
const NOTHING: BoundingBox = BoundingBox {
    low: glam::Vec3::splat(-0.5),
    high: glam::Vec3::splat(0.5),
};

/// Pixels on each side of a job's pictures. Unoptimized code renders ten times slower and is only used for tests, so
/// it renders a quarter of the pixels.
pub const PICTURE_SIZE: usize = if cfg!(debug_assertions) { 256 } else { 512 };

/// Number of sky lights in thumbnails.
const THUMBNAIL_LIGHTS: usize = if cfg!(debug_assertions) { 4 } else { 32 };

fn settings() -> RenderSettings {
    RenderSettings {
        size: PICTURE_SIZE,
        ..RenderSettings::default()
    }
}

/// Surfaces of more triangles are not measured: the search tree takes about 150 bytes for a triangle.
const MOST_MEASURED: usize = 2_000_000;

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
    bounds: BoundingBox,
    /// The six views, then the views from inside.
    pictures: Vec<(View, Picture)>,
    /// The views from inside of the source's rooms.
    inside: Vec<View>,
    surface: OnceLock<Surface>,
    /// Whether it is drawn without its materials.
    is_bare: bool,
    /// Images of the model that could not be decoded.
    pub warnings: Vec<String>,
}

impl ModelPictures {
    /// Draws a model. A model without triangles gives empty pictures.
    pub fn draw(model: &Scene) -> ModelPictures {
        let adapted = RenderScene::from_model(model);
        let bounds = adapted.scene.bounding_box().unwrap_or(NOTHING);
        let scene = PreparedScene::new(&adapted.scene);
        let inside = scene.inside_views(&bounds);
        ModelPictures::draw_in(scene, bounds, inside, adapted.warnings)
    }

    /// The same model without its materials. Results that are compared with it are rendered without theirs, too.
    pub fn bare(&self) -> ModelPictures {
        let (scene, inside) = (self.scene.bare(), self.inside.clone());
        let bare = ModelPictures::draw_in(scene, self.bounds, inside, Vec::new());
        ModelPictures {
            is_bare: true,
            ..bare
        }
    }

    /// Draws a result with the same cameras. The result must not have been moved as a whole.
    pub fn draw_where_it_is(&self, result: &Scene) -> ModelPictures {
        self.draw_result(result, Mat4::IDENTITY)
    }

    /// Draws a result of this model with the same cameras. `moved` is how the job moved the model as a whole, from the
    /// source's space to the result's; it is undone for the pictures.
    pub fn draw_result(&self, result: &Scene, moved: Mat4) -> ModelPictures {
        let mut adapted = RenderScene::from_model(result);
        if moved != Mat4::IDENTITY {
            let back = moved.inverse();
            for instance in &mut adapted.scene.instances {
                instance.world = back * instance.world;
            }
        }
        let mut scene = PreparedScene::new(&adapted.scene);
        if self.is_bare {
            scene = scene.bare();
        }
        let inside = self.inside.clone();
        let result = ModelPictures::draw_in(scene, self.bounds, inside, adapted.warnings);
        ModelPictures {
            is_bare: self.is_bare,
            ..result
        }
    }

    fn draw_in(
        scene: PreparedScene,
        bounds: BoundingBox,
        inside: Vec<View>,
        warnings: Vec<String>,
    ) -> ModelPictures {
        let mut pictures = scene.render_six(&bounds, &settings());
        let smaller = RenderSettings {
            size: PICTURE_SIZE / 2,
            samples: if cfg!(debug_assertions) { 1 } else { 2 },
            ..RenderSettings::default()
        };
        pictures.extend(scene.render_inside(&inside, &bounds, &smaller));
        ModelPictures {
            inside,
            surface: OnceLock::new(),
            scene,
            bounds,
            pictures,
            is_bare: false,
            warnings,
        }
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
        let is_measured = (1..=MOST_MEASURED).contains(&count);
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
            pictures: &self.pictures,
        }
    }

    /// This model and its result, drawn by [`ModelPictures::draw_result`], next to each other.
    pub fn before_and_after(&self, result: &ModelPictures) -> Sheet {
        let [before, after] = [self, result].map(|model| shown(&model.scene, &self.bounds));
        side_by_side(&[&before, &after])
    }

    /// The picture of one of the six views.
    pub fn view(&self, view: View) -> Option<&Picture> {
        self.pictures
            .iter()
            .find(|(found, _)| *found == view)
            .map(|(_, picture)| picture)
    }

    /// The three-quarter view.
    pub fn three_quarter(&self, settings: &RenderSettings) -> Picture {
        self.scene
            .render(View::ThreeQuarter, &self.bounds, settings)
    }

    /// Writes the thumbnail into a job's output folder; returns its name.
    pub fn write_thumbnail(&self, output_dir: &Path) -> Result<String, EngineError> {
        let settings = RenderSettings {
            sky_lights: lights_for(&self.scene, THUMBNAIL_LIGHTS),
            ..settings()
        };
        self.three_quarter(&settings)
            .write_jpeg(&output_dir.join(THUMBNAIL_NAME))?;
        Ok(THUMBNAIL_NAME.to_owned())
    }

    /// Writes `turntable/<degrees>.jpg` into a job's output folder: the model from all around; returns the names.
    pub fn write_turntable(&self, output_dir: &Path) -> Result<Vec<String>, EngineError> {
        let settings = RenderSettings {
            size: PICTURE_SIZE / 2,
            ..RenderSettings::default()
        };
        make_folder(&output_dir.join(TURNTABLE_FOLDER))?;
        (0..View::TURNS)
            .into_par_iter()
            .map(|step| {
                let degrees = u16::from(step) * 360 / u16::from(View::TURNS);
                let name = format!("{TURNTABLE_FOLDER}/{degrees:03}.jpg");
                self.scene
                    .render(View::Turn(step), &self.bounds, &settings)
                    .write_jpeg(&output_dir.join(&name))?;
                Ok(name)
            })
            .collect()
    }

    /// Writes `renders/<prefix>-<view>.png` into a job's output folder; returns the names below that folder. The prefix
    /// is the format, or `original` for the source next to its result.
    pub fn write_views(&self, output_dir: &Path, prefix: &str) -> Result<Vec<String>, EngineError> {
        let pictures = self
            .pictures
            .iter()
            .filter(|(view, _)| !view.is_inside())
            .map(|(view, picture)| (format!("{prefix}-{}.png", view.name()), picture));
        write_all(output_dir, RENDERS_FOLDER, pictures.collect())
    }

    /// Writes `<folder>/render_<n>.png`, the views of this result, and `<folder>/diff_<n>.png`, how they differ from the
    /// source; returns the names below the output folder.
    pub fn write_numbered(
        &self,
        comparison: &Comparison,
        output_dir: &Path,
        folder: &str,
    ) -> Result<Vec<String>, EngineError> {
        let outside = self.pictures.iter().filter(|(view, _)| !view.is_inside());
        let mut pictures: Vec<(String, &Picture)> = outside
            .enumerate()
            .map(|(number, (_, picture))| (format!("render_{number}.png"), picture))
            .collect();
        let outside = comparison
            .views
            .iter()
            .filter(|compared| !compared.view.is_inside());
        for (number, compared) in outside.enumerate() {
            pictures.push((format!("diff_{number}.png"), &compared.heat_map));
        }
        write_all(output_dir, folder, pictures)
    }
}

/// A model and its result next to each other in the three-quarter view, with one camera. The picture is for users, not
/// for measurement.
pub fn before_and_after(source: &Scene, result: &Scene) -> Sheet {
    let [source, result] = [source, result].map(|model| RenderScene::from_model(model).scene);
    let bounds = source.bounding_box().unwrap_or(NOTHING);
    let [before, after] = [source, result].map(|scene| shown(&PreparedScene::new(&scene), &bounds));
    side_by_side(&[&before, &after])
}

/// A model in the three-quarter view, as in its thumbnail: `size` pixels on each side.
pub fn icon(model: &Scene, size: usize) -> Picture {
    let adapted = RenderScene::from_model(model);
    let bounds = adapted.scene.bounding_box().unwrap_or(NOTHING);
    let scene = PreparedScene::new(&adapted.scene);
    let settings = RenderSettings {
        size,
        sky_lights: lights_for(&scene, THUMBNAIL_LIGHTS),
        ..RenderSettings::default()
    };
    scene.render(View::ThreeQuarter, &bounds, &settings)
}

/// The largest thumbnail that is decoded, in pixels on each side and in bytes of memory.
const LARGEST_THUMBNAIL: (u32, u64) = (8192, 256 << 20);

/// A thumbnail, as PNG with at most `size` pixels on each side. It is never enlarged.
///
/// # Errors
/// When it is no JPEG, is damaged, or is too large to be a thumbnail.
pub fn icon_of_thumbnail(jpeg: &[u8], size: u32) -> image::ImageResult<Vec<u8>> {
    let (side, memory) = LARGEST_THUMBNAIL;
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

impl Comparison {
    /// Writes `renders/<format>-<view>__diff.png` into a job's output folder; returns the names below that folder.
    pub fn write_heat_maps(
        &self,
        output_dir: &Path,
        format: &str,
    ) -> Result<Vec<String>, EngineError> {
        let name = |view: View| format!("{format}-{}__diff.png", view.name());
        let pictures = self
            .views
            .iter()
            .filter(|compared| !compared.view.is_inside())
            .map(|compared| (name(compared.view), &compared.heat_map));
        write_all(output_dir, RENDERS_FOLDER, pictures.collect())
    }
}

fn make_folder(folder: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(folder).map_err(|source| EngineError::Io {
        path: folder.to_owned(),
        source,
    })
}

fn write_all(
    output_dir: &Path,
    below: &str,
    pictures: Vec<(String, &Picture)>,
) -> Result<Vec<String>, EngineError> {
    let folder = output_dir.join(below);
    make_folder(&folder)?;
    pictures
        .into_par_iter()
        .map(|(name, picture)| {
            picture.write_png(&folder.join(&name))?;
            Ok(format!("{below}/{name}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::import::import;
    use super::super::sample::{ChairDetail, write_chair_with};
    use super::*;

    fn chair() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let chair = write_chair_with(dir.path(), ChairDetail::Small).unwrap();
        import(dir.path(), &chair.names).unwrap().scene
    }

    #[test]
    fn model_moved_as_a_whole_still_looks_the_same() {
        let source = chair();
        let mut moved = source.clone();
        let by = Mat4::from_translation(glam::Vec3::new(3.0, -1.0, 0.5));
        let root = &mut moved.list_mut("nodes").unwrap()[0];
        root["translation"] = serde_json::json!([3.0, -1.0, 0.5]);
        let pictures = ModelPictures::draw(&source);
        let score = |by| {
            pictures
                .compare(&pictures.draw_result(&moved, by))
                .average_score()
        };
        let (put_back, left_there) = (score(by), score(Mat4::IDENTITY));
        assert!(put_back > 99.0, "{put_back}");
        assert!(left_there < 60.0, "{left_there}");
    }

    #[test]
    fn pictures_have_the_names_of_the_service() {
        let dir = tempfile::tempdir().unwrap();
        let pictures = ModelPictures::draw(&chair());
        let comparison = pictures.compare(&pictures);
        let mut names = pictures.write_views(dir.path(), "original").unwrap();
        names.extend(comparison.write_heat_maps(dir.path(), "glb").unwrap());
        names.push(pictures.write_thumbnail(dir.path()).unwrap());
        assert_eq!(names[0], "renders/original-back.png");
        assert_eq!(names[11], "renders/glb-top__diff.png");
        for name in names {
            let image = image::open(dir.path().join(&name)).unwrap();
            let size = PICTURE_SIZE as u32;
            assert_eq!((image.width(), image.height()), (size, size), "{name}");
        }
    }

    #[test]
    fn turntable_shows_the_whole_model_from_all_around() {
        let dir = tempfile::tempdir().unwrap();
        let names = ModelPictures::draw(&chair())
            .write_turntable(dir.path())
            .unwrap();
        assert_eq!(names.len(), usize::from(View::TURNS));
        assert_eq!(names[0], "turntable/000.jpg");
        let pictures: Vec<_> = names
            .iter()
            .map(|name| image::open(dir.path().join(name)).unwrap().into_rgb8())
            .collect();
        let background = *pictures[0].get_pixel(0, 0);
        for (name, picture) in names.iter().zip(&pictures) {
            let size = picture.width();
            assert_eq!(size, PICTURE_SIZE as u32 / 2);
            let seen = |x: u32, y: u32| {
                let pixel = picture.get_pixel(x, y);
                pixel
                    .0
                    .iter()
                    .zip(background.0)
                    .any(|(one, two)| one.abs_diff(two) > 24)
            };
            let border =
                (0..size).flat_map(|at| [(at, 0), (at, size - 1), (0, at), (size - 1, at)]);
            assert!(
                !border.into_iter().any(|(x, y)| seen(x, y)),
                "{name} is cut off"
            );
            assert!((0..size).any(|at| seen(at, size / 2)), "{name} is empty");
        }
        assert_ne!(pictures[0], pictures[1], "it turns");
    }

    #[test]
    fn empty_model_gives_empty_pictures() {
        let pictures = ModelPictures::draw(&Scene::default());
        let front = pictures.view(View::Front).unwrap();
        assert!(
            front
                .parts
                .iter()
                .all(|part| *part == super::super::render::NO_PART)
        );
    }
}
