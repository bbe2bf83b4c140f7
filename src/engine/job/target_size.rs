//! Meets a target file size: a binary search for the most faces and pixels that fit.
//!
//! A number between 0 and 1 is the share that is kept: faces are proportional to it, and the sides of textures to its
//! square root. The size grows with the share, so the search finds the largest share that fits.

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
use super::reduce::reduced;

/// Steps of the binary search: the result is within a few percent of the target.
const TRIES: u8 = 7;
/// The least share that is kept.
const LEAST_KEPT: f64 = 0.002;
/// The search ends at a result above this share of the target.
const CLOSE_ENOUGH: f64 = 0.9;
/// Textures are not made smaller than this to save bytes.
const LEAST_TEXTURE: f64 = 64.0;

/// Settings with limits that bring the first export below its target size.
pub(super) fn settings_for_size(
    scene: &Scene,
    settings: Settings,
    target_bytes: u64,
    drawn: DrawnSource<'_>,
    job: &mut JobContext<'_>,
) -> Result<Settings, EngineError> {
    let search = Search {
        scene,
        drawn,
        settings: &settings,
        faces: settings
            .face_limit(scene.drawn_triangles())
            .unwrap_or(u64::MAX)
            .min(scene.drawn_triangles()),
        longest_side: longest_side(scene),
    };
    job.step(16, "measuring the size");
    let whole = search.size_with(&settings)?;
    if whole <= target_bytes {
        return Ok(settings);
    }
    let (mut low, mut high) = (LEAST_KEPT, 1.0);
    let mut best: Option<Settings> = None;
    for attempt in 0..TRIES {
        let kept = f64::sqrt(low * high);
        job.step(17 + attempt, "searching for the target size");
        let candidate = search.settings_keeping(kept);
        let size = search.size_with(&candidate)?;
        if size > target_bytes {
            high = kept;
            continue;
        }
        low = kept;
        best = Some(candidate);
        if size as f64 >= target_bytes as f64 * CLOSE_ENOUGH {
            break;
        }
    }
    if best.is_none() {
        job.warn(format!(
            "the target size of {} bytes is too small for this model; the result is the smallest that the engine makes",
            grouped(target_bytes)
        ));
    }
    job.metrics.lap("size");
    Ok(best.unwrap_or_else(|| search.settings_keeping(LEAST_KEPT)))
}

struct Search<'a> {
    scene: &'a Scene,
    drawn: DrawnSource<'a>,
    settings: &'a Settings,
    /// Number of faces at share 1.
    faces: u64,
    /// The longest side of any texture at share 1.
    longest_side: u32,
}

impl Search<'_> {
    fn settings_keeping(&self, kept: f64) -> Settings {
        let side = (f64::from(self.longest_side) * kept.sqrt()).max(LEAST_TEXTURE);
        // Multiples of four suit every encoder and GPU.
        let side = (side / 4.0).floor() as u32 * 4;
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

    /// The bytes of the first export with these settings.
    fn size_with(&self, settings: &Settings) -> Result<u64, EngineError> {
        let mut scene = self.scene.clone();
        reduced(&mut scene, settings, self.drawn);
        clean::finish(&mut scene);
        clean::prune(&mut scene);
        let export = settings.exports.first().expect("settings name an export");
        fit(&mut scene, &plan_of(settings, export));
        let scene = narrowed(&scene, export);
        let files = encode(&scene, export, "model", &mut Names::default())?;
        Ok(files.iter().map(|file| file.bytes.len() as u64).sum())
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
