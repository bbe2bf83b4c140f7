//! Which member of a texture refers to its image: `source` for PNG and JPEG, an extension for each other format.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::scene::{Image, Scene, index_in};
use assetfs_formats::gltf_image_extensions;

/// Points each texture to its images by the members that their formats need, and updates the lists of extensions.
///
/// A texture keeps one image of each kind of member: where an image and its fallback now have the same format, the one
/// that [`Scene::image_of_texture`] prefers. Images that no texture shows afterwards lose their bytes, so exports leave
/// them out.
pub fn settle_sources(scene: &mut Scene) {
    let mut dropped = BTreeSet::new();
    for texture in 0..scene.list("textures").len() {
        let images: Vec<usize> = scene
            .images_of_texture(texture)
            .into_iter()
            .filter(|image| !scene.images[*image].bytes.is_empty())
            .collect();
        let mut plain = None;
        let mut extended = vec![None; gltf_image_extensions().count()];
        for image in &images {
            let place = match place_of_extension(&scene.images[*image]) {
                Some(extension) => &mut extended[extension],
                None => &mut plain,
            };
            if place.is_none() {
                *place = Some(*image);
            } else if *place != Some(*image) {
                dropped.insert(*image);
            }
        }
        let json = scene.list_mut("textures").map(|list| &mut list[texture]);
        if let Some(json) = json.filter(|_| !images.is_empty()) {
            refer(json, plain, &extended);
        }
    }
    for texture in 0..scene.list("textures").len() {
        for image in scene.images_of_texture(texture) {
            dropped.remove(&image);
        }
    }
    for image in dropped {
        scene.images[image].bytes = bytes::Bytes::new();
    }
    settle_lists(scene);
}

/// The place in [`gltf_image_extensions`] of the extension that an image needs.
fn place_of_extension(image: &Image) -> Option<usize> {
    let needed = image.kind()?.gltf_extension()?;
    gltf_image_extensions().position(|name| name == needed)
}

fn refer(texture: &mut Value, plain: Option<usize>, extended: &[Option<usize>]) {
    let known =
        gltf_image_extensions().map(|name| index_in(&texture["extensions"][name], "source"));
    if index_in(texture, "source") == plain && known.eq(extended.iter().copied()) {
        return;
    }
    let Some(members) = texture.as_object_mut() else {
        return;
    };
    match plain {
        Some(image) => members.insert("source".to_owned(), image.into()),
        None => members.shift_remove("source"),
    };
    let extensions = members.entry("extensions").or_insert_with(|| json!({}));
    if let Some(extensions) = extensions.as_object_mut() {
        for (name, image) in gltf_image_extensions().zip(extended) {
            match image {
                Some(image) => extensions.insert(name.to_owned(), json!({ "source": image })),
                None => extensions.shift_remove(name),
            };
        }
        if extensions.is_empty() {
            members.shift_remove("extensions");
        }
    }
}

/// An extension is used if a texture has it, and required if that texture has no `source`.
fn settle_lists(scene: &mut Scene) {
    for name in gltf_image_extensions() {
        let having = |texture: &&Value| index_in(&texture["extensions"][name], "source").is_some();
        let textures: Vec<&Value> = scene.list("textures").iter().filter(having).collect();
        let is_used = !textures.is_empty();
        let is_needed = textures
            .iter()
            .any(|texture| index_in(texture, "source").is_none());
        settle_list(scene, "extensionsUsed", name, Some(is_used));
        // A file that requires an extension although it has fallbacks keeps its word.
        let required = match (is_used, is_needed) {
            (true, false) => None,
            (is_used, _) => Some(is_used),
        };
        settle_list(scene, "extensionsRequired", name, required);
    }
}

/// Adds or removes a name; `None` leaves the list as it is.
fn settle_list(scene: &mut Scene, list: &str, name: &str, wanted: Option<bool>) {
    let is_there = scene.list(list).iter().any(|known| known == name);
    if wanted.is_none_or(|wanted| wanted == is_there) {
        return;
    }
    let names = scene.json.entry(list).or_insert_with(|| json!([]));
    let Some(names) = names.as_array_mut() else {
        return;
    };
    match is_there {
        true => names.retain(|known| known != name),
        false => names.push(name.into()),
    }
}
