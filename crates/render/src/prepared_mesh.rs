//! A mesh as the rasterizer draws it, and its place in the world.
//!
//! A mesh that several instances draw is stored once, in its own space, and its vertices are moved when they are read. A
//! mesh of one instance is stored in the world. Every index is in range, every attribute has its full length, and every
//! corner is finite.

use glam::{Mat3, Mat4, Vec2, Vec3, Vec4};

use super::prepared_material::PreparedMaterial;
use super::scene::RenderMesh;
use super::texture::Slot;

/// The triangles of a mesh that can be drawn. An attribute that the mesh does not have is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct PreparedMesh {
    pub(super) positions: Vec<Vec3>,
    /// Without them each triangle has its flat normal.
    pub(super) normals: Vec<Vec3>,
    /// Only if a normal map needs them.
    pub(super) tangents: Vec<Vec4>,
    pub(super) uvs: [Vec<Vec2>; 2],
    pub(super) colors: Vec<Vec4>,
    pub(super) triangles: Vec<[u32; 3]>,
    /// The numbers of the triangles in the mesh that this was made of; empty if all can be drawn.
    pub(super) numbers: Vec<u32>,
    /// Triangles of the mesh that this was made of.
    pub(super) source_triangles: usize,
    pub(super) material: u32,
}

/// How an instance moves a mesh.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transform {
    world: Mat4,
    linear: Mat3,
    /// Multiplies normals.
    cofactors: Mat3,
    is_mirrored: bool,
}

impl Transform {
    pub(super) fn new(world: Mat4) -> Transform {
        let linear = Mat3::from_mat4(world);
        let is_mirrored = linear.determinant() < 0.0;
        Transform {
            world,
            linear,
            cofactors: cofactors(linear) * if is_mirrored { -1.0 } else { 1.0 },
            is_mirrored,
        }
    }

    /// Whether it moves every point up to these coordinates to a finite place.
    pub(super) fn keeps_finite(&self, farthest: Vec3) -> bool {
        let [x, y, z, w] = [
            self.world.x_axis,
            self.world.y_axis,
            self.world.z_axis,
            self.world.w_axis,
        ]
        .map(Vec4::abs);
        (x * farthest.x + y * farthest.y + z * farthest.z + w).is_finite()
    }

    /// The greatest factor on a length along an axis.
    pub(super) fn scale(&self) -> f32 {
        let axes = [self.linear.x_axis, self.linear.y_axis, self.linear.z_axis];
        axes.map(Vec3::length).into_iter().fold(0.0, f32::max)
    }

    /// The bits of its numbers, for finding equal ones.
    pub(super) fn bits(&self) -> [u32; 16] {
        self.world.to_cols_array().map(f32::to_bits)
    }

    pub(super) fn position(&self, position: Vec3) -> Vec3 {
        self.world.transform_point3(position)
    }

    pub(super) fn normal(&self, normal: Vec3) -> Vec3 {
        finite(self.cofactors * normal).normalize_or_zero()
    }

    pub(super) fn tangent(&self, tangent: Vec4) -> Vec4 {
        let direction = finite(self.linear * tangent.truncate()).normalize_or_zero();
        let sign = if tangent.w < 0.0 { -1.0 } else { 1.0 };
        direction.extend(if self.is_mirrored { -sign } else { sign })
    }

    /// The corners of a triangle. In mirrored instances their winding is reversed, so that they face outwards again.
    pub(super) fn winding(&self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        match self.is_mirrored {
            true => [a, c, b],
            false => [a, b, c],
        }
    }
}

impl PreparedMesh {
    /// The mesh after `by`.
    pub(super) fn new(
        mesh: &RenderMesh,
        by: &Transform,
        materials: &[PreparedMaterial],
    ) -> PreparedMesh {
        let fallback = materials.len() - 1;
        let material = mesh
            .material
            .filter(|&material| material < fallback)
            .unwrap_or(fallback);
        let positions: Vec<Vec3> = mesh
            .positions
            .iter()
            .map(|&position| by.position(position))
            .collect();
        let vertices = positions.len();
        let (triangles, numbers) = sound_triangles(mesh, &positions, by);
        let mut prepared = PreparedMesh {
            positions,
            triangles,
            numbers,
            source_triangles: mesh.indices.len() / 3,
            material: material as u32,
            ..PreparedMesh::default()
        };
        if mesh.normals.len() == vertices {
            prepared.normals = mesh
                .normals
                .iter()
                .map(|&normal| by.normal(normal))
                .collect();
        }
        prepared.uvs =
            [0, 1].map(|set| padded(&mesh.uvs[set], vertices, Vec2::ZERO, |uv| uv.is_finite()));
        prepared.colors = padded(&mesh.colors, vertices, Vec4::ONE, |color| color.is_finite());
        if let Some(slot) = &materials[material].normal {
            if mesh.tangents.len() == vertices && !prepared.is_flat() {
                let tangents = mesh.tangents.iter();
                prepared.tangents = tangents.map(|&tangent| by.tangent(tangent)).collect();
            } else {
                prepared.split_flat_corners();
                prepared.compute_tangents(slot);
            }
        }
        prepared
    }

    /// Whether each triangle has its own normal, as glTF requires for meshes without normals.
    pub(super) fn is_flat(&self) -> bool {
        self.normals.is_empty()
    }

    /// Vertices with attributes of their own: each corner of a flat triangle is one.
    pub(super) fn vertex_count(&self) -> usize {
        match self.is_flat() {
            true => self.triangles.len() * 3,
            false => self.positions.len(),
        }
    }

    /// Adds a vertex of another mesh at another position, and returns its index.
    pub(super) fn push_vertex_of(
        &mut self,
        other: &PreparedMesh,
        at: usize,
        position: Vec3,
    ) -> u32 {
        self.positions.push(position);
        self.normals.extend(other.normals.get(at));
        self.tangents.extend(other.tangents.get(at));
        for (uvs, others) in self.uvs.iter_mut().zip(&other.uvs) {
            uvs.extend(others.get(at));
        }
        self.colors.extend(other.colors.get(at));
        self.positions.len() as u32 - 1
    }

    /// The greatest coordinates of its finite points, without their signs.
    pub(super) fn farthest(&self) -> Vec3 {
        let finite = self
            .positions
            .iter()
            .filter(|position| position.is_finite());
        finite.fold(Vec3::ZERO, |far, position| far.max(position.abs()))
    }

    /// Gives each triangle of a flat mesh its own corners with its normal, because tangents are those of corners.
    fn split_flat_corners(&mut self) {
        if !self.is_flat() {
            return;
        }
        let corners: Vec<u32> = self.triangles.as_flattened().to_vec();
        let triangles = self.triangles.iter();
        self.normals = triangles
            .flat_map(|triangle| [flat_normal(triangle.map(|at| self.positions[at as usize])); 3])
            .collect();
        fn gathered<T: Copy>(values: &[T], corners: &[u32]) -> Vec<T> {
            match values.is_empty() {
                true => Vec::new(),
                false => corners.iter().map(|at| values[*at as usize]).collect(),
            }
        }
        self.positions = gathered(&self.positions, &corners);
        self.uvs = [0, 1].map(|set| gathered(&self.uvs[set], &corners));
        self.colors = gathered(&self.colors, &corners);
        for (number, triangle) in (0..).zip(&mut self.triangles) {
            *triangle = [0, 1, 2].map(|corner| number * 3 + corner);
        }
    }

    fn compute_tangents(&mut self, slot: &Slot) {
        let coords = &self.uvs[slot.usage.uv_set];
        let uv = |vertex: u32| {
            let uv = coords.get(vertex as usize).copied().unwrap_or_default();
            slot.usage.transform.transform_point2(uv)
        };
        let mut along_u = vec![Vec3::ZERO; self.positions.len()];
        let mut along_v = along_u.clone();
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|index| self.positions[index as usize]);
            let [s, t] = [
                uv(triangle[1]) - uv(triangle[0]),
                uv(triangle[2]) - uv(triangle[0]),
            ];
            let turn = s.perp_dot(t).signum();
            for index in triangle {
                along_u[*index as usize] += ((b - a) * t.y - (c - a) * s.y) * turn;
                along_v[*index as usize] += ((c - a) * s.x - (b - a) * t.x) * turn;
            }
        }
        let tangent = |vertex: usize| {
            let normal = self.normals[vertex];
            let flat = (along_u[vertex] - normal * normal.dot(along_u[vertex])).normalize_or_zero();
            // v points down in the image, the bitangent points up.
            let sign = if normal.cross(flat).dot(along_v[vertex]) > 0.0 {
                -1.0
            } else {
                1.0
            };
            flat.extend(sign)
        };
        self.tangents = (0..self.positions.len()).map(tangent).collect();
    }
}

/// The values, with `default` for those that are missing or not sound; none at all if there are none.
fn padded<T: Copy>(
    values: &[T],
    count: usize,
    default: T,
    is_sound: impl Fn(&T) -> bool,
) -> Vec<T> {
    if values.is_empty() {
        return Vec::new();
    }
    let sound = |vertex: usize| values.get(vertex).copied().filter(&is_sound);
    (0..count)
        .map(|vertex| sound(vertex).unwrap_or(default))
        .collect()
}

/// The triangles whose corners exist and are finite, and their numbers in the mesh if those are not all.
fn sound_triangles(
    mesh: &RenderMesh,
    positions: &[Vec3],
    by: &Transform,
) -> (Vec<[u32; 3]>, Vec<u32>) {
    let (triples, _) = mesh.indices.as_chunks::<3>();
    let is_sound = |triple: &[u32; 3]| {
        triple.iter().all(|&index| {
            let position = positions.get(index as usize);
            position.is_some_and(|position| position.is_finite())
        })
    };
    let sound = triples.iter().filter(|triple| is_sound(triple));
    let triangles: Vec<[u32; 3]> = sound.map(|triple| by.winding(*triple)).collect();
    if triangles.len() == triples.len() {
        return (triangles, Vec::new());
    }
    let numbers = (0..).zip(triples).filter(|(_, triple)| is_sound(triple));
    (triangles, numbers.map(|(number, _)| number).collect())
}

/// The normal of a triangle; 0 for one without area.
pub(super) fn flat_normal([a, b, c]: [Vec3; 3]) -> Vec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

fn finite(vector: Vec3) -> Vec3 {
    if vector.is_finite() {
        vector
    } else {
        Vec3::ZERO
    }
}

/// The cofactor matrix, by which normals are multiplied. It is a multiple of the inverse transpose, but also exists if
/// a scale is 0.
fn cofactors(linear: Mat3) -> Mat3 {
    Mat3::from_cols(
        linear.y_axis.cross(linear.z_axis),
        linear.z_axis.cross(linear.x_axis),
        linear.x_axis.cross(linear.y_axis),
    )
}
