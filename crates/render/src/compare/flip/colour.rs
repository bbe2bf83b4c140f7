//! Colours as FLIP compares them: an opponent space for blurring, Lab for distances, and the distance of two colours
//! between 0 and 1. Input and output are in linear RGB.

use glam::Vec3;

/// The white point D65 in XYZ.
const WHITE: Vec3 = Vec3::new(0.950_428_5, 1.0, 1.088_900_4);

fn to_xyz(rgb: Vec3) -> Vec3 {
    Vec3::new(
        rgb.dot(Vec3::new(0.412_390_8, 0.357_584_33, 0.180_480_8)),
        rgb.dot(Vec3::new(0.212_639, 0.715_168_65, 0.072_192_32)),
        rgb.dot(Vec3::new(0.019_330_82, 0.119_194_78, 0.950_532_14)),
    )
}

fn from_xyz(xyz: Vec3) -> Vec3 {
    Vec3::new(
        xyz.dot(Vec3::new(3.240_97, -1.537_383_2, -0.498_610_76)),
        xyz.dot(Vec3::new(-0.969_243_65, 1.875_967_5, 0.041_555_06)),
        xyz.dot(Vec3::new(0.055_630_08, -0.203_976_96, 1.056_971_5)),
    )
}

/// Converts linear RGB to a linear opponent space: lightness, red-green, blue-yellow.
pub(super) fn to_opponent(rgb: Vec3) -> Vec3 {
    let xyz = to_xyz(rgb) / WHITE;
    Vec3::new(
        116.0 * xyz.y - 16.0,
        500.0 * (xyz.x - xyz.y),
        200.0 * (xyz.y - xyz.z),
    )
}

pub(super) fn from_opponent(opponent: Vec3) -> Vec3 {
    let y = (opponent.x + 16.0) / 116.0;
    from_xyz(Vec3::new(y + opponent.y / 500.0, y, y - opponent.z / 200.0) * WHITE)
}

pub(super) fn to_lab(rgb: Vec3) -> Vec3 {
    const LIMIT: f32 = 6.0 / 29.0;
    let root = |t: f32| {
        if t > LIMIT * LIMIT * LIMIT {
            t.cbrt()
        } else {
            t / (3.0 * LIMIT * LIMIT) + 4.0 / 29.0
        }
    };
    let xyz = to_xyz(rgb) / WHITE;
    let (x, y, z) = (root(xyz.x), root(xyz.y), root(xyz.z));
    Vec3::new(116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z))
}

/// Hunt effect: reduces the colourfulness of dark colours.
pub(super) fn hunt(lab: Vec3) -> Vec3 {
    Vec3::new(lab.x, 0.01 * lab.x * lab.y, 0.01 * lab.x * lab.z)
}

/// HyAB distance in Lab: the difference of lightness plus the Euclidean distance of the other two channels.
fn hyab(one: Vec3, two: Vec3) -> f32 {
    let difference = one - two;
    difference.x.abs() + difference.y.hypot(difference.z)
}

/// The distance of two colours mapped to `0..1`; common differences take most of the range.
pub(super) fn colour_difference(one: Vec3, two: Vec3) -> f32 {
    const EXPONENT: f32 = 0.7;
    const KNEE: f32 = 0.4;
    const AT_KNEE: f32 = 0.95;
    static GREATEST: std::sync::OnceLock<f32> = std::sync::OnceLock::new();
    let greatest =
        *GREATEST.get_or_init(|| hyab(hunt(to_lab(Vec3::Y)), hunt(to_lab(Vec3::Z))).powf(EXPONENT));
    let difference = hyab(one, two).powf(EXPONENT);
    let knee = KNEE * greatest;
    if difference < knee {
        difference * AT_KNEE / knee
    } else {
        (AT_KNEE + (difference - knee) / (greatest - knee) * (1.0 - AT_KNEE)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opponent_space_goes_both_ways() {
        for colour in [Vec3::ZERO, Vec3::ONE, Vec3::new(0.2, 0.7, 0.05)] {
            assert!(
                (from_opponent(to_opponent(colour)) - colour)
                    .abs()
                    .max_element()
                    < 1e-4
            );
        }
        assert!(
            (to_lab(Vec3::ONE) - Vec3::new(100.0, 0.0, 0.0))
                .abs()
                .max_element()
                < 0.01
        );
    }
}
