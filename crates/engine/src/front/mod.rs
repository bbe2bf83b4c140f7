//! The front door: a model and what can be done with it. The steps themselves are in the modules below.

mod model;
mod outcome;
mod reference;

use glam::DMat4;

use super::caught::caught;
use super::error::EngineError;
use super::export::OutFile;
use super::job::automatic::converted;
use super::pictures::{ModelPictures, before_and_after as drawn_side_by_side};
use super::render::{ConvertedModel, Picture, PreparedScene, RenderSettings, View};
use super::settings::Settings;
use assetfs_formats::FileFormat;
use assetfs_formats::warnings::Warning;
use assetfs_render::compare::{Comparison, Sheet};

pub use model::Model;
pub use outcome::Outcome;
pub use reference::{InMotion, Measures, Reference};

/// Optimizes a model: cleans it, reduces triangles and textures as the settings say, writes the files that they ask for, and
/// compares each with the source.
///
/// [`Settings::default`] is a lossless clean-up to one glb. The model's files are read again, because settings can say how
/// (CAD files, USD purposes). It runs on the calling thread and uses all processors; a large model takes minutes and
/// several GB of memory.
///
/// # Errors
/// If the model's files are gone, the settings leave nothing of the model, a format cannot hold the result, or there is too
/// little memory or disk. No file outside of the [`Outcome`] is written in any case.
///
/// ```
/// use assetfs_engine::{Model, Settings, optimize, sample};
///
/// # let dir = tempfile::tempdir()?;
/// # let chair = dir.path();
/// sample::write_chair_with(chair, sample::ChairDetail::Small)?;
/// let model = Model::open(chair)?;
/// let settings: Settings = r#"{
///     "limits": { "faces": { "count": 500 } },
///     "compressionAndExport": { "fileExports": [{ "fileType": "glb" }, { "fileType": "usdz" }] }
/// }"#
/// .parse()?;
/// let outcome = optimize(&model, &settings)?;
/// assert!(outcome.report().result.triangles <= 500);
/// let written = outcome.save(&chair.join("out"))?;
/// assert!(written[0].ends_with("out/chair.glb"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn optimize(model: &Model, settings: &Settings) -> Result<Outcome, EngineError> {
    Outcome::of(model, settings)
}

/// Draws a model from one direction. The picture shows the whole model, whatever its size, and is the same on every machine.
///
/// # Errors
/// If the model has no triangles.
///
/// ```
/// use assetfs_engine::{Model, RenderSettings, View, render, sample};
///
/// # let dir = tempfile::tempdir()?;
/// # let chair = dir.path();
/// sample::write_chair_with(chair, sample::ChairDetail::Small)?;
/// let model = Model::open(chair.join("chair.gltf"))?;
/// let settings = RenderSettings { size: 64, ..RenderSettings::default() };
/// let picture = render(&model, View::ThreeQuarter, &settings)?;
/// assert_eq!(picture.rgba.len(), 64 * 64 * 4);
/// picture.write_png(&chair.join("chair.png"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn render(
    model: &Model,
    view: View,
    settings: &RenderSettings,
) -> Result<Picture, EngineError> {
    caught(|| {
        let adapted = ConvertedModel::of(model.scene());
        let Some(bounds) = adapted.scene.bounding_box() else {
            return Err(EngineError::NothingToDraw(model.name()));
        };
        let scene = PreparedScene::new(&adapted.scene).coarsened(&bounds);
        Ok(scene.render(view, &bounds, settings))
    })
}

/// Compares how a result looks with how its source looks, from six sides, and from inside if the source has rooms. The
/// result must be at the same place and of the same size as the source.
///
/// For several results of one source, [`Reference`] draws the source only once.
///
/// # Errors
/// If one of them has no triangles.
///
/// ```
/// use assetfs_engine::{Model, Settings, compare, optimize, sample};
///
/// # let dir = tempfile::tempdir()?;
/// # let chair = dir.path();
/// sample::write_chair_with(chair, sample::ChairDetail::Small)?;
/// let source = Model::open(chair)?;
/// assert_eq!(compare(&source, &source)?.average_score(), 100.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(source: &Model, result: &Model) -> Result<Comparison, EngineError> {
    caught(|| {
        source.check_it_can_be_drawn()?;
        result.check_it_can_be_drawn()?;
        let source = ModelPictures::draw(source.scene());
        let result = source.draw_result(result.scene(), DMat4::IDENTITY);
        Ok(source.compare(&result))
    })
}

/// Draws a source and its result next to each other with one camera, for people.
///
/// # Errors
/// If the source has no triangles.
pub fn before_and_after(source: &Model, result: &Model) -> Result<Sheet, EngineError> {
    caught(|| {
        source.check_it_can_be_drawn()?;
        Ok(drawn_side_by_side(source.scene(), result.scene()))
    })
}

/// Converts a model to another format and changes nothing else. The files are in memory, the main one first; they belong
/// into one folder. [`losses`] says what the format cannot hold.
///
/// # Errors
/// If the format holds triangles only and the model has none, or the file would be too large for its format.
///
/// ```
/// use assetfs_engine::{FileFormat, Model, export, sample};
///
/// # let dir = tempfile::tempdir()?;
/// # let chair = dir.path();
/// sample::write_chair_with(chair, sample::ChairDetail::Small)?;
/// let files = export(&Model::open(chair)?, FileFormat::Obj)?;
/// let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
/// assert_eq!(names[..2], ["chair.obj", "chair.mtl"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(model: &Model, format: FileFormat) -> Result<Vec<OutFile>, EngineError> {
    caught(|| converted(model.scene(), format, &model.name()))
}

/// What a format cannot hold of a model, a warning for each kind of loss.
pub fn losses(model: &Model, format: FileFormat) -> Vec<Warning> {
    super::export::losses(model.scene(), format)
}
