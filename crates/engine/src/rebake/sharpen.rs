//! Sharpens baked textures by as much as drawing them blurs.
//!
//! A baked texel is the mean of the source over its square. Whoever draws it interpolates between texels, so the mean of
//! what is drawn over the same square is less sharp. The difference of both is added to the texel: one round of the
//! deconvolution of van Cittert (1931). A second round changes little and makes files larger. Alpha stays as it is: a
//! sharpened alpha would fall below the cutoff of a mask beside an edge, and make holes that the source does not have.

use glam::Vec3;
use rayon::prelude::*;

use super::super::render::{linear_of_byte, linear_to_srgb};
use super::maps::Pixel;

/// How the bytes of red, green and blue stand for values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferCurve {
    Srgb,
    Linear,
}

/// The mean of a bilinear interpolation over the square of a texel: the weights of the texel before, its own and the one
/// after, along one axis.
const DRAWN: [f32; 3] = [0.125, 0.75, 0.125];

/// Sharpens a square texture. Texels that are not covered neither change nor count.
pub(super) fn sharpen(side: u32, is_covered: &[bool], map: &mut [Pixel], curve: TransferCurve) {
    let side = side as usize;
    let before = map.to_vec();
    map.par_chunks_mut(side).enumerate().for_each(|(y, row)| {
        for (x, texel) in row.iter_mut().enumerate() {
            let near = neighbours(side, is_covered, &before, (x, y));
            if let Some(near) = near.filter(|near| !is_even(near)) {
                *texel = sharper(&near, curve);
            }
        }
    });
}

/// A texel and its eight neighbours, row by row. The texel itself stands for neighbours that are not covered. `None` where
/// the texel is not covered.
fn neighbours(
    side: usize,
    is_covered: &[bool],
    map: &[Pixel],
    (x, y): (usize, usize),
) -> Option<[[Pixel; 3]; 3]> {
    let own = y * side + x;
    if !is_covered[own] {
        return None;
    }
    let mut near = [[map[own]; 3]; 3];
    for (ny, row) in (y.max(1) - 1..side.min(y + 2)).map(|ny| (ny, ny + 1 - y)) {
        for (nx, column) in (x.max(1) - 1..side.min(x + 2)).map(|nx| (nx, nx + 1 - x)) {
            if is_covered[ny * side + nx] {
                near[row][column] = map[ny * side + nx];
            }
        }
    }
    Some(near)
}

/// Whether red, green and blue of all nine texels are the same.
fn is_even(near: &[[Pixel; 3]; 3]) -> bool {
    let own = &near[1][1][..3];
    near.as_flattened().iter().all(|pixel| pixel[..3] == *own)
}

/// The texel in the middle plus what drawing would take from it.
fn sharper(near: &[[Pixel; 3]; 3], curve: TransferCurve) -> Pixel {
    let own = curve.decoded(near[1][1]);
    let mut drawn = Vec3::ZERO;
    for (row, down) in near.iter().zip(DRAWN) {
        for (pixel, across) in row.iter().zip(DRAWN) {
            drawn += curve.decoded(*pixel) * down * across;
        }
    }
    let [r, g, b] = curve.encoded(2.0 * own - drawn);
    [r, g, b, near[1][1][3]]
}

impl TransferCurve {
    fn decoded(self, [r, g, b, _]: Pixel) -> Vec3 {
        let value = |byte: u8| match self {
            TransferCurve::Srgb => linear_of_byte(byte),
            TransferCurve::Linear => f32::from(byte) / 255.0,
        };
        Vec3::new(value(r), value(g), value(b))
    }

    fn encoded(self, value: Vec3) -> [u8; 3] {
        let value = value.clamp(Vec3::ZERO, Vec3::ONE).to_array();
        value.map(|value| match self {
            TransferCurve::Srgb => linear_to_srgb(value),
            TransferCurve::Linear => (value * 255.0 + 0.5) as u8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: usize = 8;

    /// A texture whose columns are dark on the left and light on the right.
    fn step() -> Vec<Pixel> {
        let of = |x: usize| [if x < SIDE / 2 { 128 } else { 192 }; 4];
        (0..SIDE * SIDE).map(|at| of(at % SIDE)).collect()
    }

    fn sharpened(is_covered: &[bool], curve: TransferCurve) -> Vec<Pixel> {
        let mut map = step();
        sharpen(SIDE as u32, is_covered, &mut map, curve);
        map
    }

    #[test]
    fn the_two_sides_of_an_edge_move_apart_and_flat_surfaces_stay() {
        let map = sharpened(&[true; SIDE * SIDE], TransferCurve::Linear);
        let row: Vec<u8> = map[SIDE..2 * SIDE].iter().map(|pixel| pixel[0]).collect();
        // An eighth of the difference of 64 on each side.
        assert_eq!(row, [128, 128, 128, 120, 200, 192, 192, 192]);
    }

    #[test]
    fn colours_are_sharpened_as_light_and_alpha_stays() {
        let map = sharpened(&[true; SIDE * SIDE], TransferCurve::Srgb);
        let light = linear_of_byte(128) - (linear_of_byte(192) - linear_of_byte(128)) / 8.0;
        let byte = linear_to_srgb(light);
        assert!(byte > 0 && byte != 120, "{byte}");
        assert_eq!(map[SIDE + 3], [byte, byte, byte, 128]);
    }

    #[test]
    fn texels_without_a_surface_neither_change_nor_count() {
        let is_covered: Vec<bool> = (0..SIDE * SIDE).map(|at| at % SIDE < SIDE / 2).collect();
        assert_eq!(sharpened(&is_covered, TransferCurve::Linear), step());
    }
}
