//! Resizing that respects what the pixels mean: colours in linear light, directions as vectors, numbers as they are.

use std::ops::Range;

use fast_image_resize::images::{Image as Buffer, ImageRef as BufferRef};
use fast_image_resize::{
    FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer, create_srgb_mapper,
};
use rayon::prelude::*;

use super::pixels::Pixels;
use super::usage::{AlphaUse, Usage};

impl Pixels {
    /// Resizes the image.
    pub(super) fn resized(&self, size: (u32, u32), usage: &Usage) -> Pixels {
        // An image used both for normals and for colour is resized as a colour, since its colours are visible.
        if usage.is_normal() && !usage.is_srgb() {
            self.resized_directions(size)
        } else {
            self.resized_values(size, usage)
        }
    }

    fn resized_values(&self, size: (u32, u32), usage: &Usage) -> Pixels {
        let mapper = usage.is_srgb().then(create_srgb_mapper);
        let widened = |rows: &[u8], height: u32| {
            let mut wide = Buffer::new(self.width, height, PixelType::U16x4);
            match &mapper {
                Some(mapper) => mapper
                    .forward_map(&bytes_of(rows, self.width, height), &mut wide)
                    .expect("both buffers have four channels and one size"),
                None => widen(rows, wide.buffer_mut()),
            }
            wide
        };
        let narrowed = |small: Buffer<'_>| {
            let mut narrow = Buffer::new(small.width(), small.height(), PixelType::U8x4);
            match &mapper {
                Some(mapper) => mapper
                    .backward_map(&small, &mut narrow)
                    .expect("both buffers have four channels and one size"),
                None => narrow_down(small.buffer(), narrow.buffer_mut()),
            }
            narrow.into_vec()
        };
        // Colour under transparent pixels must not bleed into what is seen; where alpha is a number
        // of its own or means nothing, every pixel counts the same.
        let weighs_alpha = usage.alpha == AlphaUse::Coverage;
        self.resized_in_bands(size, weighs_alpha, widened, narrowed)
    }

    /// Directions are resized as vectors and made unit vectors again.
    fn resized_directions(&self, size: (u32, u32)) -> Pixels {
        let widened = |rows: &[u8], height: u32| {
            let floats: Vec<u8> = rows
                .chunks_exact(4)
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .flat_map(|byte| (f32::from(byte) / 127.5 - 1.0).to_ne_bytes())
                .collect();
            Buffer::from_vec_u8(self.width, height, floats, PixelType::F32x3)
                .expect("three floats for each pixel")
        };
        self.resized_in_bands(size, false, widened, |small| directions(small.buffer()))
    }

    /// Resizes the image in bands of rows, because the wider numbers of the filter take several times the memory of the
    /// image. `widened` converts the given number of rows, `narrowed` the result. The bands depend on the sizes alone,
    /// so the result is the same on any number of cores.
    fn resized_in_bands(
        &self,
        size: (u32, u32),
        weighs_alpha: bool,
        widened: impl Fn(&[u8], u32) -> Buffer<'static> + Sync,
        narrowed: impl Fn(Buffer<'_>) -> Vec<u8> + Sync,
    ) -> Pixels {
        let row = self.width as usize * 4;
        let bands: Vec<Vec<u8>> = bands(self.height, size.1, self.width.max(size.0))
            .into_par_iter()
            .map(|band| {
                let rows =
                    &self.rgba[band.source.start as usize * row..band.source.end as usize * row];
                let wide = widened(rows, band.source.end - band.source.start);
                let height = band.target.end - band.target.start;
                let mut small = Buffer::new(size.0, height, wide.pixel_type());
                let options = ResizeOptions::new()
                    .resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom))
                    .use_alpha(weighs_alpha)
                    .crop(0.0, band.top, f64::from(self.width), band.height);
                Resizer::new()
                    .resize(&wide, &mut small, &options)
                    .expect("both buffers have one pixel type and are not empty");
                narrowed(small)
            })
            .collect();
        Pixels {
            width: size.0,
            height: size.1,
            rgba: bands.concat(),
        }
    }
}

/// Rows of the result, and the rows of the source from which they are computed.
struct Band {
    target: Range<u32>,
    /// The rows of the source that the filter looks at.
    source: Range<u32>,
    /// The part of those rows that the target's rows cover: its start and height, in rows.
    top: f64,
    height: f64,
}

/// Approximate number of source pixels in a band.
const BAND: u32 = 1 << 19;
/// Radius of the filter in pixels: of the source or, if that is larger, of the result.
const REACH: f64 = 2.0;

fn bands(from: u32, to: u32, width: u32) -> Vec<Band> {
    let scale = f64::from(from) / f64::from(to);
    let rows = (f64::from(BAND) / f64::from(width) / scale.max(1.0)).ceil() as u32;
    let reach = REACH * scale.max(1.0) + 1.0;
    let starts = (0..to).step_by(rows.max(1) as usize);
    starts
        .map(|start| {
            let end = to.min(start.saturating_add(rows.max(1)));
            let (first, last) = (f64::from(start) * scale, f64::from(end) * scale);
            let top = (first - reach).max(0.0) as u32;
            let bottom = from.min((last + reach).ceil() as u32);
            Band {
                target: start..end,
                source: top..bottom,
                top: first - f64::from(top),
                // Rounding must not move the end out of the band.
                height: (last - first).min(f64::from(bottom) - first),
            }
        })
        .collect()
}

fn bytes_of(rows: &[u8], width: u32, height: u32) -> BufferRef<'_> {
    BufferRef::new(width, height, rows, PixelType::U8x4).expect("four bytes for each pixel")
}

/// Converts three floats a pixel to unit vectors in bytes, with opaque alpha.
fn directions(floats: &[u8]) -> Vec<u8> {
    floats
        .chunks_exact(12)
        .flat_map(|pixel| {
            let part = |start: usize| {
                let four = pixel[start..start + 4].try_into().expect("four bytes");
                f32::from_ne_bytes(four)
            };
            let direction = glam::Vec3::new(part(0), part(4), part(8)).normalize_or(glam::Vec3::Z);
            let byte = |number: f32| ((number + 1.0) * 127.5).round().clamp(0.0, 255.0) as u8;
            [byte(direction.x), byte(direction.y), byte(direction.z), 255]
        })
        .collect()
}

/// Converts bytes to 16-bit numbers that stand for the same fraction.
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

    fn usage(slot: TextureSlot, alpha: AlphaUse) -> Usage {
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
        let colour = board.resized((4, 4), &usage(TextureSlot::BaseColor, AlphaUse::Unused));
        assert!(
            middle(&colour)[0].abs_diff(188) <= 1,
            "{:?}",
            middle(&colour)
        );
        let number = board.resized((4, 4), &usage(TextureSlot::Orm, AlphaUse::Unused));
        assert!(
            middle(&number)[0].abs_diff(128) <= 1,
            "{:?}",
            middle(&number)
        );
    }

    #[test]
    fn colour_under_transparent_pixels_does_not_bleed() {
        let board = chequered([255, 0, 0, 255], [0, 255, 0, 0]);
        let leaf = board.resized((4, 4), &usage(TextureSlot::BaseColor, AlphaUse::Coverage));
        let [red, green, _, alpha] = middle(&leaf);
        assert!(red > 250 && green < 5, "{:?}", middle(&leaf));
        assert!(alpha.abs_diff(128) <= 2);
    }

    /// Deterministic noise.
    fn noise(width: u32, height: u32) -> Pixels {
        let mut state = 1u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        Pixels {
            width,
            height,
            rgba: (0..width * height * 4).map(|_| byte()).collect(),
        }
    }

    #[test]
    fn bands_give_what_the_whole_gives() {
        // Wide enough for several bands.
        let source = noise(2048, 1500);
        let wide = |rows: &[u8], height: u32| {
            Buffer::from_vec_u8(source.width, height, rows.to_vec(), PixelType::U8x4).unwrap()
        };
        for size in [(1024, 750), (700, 512), (333, 1), (2048, 1499)] {
            assert!(size.1 < 100 || bands(1500, size.1, 2048).len() > 3);
            let banded =
                source.resized_in_bands(size, false, wide, |small| small.buffer().to_vec());
            let mut whole = Buffer::new(size.0, size.1, PixelType::U8x4);
            let options = ResizeOptions::new()
                .resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom))
                .use_alpha(false);
            Resizer::new()
                .resize(&wide(&source.rgba, source.height), &mut whole, &options)
                .unwrap();
            let apart = banded.rgba.iter().zip(whole.buffer());
            let most = apart.map(|(one, two)| one.abs_diff(*two)).max().unwrap();
            assert!(most <= 1, "{size:?}: {most} apart");
        }
    }

    #[test]
    fn directions_keep_their_length() {
        let board = chequered([255, 128, 128, 255], [128, 255, 128, 255]);
        let normals = board.resized((4, 4), &usage(TextureSlot::Normal, AlphaUse::Unused));
        let [x, y, z, _] = middle(&normals).map(|byte| f32::from(byte) / 127.5 - 1.0);
        let length = (x * x + y * y + z * z).sqrt();
        assert!((length - 1.0).abs() < 0.02, "{length}");
    }
}
