//! Makes a scene ready to be drawn many times: one flat list of vertices in the world, one of triangles.
//!
//! After this step every index is in range, every attribute has its full length and every number is finite; the
//! rasterizer relies on it.

use std::sync::Arc;

use glam::{Mat3, Vec2, Vec3, Vec3A, Vec4};
use rayon::prelude::*;

use super::scene::{
    RenderAlpha, RenderInstance, RenderMaterial, RenderMesh, RenderScene, RenderTextureUse,
};
use super::texture::{Pyramid, Slot};

/// A scene that [`super::PreparedScene::render`] draws.
#[derive(Debug, Clone)]
pub struct PreparedScene {
    pub(super) positions: Vec<Vec3>,
    pub(super) attributes: Vec<Attributes>,
    pub(super) triangles: Vec<Triangle>,
    /// Triangles in the mesh of each instance, including those that cannot be drawn.
    pub(super) triangle_counts: Vec<usize>,
    pub(super) materials: Vec<PreparedMaterial>,
    pub(super) pyramids: Arc<Vec<Pyramid>>,
    /// The name of each drawn part, by its number.
    pub(super) part_names: Vec<String>,
}

/// Attributes that are interpolated over a triangle.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) normal: Vec3,
    pub(super) tangent: Vec4,
    pub(super) uvs: [Vec2; 2],
    pub(super) color: Vec4,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Triangle {
    pub(super) corners: [u32; 3],
    /// The instance it belongs to.
    pub(super) part: u32,
    /// Its number in the mesh of the instance.
    pub(super) number: u32,
    pub(super) material: u32,
}

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

impl PreparedScene {
    pub fn new(scene: &RenderScene) -> PreparedScene {
        let (mut materials, pyramids) = materials(scene);
        materials.push(PreparedMaterial::plain(RenderMaterial {
            metallic: 0.0,
            ..RenderMaterial::default()
        }));
        PreparedScene::place(scene, materials, Arc::new(pyramids))
    }

    /// Another scene's meshes and instances with the materials and textures of this one.
    pub fn reshaped(&self, scene: &RenderScene) -> PreparedScene {
        PreparedScene::place(scene, self.materials.clone(), Arc::clone(&self.pyramids))
    }

    fn place(
        scene: &RenderScene,
        materials: Vec<PreparedMaterial>,
        pyramids: Arc<Vec<Pyramid>>,
    ) -> PreparedScene {
        let parts: Vec<InstanceTriangles> = scene
            .instances
            .par_iter()
            .map(|instance| match scene.meshes.get(instance.mesh) {
                Some(mesh) => InstanceTriangles::new(mesh, instance, &materials),
                None => InstanceTriangles::default(),
            })
            .collect();
        let mut prepared = PreparedScene {
            positions: Vec::new(),
            attributes: Vec::new(),
            triangles: Vec::new(),
            triangle_counts: scene
                .instances
                .iter()
                .map(|instance| {
                    scene
                        .meshes
                        .get(instance.mesh)
                        .map_or(0, |mesh| mesh.indices.len() / 3)
                })
                .collect(),
            materials,
            pyramids,
            part_names: scene
                .instances
                .iter()
                .map(|instance| instance.name.clone())
                .collect(),
        };
        for (number, part) in parts.into_iter().enumerate() {
            let base = prepared.positions.len() as u32;
            let triangles = part.triangles.into_iter().zip(part.numbers);
            prepared
                .triangles
                .extend(triangles.map(|(corners, in_mesh)| Triangle {
                    corners: corners.map(|corner| corner + base),
                    part: number as u32,
                    number: in_mesh,
                    material: part.material,
                }));
            prepared.positions.extend(part.positions);
            prepared.attributes.extend(part.attributes);
        }
        prepared
    }

    /// The same meshes in one matt material, for comparison with formats that hold no materials.
    pub fn bare(&self) -> PreparedScene {
        let plain = PreparedMaterial::plain(RenderMaterial {
            double_sided: true,
            ..RenderMaterial::dull(Vec3::splat(0.6))
        });
        let mut bare = PreparedScene {
            materials: vec![plain],
            pyramids: Arc::default(),
            ..self.clone()
        };
        for attributes in &mut bare.attributes {
            attributes.color = Vec4::ONE;
        }
        for triangle in &mut bare.triangles {
            triangle.material = 0;
        }
        bare
    }

    /// The number of triangles that can be drawn.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// The triangles in the world.
    pub fn triangles_in_world(&self) -> Vec<[Vec3A; 3]> {
        let corner = |corner: u32| Vec3A::from(self.positions[corner as usize]);
        let triangles = self.triangles.iter();
        triangles
            .map(|triangle| triangle.corners.map(corner))
            .collect()
    }

    /// The name of a part that a [`super::Picture`] names by number.
    pub fn part_name(&self, part: u32) -> Option<&str> {
        self.part_names.get(part as usize).map(String::as_str)
    }
}

/// The triangles of one instance in world space.
#[derive(Debug, Default)]
struct InstanceTriangles {
    positions: Vec<Vec3>,
    attributes: Vec<Attributes>,
    triangles: Vec<[u32; 3]>,
    /// The numbers of the triangles in the mesh.
    numbers: Vec<u32>,
    material: u32,
}

impl InstanceTriangles {
    fn new(
        mesh: &RenderMesh,
        instance: &RenderInstance,
        materials: &[PreparedMaterial],
    ) -> InstanceTriangles {
        let fallback = materials.len() - 1;
        let material = mesh
            .material
            .filter(|&material| material < fallback)
            .unwrap_or(fallback);
        let positions: Vec<Vec3> = mesh
            .positions
            .iter()
            .map(|&point| instance.world.transform_point3(point))
            .collect();
        let linear = Mat3::from_mat4(instance.world);
        let mirrored = linear.determinant() < 0.0;
        let (triangles, numbers) = sound_triangles(mesh, &positions, mirrored);
        let mut part = InstanceTriangles {
            positions,
            attributes: Vec::new(),
            triangles,
            numbers,
            material: material as u32,
        };
        let vertices = part.positions.len();
        let has_normals = mesh.normals.len() == vertices;
        let has_tangents = mesh.tangents.len() == vertices;
        let cofactor = cofactors(linear) * if mirrored { -1.0 } else { 1.0 };
        part.attributes = (0..vertices)
            .map(|vertex| Attributes {
                normal: if has_normals {
                    finite(cofactor * mesh.normals[vertex]).normalize_or_zero()
                } else {
                    Vec3::ZERO
                },
                tangent: if has_tangents {
                    moved_tangent(linear, mesh.tangents[vertex], mirrored)
                } else {
                    Vec4::ZERO
                },
                uvs: [0, 1].map(|set| {
                    mesh.uvs[set]
                        .get(vertex)
                        .copied()
                        .filter(|uv| uv.is_finite())
                        .unwrap_or_default()
                }),
                color: mesh
                    .colors
                    .get(vertex)
                    .copied()
                    .filter(|color| color.is_finite())
                    .unwrap_or(Vec4::ONE),
            })
            .collect();
        if !has_normals {
            part.make_flat();
        }
        if let Some(slot) = materials[material]
            .normal
            .filter(|_| !has_tangents || !has_normals)
        {
            part.compute_tangents(&slot);
        }
        part
    }

    /// Gives each triangle its own corners with its flat normal, as glTF requires for meshes without normals.
    fn make_flat(&mut self) {
        let mut positions = Vec::with_capacity(self.triangles.len() * 3);
        let mut attributes = Vec::with_capacity(self.triangles.len() * 3);
        for triangle in &mut self.triangles {
            let [a, b, c] = triangle.map(|index| self.positions[index as usize]);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            *triangle = triangle.map(|index| {
                positions.push(self.positions[index as usize]);
                attributes.push(Attributes {
                    normal,
                    ..self.attributes[index as usize]
                });
                positions.len() as u32 - 1
            });
        }
        (self.positions, self.attributes) = (positions, attributes);
    }

    fn compute_tangents(&mut self, slot: &Slot) {
        let uv = |vertex: u32| {
            let uv = self.attributes[vertex as usize].uvs[slot.usage.uv_set];
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
        for (vertex, attributes) in self.attributes.iter_mut().enumerate() {
            let normal = attributes.normal;
            let flat = (along_u[vertex] - normal * normal.dot(along_u[vertex])).normalize_or_zero();
            // v points down in the image, the bitangent points up.
            let sign = if normal.cross(flat).dot(along_v[vertex]) > 0.0 {
                -1.0
            } else {
                1.0
            };
            attributes.tangent = flat.extend(sign);
        }
    }
}

/// The valid triangles, whose corners exist and are finite, and their numbers in the mesh. In mirrored instances their
/// winding is reversed, so that they face outwards again.
fn sound_triangles(
    mesh: &RenderMesh,
    positions: &[Vec3],
    mirrored: bool,
) -> (Vec<[u32; 3]>, Vec<u32>) {
    let (triples, _) = mesh.indices.as_chunks::<3>();
    triples
        .iter()
        .enumerate()
        .filter(|(_, triple)| {
            triple.iter().all(|&index| {
                positions
                    .get(index as usize)
                    .is_some_and(|point| point.is_finite())
            })
        })
        .map(|(number, &[a, b, c])| (if mirrored { [a, c, b] } else { [a, b, c] }, number as u32))
        .unzip()
}

fn finite(vector: Vec3) -> Vec3 {
    if vector.is_finite() {
        vector
    } else {
        Vec3::ZERO
    }
}

fn moved_tangent(linear: Mat3, tangent: Vec4, mirrored: bool) -> Vec4 {
    let direction = finite(linear * tangent.truncate()).normalize_or_zero();
    let sign = if tangent.w < 0.0 { -1.0 } else { 1.0 };
    direction.extend(if mirrored { -sign } else { sign })
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

impl PreparedMaterial {
    fn plain(plain: RenderMaterial) -> PreparedMaterial {
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

/// Prepares the materials and their textures; an image used both as colour and as data gets a pyramid for each.
fn materials(scene: &RenderScene) -> (Vec<PreparedMaterial>, Vec<Pyramid>) {
    let mut wanted: Vec<(usize, bool)> = Vec::new();
    let mut slot = |usage: Option<RenderTextureUse>, srgb: bool| {
        let usage =
            usage.filter(|usage| usage.texture < scene.textures.len() && usage.uv_set < 2)?;
        let key = (usage.texture, srgb);
        let pyramid = wanted
            .iter()
            .position(|known| *known == key)
            .unwrap_or_else(|| {
                wanted.push(key);
                wanted.len() - 1
            });
        Some(Slot { pyramid, usage })
    };
    let materials = scene
        .materials
        .iter()
        .map(|plain| PreparedMaterial {
            base_color: slot(plain.base_color_texture, true),
            metallic_roughness: slot(plain.metallic_roughness_texture, false),
            normal: slot(plain.normal_texture, false),
            occlusion: slot(plain.occlusion_texture, false),
            emissive: slot(plain.emissive_texture, true),
            plain: plain.clone(),
        })
        .collect();
    let pyramids = wanted
        .par_iter()
        .map(|&(texture, srgb)| Pyramid::new(&scene.textures[texture], srgb))
        .collect();
    (materials, pyramids)
}
