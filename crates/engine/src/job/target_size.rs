//! Meets a target file size: searches for the faces, the pixels, the format of the textures and the packing of the geometry
//! with which the first export fits, and of those that fit for the ones that look most like the source.
//!
//! Formats and packing are searched only where the settings leave them open (`auto`).

use super::super::error::EngineError;
use super::super::scene::Scene;
use super::super::settings::Settings;
use super::context::JobContext;
use super::judge::{DrawnSource, Judge};
use super::reduce::{ReducedScene, bakes};
use super::size_estimate;
use super::size_search::SizeSearch;
use super::size_trial::{SizedScene, Trial};
use assetfs_formats::TextureFormat;
use assetfs_formats::number_text::{counted, grouped};
use assetfs_formats::warnings::WarningKind;

/// What a job asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SizeTarget {
    pub(super) bytes: u64,
    /// Whether the geometry of the first export may be packed although that of the source is not.
    pub(super) may_pack: bool,
}

/// Settings with limits that bring the first export below its target size, and the scene that was reduced by them, if it
/// was kept.
pub(super) fn settings_for_size(
    scene: &Scene,
    settings: Settings,
    target: SizeTarget,
    drawn: DrawnSource<'_>,
    job: &mut JobContext<'_>,
) -> Result<(Settings, Option<ReducedScene>), EngineError> {
    job.step(16, "measuring the size");
    let mut sized = SizedScene::new(scene, settings, target.bytes, drawn);
    let whole = sized.try_settings(sized.settings.clone())?;
    if whole.bytes <= target.bytes {
        return Ok((sized.settings, Some(whole.result)));
    }
    let whole = match target.may_pack {
        true => sized.packed_if_smaller(whole)?,
        false => whole,
    };
    // Without images there is nothing to choose: the more faces the better.
    let judges = bakes(&sized.settings) || !scene.images.is_empty();
    let judge = judges.then(|| Judge::new(scene, &sized.settings, drawn).quick());
    let found = match bakes(&sized.settings) {
        true => size_estimate::search(&sized, judge.as_ref(), whole, job)?,
        false => SizeSearch::new(&sized, judge.as_ref(), whole)?.search(job)?,
    };
    let found = match found {
        Some(found) => found,
        None => {
            let smallest = sized.smallest()?;
            let [asked, bytes] = [target.bytes, smallest.bytes].map(grouped);
            job.warn(WarningKind::LimitMissed, format!(
                "the target size of {asked} bytes is too small for this model; the result is the smallest that the engine makes, with {bytes} bytes"
            ));
            smallest
        }
    };
    job.info(format!("target size: {}", described(&found)));
    job.metrics.lap("size");
    Ok((found.settings, Some(found.result)))
}

/// What the search chose.
fn described(found: &Trial) -> String {
    let export = found.settings.exports.first();
    let limits = &found.settings.texture_limits;
    let mut text = counted(found.result.scene.drawn_triangles(), "triangle");
    if let (Some(side), false) = (limits.base_color, found.result.scene.images.is_empty()) {
        text += &format!(
            ", textures of at most {}",
            counted(u64::from(side), "pixel")
        );
    }
    match export.map(|export| export.textures.base_color) {
        Some(TextureFormat::Jpg) => text += " as JPEG",
        Some(TextureFormat::Png) => text += " as PNG",
        _ => {}
    }
    if let Some(packing) = export.and_then(|export| export.compression.name()) {
        text += &format!(", geometry packed with {packing}");
    }
    text
}
