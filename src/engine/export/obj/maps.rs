//! Roughness and metalness for MTL, which keeps each in a grey image of its own where glTF keeps both in one.

use image::ImageReader;
use std::io::Cursor;

/// A property of a material: one number, or an image.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    /// The mean of the image, or the number.
    pub(super) mean: f32,
    /// The image file. Its pixels are the final values, with the factor already applied.
    pub(super) file: Option<String>,
}

impl Channel {
    /// A channel with the same value everywhere.
    pub(super) fn plain(value: f32) -> Channel {
        Channel {
            mean: value,
            file: None,
        }
    }

    /// The number in the material file. Next to an image it is 1, so that readers that multiply by it and readers that
    /// ignore it agree.
    pub(super) fn number(&self) -> f32 {
        if self.file.is_some() { 1.0 } else { self.mean }
    }
}

/// The mean of a channel times `factor`, and the channel as a grey PNG unless all its values are equal. `None` if the
/// image cannot be decoded.
pub(super) fn split(bytes: &[u8], channel: usize, factor: f32) -> Option<(f32, Option<Vec<u8>>)> {
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let image = reader.decode().ok()?.into_rgba8();
    let (width, height) = image.dimensions();
    let scaled = |value: u8| (f32::from(value) * factor).round().clamp(0.0, 255.0) as u8;
    let grey: Vec<u8> = image.pixels().map(|pixel| scaled(pixel[channel])).collect();
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
