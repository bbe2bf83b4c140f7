//! A point of a triangle with everything interpolated: what pictures and baking read of the surface.

use glam::{Vec2, Vec3, Vec4};

use super::prepare::PreparedScene;
use super::prepared_material::PreparedMaterial;
use super::prepared_part::PreparedPart;
use super::texture::Slot;

/// A point of a triangle.
pub(super) struct InterpolatedPoint {
    pub(super) position: Vec3,
    /// Not of unit length.
    normal: Vec3,
    tangent: Vec4,
    uvs: [Vec2; 2],
    color: Vec4,
    /// For each set of coordinates: half the binary logarithm of the area of coordinates that is filtered.
    spread: [f32; 2],
}

/// Half the binary logarithm of the area of a set of coordinates that is filtered, where the triangle `at` of a part is
/// filtered in `parts` parts.
pub(super) fn spread_of(part: &PreparedPart, at: usize, set: usize, parts: f32) -> f32 {
    // Without coordinates, one texel is read.
    let area = part.area_of_coordinates(at, set);
    area.map_or(f32::NEG_INFINITY, |area| {
        0.5 * (area.max(1e-20) / parts).log2()
    })
}

impl InterpolatedPoint {
    /// A point on triangle number `at` of a part. `weights` are its barycentric coordinates; `spread` (see [`spread_of`]) is how
    /// strongly textures are filtered, for each set of texture coordinates.
    pub(super) fn new(
        part: &PreparedPart,
        at: usize,
        weights: [f32; 3],
        spread: [f32; 2],
    ) -> InterpolatedPoint {
        let (position, mixed) = part.interpolated(at, weights);
        InterpolatedPoint {
            position,
            normal: mixed.normal,
            tangent: mixed.tangent,
            uvs: mixed.uvs,
            color: mixed.color,
            spread,
        }
    }

    /// Linear base colour with alpha.
    pub(super) fn base_color(&self, scene: &PreparedScene, material: &PreparedMaterial) -> Vec4 {
        let factor = material.plain.base_color * self.color;
        match &material.base_color {
            Some(slot) => factor * self.sample(scene, slot),
            None => factor,
        }
    }

    pub(super) fn sample(&self, scene: &PreparedScene, slot: &Slot) -> Vec4 {
        let pyramid = &scene.pyramids[slot.pyramid];
        let usage = &slot.usage;
        let uv = usage.transform.transform_point2(self.uvs[usage.uv_set]);
        let level = slot.level(self.spread[usage.uv_set]);
        pyramid.sample(uv, level, usage.wrap)
    }

    /// Occlusion, roughness and metalness, within their ranges.
    pub(super) fn orm(&self, scene: &PreparedScene, material: &PreparedMaterial) -> Vec3 {
        let plain = &material.plain;
        let packed = material
            .metallic_roughness
            .map_or(Vec4::ONE, |slot| self.sample(scene, &slot));
        let occlusion = match (&material.occlusion, &material.metallic_roughness) {
            (None, _) => 1.0,
            // Occlusion and roughness are usually one image, which is then sampled once.
            (Some(slot), Some(same)) if slot.reads_like(same) => packed.x,
            (Some(slot), _) => self.sample(scene, slot).x,
        };
        Vec3::new(
            1.0 + plain.occlusion_strength * (occlusion - 1.0),
            (plain.roughness * packed.y).clamp(0.0, 1.0),
            (plain.metallic * packed.z).clamp(0.0, 1.0),
        )
    }

    /// Linear.
    pub(super) fn emissive(&self, scene: &PreparedScene, material: &PreparedMaterial) -> Vec3 {
        let glow = material
            .emissive
            .map_or(Vec3::ONE, |slot| self.sample(scene, &slot).truncate());
        material.plain.emissive * glow
    }

    /// The interpolated unit normal, or another one where it has no length.
    pub(super) fn smooth_normal(&self, or: Vec3) -> Vec3 {
        self.normal.normalize_or(or)
    }

    /// The unit normal changed by the normal map; `normal` is the one without it. Seen from behind, both point to the
    /// viewer and `side` is -1.
    pub(super) fn mapped_normal(
        &self,
        scene: &PreparedScene,
        material: &PreparedMaterial,
        normal: Vec3,
        side: f32,
    ) -> Vec3 {
        let Some(slot) = &material.normal else {
            return normal;
        };
        let tangent = self.tangent.truncate();
        let tangent = (tangent - normal * normal.dot(tangent)).normalize_or_zero() * side;
        if tangent == Vec3::ZERO {
            return normal;
        }
        let bitangent = normal.cross(tangent) * self.tangent.w * side;
        let mapped = self.sample(scene, slot).truncate() * 2.0 - 1.0;
        let scale = material.plain.normal_scale;
        (tangent * mapped.x * scale + bitangent * mapped.y * scale + normal * mapped.z.max(0.0))
            .normalize_or(normal)
    }
}
