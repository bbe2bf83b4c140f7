//! The difference of two pictures as seen when flipping between them: LDR-ꟻLIP (Andersson and others, 2020).
//!
//! Written from the paper: pictures are blurred as the eye blurs at a viewing distance, compared in a perceptual colour
//! space, and differences at edges and points count more. 0 is no difference, 1 the greatest. The difference is
//! computed only in the rectangle where the pictures differ, widened by the radius of the filters; elsewhere it is 0.

mod colour;
mod filter;

use glam::Vec3;
use rayon::prelude::*;
use std::f32::consts::PI;

use colour::{colour_difference, from_opponent, hunt, to_lab, to_opponent};
use filter::Plane;

/// Pixels per degree of the visual field: a screen of 0.7 m and 3840 pixels seen from 0.7 m.
const PIXELS_PER_DEGREE: f32 = 67.02;

/// The contrast sensitivity of lightness, red-green and blue-yellow, as sums of `(height, width)`.
const SENSITIVITY: [&[(f32, f32)]; 3] = [
    &[(1.0, 0.0047)],
    &[(1.0, 0.0053)],
    &[(34.1, 0.04), (13.5, 0.025)],
];

/// The width of an edge that the eye detects, in degrees.
const FEATURE_WIDTH: f32 = 0.082;

/// A picture in linear RGB.
pub(super) struct Linear {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<Vec3>,
}

impl Linear {
    fn map(&self, change: impl Fn(Vec3) -> Vec3 + Sync) -> Linear {
        let pixels = self.pixels.par_iter().map(|pixel| change(*pixel)).collect();
        Linear {
            width: self.width,
            height: self.height,
            pixels,
        }
    }

    fn channel(&self, channel: usize) -> Plane {
        let values = self.pixels.iter().map(|pixel| pixel[channel]).collect();
        Plane {
            width: self.width,
            values,
        }
    }
}

/// The difference of each pixel; both pictures have the same size.
pub(super) fn flip(reference: &Linear, test: &Linear) -> Vec<f32> {
    let (one, two) = rayon::join(
        || PerceivedPicture::new(reference),
        || PerceivedPicture::new(test),
    );
    (0..reference.pixels.len())
        .into_par_iter()
        .map(|at| {
            let colour = colour_difference(one.lab[at], two.lab[at]);
            let feature = (one.edges[at] - two.edges[at])
                .abs()
                .max((one.points[at] - two.points[at]).abs());
            let feature = (feature * std::f32::consts::FRAC_1_SQRT_2).sqrt().min(1.0);
            colour.powf(1.0 - feature)
        })
        .collect()
}

/// Radius of the largest filter, in pixels.
pub(super) fn reach() -> usize {
    let widest = SENSITIVITY
        .iter()
        .map(|sums| sensitivity_radius(sums))
        .max()
        .unwrap_or(0);
    widest.max(feature_radius())
}

/// One picture as the eye sees it.
struct PerceivedPicture {
    /// Lab after the Hunt adjustment.
    lab: Vec<Vec3>,
    edges: Vec<f32>,
    points: Vec<f32>,
}

impl PerceivedPicture {
    fn new(picture: &Linear) -> PerceivedPicture {
        let opponent = picture.map(to_opponent);
        let ((edges, points), filtered) =
            rayon::join(|| features(&opponent.channel(0)), || blurred(&opponent));
        let lab = filtered
            .map(|pixel| hunt(to_lab(from_opponent(pixel).clamp(Vec3::ZERO, Vec3::ONE))))
            .pixels;
        PerceivedPicture { lab, edges, points }
    }
}

/// Blurs each channel as the contrast sensitivity of the eye does.
fn blurred(opponent: &Linear) -> Linear {
    let planes: Vec<Vec<f32>> = (0..3)
        .into_par_iter()
        .map(|channel| {
            let plane = opponent.channel(channel);
            let sums = SENSITIVITY[channel];
            let radius = sensitivity_radius(sums);
            // The weight of each Gaussian is its share of the whole kernel.
            let kernels: Vec<(f32, Vec<f32>)> = sums
                .iter()
                .map(|sum| sensitivity_kernel(*sum, radius))
                .collect();
            let total: f32 = kernels.iter().map(|(weight, _)| weight).sum();
            let mut result = vec![0.0; plane.values.len()];
            for (weight, kernel) in &kernels {
                let pass = plane.filtered(kernel, kernel);
                for (sum, value) in result.iter_mut().zip(pass.values) {
                    *sum += value * weight / total;
                }
            }
            result
        })
        .collect();
    let pixels = (0..opponent.pixels.len())
        .map(|at| Vec3::new(planes[0][at], planes[1][at], planes[2][at]))
        .collect();
    Linear {
        width: opponent.width,
        height: opponent.height,
        pixels,
    }
}

fn sensitivity_radius(sums: &[(f32, f32)]) -> usize {
    let widest = sums.iter().map(|(_, width)| *width).fold(0.0, f32::max);
    (3.0 * (widest / (2.0 * PI * PI)).sqrt() * PIXELS_PER_DEGREE).ceil() as usize
}

/// One row of a normalized Gaussian kernel, and the sum of the square kernel before it was normalized.
fn sensitivity_kernel((height, width): (f32, f32), radius: usize) -> (f32, Vec<f32>) {
    let row: Vec<f32> = offsets(radius)
        .map(|offset| {
            let degrees = offset / PIXELS_PER_DEGREE;
            (-PI * PI * degrees * degrees / width).exp()
        })
        .collect();
    let sum: f32 = row.iter().sum();
    let weight = height * (PI / width).sqrt() * sum * sum;
    (weight, row.iter().map(|value| value / sum).collect())
}

fn feature_radius() -> usize {
    (3.0 * 0.5 * FEATURE_WIDTH * PIXELS_PER_DEGREE).ceil() as usize
}

/// The strength of the edge and of the point at each pixel.
fn features(lightness: &Plane) -> (Vec<f32>, Vec<f32>) {
    let deviation = 0.5 * FEATURE_WIDTH * PIXELS_PER_DEGREE;
    let gauss = |x: f32| (-x * x / (2.0 * deviation * deviation)).exp();
    let kernel = |shape: &dyn Fn(f32) -> f32| -> Vec<f32> {
        signed_normalized(
            offsets(feature_radius())
                .map(|x| shape(x) * gauss(x))
                .collect(),
        )
    };
    let smooth = kernel(&|_| 1.0);
    let edge = kernel(&|x| -x);
    let point = kernel(&|x| x * x / (deviation * deviation) - 1.0);
    let normalized = Plane {
        width: lightness.width,
        values: lightness
            .values
            .iter()
            .map(|value| (value + 16.0) / 116.0)
            .collect(),
    };
    let strength = |kernel: &[f32]| -> Vec<f32> {
        let (across, down) = rayon::join(
            || normalized.filtered(kernel, &smooth),
            || normalized.filtered(&smooth, kernel),
        );
        across
            .values
            .iter()
            .zip(&down.values)
            .map(|(x, y)| x.hypot(*y))
            .collect()
    };
    (strength(&edge), strength(&point))
}

/// Scales a kernel so that its positive weights sum to 1 and its negative weights to -1.
fn signed_normalized(mut kernel: Vec<f32>) -> Vec<f32> {
    let positive: f32 = kernel.iter().filter(|value| **value > 0.0).sum();
    let negative: f32 = -kernel.iter().filter(|value| **value < 0.0).sum::<f32>();
    for value in &mut kernel {
        *value /= if *value > 0.0 {
            positive
        } else {
            negative.max(f32::MIN_POSITIVE)
        };
    }
    kernel
}

fn offsets(radius: usize) -> impl Iterator<Item = f32> {
    let radius = radius as i32;
    (-radius..=radius).map(|offset| offset as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(colour: Vec3) -> Linear {
        Linear {
            width: 48,
            height: 32,
            pixels: vec![colour; 48 * 32],
        }
    }

    fn mean(values: &[f32]) -> f32 {
        values.iter().sum::<f32>() / values.len() as f32
    }

    #[test]
    fn same_pictures_do_not_differ() {
        let picture = plain(Vec3::new(0.3, 0.6, 0.1));
        assert!(flip(&picture, &picture).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn black_and_white_differ_most() {
        let strong = mean(&flip(&plain(Vec3::ZERO), &plain(Vec3::ONE)));
        let weak = mean(&flip(&plain(Vec3::splat(0.5)), &plain(Vec3::splat(0.52))));
        assert!(strong > 0.95 && strong <= 1.0, "{strong}");
        assert!(weak > 0.0 && weak < 0.12, "{weak}");
    }

    #[test]
    fn edges_count_more_than_their_colour() {
        let grey = plain(Vec3::splat(0.25));
        let mut line = plain(Vec3::splat(0.25));
        for y in 0..32 {
            line.pixels[y * 48 + 24] = Vec3::splat(0.35);
        }
        let with_line = flip(&grey, &line);
        let colour_alone = {
            let (one, two) = (PerceivedPicture::new(&grey), PerceivedPicture::new(&line));
            colour_difference(one.lab[16 * 48 + 24], two.lab[16 * 48 + 24])
        };
        assert!(
            with_line[16 * 48 + 24] > colour_alone * 1.2,
            "{} {colour_alone}",
            with_line[16 * 48 + 24]
        );
        assert_eq!(with_line[0], 0.0, "far from the line nothing differs");
    }

    /// Compares pictures of 64 × 48 pixels, made by a formula, with the results of the authors' program (flip-evaluator
    /// 1.7).
    #[test]
    fn agrees_with_the_authors_program() {
        let decode = |byte: usize| {
            let value = byte as f32 / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        let picture = |changed: bool| {
            let pixels = (0..48_usize).flat_map(|y| {
                (0..64_usize).map(move |x| {
                    let [r, g, b] = [x * 4 % 256, y * 5 % 256, (x * x + y * 3) % 97 * 2];
                    let in_block = (20..34).contains(&x) && (10..30).contains(&y);
                    if changed && x == 50 {
                        [r / 3, g, b]
                    } else if changed && in_block {
                        [255 - r, g / 2, b]
                    } else {
                        [r, g, b]
                    }
                })
            });
            let pixels = pixels
                .map(|bytes| Vec3::from_array(bytes.map(decode)))
                .collect();
            Linear {
                width: 64,
                height: 48,
                pixels,
            }
        };
        let found = flip(&picture(false), &picture(true));
        assert!((mean(&found) - 0.091_436).abs() < 2e-5, "{}", mean(&found));
        for ((x, y), wanted) in [
            ((27, 20), 0.574_108),
            ((50, 20), 0.407_266),
            ((20, 9), 0.277_860),
        ] {
            assert!(
                (found[y * 64 + x] - wanted).abs() < 2e-4,
                "{x} {y}: {}",
                found[y * 64 + x]
            );
        }
    }
}
