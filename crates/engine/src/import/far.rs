//! Positions of files with more digits than 32-bit floats have.
//!
//! Where such positions are far from the origin for the size of what is drawn, the importers subtract an offset before they
//! round, and the nodes get it as their translation. All parts of a file that may touch get the same offset, so that no
//! seam opens.

use glam::DVec3;

use super::super::scene::far_point;

/// The offset for positions; zero if they can be rounded as they are.
pub(super) fn offset_of(positions: impl Iterator<Item = DVec3>) -> DVec3 {
    let finite = positions.filter(|position| position.is_finite());
    let corners = finite.map(|position| (position, position));
    let bounds = corners.reduce(|(low, high), (at, _)| (low.min(at), high.max(at)));
    bounds.map_or(DVec3::ZERO, |(low, high)| far_point(low, high))
}

/// A position after its offset was subtracted.
pub(super) fn near(position: DVec3, offset: DVec3) -> [f32; 3] {
    (position - offset).as_vec3().to_array()
}

/// The offsets of meshes that are read one after the other.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    known: Vec<DVec3>,
}

impl Offsets {
    /// The offset for the positions of a mesh: that of an earlier mesh if it is as good.
    pub(super) fn offset_of(&mut self, positions: impl Iterator<Item = DVec3> + Clone) -> DVec3 {
        let own = offset_of(positions.clone());
        if own == DVec3::ZERO {
            return own;
        }
        let is_good = |offset: &&DVec3| {
            let moved = positions.clone().map(|position| position - **offset);
            offset_of(moved) == DVec3::ZERO
        };
        if let Some(known) = self.known.iter().rev().take(8).find(is_good) {
            return *known;
        }
        self.known.push(own);
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meshes_that_are_near_each_other_share_an_offset() {
        let mesh = |x: f64| {
            [0.0, 1.0].map(|step| DVec3::new(448_262.1 + x + step, 5_411_932.4, 100.0 + step))
        };
        let mut offsets = Offsets::default();
        let [first, beside, far] =
            [0.0, 3.0, 90_000.0].map(|x| offsets.offset_of(mesh(x).into_iter()));
        let plain = offsets.offset_of([DVec3::ZERO, DVec3::ONE].into_iter());
        assert_eq!(first, DVec3::new(448_263.0, 5_411_932.0, 101.0));
        assert_eq!(beside, first);
        assert_eq!(far, DVec3::new(538_263.0, 5_411_932.0, 101.0));
        assert_eq!(plain, DVec3::ZERO);
        assert_eq!(
            near(mesh(0.0)[0], first),
            [-0.9, 0.4, -1.0].map(|it: f64| it as f32)
        );
    }
}
