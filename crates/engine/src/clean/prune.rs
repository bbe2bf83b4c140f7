//! Drops unused materials, textures, samplers, images, cameras and skins.
//!
//! Nothing is dropped if the scene uses an extension that may refer to such objects by index in an unknown way.

use serde_json::Value;

use super::super::scene::{Primitive, Scene, index_in, keep_placed, new_places};
use assetfs_formats::gltf_image_extensions;

/// Extensions of which this module knows all references, besides those of image formats.
const KNOWN: &[&str] = &[
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_texture_transform",
    "KHR_lights_punctual",
    "KHR_node_visibility",
    "EXT_mesh_gpu_instancing",
];

/// Drops unused objects and updates the references to the others.
pub fn prune(scene: &mut Scene) {
    if !knows_all_extensions(scene) {
        return;
    }
    prune_skins(scene);
    prune_cameras(scene);
    prune_materials(scene);
    prune_textures(scene);
    prune_samplers(scene);
    prune_images(scene);
    forget_unused_extensions(scene);
}

/// Whether the scene uses only extensions of which all references are known.
pub(crate) fn knows_all_extensions(scene: &Scene) -> bool {
    let is_known =
        |used: &str| KNOWN.contains(&used) || gltf_image_extensions().any(|name| name == used);
    let mut used = scene.list("extensionsUsed").iter();
    used.all(|used| used.as_str().is_some_and(is_known))
}

fn prune_skins(scene: &mut Scene) {
    let used: Vec<usize> = refs(scene.list("nodes"), "skin");
    let places = keep(scene, "skins", &used);
    fit(scene.list_mut("nodes"), "skin", &places);
}

fn prune_cameras(scene: &mut Scene) {
    let used: Vec<usize> = refs(scene.list("nodes"), "camera");
    let places = keep(scene, "cameras", &used);
    fit(scene.list_mut("nodes"), "camera", &places);
}

fn prune_materials(scene: &mut Scene) {
    let mut used = Vec::new();
    for mesh in &mut scene.meshes {
        for primitive in &mut mesh.primitives {
            used.extend(primitive.material);
            let variants = primitive.variant_materials_mut();
            used.extend(variants.filter_map(|material| Some(material.as_u64()? as usize)));
        }
    }
    let places = keep(scene, "materials", &used);
    for mesh in &mut scene.meshes {
        for primitive in &mut mesh.primitives {
            primitive.material = primitive.material.and_then(|material| places[material]);
            fit_variants(primitive, &places);
        }
    }
}

fn prune_textures(scene: &mut Scene) {
    let mut used = Vec::new();
    for material in scene.list("materials") {
        for (_, _, texture) in super::super::scene::slots_of(material) {
            used.extend(index_in(texture, "index"));
        }
    }
    let places = keep(scene, "textures", &used);
    for material in scene.list_mut("materials").into_iter().flatten() {
        fit_texture_uses(material, &places, 0);
    }
}

fn prune_samplers(scene: &mut Scene) {
    let used = refs(scene.list("textures"), "sampler");
    let places = keep(scene, "samplers", &used);
    fit(scene.list_mut("textures"), "sampler", &places);
}

fn prune_images(scene: &mut Scene) {
    let mut used = vec![false; scene.images.len()];
    for texture in 0..scene.list("textures").len() {
        for image in scene.images_of_texture(texture) {
            used[image] = true;
        }
    }
    // An image without bytes is left out by the exporter, which updates the references.
    for (image, _) in scene.images.iter_mut().zip(used).filter(|(_, used)| !used) {
        image.bytes = bytes::Bytes::new();
    }
}

fn forget_unused_extensions(scene: &mut Scene) {
    let mut texts: Vec<String> = scene
        .json
        .iter()
        .filter(|(key, _)| !key.starts_with("extensions") || *key == "extensions")
        .map(|(_, member)| member.to_string())
        .collect();
    for mesh in &scene.meshes {
        texts.push(Value::Object(mesh.json.clone()).to_string());
        for primitive in &mesh.primitives {
            texts.push(Value::Object(primitive.json.clone()).to_string());
        }
    }
    let is_used = |name: &Value| {
        let quoted = name.to_string();
        texts.iter().any(|text| text.contains(&quoted))
    };
    for list in ["extensionsUsed", "extensionsRequired"] {
        if let Some(names) = scene.json.get_mut(list).and_then(Value::as_array_mut) {
            names.retain(is_used);
        }
    }
}

fn refs(objects: &[Value], key: &str) -> Vec<usize> {
    objects
        .iter()
        .filter_map(|object| index_in(object, key))
        .collect()
}

/// Keeps the used entries of a list; returns the new index of each entry.
fn keep(scene: &mut Scene, list: &str, used: &[usize]) -> Vec<Option<usize>> {
    let Some(entries) = scene.list_mut(list) else {
        return Vec::new();
    };
    let mut is_used = vec![false; entries.len()];
    for index in used {
        is_used[*index] = true;
    }
    let places = new_places(is_used);
    keep_placed(entries, &places);
    places
}

fn fit(objects: Option<&mut Vec<Value>>, key: &str, places: &[Option<usize>]) {
    for object in objects.into_iter().flatten() {
        if let Some(place) = index_in(object, key).and_then(|index| places[index]) {
            object[key] = place.into();
        }
    }
}

pub(super) fn fit_texture_uses(at: &mut Value, places: &[Option<usize>], depth: usize) {
    let Some(members) = at.as_object_mut() else {
        return;
    };
    for (key, member) in members.iter_mut().filter(|(key, _)| *key != "extras") {
        let place = index_in(member, "index").and_then(|index| places.get(index).copied()?);
        if let Some(place) = place.filter(|_| key.ends_with("Texture")) {
            member["index"] = place.into();
        } else if depth < 8 {
            fit_texture_uses(member, places, depth + 1);
        }
    }
}

pub(super) fn fit_variants(primitive: &mut Primitive, places: &[Option<usize>]) {
    for material in primitive.variant_materials_mut() {
        let place = material.as_u64().and_then(|index| places[index as usize]);
        if let Some(place) = place {
            *material = place.into();
        }
    }
}
