//! Meshes of an FBX file: corners to vertices, parts by material, skins, blend shapes.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::super::super::document::{ComponentType, ElementType};
use super::super::super::scene::{Attribute, Geometry, Scene, Storage};
use super::super::super::srgb::linear_of_srgb;
use super::super::animated::{add_table, joints_and_weights};
use super::super::scene_builder::SceneBuilder;
use super::material::FbxMaterials;

/// The scene's mesh and skin for a mesh of the file.
#[derive(Debug, Default)]
pub(super) struct ImportedMesh {
    /// Index of the scene's mesh; none for a mesh without triangles.
    pub(super) mesh: Option<usize>,
    /// Index of the scene's skin.
    pub(super) skin: Option<usize>,
    /// Index of the skin deformer in the file.
    deformer: Option<usize>,
}

impl ImportedMesh {
    /// A mesh without a skin.
    pub(super) fn of_mesh(mesh: usize) -> ImportedMesh {
        ImportedMesh {
            mesh: Some(mesh),
            ..ImportedMesh::default()
        }
    }
}

/// Indices of a corner's position, normal, texture coordinates and colour.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FbxCorner {
    position: u32,
    normal: u32,
    coords: [u32; MAX_UV_SETS],
    color: u32,
}

const NONE: u32 = u32::MAX;
/// Maximum number of sets of texture coordinates that are read.
const MAX_UV_SETS: usize = 4;

pub(super) fn add(
    found: &ufbx::Mesh,
    builder: &mut SceneBuilder,
    materials: &mut FbxMaterials<'_>,
    warnings: &mut Vec<String>,
) -> ImportedMesh {
    let mut parts = Vec::new();
    let sets = found.uv_sets.iter().take(MAX_UV_SETS);
    let set_names: Vec<&str> = sets.map(|set| &*set.name).collect();
    for part in found
        .material_parts
        .iter()
        .filter(|part| part.num_triangles > 0)
    {
        let material = found
            .materials
            .get(part.index as usize)
            .map(|material| materials.add(material, &set_names, builder, warnings));
        parts.push((build(found, part), material));
    }
    if parts.is_empty() {
        return ImportedMesh::default();
    }
    if found
        .skin_deformers
        .iter()
        .any(|skin| skin.max_weights_per_vertex > 4)
    {
        warnings.push(format!(
            "mesh \"{}\": vertices with more than four joints keep the four strongest",
            &*found.element.name
        ));
    }
    let name: &str = &found.element.name;
    let mesh = builder.add_mesh(Some(name).filter(|name| !name.is_empty()), parts);
    if let Some(json) = targets_json(found) {
        builder.extend_mesh(mesh, json);
    }
    let deformer = found
        .skin_deformers
        .first()
        .filter(|skin| !skin.clusters.is_empty());
    ImportedMesh {
        mesh: Some(mesh),
        skin: deformer.map(|_| builder.next_skin()),
        deformer: deformer.map(|skin| skin.element.typed_id as usize),
    }
}

fn build(found: &ufbx::Mesh, part: &ufbx::MeshPart) -> Geometry {
    let mut known: HashMap<FbxCorner, u32> = HashMap::new();
    let (mut corners, mut indices) = (Vec::new(), Vec::new());
    let mut triangles = Vec::new();
    for face in part.face_indices.iter() {
        let count = ufbx::triangulate_face_vec(&mut triangles, found, found.faces[*face as usize]);
        for index in &triangles[..count as usize * 3] {
            let corner = corner_of(found, *index as usize);
            let next = corners.len() as u32;
            let vertex = *known.entry(corner).or_insert(next);
            if vertex == next {
                corners.push(corner);
            }
            indices.push(vertex);
        }
    }
    let mut geometry = Geometry {
        indices,
        attributes: attributes(found, &corners),
        targets: targets(found, &corners),
        sparse_targets: true,
        ..Geometry::default()
    };
    geometry.attributes.extend(weights(found, &corners));
    geometry
}

fn corner_of(found: &ufbx::Mesh, index: usize) -> FbxCorner {
    let of = |exists: bool, indices: &[u32]| match exists {
        true => indices.get(index).copied().unwrap_or(NONE),
        false => NONE,
    };
    let uv = |set: usize| {
        found
            .uv_sets
            .get(set)
            .map_or(NONE, |set| of(set.vertex_uv.exists, &set.vertex_uv.indices))
    };
    FbxCorner {
        position: of(true, &found.vertex_indices),
        normal: of(found.vertex_normal.exists, &found.vertex_normal.indices),
        coords: std::array::from_fn(uv),
        color: of(found.vertex_color.exists, &found.vertex_color.indices),
    }
}

fn attributes(found: &ufbx::Mesh, corners: &[FbxCorner]) -> Vec<Attribute> {
    let positions = corners.iter().flat_map(|corner| {
        let at = found.vertices.get(corner.position as usize).copied();
        at.map_or([0.0; 3], |at| [at.x as f32, at.y as f32, at.z as f32])
    });
    let mut attributes = vec![Attribute::new("POSITION", 3, positions.collect())];
    if found.vertex_normal.exists {
        let normals = corners.iter().flat_map(|corner| {
            let at = found
                .vertex_normal
                .values
                .get(corner.normal as usize)
                .copied();
            at.map_or([0.0, 1.0, 0.0], |at| {
                [at.x as f32, at.y as f32, at.z as f32]
            })
        });
        attributes.push(Attribute::new("NORMAL", 3, normals.collect()));
    }
    for (set, uv_set) in found.uv_sets.iter().take(MAX_UV_SETS).enumerate() {
        let coords = corners.iter().flat_map(|corner| {
            let at = uv_set
                .vertex_uv
                .values
                .get(corner.coords[set] as usize)
                .copied();
            at.map_or([0.0; 2], |at| [at.x as f32, 1.0 - at.y as f32])
        });
        attributes.push(Attribute::new(
            &format!("TEXCOORD_{set}"),
            2,
            coords.collect(),
        ));
    }
    if found.vertex_color.exists {
        let colors = corners.iter().flat_map(|corner| {
            let at = found
                .vertex_color
                .values
                .get(corner.color as usize)
                .copied();
            // Blender and three.js read and write colours of vertices in sRGB.
            at.map_or([1.0; 4], |at| {
                let [red, green, blue, alpha] =
                    [at.x, at.y, at.z, at.w].map(|part| (part as f32).clamp(0.0, 1.0));
                let [red, green, blue] = [red, green, blue].map(linear_of_srgb);
                [red, green, blue, alpha]
            })
        });
        attributes.push(Attribute {
            storage: Storage {
                component: ComponentType::U16,
                normalized: true,
            },
            ..Attribute::new("COLOR_0", 4, colors.collect())
        });
    }
    attributes
}

/// Joints and weights of each vertex: the four strongest, which come first.
fn weights(found: &ufbx::Mesh, corners: &[FbxCorner]) -> Vec<Attribute> {
    let Some(skin) = found
        .skin_deformers
        .first()
        .filter(|skin| !skin.clusters.is_empty())
    else {
        return Vec::new();
    };
    let (mut joints, mut weights) = (Vec::new(), Vec::new());
    for corner in corners {
        let mut strongest: Vec<(f32, f32)> = skin
            .vertices
            .get(corner.position as usize)
            .map(|vertex| {
                let start = vertex.weight_begin as usize;
                skin.weights
                    .iter()
                    .skip(start)
                    .take(vertex.num_weights as usize)
                    .take(4)
                    .map(|weight| (weight.cluster_index as f32, weight.weight as f32))
                    .collect()
            })
            .unwrap_or_default();
        strongest.resize(4, (0.0, 0.0));
        let sum: f32 = strongest.iter().map(|(_, weight)| weight).sum();
        for (joint, weight) in strongest {
            joints.push(joint);
            weights.push(if sum > 0.0 { weight / sum } else { 0.0 });
        }
    }
    joints_and_weights(joints, weights)
}

fn channels(found: &ufbx::Mesh) -> impl Iterator<Item = (&ufbx::BlendChannel, &ufbx::BlendShape)> {
    found
        .blend_deformers
        .iter()
        .flat_map(|deformer| deformer.channels.iter())
        .filter_map(|channel| Some((&**channel, &**channel.target_shape.as_ref()?)))
}

fn targets(found: &ufbx::Mesh, corners: &[FbxCorner]) -> Vec<Vec<Attribute>> {
    channels(found)
        .map(|(_, shape)| {
            let moved: HashMap<u32, usize> = shape
                .offset_vertices
                .iter()
                .enumerate()
                .map(|(place, vertex)| (*vertex, place))
                .collect();
            let deltas = corners.iter().flat_map(|corner| {
                let offset = moved
                    .get(&corner.position)
                    .and_then(|place| shape.position_offsets.get(*place));
                offset.map_or([0.0; 3], |at| [at.x as f32, at.y as f32, at.z as f32])
            });
            vec![Attribute::new("POSITION", 3, deltas.collect())]
        })
        .collect()
}

fn targets_json(found: &ufbx::Mesh) -> Option<Value> {
    let names: Vec<String> = channels(found)
        .map(|(channel, _)| channel.element.name.to_string())
        .collect();
    if names.is_empty() {
        return None;
    }
    let weights: Vec<f64> = channels(found).map(|(channel, _)| channel.weight).collect();
    Some(json!({ "weights": weights, "extras": { "targetNames": names } }))
}

/// Adds the skins in the order of the indices that the meshes got.
pub(super) fn add_skins(loaded: &ufbx::Scene, meshes: &[ImportedMesh], scene: &mut Scene) {
    let mut skins = Vec::new();
    for deformer in meshes.iter().filter_map(|made| made.deformer) {
        let skin = &loaded.skin_deformers[deformer];
        let mut joints = Vec::new();
        let mut binds = Vec::new();
        for cluster in skin.clusters.iter() {
            let bone = cluster.bone_node.as_ref().unwrap_or(&loaded.root_node);
            joints.push(bone.element.typed_id);
            let m = &cluster.geometry_to_bone;
            binds.extend(
                [
                    m.m00, m.m10, m.m20, 0.0, m.m01, m.m11, m.m21, 0.0, m.m02, m.m12, m.m22, 0.0,
                    m.m03, m.m13, m.m23, 1.0,
                ]
                .map(|number| number as f32),
            );
        }
        let table = add_table(scene, ElementType::Mat4, binds);
        skins.push(json!({ "joints": joints, "inverseBindMatrices": table }));
    }
    if !skins.is_empty() {
        scene.json.insert("skins".to_owned(), Value::Array(skins));
    }
}
