//! The search for a target size where textures are baked: a result takes seconds, so few are made.
//!
//! The search goes by estimates: the textures that were baked for the whole model count by their pixels, and geometry by its
//! triangles. What it finds is made and measured, and the estimates are corrected by that. Then larger and smaller textures
//! are tried, and the result that looks most like the source is kept.

use super::super::error::EngineError;
use super::super::settings::Settings;
use super::super::textures::dimensions;
use super::context::JobContext;
use super::judge::Judge;
use super::size_trial::{MIN_SIDE, SizedScene, Trial, exported};
use assetfs_formats::TextureFormat;

/// Maximum number of results that are made.
const TRIES: i32 = 4;
/// Steps of the search among estimates.
const STEPS: usize = 12;
/// After each result that was made, the estimate aims at a size that is smaller by this factor.
const MARGIN: f64 = 1.02;
/// The least share of faces and pixels that estimates begin with.
const MIN_KEPT_SHARE: f64 = 0.0005;

/// The best result that fits, from the result of the whole model; `None` if none fits.
pub(super) fn search(
    sized: &SizedScene<'_>,
    judge: Option<&Judge<'_>>,
    whole: Trial,
    job: &mut JobContext<'_>,
) -> Result<Option<Trial>, EngineError> {
    let mut estimate = Estimate::of(&whole);
    drop(whole);
    let mut best: Option<(f64, u32, Trial)> = None;
    let mut most_kept = 1.0;
    // Sides to try after the first result that fits: half and twice its side. If the first of them is better, the other is
    // not tried.
    let mut others = Vec::new();
    for attempt in 0..TRIES {
        let room = sized.target_bytes as f64 / MARGIN.powi(attempt);
        let side = match (&best, others.pop()) {
            (Some(_), Some(side)) => side,
            (Some(_), None) => break,
            (None, _) => {
                most_kept = estimate.share_within(room, sized, most_kept);
                side_keeping(sized, most_kept)
            }
        };
        let faces = estimate.faces_within(room, side).min(sized.faces);
        if faces == 0 {
            continue;
        }
        job.step(17 + attempt as u8, "searching for the target size");
        let trial = sized.try_settings(settings_with(sized, faces, side))?;
        if trial.bytes > sized.target_bytes {
            estimate = Estimate::of(&trial);
            continue;
        }
        let exported = exported(&trial.result.scene, &trial.settings);
        let score = judge.map_or(0.0, |judge| judge.score(&exported));
        match &best {
            None => {
                others = [side * 2, side / 2]
                    .into_iter()
                    .filter(|other| (MIN_SIDE..=sized.longest_side).contains(other))
                    .collect();
            }
            Some((known, ..)) if score > *known => others.clear(),
            Some(_) => continue,
        }
        best = Some((score, side, trial));
    }
    Ok(best.map(|(_, _, trial)| trial))
}

fn settings_with(sized: &SizedScene<'_>, faces: u64, side: u32) -> Settings {
    sized.settings_with(faces, side, TextureFormat::Auto)
}

/// The longest side of textures that keep this share of their pixels.
fn side_keeping(sized: &SizedScene<'_>, kept: f64) -> u32 {
    let side = f64::from(sized.longest_side) * kept.sqrt();
    // Multiples of four suit every encoder and GPU.
    ((side / 4.0) as u32 * 4).max(MIN_SIDE)
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

    /// About the bytes of images of this side.
    fn bytes_of_images(&self, side: u32) -> f64 {
        let images = self.images.iter().map(|(longest, bytes)| {
            let share = (f64::from(side) / longest).min(1.0);
            bytes * share * share
        });
        images.sum()
    }

    /// About the number of triangles that fit beside images of this side.
    fn faces_within(&self, room: f64, side: u32) -> u64 {
        let room = (room - self.bytes_of_images(side)).max(0.0);
        (room * self.triangles / self.geometry.max(1.0)) as u64
    }

    /// The largest share of faces and pixels that fits, up to `most`.
    fn share_within(&self, room: f64, sized: &SizedScene<'_>, most: f64) -> f64 {
        let (mut low, mut high) = (MIN_KEPT_SHARE, most);
        for _ in 0..STEPS {
            let kept = f64::sqrt(low * high);
            let faces = self.faces_within(room, side_keeping(sized, kept));
            match (faces as f64) < sized.faces as f64 * kept {
                true => high = kept,
                false => low = kept,
            }
        }
        low
    }
}
