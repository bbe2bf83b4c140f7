//! How a model is rebaked.

use super::super::settings::{BakingQuality, TextureLimits};

/// What the low mesh is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowSurface {
    /// The triangles of the source.
    Source,
    /// A new surface by voxels, so many on its longest side (4 to 256); the source's for classes that it does not fit.
    Remeshed(u32),
}

impl LowSurface {
    /// How far it may lie from the source before it is simplified, as a part of the model's size.
    pub(super) fn distance(self) -> f32 {
        match self {
            LowSurface::Source => 0.0,
            LowSurface::Remeshed(cells) => 2.0 / cells as f32,
        }
    }

    /// How far vertices move towards the positions of the least squares, from 0 to 1. At these positions, the vertices of a
    /// curved surface lie outside of the source, so its outline is too wide. Half of the way is a compromise.
    pub(super) fn fitted_share(self) -> f32 {
        match self {
            LowSurface::Source => 0.5,
            LowSurface::Remeshed(_) => 1.0,
        }
    }
}

/// How a model is rebaked.
#[derive(Debug, Clone, Copy)]
pub struct RebakeOptions {
    pub surface: LowSurface,
    pub quality: BakingQuality,
    /// Whether normals are baked even where the source has no normal map.
    pub normal_map: bool,
    /// Whether ambient occlusion is computed.
    pub occlusion_map: bool,
    /// How much charts may be stretched: 0 is not at all.
    pub stretch: f32,
    /// The longest side of each texture.
    pub limits: TextureLimits,
}

impl RebakeOptions {
    /// The stretch that makes few charts which are hardly stretched.
    pub const STRETCH: f32 = 1.1;

    /// The fastest way to the maps that the source has, with textures of at most this size.
    pub fn fast(side: u32) -> RebakeOptions {
        RebakeOptions {
            surface: LowSurface::Source,
            quality: BakingQuality::Low,
            normal_map: false,
            occlusion_map: false,
            stretch: Self::STRETCH,
            limits: TextureLimits::all(side),
        }
    }
}

/// Which maps are baked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WantedMaps {
    pub normal: bool,
    pub occlusion: bool,
}
