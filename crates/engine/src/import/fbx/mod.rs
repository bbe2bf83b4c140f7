//! FBX, text and binary, through `ufbx`.
//!
//! Nodes, meshes, materials, textures (embedded or separate), skins, blend shapes and animations are converted to
//! glTF, in metres with y up. NURBS surfaces become triangles. What is not read is named in a warning (`unread`).

mod animation;
mod material;
mod mesh;
mod nurbs;
mod shapes;
mod skin;
mod texture;
mod unread;

use std::path::Path;

use glam::DVec3;
use serde_json::{Value, json};

use super::error::ImportError;
use super::far::Offsets;
use super::file_names::read_file;
use super::imported::Imported;
use super::scene_builder::{SceneBuilder, drawing};
use assetfs_formats::input_files::InputFiles;
use material::FbxMaterials;

/// The memory limit of the reader for any file.
const MEMORY_LIMIT_BYTES: usize = 3 << 30;
/// The memory limit for an empty file, and the limit that each of its bytes adds: arrays are compressed, those of
/// simple shapes by a factor of some hundreds.
const MEMORY_OF_A_FILE: usize = 64 << 20;
const MEMORY_OF_A_BYTE: usize = 512;

/// Reads the file `model` in `dir`.
pub(super) fn import(dir: &Path, model: &Path) -> Result<Imported, ImportError> {
    let (file, bytes) = read_file(dir, model)?;
    let loaded =
        ufbx::load_memory(&bytes, options(bytes.len())).map_err(|error| ImportError::Damaged {
            file: file.clone(),
            what: format!("cannot be read as FBX: {}", &*error.description),
        })?;
    let files = InputFiles::new(dir);
    let mut materials = FbxMaterials::new(&files, model, bytes.len() as u64);
    let mut builder = SceneBuilder::new();
    let mut offsets = Offsets::default();
    let meshes: Vec<mesh::ImportedMesh> = loaded
        .meshes
        .iter()
        .map(|found| {
            unread::name_unread_of_mesh(found, &mut builder.warnings);
            mesh::add(found, &mut builder, &mut materials, &mut offsets)
        })
        .collect();
    let mut surfaces = nurbs::Surfaces::new();
    let surfaces: Vec<mesh::ImportedMesh> = loaded
        .nurbs_surfaces
        .iter()
        .map(|found| surfaces.add(found, &mut builder, &mut materials, &mut offsets))
        .collect();
    if meshes
        .iter()
        .chain(&surfaces)
        .all(|made| made.mesh.is_none())
    {
        return Err(ImportError::Damaged {
            file,
            what: "holds no meshes".to_owned(),
        });
    }
    add_nodes(&loaded, &meshes, &surfaces, &mut builder);
    let skins: Vec<skin::SkinUse> = meshes.iter().filter_map(|made| made.skin).collect();
    let resting = skin::add_resting_joints(&skins, &mut builder);
    builder.set_root(loaded.root_node.element.typed_id as usize);
    let mut made = builder.finish_model(model, "fbx", materials.textures.size_bytes);
    skin::add_skins(&loaded, &skins, &resting, &mut made.scene);
    animation::add(&loaded, &mut made.scene, &mut made.warnings);
    unread::name_unread_objects(&loaded, &file, &mut made.warnings);
    Ok(made)
}

/// Adds all nodes and their meshes. A mesh with an offset gets a child node of its own, because the other children must not
/// be moved by the offset.
fn add_nodes(
    loaded: &ufbx::Scene,
    meshes: &[mesh::ImportedMesh],
    surfaces: &[mesh::ImportedMesh],
    builder: &mut SceneBuilder,
) {
    for node in loaded.nodes.iter() {
        builder.add_node(node_json(node, drawn_by(node, meshes, surfaces)));
    }
    for node in loaded.nodes.iter() {
        if let Some((mesh, made)) = drawn_by(node, meshes, surfaces)
            && made.offset != DVec3::ZERO
        {
            let child = builder.add_node(drawing(mesh, made.offset));
            builder.add_children(node.element.typed_id as usize, &[child]);
        }
    }
}

fn options(file_bytes: usize) -> ufbx::LoadOpts<'static> {
    let memory_limit = file_bytes
        .saturating_mul(MEMORY_OF_A_BYTE)
        .saturating_add(MEMORY_OF_A_FILE)
        .min(MEMORY_LIMIT_BYTES);
    let limited = || ufbx::AllocatorOpts {
        memory_limit,
        ..Default::default()
    };
    ufbx::LoadOpts {
        temp_allocator: limited(),
        result_allocator: limited(),
        target_axes: ufbx::CoordinateAxes::right_handed_y_up(),
        target_unit_meters: 1.0,
        space_conversion: ufbx::SpaceConversion::ModifyGeometry,
        geometry_transform_handling: ufbx::GeometryTransformHandling::ModifyGeometry,
        inherit_mode_handling: ufbx::InheritModeHandling::Compensate,
        generate_missing_normals: true,
        normalize_normals: true,
        clean_skin_weights: true,
        load_external_files: false,
        node_depth_limit: 900,
        ..Default::default()
    }
}

/// What a node draws, and its number in the scene.
fn drawn_by<'a>(
    node: &ufbx::Node,
    meshes: &'a [mesh::ImportedMesh],
    surfaces: &'a [mesh::ImportedMesh],
) -> Option<(usize, &'a mesh::ImportedMesh)> {
    let made = match (&node.mesh, &node.attrib) {
        (Some(found), _) => meshes.get(found.element.typed_id as usize),
        (None, Some(found)) if found.type_ == ufbx::ElementType::NurbsSurface => {
            surfaces.get(found.typed_id as usize)
        }
        _ => None,
    }?;
    Some((made.mesh?, made))
}

fn node_json(node: &ufbx::Node, drawn: Option<(usize, &mesh::ImportedMesh)>) -> Value {
    let mut json = json!({});
    let name: &str = &node.element.name;
    if !name.is_empty() {
        json["name"] = name.into();
    }
    let place = &node.local_transform;
    let (move_by, turn, size) = (&place.translation, &place.rotation, &place.scale);
    if (move_by.x, move_by.y, move_by.z) != (0.0, 0.0, 0.0) {
        json["translation"] = json!([move_by.x, move_by.y, move_by.z]);
    }
    if (turn.x, turn.y, turn.z) != (0.0, 0.0, 0.0) {
        json["rotation"] = json!([turn.x, turn.y, turn.z, turn.w]);
    }
    if (size.x, size.y, size.z) != (1.0, 1.0, 1.0) {
        json["scale"] = json!([size.x, size.y, size.z]);
    }
    let children: Vec<u32> = node
        .children
        .iter()
        .map(|child| child.element.typed_id)
        .collect();
    if !children.is_empty() {
        json["children"] = json!(children);
    }
    if let Some((mesh, made)) = drawn
        && made.offset == DVec3::ZERO
    {
        json["mesh"] = mesh.into();
        if let Some(skin) = made.skin {
            json["skin"] = skin.index.into();
        }
    }
    json
}
