//! A material with its textures looked up.

use super::scene::{RenderAlpha, RenderMaterial};
use super::texture::Slot;

/// A material with its textures looked up.
#[derive(Debug, Clone)]
pub(super) struct PreparedMaterial {
    pub(super) plain: RenderMaterial,
    pub(super) base_color: Option<Slot>,
    pub(super) metallic_roughness: Option<Slot>,
    pub(super) normal: Option<Slot>,
    pub(super) occlusion: Option<Slot>,
    pub(super) emissive: Option<Slot>,
}

impl PreparedMaterial {
    pub(super) fn plain(plain: RenderMaterial) -> PreparedMaterial {
        PreparedMaterial {
            plain,
            base_color: None,
            metallic_roughness: None,
            normal: None,
            occlusion: None,
            emissive: None,
        }
    }

    /// Whether the material is blended. Such triangles are drawn after all others.
    pub(super) fn blends(&self) -> bool {
        self.plain.alpha == RenderAlpha::Blend
    }
}
