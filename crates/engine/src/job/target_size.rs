//! Meets a target file size: a binary search for the most faces and pixels that fit.
//!
//! A number between 0 and 1 is the share that is kept: faces are proportional to it, and the sides of textures to its
//! square root. The size grows with the share, so the search finds the largest share that fits.
//!
//! Where textures are baked, a result takes seconds. The search then goes by estimates: the textures that were baked for
//! the whole model count by their pixels, and geometry by its triangles. What it finds is made and measured,
//! and the estimates are corrected by that.

use super::super::clean;
use super::super::error::EngineError;
use super::super::export::Names;
use super::super::number_text::grouped;
use super::super::scene::Scene;
use super::super::settings::{Settings, TextureLimits};
use super::super::textures::{dimensions, fit};
use super::context::JobContext;
use super::export::{encode, narrowed, plan_of};
use super::rebaked::DrawnSource;
use super::reduce::{ReducedScene, bakes};

/// Steps of the binary search: the result is within a few percent of the target.
const TRIES: u8 = 7;
/// Results that are made, if their textures are baked.
const BAKED_TRIES: u8 = 4;
/// Estimates aim at so much less than the target for each result that was too large.
const MARGIN: f64 = 1.02;
/// The least share that is kept.
const LEAST_KEPT: f64 = 0.002;
/// The search ends at a result above this share of the target.
const CLOSE_ENOUGH: f64 = 0.9;
/// Textures are not made smaller than this to save bytes.
const LEAST_TEXTURE: f64 = 64.0;

/// Settings with limits that bring the first export below its target size, and the scene that was reduced by them, if it
/// was kept.
pub(super) fn settings_for_size(
    scene: &Scene,
    settings: Settings,
    target_bytes: u64,
    drawn: DrawnSource<'_>,
    job: &mut JobContext<'_>,
) -> Result<(Settings, Option<ReducedScene>), EngineError> {
    let search = Search {
        scene,
        drawn,
        settings: &settings,
        faces: settings
            .face_limit(scene.drawn_triangles())
            .unwrap_or(u64::MAX)
            .min(scene.drawn_triangles()),
        longest_side: longest_side(scene),
        target_bytes,
    };
    job.step(16, "measuring the size");
    let whole = search.try_settings(settings.clone())?;
    if whole.bytes <= target_bytes {
        return Ok((settings, Some(whole.result)));
    }
    let best = match bakes(&settings) {
        true => search.by_estimates(whole, job)?,
        false => search.by_trials(job)?,
    };
    if best.is_none() {
        job.warn(format!(
            "the target size of {} bytes is too small for this model; the result is the smallest that the engine makes",
            grouped(target_bytes)
        ));
    }
    job.metrics.lap("size");
    Ok(match best {
        Some(found) => (found.settings, Some(found.result)),
        None => (search.settings_keeping(LEAST_KEPT), None),
    })
}

/// What settings make of the scene.
struct Trial {
    settings: Settings,
    result: ReducedScene,
    /// The bytes of the first export.
    bytes: u64,
}

struct Search<'a> {
    scene: &'a Scene,
    drawn: DrawnSource<'a>,
    settings: &'a Settings,
    /// Number of faces at share 1.
    faces: u64,
    /// The longest side of any texture at share 1.
    longest_side: u32,
    target_bytes: u64,
}

impl Search<'_> {
    /// The longest side of textures at this share.
    fn side_keeping(&self, kept: f64) -> u32 {
        let side = (f64::from(self.longest_side) * kept.sqrt()).max(LEAST_TEXTURE);
        // Multiples of four suit every encoder and GPU.
        (side / 4.0).floor() as u32 * 4
    }

    fn settings_keeping(&self, kept: f64) -> Settings {
        let side = self.side_keeping(kept);
        let limit = |known: Option<u32>| Some(known.map_or(side, |known| known.min(side)));
        let limits = &self.settings.texture_limits;
        Settings {
            face_count: Some(((self.faces as f64 * kept) as u64).max(1)),
            face_percentage: None,
            texture_limits: TextureLimits {
                base_color: limit(limits.base_color),
                emissive: limit(limits.emissive),
                normal: limit(limits.normal),
                orm: limit(limits.orm),
            },
            ..self.settings.clone()
        }
    }

    /// The largest share that fits, by making each result.
    fn by_trials(&self, job: &mut JobContext<'_>) -> Result<Option<Trial>, EngineError> {
        let (mut low, mut high) = (LEAST_KEPT, 1.0);
        let mut best = None;
        for attempt in 0..TRIES {
            let kept = f64::sqrt(low * high);
            job.step(17 + attempt, "searching for the target size");
            let trial = self.try_settings(self.settings_keeping(kept))?;
            if trial.bytes > self.target_bytes {
                high = kept;
                continue;
            }
            low = kept;
            let is_close = trial.bytes as f64 >= self.target_bytes as f64 * CLOSE_ENOUGH;
            best = Some(trial);
            if is_close {
                break;
            }
        }
        Ok(best)
    }

    /// About the largest share that fits, by estimates from the result of the whole model. Each result that is too large
    /// replaces the one that estimates are made from.
    fn by_estimates(
        &self,
        whole: Trial,
        job: &mut JobContext<'_>,
    ) -> Result<Option<Trial>, EngineError> {
        let mut estimate = Estimate::of(&whole);
        drop(whole);
        let mut high = 1.0;
        for attempt in 0..BAKED_TRIES {
            job.step(17 + attempt, "searching for the target size");
            let most = self.target_bytes as f64 / MARGIN.powi(i32::from(attempt));
            let mut low = LEAST_KEPT;
            for _ in 0..TRIES {
                let kept = f64::sqrt(low * high);
                let triangles = self.faces as f64 * kept;
                match estimate.bytes(triangles, self.side_keeping(kept)) > most {
                    true => high = kept,
                    false => low = kept,
                }
            }
            let trial = self.try_settings(self.settings_keeping(low))?;
            if trial.bytes <= self.target_bytes {
                return Ok(Some(trial));
            }
            estimate = Estimate::of(&trial);
            high = low;
        }
        Ok(None)
    }

    fn try_settings(&self, settings: Settings) -> Result<Trial, EngineError> {
        let result = ReducedScene::new(self.scene.clone(), &settings, self.drawn);
        let scene = exported(&result.scene, &settings);
        let export = settings.exports.first().expect("settings name an export");
        let files = encode(&scene, export, "model", &mut Names::default())?;
        Ok(Trial {
            bytes: files.iter().map(|file| file.bytes.len() as u64).sum(),
            settings,
            result,
        })
    }
}

/// The scene as the first export holds it.
fn exported(scene: &Scene, settings: &Settings) -> Scene {
    let mut scene = scene.clone();
    clean::finish(&mut scene);
    clean::prune(&mut scene);
    let export = settings.exports.first().expect("settings name an export");
    fit(&mut scene, &plan_of(settings, export));
    narrowed(&scene, export).into_owned()
}

/// What the size of a smaller result is estimated from.
struct Estimate {
    triangles: f64,
    /// Bytes of the export without its images.
    geometry: f64,
    /// The longest side of each image, and its bytes.
    images: Vec<(f64, f64)>,
}

impl Estimate {
    fn of(trial: &Trial) -> Estimate {
        let exported = exported(&trial.result.scene, &trial.settings);
        let images = exported.images.iter().map(|image| {
            let (width, height) = dimensions(&image.bytes).unwrap_or((1, 1));
            (f64::from(width.max(height)), image.bytes.len() as f64)
        });
        let images: Vec<(f64, f64)> = images.collect();
        let pixels: f64 = images.iter().map(|(_, bytes)| bytes).sum();
        Estimate {
            triangles: exported.drawn_triangles().max(1) as f64,
            geometry: trial.bytes as f64 - pixels,
            images,
        }
    }

    /// About the bytes of the first export with so many triangles and images of this side.
    fn bytes(&self, triangles: f64, side: u32) -> f64 {
        let images = self.images.iter().map(|(longest, bytes)| {
            let share = (f64::from(side) / longest).min(1.0);
            bytes * share * share
        });
        self.geometry * (triangles / self.triangles).min(1.0) + images.sum::<f64>()
    }
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
