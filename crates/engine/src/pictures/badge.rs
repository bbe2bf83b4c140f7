//! A sign in the corner of a small picture: the model waits, or it failed. File managers show no state of a file, but its picture.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};

/// What the sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Badge {
    /// Three dots on amber.
    Waits,
    /// An exclamation mark on red.
    Failed,
}

/// The ground of a picture of a model that cannot be drawn.
const BLANK: Rgb<u8> = Rgb([214, 217, 222]);
const WHITE: [f64; 3] = [255.0, 255.0, 255.0];
/// Radius of the sign in parts of the shorter side, and the smallest in pixels.
const RADIUS: f64 = 0.17;
const SMALLEST: f64 = 5.0;
/// Part of the radius that the white ring takes.
const RING: f64 = 0.14;
/// Samples of a pixel on each side.
const SAMPLES: u32 = 4;

impl Badge {
    fn ground(self) -> [f64; 3] {
        match self {
            Badge::Waits => [217.0, 130.0, 0.0],
            Badge::Failed => [200.0, 30.0, 45.0],
        }
    }

    /// Whether a point belongs to the mark in the sign, whose radius is 1 and whose middle is (0, 0).
    fn is_mark(self, x: f64, y: f64) -> bool {
        let dot = |at_x: f64, at_y: f64, radius: f64| (x - at_x).hypot(y - at_y) <= radius;
        match self {
            Badge::Waits => [-0.42, 0.0, 0.42].iter().any(|at| dot(*at, 0.0, 0.15)),
            Badge::Failed => {
                (x.abs() <= 0.13 && (-0.55..=0.15).contains(&y)) || dot(0.0, 0.45, 0.16)
            }
        }
    }
}

/// A PNG with the sign in its lower right corner; without a picture the sign on a plain ground of `size` pixels.
///
/// # Errors
/// When the picture is no PNG.
pub fn badged(png: Option<&[u8]>, size: u32, badge: Badge) -> image::ImageResult<Vec<u8>> {
    let mut picture = match png {
        Some(png) => image::load_from_memory_with_format(png, ImageFormat::Png)?.into_rgb8(),
        None => RgbImage::from_pixel(size, size, BLANK),
    };
    let (width, height) = (f64::from(picture.width()), f64::from(picture.height()));
    let radius = (width.min(height) * RADIUS).max(SMALLEST);
    let middle = (width - radius - 1.0, height - radius - 1.0);
    let inside = 1.0 - RING;
    for (x, y, pixel) in picture.enumerate_pixels_mut() {
        let mut sum = [0.0; 3];
        for sample in 0..SAMPLES * SAMPLES {
            let at = |part: u32| (f64::from(part) + 0.5) / f64::from(SAMPLES);
            let x = (f64::from(x) + at(sample % SAMPLES) - middle.0) / radius;
            let y = (f64::from(y) + at(sample / SAMPLES) - middle.1) / radius;
            let colour = match x.hypot(y) {
                distance if distance > 1.0 => pixel.0.map(f64::from),
                distance if distance > inside => WHITE,
                _ if badge.is_mark(x / inside, y / inside) => WHITE,
                _ => badge.ground(),
            };
            (0..3).for_each(|part| sum[part] += colour[part]);
        }
        *pixel = Rgb(sum.map(|sum| (sum / f64::from(SAMPLES * SAMPLES)).round() as u8));
    }
    let mut png = Vec::new();
    picture.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
    Ok(png)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_stands_in_the_corner_and_leaves_the_rest_of_the_picture() {
        for size in [16, 128, 256] {
            let mut plain = Vec::new();
            let blue = RgbImage::from_pixel(size, size, Rgb([10, 20, 200]));
            let to = &mut Cursor::new(&mut plain);
            blue.write_to(to, ImageFormat::Png).unwrap();
            for (badge, is_red) in [(Badge::Waits, false), (Badge::Failed, true)] {
                let png = badged(Some(&plain), size, badge).unwrap();
                let picture = image::load_from_memory(&png).unwrap().into_rgb8();
                assert_eq!(picture.dimensions(), (size, size));
                assert_eq!(picture.get_pixel(0, 0).0, [10, 20, 200]);
                assert_eq!(picture.get_pixel(size / 2, 0).0, [10, 20, 200]);
                let warm = picture.pixels().filter(|it| it.0[0] > 190 && it.0[2] < 60);
                assert!(warm.count() as u32 > size * size / 40, "{size} {badge:?}");
                let red = picture.pixels().filter(|it| it.0[0] > 190 && it.0[1] < 40);
                assert_eq!(red.count() > 0, is_red, "{size} {badge:?}");
            }
        }
    }

    #[test]
    fn a_model_that_cannot_be_drawn_has_the_sign_alone() {
        let png = badged(None, 64, Badge::Failed).unwrap();
        let picture = image::load_from_memory(&png).unwrap().into_rgb8();
        assert_eq!(picture.get_pixel(0, 0), &BLANK);
        assert!(badged(Some(b"no picture"), 64, Badge::Failed).is_err());
    }
}
