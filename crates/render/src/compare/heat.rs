//! Heat maps of differences: from black (equal) through violet and orange to pale yellow.
//!
//! The scale is the square root of the difference, so that small differences are visible. Pixels of the source without
//! a difference are dark grey, so that its outline is visible.

use glam::Vec3;

use super::super::picture::{NO_PART, Picture};

/// The heat map of one view.
pub(super) fn heat_map(size: usize, errors: &[f32], parts: &[u32]) -> Picture {
    let pixels = errors.iter().zip(parts).flat_map(|(error, part)| {
        let outline = if *part == NO_PART {
            Vec3::ZERO
        } else {
            Vec3::splat(0.11)
        };
        let colour = magma(error.clamp(0.0, 1.0).sqrt()).max(outline);
        let [r, g, b] = colour
            .to_array()
            .map(|value| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
        [r, g, b, 255]
    });
    Picture {
        size,
        rgba: pixels.collect(),
        parts: parts.to_vec(),
        depths: Vec::new(),
    }
}

/// A polynomial through the "magma" colours.
fn magma(t: f32) -> Vec3 {
    const TERMS: [Vec3; 7] = [
        Vec3::new(-0.002_136, -0.000_75, -0.005_386),
        Vec3::new(0.251_661, 0.677_523, 2.494_027),
        Vec3::new(8.353_717, -3.577_72, 0.314_468),
        Vec3::new(-27.668_733, 14.264_731, -13.649_213),
        Vec3::new(52.176_14, -27.943_606, 12.944_169),
        Vec3::new(-50.768_525, 29.046_583, 4.234_153),
        Vec3::new(18.655_705, -11.489_774, -5.601_962),
    ];
    TERMS
        .iter()
        .rev()
        .fold(Vec3::ZERO, |sum, term| sum * t + *term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_rises_from_black_to_pale_yellow() {
        assert!(magma(0.0).max_element() < 0.02);
        let hottest = magma(1.0);
        assert!(
            hottest.x > 0.95 && hottest.y > 0.95 && hottest.z > 0.7,
            "{hottest}"
        );
        let light = |t: f32| magma(t).dot(Vec3::new(0.2126, 0.7152, 0.0722));
        assert!((1..=50).all(|step| light(step as f32 / 50.0) > light((step - 1) as f32 / 50.0)));
    }
}
