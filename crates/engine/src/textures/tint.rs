//! Multiplies an image by a factor, for formats that have no factors on textures.

use super::super::scene::Image;
use super::super::settings::TextureQuality;
use super::encode::encode;
use super::pixels::Pixels;
use super::usage::Usage;
use assetfs_formats::{ImageKind, TextureFormat};
use assetfs_render::{linear_of_srgb, srgb_of_linear};

/// The image of a colour with its light multiplied by the first three factors, and its alpha by the fourth. An opaque JPEG
/// stays one; all others become PNG.
///
/// # Errors
/// When the image cannot be decoded or encoded; the text says why.
pub fn tinted(image: &Image, factors: [f32; 4]) -> Result<Image, String> {
    let mut pixels = Pixels::decode(&image.bytes)?;
    let tables = [0, 1, 2, 3].map(|channel| table(factors[channel], channel == 3));
    for pixel in pixels.rgba.chunks_exact_mut(4) {
        for (value, table) in pixel.iter_mut().zip(&tables) {
            *value = table[usize::from(*value)];
        }
    }
    let asked = match image.kind() {
        Some(ImageKind::Jpeg) => TextureFormat::Jpg,
        _ => TextureFormat::Png,
    };
    let encoded = encode(
        &pixels,
        &Usage::default(),
        asked,
        image.kind(),
        TextureQuality::High,
    )?;
    Ok(Image {
        media_type: encoded.kind.media_type().to_owned(),
        bytes: encoded.bytes.into(),
        ..image.clone()
    })
}

/// Each byte times the factor.
fn table(factor: f32, is_alpha: bool) -> [u8; 256] {
    std::array::from_fn(|byte| {
        let value = byte as f32 / 255.0;
        let scaled = match is_alpha {
            true => (value * factor).clamp(0.0, 1.0),
            false => srgb_of_linear(linear_of_srgb(value) * factor),
        };
        (scaled * 255.0).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_of_one_changes_no_byte() {
        for is_alpha in [false, true] {
            let table = table(1.0, is_alpha);
            assert!((0..=255u8).all(|byte| table[usize::from(byte)] == byte));
        }
    }
}
