//! Decoded images: reading within limits, and resizing that respects what the pixels mean.

use std::io::Cursor;

use fast_image_resize::images::Image as Buffer;
use fast_image_resize::{
    FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer, create_srgb_mapper,
};
use image::{ImageDecoder, ImageReader, Limits};

use super::usage::{Alpha, Usage};

/// Images with more pixels are left as they are: 16384 by 16384.
const MAX_PIXELS: u64 = 1 << 28;

/// An image as eight bits for red, green, blue and alpha.
#[derive(Debug, Clone)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Four bytes a pixel.
    pub(super) rgba: Vec<u8>,
}

fn reader(bytes: &[u8]) -> Option<ImageReader<Cursor<&[u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    reader.format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(4 << 30);
    reader.limits(limits);
    Some(reader)
}

pub(super) fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    reader(bytes)?.into_dimensions().ok()
}

pub(super) fn channels(bytes: &[u8]) -> Option<u8> {
    let decoder = reader(bytes)?.into_decoder().ok()?;
    Some(decoder.color_type().channel_count())
}

impl Pixels {
    pub(super) fn decode(bytes: &[u8]) -> Result<Pixels, String> {
        let (width, height) = dimensions(bytes).ok_or("not an image")?;
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return Err(format!("{width} by {height} pixels are too many"));
        }
        let decoded = reader(bytes)
            .ok_or("not an image")?
            .decode()
            .map_err(|error| error.to_string())?;
        Ok(Pixels {
            width,
            height,
            rgba: decoded.into_rgba8().into_raw(),
        })
    }

    /// Whether any pixel is not opaque.
    pub(super) fn has_alpha(&self) -> bool {
        self.rgba.chunks_exact(4).any(|pixel| pixel[3] != 255)
    }

    pub(super) fn forget_alpha(&mut self) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel[3] = 255;
        }
    }

    pub(super) fn flip_green(&mut self) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel[1] = 255 - pixel[1];
        }
    }

    /// Whether red, green and blue are the same everywhere.
    pub(super) fn is_grey(&self) -> bool {
        self.rgba
            .chunks_exact(4)
            .all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2])
    }

    /// The image in another size.
    pub(super) fn resized(&self, size: (u32, u32), usage: &Usage) -> Pixels {
        // A picture of directions that is shown as a colour as well is a colour: it is seen.
        if usage.is_normal() && !usage.is_srgb() {
            self.resized_directions(size)
        } else {
            self.resized_values(size, usage)
        }
    }

    fn resized_values(&self, size: (u32, u32), usage: &Usage) -> Pixels {
        let source = self.buffer();
        let mut wide = Buffer::new(self.width, self.height, PixelType::U16x4);
        let mapper = create_srgb_mapper();
        if usage.is_srgb() {
            mapper
                .forward_map(&source, &mut wide)
                .expect("both buffers have four channels and one size");
        } else {
            widen(&self.rgba, wide.buffer_mut());
        }
        // Colour under transparent pixels must not bleed into what is seen; where alpha is a number
        // of its own or means nothing, every pixel counts the same.
        let weighs_alpha = usage.alpha == Alpha::Coverage;
        let mut small = Buffer::new(size.0, size.1, PixelType::U16x4);
        resize(&wide, &mut small, weighs_alpha);
        drop(wide);
        let mut narrow = Buffer::new(size.0, size.1, PixelType::U8x4);
        if usage.is_srgb() {
            mapper
                .backward_map(&small, &mut narrow)
                .expect("both buffers have four channels and one size");
        } else {
            narrow_down(small.buffer(), narrow.buffer_mut());
        }
        Pixels {
            width: size.0,
            height: size.1,
            rgba: narrow.into_vec(),
        }
    }

    /// Directions are resized as vectors and made unit vectors again.
    fn resized_directions(&self, size: (u32, u32)) -> Pixels {
        let floats: Vec<u8> = self
            .rgba
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .flat_map(|byte| (f32::from(byte) / 127.5 - 1.0).to_ne_bytes())
            .collect();
        let source = Buffer::from_vec_u8(self.width, self.height, floats, PixelType::F32x3)
            .expect("three floats for each pixel");
        let mut small = Buffer::new(size.0, size.1, PixelType::F32x3);
        resize(&source, &mut small, false);
        let rgba = small
            .buffer()
            .chunks_exact(12)
            .flat_map(|pixel| {
                let part = |start: usize| {
                    let four = pixel[start..start + 4].try_into().expect("four bytes");
                    f32::from_ne_bytes(four)
                };
                let direction =
                    glam::Vec3::new(part(0), part(4), part(8)).normalize_or(glam::Vec3::Z);
                let byte = |number: f32| ((number + 1.0) * 127.5).round().clamp(0.0, 255.0) as u8;
                [byte(direction.x), byte(direction.y), byte(direction.z), 255]
            })
            .collect();
        Pixels {
            width: size.0,
            height: size.1,
            rgba,
        }
    }

    fn buffer(&self) -> Buffer<'static> {
        Buffer::from_vec_u8(self.width, self.height, self.rgba.clone(), PixelType::U8x4)
            .expect("four bytes for each pixel")
    }
}

fn resize(source: &Buffer<'_>, target: &mut Buffer<'_>, weighs_alpha: bool) {
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom))
        .use_alpha(weighs_alpha);
    Resizer::new()
        .resize(source, target, &options)
        .expect("both buffers have one pixel type and are not empty");
}

/// Bytes as two-byte numbers of the same fraction.
fn widen(bytes: &[u8], wide: &mut [u8]) {
    for (byte, two) in bytes.iter().zip(wide.chunks_exact_mut(2)) {
        two.copy_from_slice(&(u16::from(*byte) * 257).to_ne_bytes());
    }
}

fn narrow_down(wide: &[u8], bytes: &mut [u8]) {
    for (two, byte) in wide.chunks_exact(2).zip(bytes) {
        let number = u32::from(u16::from_ne_bytes([two[0], two[1]]));
        *byte = ((number + 128) / 257) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::TextureSlot;
    use super::*;

    fn usage(slot: TextureSlot, alpha: Alpha) -> Usage {
        Usage {
            slots: [slot].into(),
            alpha,
        }
    }

    /// A chequerboard of two pixels.
    fn chequered(one: [u8; 4], other: [u8; 4]) -> Pixels {
        let rgba = (0..64usize)
            .flat_map(|place| {
                if (place % 8 + place / 8) % 2 == 0 {
                    one
                } else {
                    other
                }
            })
            .collect();
        Pixels {
            width: 8,
            height: 8,
            rgba,
        }
    }

    fn middle(pixels: &Pixels) -> [u8; 4] {
        pixels.rgba[20..24].try_into().unwrap()
    }

    #[test]
    fn colours_are_mixed_in_linear_light_and_numbers_as_they_are() {
        let board = chequered([0, 0, 0, 255], [255, 255, 255, 255]);
        let colour = board.resized((4, 4), &usage(TextureSlot::BaseColor, Alpha::Unused));
        assert!(
            middle(&colour)[0].abs_diff(188) <= 1,
            "{:?}",
            middle(&colour)
        );
        let number = board.resized((4, 4), &usage(TextureSlot::Orm, Alpha::Unused));
        assert!(
            middle(&number)[0].abs_diff(128) <= 1,
            "{:?}",
            middle(&number)
        );
    }

    #[test]
    fn colour_under_transparent_pixels_does_not_bleed() {
        let board = chequered([255, 0, 0, 255], [0, 255, 0, 0]);
        let leaf = board.resized((4, 4), &usage(TextureSlot::BaseColor, Alpha::Coverage));
        let [red, green, _, alpha] = middle(&leaf);
        assert!(red > 250 && green < 5, "{:?}", middle(&leaf));
        assert!(alpha.abs_diff(128) <= 2);
    }

    #[test]
    fn directions_keep_their_length() {
        let board = chequered([255, 128, 128, 255], [128, 255, 128, 255]);
        let normals = board.resized((4, 4), &usage(TextureSlot::Normal, Alpha::Unused));
        let [x, y, z, _] = middle(&normals).map(|byte| f32::from(byte) / 127.5 - 1.0);
        let length = (x * x + y * y + z * z).sqrt();
        assert!((length - 1.0).abs() < 0.02, "{length}");
    }
}
