//! Puts the baked meshes into a scene in place of the source's. Cameras, lights and their nodes stay.

use glam::DVec3;
use serde_json::{Map, Value, json};

use super::super::scene::{Geometry, Mesh, Primitive, Scene, drop_extension};
use super::emptied_nodes::remove_emptied_nodes;

/// Extensions of meshes, materials and textures, none of which are left.
const GONE: [&str; 6] = [
    "KHR_materials_",
    "KHR_texture_",
    "EXT_texture_",
    "MSFT_texture_",
    "EXT_mesh_gpu_instancing",
    "KHR_mesh_quantization",
];

/// The scene without meshes, materials and textures.
pub(super) fn emptied(source: &Scene) -> Scene {
    let drew_mesh: Vec<bool> = source
        .list("nodes")
        .iter()
        .map(|node| node.get("mesh").is_some())
        .collect();
    let mut json = source.json.clone();
    for list in ["materials", "textures", "samplers", "skins"] {
        json.shift_remove(list);
    }
    for list in ["extensionsUsed", "extensionsRequired"] {
        if let Some(names) = json.get_mut(list).and_then(Value::as_array_mut) {
            let is_gone = |name: &str| GONE.iter().any(|gone| name.starts_with(gone));
            names.retain(|name| !name.as_str().is_some_and(is_gone));
        }
    }
    let mut scene = Scene {
        json,
        tables: source.tables.clone(),
        blobs: source.blobs.clone(),
        origin: source.origin,
        ..Scene::default()
    };
    scene
        .list_mut("nodes")
        .into_iter()
        .flatten()
        .for_each(strip);
    if !needs_nodes(&scene) {
        for list in ["nodes", "scenes", "scene", "animations"] {
            scene.json.shift_remove(list);
        }
        scene.tables.clear();
    } else {
        remove_emptied_nodes(&mut scene, &drew_mesh);
    }
    scene
}

/// Adds a mesh with one geometry, which is measured from the scene's origin, and a node that draws it.
pub(super) fn add_mesh(scene: &mut Scene, name: &str, geometry: Geometry, material: usize) {
    scene.geometries.push(geometry);
    scene.meshes.push(Mesh {
        json: Map::from_iter([("name".to_owned(), Value::from(name))]),
        primitives: vec![Primitive {
            geometry: scene.geometries.len() - 1,
            material: Some(material),
            ..Primitive::default()
        }],
    });
    let mesh = scene.meshes.len() - 1;
    let mut node = json!({ "name": name, "mesh": mesh });
    if scene.origin != DVec3::ZERO {
        node["translation"] = json!(scene.origin.to_array());
    }
    let node = scene.push("nodes", node);
    if scene.list("scenes").is_empty() {
        scene.push("scenes", json!({ "nodes": [] }));
        scene.json.insert("scene".to_owned(), 0.into());
    }
    let shown = scene.json.get("scene").and_then(Value::as_u64).unwrap_or(0) as usize;
    let shown = scene
        .list_mut("scenes")
        .and_then(|scenes| scenes.get_mut(shown));
    match shown.map(|shown| &mut shown["nodes"]) {
        Some(Value::Array(nodes)) => nodes.push(node.into()),
        Some(nodes) => *nodes = json!([node]),
        None => {}
    }
}

/// Removes what a node draws.
fn strip(node: &mut Value) {
    let Some(node) = node.as_object_mut() else {
        return;
    };
    for key in ["mesh", "weights", "skin"] {
        node.shift_remove(key);
    }
    drop_extension(node, "EXT_mesh_gpu_instancing");
}

/// Whether a node is needed for anything but meshes: a camera, a light, an animation of one.
fn needs_nodes(scene: &Scene) -> bool {
    let is_needed = |node: &Value| {
        let extensions = node["extensions"].as_object();
        let mut names = extensions.into_iter().flatten().map(|(name, _)| name);
        node.get("camera").is_some() || names.any(|name| name != "KHR_node_visibility")
    };
    scene.list("nodes").iter().any(is_needed)
}
