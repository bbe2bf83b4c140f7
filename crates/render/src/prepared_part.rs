//! An instance of a mesh in a scene that is drawn, and the attributes of its triangles in the world.

use std::sync::Arc;

use glam::{Vec2, Vec3, Vec4};

use super::prepared_mesh::{PreparedMesh, Transform, flat_normal};
use super::scene::RenderInstance;

/// Attributes that are interpolated over a triangle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) normal: Vec3,
    pub(super) tangent: Vec4,
    pub(super) uvs: [Vec2; 2],
    pub(super) color: Vec4,
}

/// One instance of a mesh: a part of the picture.
#[derive(Debug, Clone, Default)]
pub(super) struct PreparedPart {
    pub(super) mesh: Arc<PreparedMesh>,
    /// `None` for a mesh that is stored in the world.
    transform: Option<Transform>,
    /// The node's or mesh's name, for messages.
    pub(super) name: String,
    /// The number of its first triangle and vertex among those of the scene.
    pub(super) first_triangle: u32,
    pub(super) first_vertex: u32,
    /// Whether a part before it draws the same solid triangles at the same place, which hide these.
    pub(super) is_repeated: bool,
}

impl PreparedPart {
    /// An instance of a mesh that others draw as well.
    pub(super) fn shared(
        mesh: &Arc<PreparedMesh>,
        by: Transform,
        instance: &RenderInstance,
    ) -> PreparedPart {
        PreparedPart {
            mesh: Arc::clone(mesh),
            transform: Some(by),
            name: instance.name.clone(),
            ..PreparedPart::default()
        }
    }

    /// A mesh that lies in the world.
    pub(super) fn in_world(mesh: PreparedMesh, name: String) -> PreparedPart {
        PreparedPart {
            mesh: Arc::new(mesh),
            name,
            ..PreparedPart::default()
        }
    }

    /// The mesh and the place of an instance of a mesh that others draw as well.
    pub(super) fn shared_place(&self) -> Option<(*const PreparedMesh, [u32; 16])> {
        let by = self.transform.as_ref()?;
        Some((Arc::as_ptr(&self.mesh), by.bits()))
    }

    /// The greatest factor on a length of a mesh that others draw as well.
    pub(super) fn shared_scale(&self) -> Option<f32> {
        self.transform.as_ref().map(Transform::scale)
    }

    pub(super) fn triangle_count(&self) -> usize {
        self.mesh.triangles.len()
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.mesh.vertex_count()
    }

    /// The corners of a triangle, as indices of positions.
    pub(super) fn indices(&self, triangle: usize) -> [u32; 3] {
        let indices = self.mesh.triangles[triangle];
        match &self.transform {
            Some(by) => by.winding(indices),
            None => indices,
        }
    }

    /// A position in the world.
    pub(super) fn position(&self, index: u32) -> Vec3 {
        let position = self.mesh.positions[index as usize];
        match &self.transform {
            Some(by) => by.position(position),
            None => position,
        }
    }

    /// The corners of a triangle in the world.
    pub(super) fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.indices(triangle).map(|index| self.position(index))
    }

    /// The vertices of a triangle, counted from the first of the part.
    pub(super) fn vertices(&self, triangle: usize) -> [u32; 3] {
        match self.mesh.is_flat() {
            true => [0, 1, 2].map(|corner| triangle as u32 * 3 + corner),
            false => self.indices(triangle),
        }
    }

    /// The index of a vertex's position, and the triangle whose normal it has.
    fn index_of(&self, vertex: u32) -> (u32, Option<usize>) {
        match self.mesh.is_flat() {
            true => {
                let triangle = (vertex / 3) as usize;
                (
                    self.indices(triangle)[(vertex % 3) as usize],
                    Some(triangle),
                )
            }
            false => (vertex, None),
        }
    }

    /// The position of a vertex in the world, and its attributes.
    pub(super) fn vertex(&self, vertex: u32) -> (Vec3, Attributes) {
        let (index, triangle) = self.index_of(vertex);
        let normal = match triangle {
            Some(triangle) => flat_normal(self.corners(triangle)),
            None => self.normal(index),
        };
        (self.position(index), self.attributes_with(index, normal))
    }

    /// The position and the attributes at a point of a triangle. `weights` are its barycentric coordinates. The normal is not
    /// of unit length.
    pub(super) fn interpolated(&self, triangle: usize, weights: [f32; 3]) -> (Vec3, Attributes) {
        let flat = self.mesh.is_flat();
        let flat = flat.then(|| flat_normal(self.corners(triangle)));
        let mut position = Vec3::ZERO;
        let mut sum = Attributes::default();
        for (index, weight) in self.indices(triangle).into_iter().zip(weights) {
            let normal = flat.unwrap_or_else(|| self.normal(index));
            let corner = self.attributes_with(index, normal);
            position += self.position(index) * weight;
            sum.normal += corner.normal * weight;
            // The handedness is not interpolated. Should the corners differ, that of the last corner is taken.
            sum.tangent = (sum.tangent + corner.tangent * weight).with_w(corner.tangent.w);
            sum.uvs[0] += corner.uvs[0] * weight;
            sum.uvs[1] += corner.uvs[1] * weight;
            sum.color += corner.color * weight;
        }
        (position, sum)
    }

    /// Twice the area of a triangle in a set of coordinates; `None` if the mesh has no such set.
    pub(super) fn area_of_coordinates(&self, triangle: usize, set: usize) -> Option<f32> {
        if self.mesh.uvs[set].is_empty() {
            return None;
        }
        let [a, b, c] = self.corner_uvs(triangle, set);
        Some((b - a).perp_dot(c - a).abs())
    }

    /// The coordinates of the corners of a triangle in a set.
    pub(super) fn corner_uvs(&self, triangle: usize, set: usize) -> [Vec2; 3] {
        let uv = |index: u32| self.mesh.uvs[set].get(index as usize);
        self.indices(triangle)
            .map(|index| uv(index).copied().unwrap_or_default())
    }

    /// The colours of the corners of a triangle.
    pub(super) fn corner_colors(&self, triangle: usize) -> [Vec4; 3] {
        let color = |index: u32| self.mesh.colors.get(index as usize);
        self.indices(triangle)
            .map(|index| color(index).copied().unwrap_or(Vec4::ONE))
    }

    fn normal(&self, index: u32) -> Vec3 {
        let normal = self.mesh.normals[index as usize];
        match &self.transform {
            Some(by) => by.normal(normal),
            None => normal,
        }
    }

    #[inline]
    fn attributes_with(&self, index: u32, normal: Vec3) -> Attributes {
        let (mesh, index) = (&self.mesh, index as usize);
        let tangent = mesh.tangents.get(index).copied().unwrap_or_default();
        Attributes {
            normal,
            tangent: match &self.transform {
                Some(by) if !mesh.tangents.is_empty() => by.tangent(tangent),
                _ => tangent,
            },
            uvs: [0, 1].map(|set| mesh.uvs[set].get(index).copied().unwrap_or_default()),
            color: mesh.colors.get(index).copied().unwrap_or(Vec4::ONE),
        }
    }

    /// The number of a triangle in the mesh of the instance.
    pub(super) fn number_in_mesh(&self, triangle: usize) -> usize {
        let numbers = &self.mesh.numbers;
        numbers
            .get(triangle)
            .map_or(triangle, |number| *number as usize)
    }
}
