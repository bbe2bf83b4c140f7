//! Arithmetic that gives the same bits on every machine.
//!
//! Only `+ - * /` and square roots are used, which IEEE 754 fixes; the platform's `sin` and `pow` differ in their last
//! bits and would change the bytes of the chair.

use std::f64::consts::{FRAC_PI_2, TAU};

use glam::DVec2;

/// Sine by reduction to a quarter turn and its series; the error is below 1e-10.
pub(super) fn sin(x: f64) -> f64 {
    let turns = x / TAU;
    let mut y = (turns - floor(turns + 0.5)) * TAU;
    if y > FRAC_PI_2 {
        y = TAU / 2.0 - y;
    } else if y < -FRAC_PI_2 {
        y = -TAU / 2.0 - y;
    }
    let square = y * y;
    let series = (1..9).rev().fold(1.0, |sum, term| {
        1.0 - square / f64::from(2 * term * (2 * term + 1)) * sum
    });
    y * series
}

/// The unit vector at a fraction of a turn.
pub(super) fn turn(fraction: f64) -> DVec2 {
    DVec2::new(sin(fraction * TAU + FRAC_PI_2), sin(fraction * TAU))
}

pub(super) fn floor(x: f64) -> f64 {
    let truncated = x as i64 as f64;
    if x < truncated {
        truncated - 1.0
    } else {
        truncated
    }
}

/// Rises smoothly from 0 at `from` to 1 at `to`.
pub(super) fn smoothstep(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

pub(super) fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// 1 at 0, falling smoothly to 0 at distance `reach`.
pub(super) fn bump(distance: f64, reach: f64) -> f64 {
    let t = (1.0 - (distance / reach) * (distance / reach)).max(0.0);
    t * t
}

/// A number from 0 to 1 for a lattice point.
pub(super) fn hash(x: i64, y: i64, seed: u32) -> f64 {
    let mut h = (x as u32).wrapping_mul(0x8da6_b343)
        ^ (y as u32).wrapping_mul(0xd816_3841)
        ^ seed.wrapping_mul(0x9e37_79b9);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    f64::from((h ^ (h >> 15)) >> 8) / 16_777_216.0
}

/// Value noise from -1 to 1 on a lattice of `cells` by `cells` that repeats when `u` or `v` grows by 1.
pub(super) fn noise(u: f64, v: f64, cells: [i64; 2], seed: u32) -> f64 {
    let (x, y) = (u * cells[0] as f64, v * cells[1] as f64);
    let (column, row) = (floor(x), floor(y));
    let smooth = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (fx, fy) = (smooth(x - column), smooth(y - row));
    let corner = |dx: i64, dy: i64| {
        let x = (column as i64 + dx).rem_euclid(cells[0]);
        let y = (row as i64 + dy).rem_euclid(cells[1]);
        hash(x, y, seed)
    };
    let near = mix(corner(0, 0), corner(1, 0), fx);
    let far = mix(corner(0, 1), corner(1, 1), fx);
    mix(near, far, fy) * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_agrees_with_the_library() {
        for step in -2000..2000 {
            let x = f64::from(step) * 0.013;
            assert!((sin(x) - x.sin()).abs() < 1e-10, "{x}");
        }
    }

    #[test]
    fn noise_repeats_and_has_no_jumps() {
        let mut last = noise(0.0, 0.3, [8, 4], 5);
        assert!((last - noise(1.0, 1.3, [8, 4], 5)).abs() < 1e-9);
        for step in 1..4000 {
            let value = noise(f64::from(step) * 0.0005, 0.3, [8, 4], 5);
            assert!(value.abs() <= 1.0 && (value - last).abs() < 0.02);
            last = value;
        }
    }
}
