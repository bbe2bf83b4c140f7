//! Textures for the rasterizer: mipmaps with trilinear filtering.
//!
//! sRGB images are averaged and interpolated in linear light. Levels have eight bits a channel, as their sources.

use glam::{Vec2, Vec3A, Vec4};
use rayon::prelude::*;

use super::scene::Wrap;
use super::scene::{RenderTexture, RenderTextureUse};
use super::srgb::{linear_of_srgb, srgb_of_linear};

/// Linear light of each sRGB byte.
pub(super) fn srgb_to_linear() -> &'static [f32; 256] {
    static TABLE: std::sync::OnceLock<[f32; 256]> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|byte| linear_of_srgb(byte as f32 / 255.0)))
}

/// Linear light of an sRGB byte.
pub fn linear_of_byte(byte: u8) -> f32 {
    srgb_to_linear()[usize::from(byte)]
}

/// sRGB byte of a linear value in `0..1`, by a table over its square root.
pub fn linear_to_srgb(value: f32) -> u8 {
    const STEPS: usize = 4096;
    static TABLE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let table = TABLE.get_or_init(|| {
        (0..=STEPS)
            .map(|step| {
                let value = (step as f32 / STEPS as f32).powi(2);
                (srgb_of_linear(value) * 255.0 + 0.5) as u8
            })
            .collect()
    });
    table[(value.clamp(0.0, 1.0).sqrt() * STEPS as f32 + 0.5) as usize]
}

/// An image and its mipmap levels.
#[derive(Debug, Clone)]
pub(super) struct Pyramid {
    levels: Vec<Level>,
    srgb: bool,
}

#[derive(Debug, Clone)]
struct Level {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Pyramid {
    /// Builds all levels. An image whose bytes do not fit its size becomes one white pixel.
    pub(super) fn new(texture: &RenderTexture, srgb: bool) -> Pyramid {
        let (width, height) = (texture.width as usize, texture.height as usize);
        let (pixels, _) = texture.rgba.as_chunks::<4>();
        if width == 0 || height == 0 || pixels.len() != width * height {
            let white = Level {
                width: 1,
                height: 1,
                pixels: vec![[255; 4]],
            };
            return Pyramid {
                levels: vec![white],
                srgb,
            };
        }
        let mut levels = vec![Level {
            width,
            height,
            pixels: pixels.to_vec(),
        }];
        while let Some(last) = levels
            .last()
            .filter(|last| last.width > 1 || last.height > 1)
        {
            let next = last.half(srgb);
            levels.push(next);
        }
        Pyramid { levels, srgb }
    }

    /// The colour at a coordinate (`0..1`, v down), linear, at mipmap level `level` (0 is the largest).
    pub(super) fn sample(&self, uv: Vec2, level: f32, wrap: [Wrap; 2]) -> Vec4 {
        let level = level.clamp(0.0, (self.levels.len() - 1) as f32);
        let lower = level as usize;
        let between = level - lower as f32;
        let sharp = self.levels[lower].bilinear(uv, wrap, self.srgb);
        if between < 0.01 || lower + 1 >= self.levels.len() {
            return sharp;
        }
        sharp.lerp(
            self.levels[lower + 1].bilinear(uv, wrap, self.srgb),
            between,
        )
    }
}

impl Level {
    /// Averages two by two pixels; the last row or column of an odd size counts in the last pair.
    fn half(&self, srgb: bool) -> Level {
        let (width, height) = ((self.width / 2).max(1), (self.height / 2).max(1));
        let table = srgb_to_linear();
        let mut pixels = vec![[0u8; 4]; width * height];
        pixels
            .par_chunks_mut(width)
            .enumerate()
            .for_each(|(y, row)| {
                let rows = [
                    (y * 2).min(self.height - 1),
                    (y * 2 + 1).min(self.height - 1),
                ];
                for (x, pixel) in row.iter_mut().enumerate() {
                    let columns = [(x * 2).min(self.width - 1), (x * 2 + 1).min(self.width - 1)];
                    let four = [
                        self.pixels[rows[0] * self.width + columns[0]],
                        self.pixels[rows[0] * self.width + columns[1]],
                        self.pixels[rows[1] * self.width + columns[0]],
                        self.pixels[rows[1] * self.width + columns[1]],
                    ];
                    *pixel = mean(&four, srgb.then_some(table));
                }
            });
        Level {
            width,
            height,
            pixels,
        }
    }

    fn bilinear(&self, uv: Vec2, wrap: [Wrap; 2], srgb: bool) -> Vec4 {
        let x = uv.x * self.width as f32 - 0.5;
        let y = uv.y * self.height as f32 - 0.5;
        let (left, top) = rounded_down(x, y);
        let (fx, fy) = (x - left, y - top);
        let columns = [
            wrapped(left, self.width, wrap[0]),
            wrapped(left + 1.0, self.width, wrap[0]),
        ];
        let rows = [
            wrapped(top, self.height, wrap[1]),
            wrapped(top + 1.0, self.height, wrap[1]),
        ];
        let at = |row: usize, column: usize| {
            linear(self.pixels[rows[row] * self.width + columns[column]], srgb)
        };
        let upper = at(0, 0).lerp(at(0, 1), fx);
        let lower = at(1, 0).lerp(at(1, 1), fx);
        upper.lerp(lower, fy)
    }
}

fn linear(pixel: [u8; 4], srgb: bool) -> Vec4 {
    const BYTE: f32 = 1.0 / 255.0;
    let [r, g, b, a] = pixel;
    if srgb {
        let table = srgb_to_linear();
        return Vec4::new(
            table[r as usize],
            table[g as usize],
            table[b as usize],
            f32::from(a) * BYTE,
        );
    }
    Vec4::new(f32::from(r), f32::from(g), f32::from(b), f32::from(a)) * BYTE
}

fn mean(four: &[[u8; 4]; 4], table: Option<&[f32; 256]>) -> [u8; 4] {
    std::array::from_fn(|channel| {
        if let (Some(table), true) = (table, channel < 3) {
            let sum: f32 = four
                .iter()
                .map(|pixel| table[pixel[channel] as usize])
                .sum();
            return linear_to_srgb(sum * 0.25);
        }
        let sum: u32 = four.iter().map(|pixel| u32::from(pixel[channel])).sum();
        ((sum + 2) / 4) as u8
    })
}

/// Both numbers rounded down. `Vec3A::floor` takes a few instructions; `f32::floor` is a function call in builds that do not
/// require SSE 4.1.
pub(super) fn rounded_down(x: f32, y: f32) -> (f32, f32) {
    let [x, y, _] = Vec3A::new(x, y, 0.0).floor().to_array();
    (x, y)
}

/// Wraps the coordinate of a pixel that lies outside of the image.
#[inline]
fn wrapped(place: f32, size: usize, wrap: Wrap) -> usize {
    // The cast saturates, so coordinates of any size are safe.
    let (place, size) = (place as i64, size as i64);
    if (0..size).contains(&place) {
        return place as usize;
    }
    let inside = match wrap {
        Wrap::ClampToEdge => place.clamp(0, size - 1),
        Wrap::Repeat => place.rem_euclid(size),
        Wrap::MirroredRepeat => {
            let twice = place.rem_euclid(2 * size);
            if twice < size {
                twice
            } else {
                2 * size - 1 - twice
            }
        }
    };
    inside as usize
}

/// A texture slot of a prepared material.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// Index of the pyramid.
    pub(super) pyramid: usize,
    pub(super) usage: RenderTextureUse,
    /// `log2(n) / 2`, where `n` is the number of texels in a unit square of the mesh's texture coordinates.
    texels: f32,
}

impl Slot {
    pub(super) fn new(pyramid: usize, usage: RenderTextureUse, texture: &RenderTexture) -> Slot {
        let texels = texture.width as f32 * texture.height as f32;
        let covered = usage.transform.matrix2.determinant().abs() * texels;
        Slot {
            pyramid,
            usage,
            texels: 0.5 * covered.max(1e-12).log2(),
        }
    }

    /// The mipmap level for a sample that covers an area of texture coordinates. `spread` is `log2(area) / 2`.
    pub(super) fn level(&self, spread: f32) -> f32 {
        spread + self.texels
    }

    /// Whether the other slot reads the same pixels.
    pub(super) fn reads_like(&self, other: &Slot) -> bool {
        let (one, two) = (&self.usage, &other.usage);
        self.pyramid == other.pyramid
            && one.uv_set == two.uv_set
            && one.wrap == two.wrap
            && one.transform == two.transform
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn texture(width: u32, height: u32, bytes: Vec<u8>) -> RenderTexture {
        RenderTexture {
            width,
            height,
            rgba: Arc::new(bytes),
        }
    }

    #[test]
    fn srgb_tables_are_inverse() {
        for byte in 0..=255u8 {
            assert_eq!(linear_to_srgb(srgb_to_linear()[byte as usize]), byte);
        }
    }

    #[test]
    fn smaller_levels_average_light_not_bytes() {
        let checks = texture(
            2,
            2,
            [[0, 0, 0, 255], [255; 4], [255; 4], [0, 0, 0, 255]].concat(),
        );
        let pyramid = Pyramid::new(&checks, true);
        let grey = pyramid.sample(Vec2::splat(0.5), 1.0, [Wrap::ClampToEdge; 2]);
        assert!((grey.x - 0.5).abs() < 0.01, "{grey}");
    }

    #[test]
    fn wraps_as_told() {
        assert_eq!(wrapped(-1.0, 4, Wrap::Repeat), 3);
        assert_eq!(wrapped(-1.0, 4, Wrap::MirroredRepeat), 0);
        assert_eq!(wrapped(4.0, 4, Wrap::MirroredRepeat), 3);
        assert_eq!(wrapped(9.0, 4, Wrap::ClampToEdge), 3);
        assert_eq!(wrapped(f32::NAN, 4, Wrap::Repeat), 0);
    }

    #[test]
    fn image_with_missing_bytes_is_white() {
        let pyramid = Pyramid::new(&texture(4, 4, vec![0; 7]), false);
        assert_eq!(
            pyramid.sample(Vec2::ZERO, 0.0, [Wrap::Repeat; 2]),
            Vec4::ONE
        );
    }

    #[test]
    fn odd_sizes_reach_one_pixel() {
        let pyramid = Pyramid::new(&texture(5, 3, vec![100; 60]), true);
        assert_eq!(pyramid.levels.len(), 3);
        let colour = pyramid.sample(Vec2::splat(0.3), 9.0, [Wrap::Repeat; 2]);
        assert!((colour.x - srgb_to_linear()[100]).abs() < 0.01);
    }
}
