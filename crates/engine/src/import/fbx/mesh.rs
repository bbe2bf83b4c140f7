//! Meshes of an FBX file: corners to vertices, parts by material, blend shapes.

use glam::DVec3;

use super::super::super::alike::distinct;
use super::super::super::scene::{Attribute, Geometry};
use super::super::colors::colors_of_srgb;
use super::super::far::{self, Offsets};
use super::super::polygon;
use super::super::scene_builder::SceneBuilder;
use super::material::FbxMaterials;
use super::shapes::{targets, targets_json};
use super::skin::{SkinUse, weights};
use super::unread::MAX_UV_SETS;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::WarningKind;

/// The scene's mesh and skin for a mesh of the file.
#[derive(Debug, Default)]
pub(super) struct ImportedMesh {
    /// Index of the scene's mesh; none for a mesh without triangles.
    pub(super) mesh: Option<usize>,
    /// What was subtracted from its positions.
    pub(super) offset: DVec3,
    pub(super) skin: Option<SkinUse>,
}

impl ImportedMesh {
    /// A mesh without a skin.
    pub(super) fn of_mesh(mesh: usize, offset: DVec3) -> ImportedMesh {
        ImportedMesh {
            mesh: Some(mesh),
            offset,
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

pub(super) fn add(
    found: &ufbx::Mesh,
    builder: &mut SceneBuilder,
    materials: &mut FbxMaterials<'_>,
    offsets: &mut Offsets,
) -> ImportedMesh {
    let mut parts = Vec::new();
    let mut rough_faces = 0;
    let offset = offset_of(found, offsets);
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
            .map(|material| materials.add(material, &set_names, builder));
        let (geometry, rough) = build(found, part, offset);
        rough_faces += rough;
        parts.push((geometry, material));
    }
    if rough_faces > 0 {
        let (rough, name) = (grouped(rough_faces), &*found.element.name);
        builder.warn(
            WarningKind::NotRead,
            format!("mesh \"{name}\": {rough} {}", polygon::ROUGH),
        );
    }
    if parts.is_empty() {
        return ImportedMesh::default();
    }
    let name: &str = &found.element.name;
    let mesh = builder.add_mesh(Some(name).filter(|name| !name.is_empty()), parts);
    if let Some(json) = targets_json(found) {
        builder.extend_mesh(mesh, json);
    }
    ImportedMesh {
        mesh: Some(mesh),
        offset,
        skin: SkinUse::of(found, builder),
    }
}

/// The offset of a mesh. Joints and the weights of shapes belong to the node itself, so meshes with these have
/// none.
fn offset_of(found: &ufbx::Mesh, offsets: &mut Offsets) -> DVec3 {
    if !found.skin_deformers.is_empty() || !found.blend_deformers.is_empty() {
        return DVec3::ZERO;
    }
    let used = found.vertex_indices.iter();
    let used = used.filter_map(|index| found.vertices.get(*index as usize));
    offsets.offset_of(used.map(|at| DVec3::new(at.x, at.y, at.z)))
}

/// The triangles of a part, and how many faces are cut roughly.
fn build(found: &ufbx::Mesh, part: &ufbx::MeshPart, offset: DVec3) -> (Geometry, u64) {
    let mut corners = Vec::new();
    let mut triangles = Vec::new();
    let mut rough_faces = 0;
    for face in part.face_indices.iter() {
        let face = found.faces[*face as usize];
        let is_large = face.num_indices as usize > polygon::MAX_FAN;
        if is_large {
            rough_faces += u64::from(cut_large(found, face, &mut triangles));
        } else {
            let count = ufbx::triangulate_face_vec(&mut triangles, found, face);
            triangles.truncate(count as usize * 3);
        }
        let indices = triangles.iter();
        corners.extend(indices.map(|index| corner_of(found, *index as usize)));
    }
    let (corners, indices) = distinct(corners);
    let places: Vec<u32> = corners.iter().map(|corner| corner.position).collect();
    let mut geometry = Geometry {
        indices,
        attributes: attributes(found, &corners, offset),
        targets: targets(found, &places),
        sparse_targets: true,
        ..Geometry::default()
    };
    geometry.attributes.extend(weights(found, &places));
    (geometry, rough_faces)
}

/// Cuts a face of many corners, for which the library may take quadratic time; true if that is done roughly.
fn cut_large(found: &ufbx::Mesh, face: ufbx::Face, triangles: &mut Vec<u32>) -> bool {
    let place = |corner: u32| {
        let vertex = found.vertex_indices.get(corner as usize);
        let at = vertex.and_then(|vertex| found.vertices.get(*vertex as usize));
        at.map_or(DVec3::ZERO, |at| DVec3::new(at.x, at.y, at.z))
    };
    let corners: Vec<DVec3> = (0..face.num_indices)
        .map(|corner| place(face.index_begin + corner))
        .collect();
    let cut = polygon::exact_triangles(&corners);
    triangles.clear();
    let indices = cut.triangles.iter().flatten();
    triangles.extend(indices.map(|corner| face.index_begin + *corner as u32));
    cut.is_rough
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

fn attributes(found: &ufbx::Mesh, corners: &[FbxCorner], offset: DVec3) -> Vec<Attribute> {
    let positions = corners.iter().flat_map(|corner| {
        let at = found.vertices.get(corner.position as usize);
        at.map_or([0.0; 3], |at| {
            far::near(DVec3::new(at.x, at.y, at.z), offset)
        })
    });
    let mut attributes = vec![Attribute::new("POSITION", 3, positions.collect())];
    if found.vertex_normal.exists {
        let values = &found.vertex_normal.values;
        let normals = corners.iter().flat_map(|corner| {
            let at = values.get(corner.normal as usize);
            at.map_or([0.0, 1.0, 0.0], |at| {
                [at.x, at.y, at.z].map(|part| part as f32)
            })
        });
        attributes.push(Attribute::new("NORMAL", 3, normals.collect()));
    }
    for (set, uv_set) in found.uv_sets.iter().take(MAX_UV_SETS).enumerate() {
        let values = &uv_set.vertex_uv.values;
        let coords = corners.iter().flat_map(|corner| {
            let at = values.get(corner.coords[set] as usize);
            at.map_or([0.0; 2], |at| [at.x as f32, 1.0 - at.y as f32])
        });
        let name = format!("TEXCOORD_{set}");
        attributes.push(Attribute::new(&name, 2, coords.collect()));
    }
    if found.vertex_color.exists {
        let values = &found.vertex_color.values;
        let colors = corners.iter().map(|corner| {
            let at = values.get(corner.color as usize);
            at.map_or([1.0; 4], |at| {
                [at.x, at.y, at.z, at.w].map(|part| part as f32)
            })
        });
        // Blender and three.js read and write colours of vertices in sRGB.
        attributes.push(colors_of_srgb(colors));
    }
    attributes
}
