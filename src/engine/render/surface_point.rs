//! Reads points of the surface: what the materials and textures of a scene say there. For baking.

use glam::{Vec2, Vec3, Vec4};

use super::prepare::PreparedScene;
use super::scene::RenderMaterial;
use super::texture::Slot;

/// The material at a point of the surface.
#[derive(Debug, Clone, Copy)]
pub struct SurfacePoint {
    /// Linear colour and alpha, factors and vertex colours included.
    pub base_color: Vec4,
    /// 0 to 1.
    pub metallic: f32,
    /// 0 to 1.
    pub roughness: f32,
    /// The share of light that the occlusion texture lets through.
    pub occlusion: f32,
    /// Linear.
    pub emissive: Vec3,
    /// The unit normal in the world, changed by the normal map.
    pub normal: Vec3,
    /// The unit normal without the normal map.
    pub smooth_normal: Vec3,
}

impl PreparedScene {
    /// The corners of a triangle in the world, counter-clockwise seen from its front.
    pub fn corners(&self, triangle: u32) -> [Vec3; 3] {
        let corners = self.triangles[triangle as usize].corners;
        corners.map(|corner| self.positions[corner as usize])
    }

    /// The numbers of a triangle's vertices.
    pub fn vertices(&self, triangle: u32) -> [u32; 3] {
        self.triangles[triangle as usize].corners
    }

    /// A vertex in the world with its unit normal, which is zero where the model has none.
    pub fn vertex(&self, vertex: u32) -> (Vec3, Vec3) {
        let vertex = vertex as usize;
        (self.positions[vertex], self.attributes[vertex].normal)
    }

    /// The part that a triangle belongs to: a primitive at one place.
    pub fn part_of(&self, triangle: u32) -> u32 {
        self.triangles[triangle as usize].part
    }

    /// The number of a triangle's material.
    pub fn material_number(&self, triangle: u32) -> usize {
        self.triangles[triangle as usize].material as usize
    }

    /// The number of materials.
    pub fn material_count(&self) -> usize {
        self.materials.len()
    }

    /// A material by its number.
    pub fn material(&self, number: usize) -> &RenderMaterial {
        &self.materials[number].plain
    }

    /// Whether a vertex changes the base colour.
    pub fn is_coloured(&self, vertex: u32) -> bool {
        self.attributes[vertex as usize].color != Vec4::ONE
    }

    /// The point of a triangle at `weights` of its corners. Textures are filtered for a spot of this area in the world.
    pub fn surface_point(&self, triangle: u32, weights: [f32; 3], area: f32) -> SurfacePoint {
        let known = &self.triangles[triangle as usize];
        let material = &self.materials[known.material as usize];
        let at = TrianglePoint::new(self, triangle, weights, area);
        let read = |slot: &Option<Slot>| slot.map_or(Vec4::ONE, |slot| at.sample(self, &slot));
        let plain = &material.plain;
        let packed = read(&material.metallic_roughness);
        let occlusion = match &material.occlusion {
            None => 1.0,
            Some(slot) => at.sample(self, slot).x,
        };
        let normal = match &material.normal {
            None => at.normal,
            Some(slot) => at.mapped_normal(at.sample(self, slot), plain.normal_scale),
        };
        SurfacePoint {
            base_color: plain.base_color * at.color * read(&material.base_color),
            metallic: (plain.metallic * packed.z).clamp(0.0, 1.0),
            roughness: (plain.roughness * packed.y).clamp(0.0, 1.0),
            occlusion: 1.0 + plain.occlusion_strength * (occlusion - 1.0),
            emissive: plain.emissive * read(&material.emissive).truncate(),
            normal,
            smooth_normal: at.normal,
        }
    }
}

/// A point of a triangle with everything interpolated.
struct TrianglePoint {
    normal: Vec3,
    tangent: Vec4,
    uvs: [Vec2; 2],
    color: Vec4,
    /// For each set of coordinates: half the binary logarithm of the area of coordinates that the spot covers.
    spread: [f32; 2],
}

impl TrianglePoint {
    fn new(scene: &PreparedScene, triangle: u32, weights: [f32; 3], area: f32) -> TrianglePoint {
        let vertices = scene.triangles[triangle as usize].corners;
        let [a, b, c] = scene.corners(triangle);
        let across = (b - a).cross(c - a);
        let attributes = vertices.map(|vertex| scene.attributes[vertex as usize]);
        let mut point = TrianglePoint {
            normal: Vec3::ZERO,
            tangent: Vec4::ZERO,
            uvs: [Vec2::ZERO; 2],
            color: Vec4::ZERO,
            spread: [0, 1].map(|set| {
                let [a, b, c] = attributes.map(|corner| corner.uvs[set]);
                let in_texture = (b - a).perp_dot(c - a).abs().max(1e-20);
                0.5 * (in_texture * area / across.length().max(1e-20)).log2()
            }),
        };
        for (corner, weight) in attributes.iter().zip(weights) {
            point.normal += corner.normal * weight;
            point.tangent += corner.tangent * weight;
            point.uvs[0] += corner.uvs[0] * weight;
            point.uvs[1] += corner.uvs[1] * weight;
            point.color += corner.color * weight;
        }
        point.tangent.w = attributes[0].tangent.w;
        point.normal = point
            .normal
            .try_normalize()
            .or_else(|| across.try_normalize())
            .unwrap_or(Vec3::Y);
        point
    }

    fn sample(&self, scene: &PreparedScene, slot: &Slot) -> Vec4 {
        let pyramid = &scene.pyramids[slot.pyramid];
        let usage = &slot.usage;
        let uv = usage.transform.transform_point2(self.uvs[usage.uv_set]);
        let size = pyramid.size();
        let scaled = usage.transform.matrix2.determinant().abs() * size.x * size.y;
        let level = self.spread[usage.uv_set] + 0.5 * scaled.max(1e-12).log2();
        pyramid.sample(uv, level, usage.wrap)
    }

    /// The normal changed by a pixel of a normal map.
    fn mapped_normal(&self, pixel: Vec4, scale: f32) -> Vec3 {
        let normal = self.normal;
        let tangent = self.tangent.truncate();
        let tangent = (tangent - normal * normal.dot(tangent)).normalize_or_zero();
        if tangent == Vec3::ZERO {
            return normal;
        }
        let bitangent = normal.cross(tangent) * self.tangent.w;
        let mapped = pixel.truncate() * 2.0 - 1.0;
        (tangent * mapped.x * scale + bitangent * mapped.y * scale + normal * mapped.z.max(0.0))
            .normalize_or(normal)
    }
}
