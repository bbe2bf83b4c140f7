//! Statistics of a model: the counts in reports, and the content of `rpd_info.json`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::scene::{Mode, Scene};
use super::super::textures::{channels, dimensions, name_of, usages};

/// The size of a model in common measures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCounts {
    /// Triangles drawn: a mesh used by two nodes counts twice, as a viewer counts it.
    pub triangles: u64,
    /// Vertices stored.
    pub vertices: u64,
    pub meshes: u64,
    pub materials: u64,
    pub textures: u64,
    /// The longest side of any image in pixels; 0 without images.
    pub largest_texture: u32,
    /// Bytes of the model's own files.
    pub bytes: u64,
}

/// The main statistics. `bytes` is the size of the model's own files.
pub fn counts(scene: &Scene, bytes: u64) -> ModelCounts {
    ModelCounts {
        triangles: scene.drawn_triangles(),
        vertices: scene
            .geometries
            .iter()
            .map(|geometry| geometry.vertex_count() as u64)
            .sum(),
        meshes: scene.meshes.len() as u64,
        materials: scene.list("materials").len() as u64,
        textures: shown_images(scene).count() as u64,
        largest_texture: shown_images(scene)
            .filter_map(|(_, image)| dimensions(&image.bytes))
            .map(|(width, height)| width.max(height))
            .max()
            .unwrap_or(0),
        bytes,
    }
}

fn shown_images(scene: &Scene) -> impl Iterator<Item = (usize, &super::super::scene::Image)> {
    scene
        .images
        .iter()
        .enumerate()
        .filter(|(_, image)| !image.bytes.is_empty())
}

/// The content of `rpd_info.json`.
pub fn rpd_info(scene: &Scene, name: &str, format: &str, bytes: u64) -> Value {
    let bounds = scene.bounds().map(|bounds| scene.in_world(bounds));
    json!({
        "file": { "name": name, "format": format, "byteSize": bytes },
        "generator": scene.json.get("asset").and_then(|asset| asset.get("generator")),
        "geometry": geometry(scene),
        "boundingBox": bounds.map(|(low, high)| json!({
            "min": low.to_array(),
            "max": high.to_array(),
            "size": (high - low).to_array(),
        })),
        "materials": materials(scene),
        "textures": textures(scene),
        "animations": animations(scene),
        "skins": skins(scene),
        "extensions": scene.list("extensionsUsed"),
    })
}

fn geometry(scene: &Scene) -> Value {
    let stored = |mode: fn(Mode) -> bool| {
        scene
            .geometries
            .iter()
            .filter(|geometry| mode(geometry.mode))
            .count()
    };
    let triangles: usize = scene
        .geometries
        .iter()
        .map(|geometry| geometry.triangle_count())
        .sum();
    let vertices: usize = scene
        .geometries
        .iter()
        .map(|geometry| geometry.vertex_count())
        .sum();
    let targets: usize = scene
        .meshes
        .iter()
        .map(|mesh| {
            mesh.primitives
                .iter()
                .map(|primitive| scene.geometries[primitive.geometry].targets.len())
                .max()
                .unwrap_or(0)
        })
        .sum();
    let mut attributes: Map<String, Value> = Map::new();
    for attribute in scene
        .geometries
        .iter()
        .flat_map(|geometry| &geometry.attributes)
    {
        let count = attributes.entry(attribute.name.clone()).or_insert(0.into());
        *count = (count.as_u64().unwrap_or(0) + 1).into();
    }
    json!({
        "triangles": scene.drawn_triangles(),
        "storedTriangles": triangles,
        "vertices": vertices,
        "meshes": scene.meshes.len(),
        "primitives": scene.meshes.iter().map(|mesh| mesh.primitives.len()).sum::<usize>(),
        "pointPrimitives": stored(|mode| mode == Mode::Points),
        "linePrimitives": stored(|mode| !matches!(mode, Mode::Points | Mode::Triangles)),
        "nodes": scene.list("nodes").len(),
        "scenes": scene.list("scenes").len(),
        "cameras": scene.list("cameras").len(),
        "morphTargets": targets,
        "attributes": attributes,
    })
}

fn materials(scene: &Scene) -> Vec<Value> {
    (0..scene.list("materials").len())
        .map(|index| {
            let material = scene.material(Some(index));
            let json = &scene.list("materials")[index];
            let extensions: Vec<&String> = json["extensions"]
                .as_object()
                .map(|extensions| extensions.keys().collect())
                .unwrap_or_default();
            json!({
                "name": material.name,
                "baseColor": material.base_color,
                "metallic": material.metallic,
                "roughness": material.roughness,
                "alphaMode": json["alphaMode"].as_str().unwrap_or("OPAQUE"),
                "doubleSided": material.double_sided,
                "extensions": extensions,
            })
        })
        .collect()
}

fn textures(scene: &Scene) -> Vec<Value> {
    let usages = usages(scene);
    shown_images(scene)
        .map(|(index, image)| {
            let size = dimensions(&image.bytes);
            json!({
                "name": name_of(index, image),
                "slot": usages[index].slot_name(),
                "slots": usages[index].slots.iter().map(|slot| slot.name()).collect::<Vec<_>>(),
                "width": size.map(|(width, _)| width),
                "height": size.map(|(_, height)| height),
                "channels": channels(&image.bytes),
                "mimetype": image.media_type,
                "compressedByteSize": image.bytes.len(),
            })
        })
        .collect()
}

fn animations(scene: &Scene) -> Vec<Value> {
    scene
        .list("animations")
        .iter()
        .map(|animation| {
            let seconds = animation["samplers"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|sampler| scene.tables.get(sampler["input"].as_u64()? as usize))
                .filter_map(|times| times.values.last().copied())
                .fold(0.0, f32::max);
            json!({
                "name": animation["name"],
                "channels": animation["channels"].as_array().map_or(0, Vec::len),
                "seconds": seconds,
            })
        })
        .collect()
}

fn skins(scene: &Scene) -> Vec<Value> {
    scene
        .list("skins")
        .iter()
        .map(|skin| {
            json!({
                "name": skin["name"],
                "joints": skin["joints"].as_array().map_or(0, Vec::len),
            })
        })
        .collect()
}
