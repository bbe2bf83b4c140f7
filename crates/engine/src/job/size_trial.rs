//! Tries settings on a scene that has a target size, and measures the bytes of the first export.

use super::super::clean;
use super::super::error::EngineError;
use super::super::export::{Names, write};
use super::super::scene::Scene;
use super::super::settings::{MeshCompression, Settings, TextureLimits};
use super::super::textures::{dimensions, fit};
use super::export::{narrowed, plan_of};
use super::judge::DrawnSource;
use super::reduce::ReducedScene;
use assetfs_formats::TextureFormat;

/// The longest side of the smallest textures.
pub(super) const MIN_SIDE: u32 = 4;
/// Geometry is packed for a target size if that saves at least this part of the whole file.
const WORTH_PACKING: f64 = 0.02;

/// A result of the scene with its settings.
pub(super) struct Trial {
    pub(super) settings: Settings,
    pub(super) result: ReducedScene,
    /// The bytes of the first export.
    pub(super) bytes: u64,
}

/// A scene that has a target size.
pub(super) struct SizedScene<'a> {
    pub(super) scene: &'a Scene,
    pub(super) drawn: DrawnSource<'a>,
    pub(super) settings: Settings,
    /// The most faces.
    pub(super) faces: u64,
    /// The longest side of any texture.
    pub(super) longest_side: u32,
    pub(super) target_bytes: u64,
}

impl<'a> SizedScene<'a> {
    pub(super) fn new(
        scene: &'a Scene,
        settings: Settings,
        target_bytes: u64,
        drawn: DrawnSource<'a>,
    ) -> SizedScene<'a> {
        let faces = scene.drawn_triangles();
        SizedScene {
            scene,
            drawn,
            faces: settings.face_limit(faces).unwrap_or(faces).min(faces),
            longest_side: longest_side(scene),
            target_bytes,
            settings,
        }
    }

    /// The settings with so many faces and textures of this side; textures whose format is open get `format`.
    pub(super) fn settings_with(&self, faces: u64, side: u32, format: TextureFormat) -> Settings {
        let limit = |known: Option<u32>| Some(known.map_or(side, |known| known.min(side)));
        let limits = &self.settings.texture_limits;
        let mut settings = Settings {
            face_count: Some(faces.max(1)),
            face_percentage: None,
            texture_limits: TextureLimits {
                base_color: limit(limits.base_color),
                emissive: limit(limits.emissive),
                normal: limit(limits.normal),
                orm: limit(limits.orm),
            },
            ..self.settings.clone()
        };
        let formats = &mut settings.exports[0].textures;
        for known in [
            &mut formats.base_color,
            &mut formats.emissive,
            &mut formats.normal,
            &mut formats.orm,
        ] {
            if *known == TextureFormat::Auto {
                *known = format;
            }
        }
        settings
    }

    pub(super) fn try_settings(&self, settings: Settings) -> Result<Trial, EngineError> {
        let result = ReducedScene::new(self.scene.clone(), &settings, self.drawn);
        let bytes = exported_bytes(&exported(&result.scene, &settings), &settings)?;
        Ok(Trial {
            bytes,
            settings,
            result,
        })
    }

    /// The result with packed geometry, if that is smaller.
    pub(super) fn packed_if_smaller(&mut self, whole: Trial) -> Result<Trial, EngineError> {
        let mut settings = whole.settings.clone();
        settings.exports[0].compression = MeshCompression::Meshopt;
        let bytes = exported_bytes(&exported(&whole.result.scene, &settings), &settings)?;
        if bytes as f64 > whole.bytes as f64 * (1.0 - WORTH_PACKING) {
            return Ok(whole);
        }
        self.settings = settings.clone();
        Ok(Trial {
            settings,
            bytes,
            result: whole.result,
        })
    }

    /// The smallest result: as few faces as possible, and textures of the least side in the format that is smallest.
    pub(super) fn smallest(&self) -> Result<Trial, EngineError> {
        let settings = |format| self.settings_with(1, MIN_SIDE, format);
        let mut smallest = self.try_settings(settings(TextureFormat::Auto))?;
        for format in [TextureFormat::Jpg, TextureFormat::Png] {
            let settings = settings(format);
            let scene = exported(&smallest.result.scene, &settings);
            let bytes = exported_bytes(&scene, &settings)?;
            if bytes < smallest.bytes {
                smallest = Trial {
                    bytes,
                    settings,
                    result: smallest.result,
                };
            }
        }
        Ok(smallest)
    }
}

/// The scene as the first export holds it.
pub(super) fn exported(scene: &Scene, settings: &Settings) -> Scene {
    let mut scene = scene.clone();
    let export = &settings.exports[0];
    clean::finish(&mut scene);
    clean::prune(&mut scene);
    fit(&mut scene, &plan_of(settings, export));
    narrowed(&scene, export).into_owned()
}

/// The bytes of the first export, of a scene as it holds it.
pub(super) fn exported_bytes(scene: &Scene, settings: &Settings) -> Result<u64, EngineError> {
    let files = write(scene, &settings.exports[0], "model", &mut Names::default())?;
    Ok(files.iter().map(|file| file.bytes.len() as u64).sum())
}

fn longest_side(scene: &Scene) -> u32 {
    scene
        .images
        .iter()
        .filter_map(|image| dimensions(&image.bytes))
        .map(|(width, height)| width.max(height))
        .max()
        .unwrap_or(0)
}
