//! Boxes along the axes.

use glam::Vec3;

/// A box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    pub min: Vec3,
    pub max: Vec3,
}

impl Bounds {
    /// The box grown to hold `point`; points that are not finite are left out.
    pub fn grow(bounds: &mut Option<Bounds>, point: Vec3) {
        if !point.is_finite() {
            return;
        }
        let grown = bounds.map_or((point, point), |bounds| {
            (bounds.min.min(point), bounds.max.max(point))
        });
        *bounds = Some(Bounds {
            min: grown.0,
            max: grown.1,
        });
    }

    pub fn size(&self) -> Vec3 {
        self.max - self.min
    }

    pub fn center(&self) -> Vec3 {
        (self.min + self.max) / 2.0
    }

    /// The length from corner to corner.
    pub fn diagonal(&self) -> f32 {
        self.size().length()
    }
}
