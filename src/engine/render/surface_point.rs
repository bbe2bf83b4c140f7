//! Reads points of the surface: what the materials and textures of a scene say there. For baking.

use glam::{Vec3, Vec4};

use super::interpolate::InterpolatedPoint;
use super::prepare::PreparedScene;
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
        let [a, b, c] = self.corners(triangle);
        let across = (b - a).cross(c - a);
        let spots = across.length().max(1e-20) / area;
        let at = InterpolatedPoint::new(self, triangle, weights, spots);
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
