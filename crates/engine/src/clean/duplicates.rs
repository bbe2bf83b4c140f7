//! Replaces references to duplicate images, samplers, textures and materials by the first of them; pruning then
//! drops the duplicates.
//!
//! Materials are only equal if their names are equal, too: users and programs select them by name. Nothing is shared
//! if the scene uses an extension that may refer to such objects in an unknown way.

use std::collections::HashMap;

use assetfs_formats::gltf_image_extensions;
use serde_json::Value;

use super::super::scene::{Scene, index_in};
use super::super::textures::{Usage, usages};
use super::prune::{fit_texture_uses, fit_variants, knows_all_extensions};

/// Shares equal objects; returns how many materials are no longer used.
pub(super) fn share(scene: &mut Scene) -> usize {
    if !knows_all_extensions(scene) {
        return 0;
    }
    share_images(scene);
    let samplers = first_equal(scene.list("samplers"), &[]);
    point(scene.list_mut("textures"), "sampler", &samplers);
    share_textures(scene);
    share_materials(scene)
}

/// Shares equal images only if they have the same use, because limits and resizing depend on the use.
fn share_images(scene: &mut Scene) {
    let usages = usages(scene);
    let mut known: HashMap<(&str, &[u8], &Usage), usize> = HashMap::new();
    let first: Vec<usize> = scene
        .images
        .iter()
        .enumerate()
        .map(|(index, image)| {
            if image.bytes.is_empty() || image.json.keys().any(|key| key != "name") {
                return index;
            }
            *known
                .entry((&image.media_type, &image.bytes, &usages[index]))
                .or_insert(index)
        })
        .collect();
    for texture in scene.list_mut("textures").into_iter().flatten() {
        point_one(texture, "source", &first);
        for name in gltf_image_extensions() {
            let extension = texture
                .get_mut("extensions")
                .and_then(|all| all.get_mut(name));
            if let Some(extension) = extension {
                point_one(extension, "source", &first);
            }
        }
    }
}

fn share_textures(scene: &mut Scene) {
    let first = first_equal(scene.list("textures"), &["name"]);
    let places: Vec<Option<usize>> = first.into_iter().map(Some).collect();
    for material in scene.list_mut("materials").into_iter().flatten() {
        fit_texture_uses(material, &places, 0);
    }
}

fn share_materials(scene: &mut Scene) -> usize {
    let first = first_equal(scene.list("materials"), &[]);
    let places: Vec<Option<usize>> = first.iter().copied().map(Some).collect();
    for primitive in scene
        .meshes
        .iter_mut()
        .flat_map(|mesh| &mut mesh.primitives)
    {
        primitive.material = primitive.material.map(|material| first[material]);
        fit_variants(primitive, &places);
    }
    let doubles = first.iter().enumerate();
    doubles.filter(|(index, first)| index != *first).count()
}

/// Returns for each object the index of the first object that equals it; the members in `but` are ignored.
fn first_equal(objects: &[Value], but: &[&str]) -> Vec<usize> {
    let mut known: HashMap<String, usize> = HashMap::new();
    objects
        .iter()
        .enumerate()
        .map(|(index, object)| {
            let mut object = object.clone();
            if let Some(members) = object.as_object_mut() {
                members.retain(|key, _| !but.contains(&key.as_str()));
                members.sort_keys();
            }
            *known.entry(object.to_string()).or_insert(index)
        })
        .collect()
}

fn point(objects: Option<&mut Vec<Value>>, key: &str, first: &[usize]) {
    for object in objects.into_iter().flatten() {
        point_one(object, key, first);
    }
}

fn point_one(object: &mut Value, key: &str, first: &[usize]) {
    if let Some(index) = index_in(object, key) {
        object[key] = first[index].into();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scene::{Image, Mesh, Primitive};
    use super::*;
    use serde_json::json;

    fn image(name: &str, bytes: &'static [u8]) -> Image {
        Image {
            json: json!({ "name": name }).as_object().unwrap().clone(),
            media_type: "image/png".to_owned(),
            bytes: bytes.into(),
            ..Image::default()
        }
    }

    #[test]
    fn materials_with_equal_pictures_and_names_are_one() {
        let material = |name: &str, texture: u64| json!({ "name": name, "pbrMetallicRoughness": { "baseColorTexture": { "index": texture } } });
        let primitive = |material| Primitive {
            material: Some(material),
            ..Primitive::default()
        };
        let json = json!({
            "textures": [{ "source": 0 }, { "source": 1, "name": "again" }, { "source": 2 }],
            "materials": [
                material("oak", 0), material("oak", 1), material("ash", 0), material("oak", 2),
            ],
        });
        let mut scene = Scene {
            json: json.as_object().unwrap().clone(),
            images: vec![
                image("a", b"wood"),
                image("b", b"wood"),
                image("c", b"tree"),
            ],
            meshes: vec![Mesh {
                primitives: (0..4).map(primitive).collect(),
                ..Mesh::default()
            }],
            ..Scene::default()
        };
        assert_eq!(share(&mut scene), 1);
        let used: Vec<_> = scene.meshes[0]
            .primitives
            .iter()
            .map(|found| found.material)
            .collect();
        assert_eq!(used, [Some(0), Some(0), Some(2), Some(3)]);
        super::super::prune(&mut scene);
        assert_eq!(scene.list("materials").len(), 3);
        assert!(scene.images[1].bytes.is_empty());
    }
}
