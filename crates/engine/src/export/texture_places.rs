//! Applies texture transforms to texture coordinates, for formats that have no such transforms.
//!
//! Each place that a texture of a material has on a mesh, which is a set of coordinates and a transform of it, becomes a
//! set of its own. Files of gltfpack need this: their coordinates are integers that only the transform brings to scale.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::super::scene::{Attribute, Geometry, Material, Scene, TextureUse, UvTransform};

/// How many sets of texture coordinates a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoordinateSets {
    /// One set, for all textures of a material.
    One,
    Many,
}

/// The set of coordinates that a texture reads, and its transform.
type TexturePlace = (usize, UvTransform);

/// The scene with materials that read their textures without transforms.
///
/// With [`CoordinateSets::One`] the first set is the one of the base colour's texture, or else of another texture. Sets
/// that no texture reads follow the others unchanged. A mesh without the set that a texture reads gets zeros, as the
/// coordinates of such a mesh are undefined. Textures of extensions keep their transforms.
pub(super) fn with_transforms_applied(scene: &Scene, sets: CoordinateSets) -> Cow<'_, Scene> {
    let places: Vec<Option<Vec<TexturePlace>>> = (0..scene.list("materials").len())
        .map(|index| new_places(&scene.material(Some(index)), sets))
        .collect();
    if places.iter().all(Option::is_none) {
        return Cow::Borrowed(scene);
    }
    let mut applied = scene.clone();
    move_coordinates(&mut applied, &places);
    let materials = applied.json.get_mut("materials");
    let materials = materials
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for (index, (material, places)) in materials.zip(&places).enumerate() {
        if let Some(places) = places {
            point_to_sets(material, &scene.material(Some(index)), places);
        }
    }
    Cow::Owned(applied)
}

/// The places that become the first sets of a material's meshes; `None` if the meshes can stay as they are.
fn new_places(material: &Material, sets: CoordinateSets) -> Option<Vec<TexturePlace>> {
    let mut places: Vec<TexturePlace> = Vec::new();
    for texture in material.textures() {
        if !places.contains(&place_of(texture)) {
            places.push(place_of(texture));
        }
    }
    let is_moved = places
        .iter()
        .any(|(_, transform)| *transform != UvTransform::default());
    let is_second = places.first().is_some_and(|(set, _)| *set != 0);
    (is_moved || is_second && sets == CoordinateSets::One).then_some(places)
}

fn place_of(texture: &TextureUse) -> TexturePlace {
    (texture.tex_coord, texture.transform)
}

/// Gives each primitive a geometry with the sets of its material. Primitives with equal sets keep sharing one.
fn move_coordinates(scene: &mut Scene, places: &[Option<Vec<TexturePlace>>]) {
    let sources = std::mem::take(&mut scene.geometries);
    let groups = groups_of_equal(places);
    let mut made: HashMap<(usize, Option<usize>), usize> = HashMap::new();
    for primitive in scene
        .meshes
        .iter_mut()
        .flat_map(|mesh| &mut mesh.primitives)
    {
        let material = primitive.material.filter(|index| *index < places.len());
        let own = material.and_then(|index| places[index].as_ref());
        let key = material.and_then(|index| groups[index]);
        let geometries = &mut scene.geometries;
        primitive.geometry = *made.entry((primitive.geometry, key)).or_insert_with(|| {
            let source = &sources[primitive.geometry];
            geometries.push(own.map_or_else(|| source.clone(), |own| moved(source, own)));
            geometries.len() - 1
        });
    }
}

/// The group of each material that has places. Materials with equal places are in one group.
fn groups_of_equal(places: &[Option<Vec<TexturePlace>>]) -> Vec<Option<usize>> {
    let bits = |(set, transform): &TexturePlace| {
        let ([u, v], [width, height]) = (transform.offset, transform.scale);
        let numbers = [u, v, width, height, transform.rotation];
        (*set, numbers.map(f32::to_bits))
    };
    let mut known: HashMap<Vec<(usize, [u32; 5])>, usize> = HashMap::new();
    let mut group = |own: &Vec<TexturePlace>| {
        let next = known.len();
        *known.entry(own.iter().map(bits).collect()).or_insert(next)
    };
    places
        .iter()
        .map(|own| own.as_ref().map(&mut group))
        .collect()
}

fn moved(source: &Geometry, places: &[TexturePlace]) -> Geometry {
    let count = source.vertex_count();
    let in_places = places.iter().map(|(set, transform)| {
        let coordinates = source.attribute(&set_name(*set));
        coordinates.map_or_else(
            || vec![0.0; count * 2],
            |found| {
                let pairs = found.values.chunks_exact(2);
                pairs
                    .flat_map(|uv| transform.apply([uv[0], uv[1]]))
                    .collect()
            },
        )
    });
    let unread = (0..)
        .map_while(|set| Some((set, source.attribute(&set_name(set))?)))
        .filter(|(set, _)| places.iter().all(|(read, _)| read != set))
        .map(|(_, attribute)| attribute.values.clone());
    let sets: Vec<Vec<f32>> = in_places.chain(unread).collect();
    let mut geometry = source.clone();
    geometry
        .attributes
        .retain(|attribute| !attribute.name.starts_with("TEXCOORD_"));
    let named = sets.into_iter().enumerate();
    geometry
        .attributes
        .extend(named.map(|(set, values)| Attribute::new(&set_name(set), 2, values)));
    geometry
}

fn set_name(set: usize) -> String {
    format!("TEXCOORD_{set}")
}

/// Lets the textures of a material read the sets that stand for their places.
fn point_to_sets(json: &mut Value, material: &Material, places: &[TexturePlace]) {
    let slots = [
        (&material.base_color_texture, Material::color_pointer(json)),
        (
            &material.metallic_roughness_texture,
            "/pbrMetallicRoughness/metallicRoughnessTexture",
        ),
        (&material.normal_texture, "/normalTexture"),
        (&material.occlusion_texture, "/occlusionTexture"),
        (&material.emissive_texture, "/emissiveTexture"),
    ];
    for (texture, pointer) in slots {
        let set = texture
            .as_ref()
            .and_then(|texture| places.iter().position(|place| *place == place_of(texture)));
        let slot = json.pointer_mut(pointer).and_then(Value::as_object_mut);
        let (Some(set), Some(slot)) = (set, slot) else {
            continue;
        };
        slot.insert("texCoord".to_owned(), set.into());
        if let Some(extensions) = slot.get_mut("extensions").and_then(Value::as_object_mut) {
            extensions.shift_remove("KHR_texture_transform");
        }
    }
}
