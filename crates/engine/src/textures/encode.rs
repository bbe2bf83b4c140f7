//! Encoding of pixels as PNG or JPEG. [`super::webp`] has the other format.

use assetfs_formats::{ImageKind, TextureFormat};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use png::DeflateCompression;

use super::super::settings::TextureQuality;
use super::pixels::Pixels;
use super::usage::Usage;

/// At this quality the loss is invisible compared with that of resizing.
const JPEG_QUALITY: u8 = 90;
/// Normal maps show losses in every highlight.
const JPEG_QUALITY_NORMAL: u8 = 95;
/// The same where more may be lost.
const JPEG_MEDIUM: u8 = 80;
const JPEG_MEDIUM_NORMAL: u8 = 84;
/// zlib's level for PNG files that are kept. Level 8 takes 2.3 times as long for 0.8 % fewer bytes.
const PNG_LEVEL: u8 = 7;
/// `Auto` chooses JPEG only where it saves at least a quarter.
const WORTHWHILE: f64 = 0.75;

/// The fast PNG encoder writes at most this many times the bytes of the slow one.
const MOST_OF_DRAFT: usize = 4;

/// An encoded image.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: ImageKind,
}

/// Encodes in the requested format; `Auto` chooses by use, source and size.
pub(super) fn encode(
    pixels: &Pixels,
    usage: &Usage,
    asked: TextureFormat,
    source: Option<ImageKind>,
    quality: TextureQuality,
) -> Result<Encoded, String> {
    let can_be_jpeg = !pixels.has_alpha() && pixels.width.max(pixels.height) < 65_536;
    if !can_be_jpeg || asked == TextureFormat::Png {
        return png(pixels, DeflateCompression::Level(PNG_LEVEL));
    }
    if asked == TextureFormat::Jpg || source == Some(ImageKind::Jpeg) {
        return match usage.is_normal() {
            true => small_normals(pixels, usage, quality),
            false => jpeg(pixels, usage, quality),
        };
    }
    let png = png(pixels, DeflateCompression::Level(PNG_LEVEL))?;
    // A normal map that is lossless in the source stays lossless.
    if usage.is_normal() {
        return Ok(png);
    }
    let jpeg = jpeg(pixels, usage, quality)?;
    let is_worthwhile = (jpeg.bytes.len() as f64) < png.bytes.len() as f64 * WORTHWHILE;
    Ok(if is_worthwhile { jpeg } else { png })
}

/// Normals as JPEG, or as PNG where that has no more bytes: flat maps, which JPEG would tilt, and every reflection with them.
fn small_normals(
    pixels: &Pixels,
    usage: &Usage,
    quality: TextureQuality,
) -> Result<Encoded, String> {
    let jpeg = jpeg(pixels, usage, quality)?;
    // The fast encoder tells where the slow one cannot win.
    if draft(pixels)?.bytes.len() > jpeg.bytes.len() * MOST_OF_DRAFT {
        return Ok(jpeg);
    }
    let png = png(pixels, DeflateCompression::Level(PNG_LEVEL))?;
    Ok(match png.bytes.len() <= jpeg.bytes.len() {
        true => png,
        false => jpeg,
    })
}

fn jpeg(pixels: &Pixels, usage: &Usage, quality: TextureQuality) -> Result<Encoded, String> {
    let quality = match (quality, usage.is_normal()) {
        (TextureQuality::High, false) => JPEG_QUALITY,
        (TextureQuality::High, true) => JPEG_QUALITY_NORMAL,
        (TextureQuality::Medium, false) => JPEG_MEDIUM,
        (TextureQuality::Medium, true) => JPEG_MEDIUM_NORMAL,
    };
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    // No chroma subsampling: channels of data textures are unrelated, and on colours it shows at edges.
    encoder.set_sampling_factor(SamplingFactor::F_1_1);
    encoder.set_optimized_huffman_tables(true);
    let (width, height) = (pixels.width as u16, pixels.height as u16);
    let result = if pixels.is_grey() {
        encoder.encode(&packed::<1>(pixels), width, height, ColorType::Luma)
    } else {
        encoder.encode(&pixels.rgba, width, height, ColorType::Rgba)
    };
    result.map_err(|error| error.to_string())?;
    Ok(Encoded {
        bytes,
        kind: ImageKind::Jpeg,
    })
}

/// Encodes quickly and without loss.
pub(super) fn draft(pixels: &Pixels) -> Result<Encoded, String> {
    png(pixels, DeflateCompression::FdeflateUltraFast)
}

fn png(pixels: &Pixels, compression: DeflateCompression) -> Result<Encoded, String> {
    let (color, data) = match (pixels.is_grey(), pixels.has_alpha()) {
        (true, false) => (png::ColorType::Grayscale, packed::<1>(pixels)),
        (false, false) => (png::ColorType::Rgb, packed::<3>(pixels)),
        _ => (png::ColorType::Rgba, pixels.rgba.clone()),
    };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width, pixels.height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_deflate_compression(compression);
    // Files of baked textures are 0.6 % smaller than with `Filter::Adaptive`.
    encoder.set_filter(png::Filter::MinEntropy);
    let write = |encoder: png::Encoder<'_, &mut Vec<u8>>| {
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&data)?;
        writer.finish()
    };
    write(encoder).map_err(|error| error.to_string())?;
    Ok(Encoded {
        bytes,
        kind: ImageKind::Png,
    })
}

/// The first `N` channels of each pixel.
pub(super) fn packed<const N: usize>(pixels: &Pixels) -> Vec<u8> {
    pixels
        .rgba
        .chunks_exact(4)
        .flat_map(|pixel| &pixel[..N])
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::TextureSlot;
    use super::*;

    #[test]
    fn flat_normals_stay_exact_and_others_become_jpeg() {
        let usage = |slot| Usage {
            slots: [slot].into(),
            ..Usage::default()
        };
        let map = |pixel: fn(u32) -> [u8; 4]| Pixels {
            width: 32,
            height: 32,
            rgba: (0..32 * 32).flat_map(pixel).collect(),
        };
        let written = |pixels: &Pixels, slot| {
            let asked = TextureFormat::Jpg;
            encode(pixels, &usage(slot), asked, None, TextureQuality::Medium).unwrap()
        };
        // JPEG would turn these into (128, 127, 255).
        let flat = map(|_| [127, 127, 255, 255]);
        let exact = written(&flat, TextureSlot::Normal);
        assert_eq!(exact.kind, ImageKind::Png);
        assert_eq!(Pixels::decode(&exact.bytes).unwrap().rgba, flat.rgba);
        let waves = map(|at| {
            let wave = |place: u32| (120.0 + 60.0 * (place as f32 * 0.2).sin()) as u8;
            let grain = (at.wrapping_mul(0x9e37_79b1) >> 30) as u8;
            [wave(at % 32) + grain, wave(at / 32) + 3 - grain, 230, 255]
        });
        for (pixels, slot) in [
            (&waves, TextureSlot::Normal),
            (&flat, TextureSlot::BaseColor),
        ] {
            assert_eq!(written(pixels, slot).kind, ImageKind::Jpeg);
        }
    }
}
