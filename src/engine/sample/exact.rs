//! Arithmetic that gives the same bits on every machine: sine, smooth steps, hashes, noise.
//!
//! Only `+ - * /` and square roots are used, which IEEE 754 fixes; the platform's `sin` and `pow` differ in their last
//! bits and would change the bytes of the chair.

use std::f64::consts::{FRAC_PI_2, PI};

/// Sine by reduction to a quarter turn and its series; wrong by less than 1e-12.
pub(super) fn sin(x: f64) -> f64 {
    let turns = x / (2.0 * PI);
    let mut y = (turns - floor(turns + 0.5) as f64) * 2.0 * PI;
    if y > FRAC_PI_2 {
        y = PI - y;
    } else if y < -FRAC_PI_2 {
        y = -PI - y;
    }
    let square = y * y;
    let mut sum = 0.0;
    for k in (0..9).rev() {
        let divisor = f64::from((2 * k + 2) * (2 * k + 3));
        sum = 1.0 - square / divisor * if k == 8 { 1.0 } else { sum };
    }
    y * sum
}

/// Cosine, a quarter turn ahead of the sine.
pub(super) fn cos(x: f64) -> f64 {
    sin(x + FRAC_PI_2)
}

/// The largest integer not above `x`, without a call into the platform's library.
pub(super) fn floor(x: f64) -> i64 {
    let truncated = x as i64;
    truncated - i64::from(x < truncated as f64)
}

/// The part behind the point, in `0..1` for negative numbers too.
pub(super) fn fract(x: f64) -> f64 {
    x - floor(x) as f64
}

/// Rises smoothly from 0 at `from` to 1 at `to`.
pub(super) fn smoothstep(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Linear mix of two numbers.
pub(super) fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// A bump of height 1 at 0 that falls to 0 at distance `reach`, smooth at both ends.
pub(super) fn bump(distance: f64, reach: f64) -> f64 {
    let t = 1.0 - (distance / reach) * (distance / reach);
    if t <= 0.0 { 0.0 } else { t * t }
}

/// A number in `0..1` for a lattice point.
pub(super) fn hash(x: i32, y: i32, z: i32, seed: u32) -> f32 {
    let mut h = (x as u32).wrapping_mul(0x8da6_b343)
        ^ (y as u32).wrapping_mul(0xd816_3841)
        ^ (z as u32).wrapping_mul(0xcb1a_b31f)
        ^ seed.wrapping_mul(0x9e37_79b9);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    h ^= h >> 15;
    (h >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// Value noise in `-1..1` with period-free, twice differentiable interpolation.
pub(super) fn noise(x: f32, y: f32, z: f32, seed: u32) -> f32 {
    let (ix, fx) = split(x);
    let (iy, fy) = split(y);
    let (iz, fz) = split(z);
    let mut planes = [0.0f32; 2];
    for (dz, plane) in planes.iter_mut().enumerate() {
        let z = iz.wrapping_add(dz as i32);
        let near = lerp(
            hash(ix, iy, z, seed),
            hash(ix.wrapping_add(1), iy, z, seed),
            fx,
        );
        let far = lerp(
            hash(ix, iy.wrapping_add(1), z, seed),
            hash(ix.wrapping_add(1), iy.wrapping_add(1), z, seed),
            fx,
        );
        *plane = lerp(near, far, fy);
    }
    lerp(planes[0], planes[1], fz) * 2.0 - 1.0
}

fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// Cell and smoothed place within it.
fn split(x: f32) -> (i32, f32) {
    let truncated = x as i32;
    let cell = truncated - i32::from(x < truncated as f32);
    let t = x - cell as f32;
    (cell, t * t * t * (t * (t * 6.0 - 15.0) + 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_agrees_with_the_library() {
        for step in -2000..2000 {
            let x = f64::from(step) * 0.013;
            assert!(
                (sin(x) - x.sin()).abs() < 1e-10,
                "sin {x}: {} {}",
                sin(x),
                x.sin()
            );
            assert!((cos(x) - x.cos()).abs() < 1e-10, "cos {x}");
        }
    }

    #[test]
    fn noise_is_continuous_and_bounded() {
        let mut last = noise(-3.0, 0.4, 0.7, 5);
        for step in 1..6000 {
            let value = noise(-3.0 + step as f32 * 0.001, 0.4, 0.7, 5);
            assert!(value.abs() <= 1.0 && (value - last).abs() < 0.01);
            last = value;
        }
    }
}
