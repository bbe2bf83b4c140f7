//! Materials for formats that have only lit ones.

use super::super::scene::{DEFAULT_IOR, Material, Scene};

/// A material of the scene. An unlit one keeps its base colour and is rough and no metal: other properties of it have no
/// effect, and a metal would reflect its surroundings alone.
pub(super) fn lit_material(scene: &Scene, index: Option<usize>) -> Material {
    let material = scene.material(index);
    if !material.unlit {
        return material;
    }
    Material {
        metallic: 0.0,
        roughness: 1.0,
        metallic_roughness_texture: None,
        normal_texture: None,
        occlusion_texture: None,
        emissive: [0.0; 3],
        emissive_texture: None,
        clearcoat: 0.0,
        ior: DEFAULT_IOR,
        ..material
    }
}
