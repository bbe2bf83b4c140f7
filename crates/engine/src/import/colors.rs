//! Colours of vertices.

use super::super::scene::{Attribute, Storage};
use assetfs_render::linear_of_srgb;

/// Converts colours with alpha from sRGB to linear light, as glTF requires. Without transparency they have no alpha.
pub(super) fn colors_of_srgb(colors: impl Iterator<Item = [f32; 4]> + Clone) -> Attribute {
    let is_opaque = colors.clone().all(|[.., alpha]| alpha >= 1.0);
    let width = if is_opaque { 3 } else { 4 };
    let linear = colors.flat_map(|color| {
        let [red, green, blue, alpha] = color.map(|part| part.clamp(0.0, 1.0));
        let [red, green, blue] = [red, green, blue].map(linear_of_srgb);
        [red, green, blue, alpha].into_iter().take(width)
    });
    Attribute {
        storage: Storage::FRACTIONS,
        ..Attribute::new("COLOR_0", width, linear.collect())
    }
}
