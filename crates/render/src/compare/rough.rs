//! A rough difference of small pictures, many times faster than FLIP. It serves to choose among results, not to report
//! their quality.

use rayon::prelude::*;

use super::super::camera::View;
use super::super::picture::Picture;

/// Tiles on each side of a picture.
const TILES: usize = 16;

/// The difference of two sets of pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuickDifference {
    /// The mean over all pixels, 0 to 1.
    pub mean: f64,
    /// The mean over the pixels of the worst tile, 0 to 1.
    pub worst_tile: f64,
}

/// Compares pictures of the same views and sizes.
pub fn quick_difference(one: &[(View, Picture)], other: &[(View, Picture)]) -> QuickDifference {
    let views = one.par_iter().zip(other);
    let each: Vec<QuickDifference> = views
        .map(|((_, one), (_, other))| difference(one, other))
        .collect();
    QuickDifference {
        mean: each.iter().map(|view| view.mean).sum::<f64>() / each.len().max(1) as f64,
        worst_tile: each.iter().map(|view| view.worst_tile).fold(0.0, f64::max),
    }
}

fn difference(one: &Picture, other: &Picture) -> QuickDifference {
    let size = one.size;
    let errors = errors(one, other);
    let tile = size.div_ceil(TILES).max(1);
    let mut sums = vec![0.0; TILES * TILES];
    for (at, error) in errors.iter().enumerate() {
        sums[at / size / tile * TILES + at % size / tile] += f64::from(*error);
    }
    QuickDifference {
        mean: sums.iter().sum::<f64>() / errors.len().max(1) as f64,
        worst_tile: sums.into_iter().fold(0.0, f64::max) / (tile * tile) as f64,
    }
}

/// The difference of each pixel: the square root of the blurred colour difference. The root raises slight differences,
/// which are visible too.
fn errors(one: &Picture, other: &Picture) -> Vec<f32> {
    let size = one.size;
    let (pixels, _) = one.rgba.as_chunks::<4>();
    let (others, _) = other.rgba.as_chunks::<4>();
    let colours = pixels.iter().zip(others);
    let apart: Vec<[f32; 3]> = colours
        .map(|(one, other)| [0, 1, 2].map(|at| (f32::from(one[at]) - f32::from(other[at])) / 255.0))
        .collect();
    let across = blurred(&apart, |at| {
        let x = at % size;
        [x.min(1), (size - 1 - x).min(1)]
    });
    let both = blurred(&across, |at| {
        let y = at / size;
        [y.min(1) * size, (size - 1 - y).min(1) * size]
    });
    let length = |[r, g, b]: &[f32; 3]| (r * r + g * g + b * b).sqrt();
    both.iter()
        .map(|apart| (length(apart) / f32::sqrt(3.0)).sqrt())
        .collect()
}

/// The mean of each pixel and its two neighbours; `steps` returns their distances before and after the pixel.
fn blurred(pixels: &[[f32; 3]], steps: impl Fn(usize) -> [usize; 2]) -> Vec<[f32; 3]> {
    let mean = |at: usize| {
        let [before, behind] = steps(at);
        let row = [pixels[at - before], pixels[at], pixels[at + behind]];
        [0, 1, 2].map(|channel| row.iter().map(|pixel| pixel[channel]).sum::<f32>() / 3.0)
    };
    (0..pixels.len()).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(paint: impl Fn(usize, usize) -> u8) -> Vec<(View, Picture)> {
        let size = 64;
        let pixels = (0..size * size).flat_map(|at| {
            let grey = paint(at % size, at / size);
            [grey, grey, grey, 255]
        });
        let picture = Picture {
            size,
            rgba: pixels.collect(),
            parts: vec![0; size * size],
            depths: Vec::new(),
        };
        vec![(View::Front, picture)]
    }

    #[test]
    fn same_pictures_do_not_differ() {
        let one = picture(|x, y| (x * y) as u8);
        let found = quick_difference(&one, &one);
        assert_eq!((found.mean, found.worst_tile), (0.0, 0.0));
    }

    #[test]
    fn spot_shows_in_the_worst_tile_more_than_in_the_mean() {
        let one = picture(|_, _| 200);
        let other = picture(|x, y| if x < 8 && y < 8 { 0 } else { 200 });
        let found = quick_difference(&one, &other);
        assert!(found.mean < 0.03, "{found:?}");
        assert!(found.worst_tile > 0.8, "{found:?}");
    }

    #[test]
    fn greater_difference_counts_more_and_noise_less() {
        let one = picture(|_, _| 100);
        let by = |step: u8| quick_difference(&one, &picture(|_, _| 100 + step)).mean;
        assert!(by(60) > by(20) && by(20) > by(5));
        let noise = picture(|x, y| if (x + y) % 2 == 0 { 70 } else { 130 });
        assert!(quick_difference(&one, &noise).mean < by(30));
    }
}
