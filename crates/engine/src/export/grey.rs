//! Roughness and metalness as grey images, for formats that keep each in an image of its own. glTF keeps both in one.

use std::io::Cursor;

use image::ImageReader;

use super::super::scene::Material;

/// A property of a surface that is a channel of glTF's image of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum SurfaceChannel {
    Roughness,
    Metalness,
}

impl SurfaceChannel {
    /// The index of the channel in glTF's images.
    pub(super) fn index(self) -> usize {
        match self {
            SurfaceChannel::Roughness => 1,
            SurfaceChannel::Metalness => 2,
        }
    }

    /// The end of the names of its images.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            SurfaceChannel::Roughness => "_roughness",
            SurfaceChannel::Metalness => "_metallic",
        }
    }

    /// The factor of a material.
    pub(super) fn factor_of(self, material: &Material) -> f32 {
        match self {
            SurfaceChannel::Roughness => material.roughness,
            SurfaceChannel::Metalness => material.metallic,
        }
    }
}

/// The mean of a channel times `factor`, and the channel as a grey PNG unless all its values are equal. `None` if the
/// image cannot be decoded.
pub(super) fn split(
    bytes: &[u8],
    channel: SurfaceChannel,
    factor: f32,
) -> Option<(f32, Option<Vec<u8>>)> {
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let image = reader.decode().ok()?.into_rgba8();
    let (width, height) = image.dimensions();
    let scaled = |value: u8| (f32::from(value) * factor).round().clamp(0.0, 255.0) as u8;
    let grey: Vec<u8> = image
        .pixels()
        .map(|pixel| scaled(pixel[channel.index()]))
        .collect();
    let first = *grey.first()?;
    if grey.iter().all(|value| *value == first) {
        return Some((f32::from(first) / 255.0, None));
    }
    let sum: u64 = grey.iter().map(|value| u64::from(*value)).sum();
    let mean = sum as f64 / grey.len() as f64 / 255.0;
    Some((mean as f32, Some(grey_png(width, height, &grey)?)))
}

fn grey_png(width: u32, height: u32, grey: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_filter(png::Filter::Adaptive);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(grey).ok()?;
    writer.finish().ok()?;
    Some(bytes)
}
