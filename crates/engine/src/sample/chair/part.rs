//! One mesh of the chair.

use super::super::super::scene::Geometry;

/// Index into the materials of the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ChairMaterial {
    Oak,
    Wool,
    Brass,
}

/// One mesh of the chair.
pub(in super::super) struct ChairPart {
    pub(in super::super) name: String,
    pub(in super::super) material: ChairMaterial,
    pub(in super::super) geometry: Geometry,
}
