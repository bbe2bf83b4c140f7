//! The size of the atlas of a class: about as many texels as its textures have in the source, within the limits.

use std::collections::{BTreeMap, BTreeSet};

use assetfs_formats::ImageKind;

use super::super::scene::{Scene, TextureSlot, index_in, slots_of};
use super::super::settings::TextureLimits;
use super::super::textures::dimensions;
use super::classes::Class;

/// The largest atlas, in texels on each side.
const MAX_SIDE: u32 = 4096;
const MIN_SIDE: u32 = 64;
/// About the share of an atlas that charts cover.
const FILL: f64 = 0.7;
/// The size for a class without textures.
const UNTEXTURED: u32 = 1024;
const SLOTS: [TextureSlot; 4] = [
    TextureSlot::BaseColor,
    TextureSlot::Emissive,
    TextureSlot::Normal,
    TextureSlot::Orm,
];

/// Texels on each side of the atlas of a class.
pub(super) fn side_of(model: &Scene, class: &Class, limits: &TextureLimits) -> u32 {
    let most = images_by_slot(model, class)
        .values()
        .map(|images| {
            let sizes = images
                .iter()
                .filter_map(|image| dimensions(&model.images[*image].bytes));
            sizes
                .map(|(width, height)| f64::from(width) * f64::from(height))
                .sum::<f64>()
        })
        .fold(0.0, f64::max);
    let wanted = match most > 0.0 {
        // The nearest power of two.
        true => ((most / FILL).sqrt().log2().round().clamp(0.0, 31.0)).exp2() as u32,
        false => UNTEXTURED,
    };
    let wanted = wanted.clamp(MIN_SIDE, MAX_SIDE);
    let limit = SLOTS
        .iter()
        .map(|slot| limits.of(*slot).unwrap_or(MAX_SIDE))
        .max();
    wanted.min(limit.unwrap_or(MAX_SIDE)).max(1)
}

/// The kind of what the baked textures of a class replace: that of its base colours, or of its other textures if it
/// has none. Where these have several kinds, JPEG if all are lossy, else PNG.
pub(super) fn replaced_kind(model: &Scene, class: &Class) -> ImageKind {
    let by_slot = images_by_slot(model, class);
    let shown = SLOTS.iter().find_map(|slot| by_slot.get(slot));
    let kinds: BTreeSet<ImageKind> = shown
        .into_iter()
        .flatten()
        .map(|image| model.images[*image].kind())
        .map(|kind| kind.map_or(ImageKind::Png, |kind| kind.row().baked))
        .collect();
    match kinds.first() {
        Some(one) if kinds.len() == 1 => *one,
        Some(_) if !kinds.contains(&ImageKind::Png) => ImageKind::Jpeg,
        _ => ImageKind::Png,
    }
}

fn images_by_slot(model: &Scene, class: &Class) -> BTreeMap<TextureSlot, BTreeSet<usize>> {
    let mut found: BTreeMap<TextureSlot, BTreeSet<usize>> = BTreeMap::new();
    let materials = class.materials.iter();
    for material in materials.filter_map(|number| model.list("materials").get(*number)) {
        for (slot, _, texture) in slots_of(material) {
            let image = index_in(texture, "index").and_then(|at| model.image_of_texture(at));
            if let Some(image) = image {
                found.entry(slot).or_default().insert(image);
            }
        }
    }
    found
}
