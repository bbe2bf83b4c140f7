//! Reads points of the surface: what the materials and textures of a scene say there. For baking.

use glam::{Vec3, Vec4};

use super::interpolate::{InterpolatedPoint, spread_of};
use super::prepare::PreparedScene;
use super::prepared_part::Attributes;
use super::scene::RenderMaterial;

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
        let (part, at) = self.in_part(triangle);
        self.parts[part].corners(at)
    }

    /// The numbers of a triangle's vertices.
    pub fn vertices(&self, triangle: u32) -> [u32; 3] {
        let (part, at) = self.in_part(triangle);
        let part = &self.parts[part];
        part.vertices(at).map(|vertex| part.first_vertex + vertex)
    }

    /// A vertex in the world with its unit normal. Without normals in the model, each corner of a triangle is a vertex
    /// with the triangle's normal.
    pub fn vertex(&self, vertex: u32) -> (Vec3, Vec3) {
        let (position, attributes) = self.vertex_of_part(vertex);
        (position, attributes.normal)
    }

    fn vertex_of_part(&self, vertex: u32) -> (Vec3, Attributes) {
        let after = self
            .parts
            .partition_point(|part| part.first_vertex <= vertex);
        let part = &self.parts[after - 1];
        part.vertex(vertex - part.first_vertex)
    }

    /// The part that a triangle belongs to: a primitive at one place.
    pub fn part_of(&self, triangle: u32) -> u32 {
        self.in_part(triangle).0 as u32
    }

    /// The number of a triangle's material.
    pub fn material_number(&self, triangle: u32) -> usize {
        let (part, _) = self.in_part(triangle);
        self.parts[part].mesh.material as usize
    }

    /// The number of materials.
    pub fn material_count(&self) -> usize {
        self.materials.len()
    }

    /// A material by its number.
    pub fn material(&self, number: usize) -> &RenderMaterial {
        &self.materials[number].plain
    }

    /// The point of a triangle at `weights` of its corners. Textures are filtered for a spot of this area in the world.
    pub fn surface_point(&self, triangle: u32, weights: [f32; 3], area: f32) -> SurfacePoint {
        let material = self.material_of(triangle);
        let [a, b, c] = self.corners(triangle);
        let across = (b - a).cross(c - a);
        let spots = across.length().max(1e-20) / area;
        let (part, place) = self.in_part(triangle);
        let part = &self.parts[part];
        let spread = [0, 1].map(|set| spread_of(part, place, set, spots));
        let at = InterpolatedPoint::new(part, place, weights, spread);
        let smooth_normal = at.smooth_normal(across.normalize_or(Vec3::Y));
        let [occlusion, roughness, metallic] = at.orm(self, material).to_array();
        SurfacePoint {
            base_color: at.base_color(self, material),
            metallic,
            roughness,
            occlusion,
            emissive: at.emissive(self, material),
            normal: at.mapped_normal(self, material, smooth_normal, 1.0),
            smooth_normal,
        }
    }
}
