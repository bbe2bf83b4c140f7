//! Makes a scene ready to be drawn many times.
//!
//! The triangles of all parts are numbered in a row, as are their vertices, but a mesh that several instances draw is
//! stored only once. The rasterizer relies on what [`PreparedMesh`] says of its indices and numbers.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use glam::{Mat4, Vec3, Vec3A};
use rayon::prelude::*;

use super::prepared_material::PreparedMaterial;
use super::prepared_mesh::{PreparedMesh, Transform};
use super::prepared_part::PreparedPart;
use super::scene::{RenderMaterial, RenderScene, RenderTextureUse, UV_SETS};
use super::texture::{Pyramid, Slot};

/// A scene that [`super::PreparedScene::render`] draws.
#[derive(Debug, Clone)]
pub struct PreparedScene {
    /// The instances of the scene, in their order.
    pub(super) parts: Vec<PreparedPart>,
    /// The number of the first triangle of each part, close together for searches.
    first_triangles: Arc<Vec<u32>>,
    pub(super) materials: Vec<PreparedMaterial>,
    pub(super) pyramids: Arc<Vec<Pyramid>>,
    /// Whether it has coarse copies of meshes.
    pub(super) is_coarse: bool,
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
        let mut uses = vec![0usize; scene.meshes.len()];
        for instance in &scene.instances {
            if let Some(uses) = uses.get_mut(instance.mesh) {
                *uses += 1;
            }
        }
        let unmoved = Transform::new(Mat4::IDENTITY);
        let meshes = scene.meshes.par_iter().zip(&uses);
        let shared: Vec<Option<(Arc<PreparedMesh>, Vec3)>> = meshes
            .map(|(mesh, uses)| {
                let shared = (*uses > 1).then(|| PreparedMesh::new(mesh, &unmoved, &materials))?;
                let farthest = shared.farthest();
                Some((Arc::new(shared), farthest))
            })
            .collect();
        let parts = scene.instances.par_iter().map(|instance| {
            let by = Transform::new(instance.world);
            let Some(mesh) = scene.meshes.get(instance.mesh) else {
                return PreparedPart::in_world(PreparedMesh::default(), instance.name.clone());
            };
            match &shared[instance.mesh] {
                Some((shared, farthest)) if by.keeps_finite(*farthest) => {
                    PreparedPart::shared(shared, by, instance)
                }
                _ => {
                    let mesh = PreparedMesh::new(mesh, &by, &materials);
                    PreparedPart::in_world(mesh, instance.name.clone())
                }
            }
        });
        let mut parts: Vec<PreparedPart> = parts.collect();
        mark_repeated(&mut parts, &materials);
        PreparedScene::of(parts, materials, pyramids)
    }

    /// A scene of parts, whose triangles and vertices are numbered here. Parts whose numbers would be too large stay
    /// empty: a scene of more than a thousand million triangles.
    pub(super) fn of(
        mut parts: Vec<PreparedPart>,
        materials: Vec<PreparedMaterial>,
        pyramids: Arc<Vec<Pyramid>>,
    ) -> PreparedScene {
        let (mut triangles, mut vertices) = (0u32, 0u32);
        for part in &mut parts {
            let counts = [part.triangle_count(), part.vertex_count()];
            let [more_triangles, more_vertices] = counts.map(|count| u32::try_from(count).ok());
            let ends = (
                more_triangles.and_then(|more| triangles.checked_add(more)),
                more_vertices.and_then(|more| vertices.checked_add(more)),
            );
            (part.first_triangle, part.first_vertex) = (triangles, vertices);
            match ends {
                (Some(end), Some(end_vertex)) => (triangles, vertices) = (end, end_vertex),
                _ => part.mesh = Arc::default(),
            }
        }
        let firsts = parts.iter().map(|part| part.first_triangle);
        PreparedScene {
            first_triangles: Arc::new(firsts.collect()),
            parts,
            materials,
            pyramids,
            is_coarse: false,
        }
    }

    /// The same meshes in one matt material, for comparison with formats that hold no materials.
    pub fn bare(&self) -> PreparedScene {
        let plain = PreparedMaterial::plain(RenderMaterial {
            double_sided: true,
            ..RenderMaterial::dull(Vec3::splat(0.6))
        });
        // Parts that share a mesh share its bare copy.
        let mut copies: HashMap<*const PreparedMesh, Arc<PreparedMesh>> = HashMap::new();
        let mut parts = self.parts.clone();
        for part in &mut parts {
            let copy = copies.entry(Arc::as_ptr(&part.mesh)).or_insert_with(|| {
                Arc::new(PreparedMesh {
                    colors: Vec::new(),
                    material: 0,
                    ..(*part.mesh).clone()
                })
            });
            part.mesh = Arc::clone(copy);
        }
        PreparedScene {
            first_triangles: Arc::clone(&self.first_triangles),
            parts,
            materials: vec![plain],
            pyramids: Arc::default(),
            is_coarse: self.is_coarse,
        }
    }

    /// The number of triangles that can be drawn.
    pub fn triangle_count(&self) -> usize {
        let last = self.parts.last();
        last.map_or(0, |last| {
            last.first_triangle as usize + last.triangle_count()
        })
    }

    /// Whether it stands for a scene of more triangles.
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// The triangles in the world, those of repeated parts once.
    pub fn triangles_in_world(&self) -> Vec<[Vec3A; 3]> {
        let parts = self.parts.iter().filter(|part| !part.is_repeated);
        parts
            .flat_map(|part| (0..part.triangle_count()).map(|at| part.corners(at).map(Vec3A::from)))
            .collect()
    }

    /// The part that a triangle belongs to, and its place in it.
    pub(super) fn in_part(&self, triangle: u32) -> (usize, usize) {
        let firsts = &self.first_triangles;
        let part = firsts.partition_point(|first| *first <= triangle) - 1;
        (part, (triangle - firsts[part]) as usize)
    }

    /// The material of a triangle.
    pub(super) fn material_of(&self, triangle: u32) -> &PreparedMaterial {
        let (part, _) = self.in_part(triangle);
        &self.materials[self.parts[part].mesh.material as usize]
    }

    /// The parts that a range of triangles goes through, each with its triangles.
    pub(super) fn parts_in(
        &self,
        triangles: Range<u32>,
    ) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = match triangles.is_empty() {
            true => self.parts.len(),
            false => self.in_part(triangles.start).0,
        };
        let parts = (first..self.parts.len()).zip(&self.parts[first..]);
        parts
            .take_while(move |(_, part)| part.first_triangle < triangles.end)
            .map(move |(number, part)| {
                let first = part.first_triangle as usize;
                let from = (triangles.start as usize).saturating_sub(first);
                let to = (triangles.end as usize - first).min(part.triangle_count());
                (number, from..to)
            })
    }

    /// The name of a part that a [`super::picture::Picture`] names by number.
    pub fn part_name(&self, part: u32) -> Option<&str> {
        let part = self.parts.get(part as usize)?;
        Some(&part.name)
    }
}

/// Marks parts that draw what others have drawn at the same place. Blended ones add up, so they all count.
fn mark_repeated(parts: &mut [PreparedPart], materials: &[PreparedMaterial]) {
    let mut places = HashSet::new();
    for part in parts {
        let is_solid = !materials[part.mesh.material as usize].blends();
        let place = part.shared_place().filter(|_| is_solid);
        part.is_repeated = place.is_some_and(|place| !places.insert(place));
    }
}

/// Prepares the materials and their textures; an image used both as colour and as data gets a pyramid for each.
fn materials(scene: &RenderScene) -> (Vec<PreparedMaterial>, Vec<Pyramid>) {
    let mut wanted: Vec<(usize, bool)> = Vec::new();
    let mut slot = |usage: Option<RenderTextureUse>, srgb: bool| {
        let usage =
            usage.filter(|usage| usage.texture < scene.textures.len() && usage.uv_set < UV_SETS)?;
        let key = (usage.texture, srgb);
        let pyramid = wanted
            .iter()
            .position(|known| *known == key)
            .unwrap_or_else(|| {
                wanted.push(key);
                wanted.len() - 1
            });
        Some(Slot::new(pyramid, usage, &scene.textures[usage.texture]))
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
