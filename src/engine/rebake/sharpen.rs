//! Sharpens baked textures by as much as drawing them blurs.
//!
//! A baked texel is the mean of the source over its square. Whoever draws it interpolates between texels, so the mean of
//! what is drawn over the same square is less sharp. The difference of both is added to the texel: one round of the
//! deconvolution of van Cittert (1931). A second round changes little and makes files larger.

use rayon::prelude::*;

use super::super::render::{linear_of_byte, linear_to_srgb};
use super::bake::Pixel;

/// How the bytes of red, green and blue stand for values. Alpha is always linear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Srgb,
    Linear,
}

/// The mean of a bilinear interpolation over the square of a texel: the weights of the texel before, its own and the one
/// after, along one axis.
const DRAWN: [f32; 3] = [0.125, 0.75, 0.125];

/// Sharpens a square texture. Texels that are not covered neither change nor count.
pub(super) fn sharpen(side: u32, is_covered: &[bool], map: &mut [Pixel], encoding: Encoding) {
    let side = side as usize;
    let before = map.to_vec();
    map.par_chunks_mut(side).enumerate().for_each(|(y, row)| {
        for (x, texel) in row.iter_mut().enumerate() {
            let near = neighbours(side, is_covered, &before, (x, y));
            if let Some(near) = near.filter(|near| !is_even(near)) {
                *texel = sharper(&near, encoding);
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

/// Whether all nine texels are the same.
fn is_even(near: &[[Pixel; 3]; 3]) -> bool {
    near.as_flattened().iter().all(|pixel| *pixel == near[1][1])
}

/// The texel in the middle plus what drawing would take from it.
fn sharper(near: &[[Pixel; 3]; 3], encoding: Encoding) -> Pixel {
    let own = decoded(near[1][1], encoding);
    let mut drawn = [0.0; 4];
    for (row, down) in near.iter().zip(DRAWN) {
        for (pixel, across) in row.iter().zip(DRAWN) {
            for (sum, value) in drawn.iter_mut().zip(decoded(*pixel, encoding)) {
                *sum += value * down * across;
            }
        }
    }
    encoded(
        std::array::from_fn(|channel| 2.0 * own[channel] - drawn[channel]),
        encoding,
    )
}

fn decoded(pixel: Pixel, encoding: Encoding) -> [f32; 4] {
    let linear = |byte: u8| f32::from(byte) / 255.0;
    let value = |byte: u8| match encoding {
        Encoding::Srgb => linear_of_byte(byte),
        Encoding::Linear => linear(byte),
    };
    let [r, g, b, a] = pixel;
    [value(r), value(g), value(b), linear(a)]
}

fn encoded(values: [f32; 4], encoding: Encoding) -> Pixel {
    let linear = |value: f32| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    let byte = |value: f32| match encoding {
        Encoding::Srgb => linear_to_srgb(value.clamp(0.0, 1.0)),
        Encoding::Linear => linear(value),
    };
    let [r, g, b, a] = values;
    [byte(r), byte(g), byte(b), linear(a)]
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

    fn sharpened(is_covered: &[bool], encoding: Encoding) -> Vec<Pixel> {
        let mut map = step();
        sharpen(SIDE as u32, is_covered, &mut map, encoding);
        map
    }

    #[test]
    fn the_two_sides_of_an_edge_move_apart_and_flat_surfaces_stay() {
        let map = sharpened(&[true; SIDE * SIDE], Encoding::Linear);
        let row: Vec<u8> = map[SIDE..2 * SIDE].iter().map(|pixel| pixel[0]).collect();
        // An eighth of the difference of 64 on each side.
        assert_eq!(row, [128, 128, 128, 120, 200, 192, 192, 192]);
    }

    #[test]
    fn colours_are_sharpened_as_light_and_alpha_as_it_is() {
        let map = sharpened(&[true; SIDE * SIDE], Encoding::Srgb);
        let light = linear_of_byte(128) - (linear_of_byte(192) - linear_of_byte(128)) / 8.0;
        let byte = linear_to_srgb(light);
        assert!(byte > 0 && byte != 120, "{byte}");
        assert_eq!(map[SIDE + 3], [byte, byte, byte, 120]);
    }

    #[test]
    fn texels_without_a_surface_neither_change_nor_count() {
        let is_covered: Vec<bool> = (0..SIDE * SIDE).map(|at| at % SIDE < SIDE / 2).collect();
        assert_eq!(sharpened(&is_covered, Encoding::Linear), step());
    }
}
