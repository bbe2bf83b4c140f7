//! Materials and textures of an FBX file.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::super::super::scene::{UvTransform, Wrap};
use super::super::scene_builder::SceneBuilder;
use super::texture::{FbxTextures, file_texture};
use super::unread::name_unread_textures;
use assetfs_formats::input_files::InputFiles;
use assetfs_formats::warnings::WarningKind;
use assetfs_render::linear_of_srgb;

/// The set of texture coordinates that the base colour, opacity, normal, emission, roughness and metalness textures of a
/// material read on some mesh; `None` where the mesh has no coordinates.
type SetsOfSlots = [Option<usize>; 6];

/// The materials that are in the scene already.
pub(super) struct FbxMaterials<'a> {
    made: HashMap<(u32, SetsOfSlots), usize>,
    pub(super) textures: FbxTextures<'a>,
}

impl<'a> FbxMaterials<'a> {
    pub(super) fn new(dir: &'a InputFiles, model: &'a Path, size_bytes: u64) -> FbxMaterials<'a> {
        FbxMaterials {
            made: HashMap::new(),
            textures: FbxTextures::new(dir, model, size_bytes),
        }
    }

    /// Returns the scene's material for a material of the file. `set_names` are the names of the mesh's sets of texture
    /// coordinates: FBX textures refer to a set by name, and each mesh has its own order of sets.
    pub(super) fn add(
        &mut self,
        found: &ufbx::Material,
        set_names: &[&str],
        builder: &mut SceneBuilder,
    ) -> usize {
        let maps = &found.pbr;
        let sets = [
            &maps.base_color,
            opacity_map(found),
            &maps.normal_map,
            &maps.emission_color,
            &maps.roughness,
            &maps.metalness,
        ]
        .map(|map| set_of(map, set_names));
        let key = (found.element.typed_id, sets);
        if let Some(made) = self.made.get(&key) {
            return *made;
        }
        let json = self.convert(found, sets, builder);
        let made = builder.add_material(json);
        self.made.insert(key, made);
        made
    }

    fn convert(
        &mut self,
        found: &ufbx::Material,
        sets: SetsOfSlots,
        builder: &mut SceneBuilder,
    ) -> Value {
        let [color, opacity, normal, emission, roughness, metalness] = sets;
        let maps = &found.pbr;
        let name: &str = &found.element.name;
        let mut texture = |map: &ufbx::MaterialMap, set: Option<usize>| -> Option<Value> {
            let texture = file_texture(map)?;
            let image = self.textures.image_of(texture, builder)?;
            placed(texture, image, set, name, builder)
        };
        let color_texture = match own_opacity(found) {
            Some(_) => None,
            None => texture(&maps.base_color, color),
        };
        let normal_texture = texture(&maps.normal_map, normal);
        let emission_texture = texture(&maps.emission_color, emission);
        let masked_texture = self.masked_texture(found, [color, opacity], builder);
        let is_cut_out = masked_texture.is_some()
            || color_texture.is_some() && same_file(opacity_map(found), &maps.base_color);
        let color_texture = masked_texture.or(color_texture);
        // In FBX a texture replaces the value; in glTF they are multiplied.
        let opacity = match is_cut_out {
            true => 1.0,
            false => opacity_of(found).clamp(0.0, 1.0),
        };
        let color = match color_texture.is_some() && file_texture(&maps.base_color).is_some() {
            true => [1.0; 3],
            false => linear_color(&maps.base_color, [0.8; 3]),
        };
        let mut pbr = json!({
            "baseColorFactor": [color[0], color[1], color[2], opacity],
            "metallicFactor": one(&maps.metalness, 0.0).clamp(0.0, 1.0),
            "roughnessFactor": one(&maps.roughness, 0.8).clamp(0.0, 1.0),
        });
        if let Some(texture) = color_texture {
            pbr["baseColorTexture"] = texture;
        }
        let sets = [roughness, metalness];
        if let Some((texture, read)) = self.surface_texture(found, sets, builder) {
            pbr["metallicRoughnessTexture"] = texture;
            // Here, too, the texture replaces the number.
            for (key, is_read) in ["roughnessFactor", "metallicFactor"].into_iter().zip(read) {
                if is_read {
                    pbr[key] = 1.0.into();
                }
            }
        }
        let mut json = json!({ "name": name, "pbrMetallicRoughness": pbr });
        if found.features.double_sided.enabled {
            json["doubleSided"] = true.into();
        }
        if opacity < 1.0 || is_cut_out {
            json["alphaMode"] = "BLEND".into();
        }
        if let Some(mut texture) = normal_texture {
            let scale = normal_scale_of(found);
            if scale != 1.0 {
                texture["scale"] = scale.into();
            }
            json["normalTexture"] = texture;
        }
        add_emission(found, emission_texture, &mut json);
        name_unread_textures(found, &read_maps(found), &mut builder.warnings);
        json
    }

    /// The use of the texture of roughness and metalness, and which of them it has.
    fn surface_texture(
        &mut self,
        found: &ufbx::Material,
        [roughness_set, metalness_set]: [Option<usize>; 2],
        builder: &mut SceneBuilder,
    ) -> Option<(Value, [bool; 2])> {
        let name: &str = &found.element.name;
        let maps = surface_maps(found)?;
        let (image, read) = self.textures.surface_of(maps, builder)?;
        let roughness = maps[0].map(|texture| (texture, roughness_set));
        let metalness = maps[1].map(|texture| (texture, metalness_set));
        let (texture, set) = roughness.filter(|_| read[0]).or(metalness)?;
        let texture = placed(texture, image, set, name, builder)?;
        if read == [true; 2] && roughness.map(place_of) != metalness.map(place_of) {
            builder.warn(WarningKind::NotRead, format!(
                "material \"{name}\": its metalness texture is placed as its roughness texture, although its own placement differs"
            ));
        }
        Some((texture, read))
    }

    /// The use of a texture of the colour whose alpha is a texture of opacity of its own; `None` if there is none.
    fn masked_texture(
        &mut self,
        found: &ufbx::Material,
        [color_set, opacity_set]: [Option<usize>; 2],
        builder: &mut SceneBuilder,
    ) -> Option<Value> {
        let name: &str = &found.element.name;
        let mask = own_opacity(found)?;
        let color = file_texture(&found.pbr.base_color);
        let (texture, set) = match color {
            Some(color) => (color, color_set),
            None => (mask, opacity_set),
        };
        if color.is_some() && place_of((texture, set)) != place_of((mask, opacity_set)) {
            builder.warn(WarningKind::NotRead, format!(
                "material \"{name}\": its texture of opacity is placed as that of its colour, although its own placement differs"
            ));
        }
        let textures = &mut self.textures;
        let image = textures.masked_image_of(color, mask, builder);
        let image = image.or_else(|| textures.image_of(color?, builder))?;
        placed(texture, image, set, name, builder)
    }
}

fn add_emission(found: &ufbx::Material, texture: Option<Value>, json: &mut Value) {
    let strength = one(&found.pbr.emission_factor, 1.0);
    let emitted = linear_color(&found.pbr.emission_color, [0.0; 3])
        .map(|part| (part * strength).clamp(0.0, 1.0));
    if let Some(texture) = texture {
        json["emissiveTexture"] = texture;
        json["emissiveFactor"] = json!([1.0, 1.0, 1.0]);
    } else if emitted != [0.0; 3] {
        json["emissiveFactor"] = json!(emitted);
    }
}

/// The slots whose textures are read.
fn read_maps(found: &ufbx::Material) -> Vec<&ufbx::MaterialMap> {
    let maps = &found.pbr;
    let mut read = vec![
        &maps.base_color,
        opacity_map(found),
        &maps.normal_map,
        &maps.emission_color,
    ];
    if surface_maps(found).is_some() {
        read.extend([&maps.roughness, &maps.metalness]);
    }
    read
}

/// The slot with the texture of opacity: the opacity slot, or the transparency slots of Phong materials, into which programs
/// write opacity in spite of their name.
fn opacity_map(found: &ufbx::Material) -> &ufbx::MaterialMap {
    let slots = [
        &found.pbr.opacity,
        &found.fbx.transparency_factor,
        &found.fbx.transparency_color,
    ];
    let with_texture = slots.into_iter().find(|map| file_texture(map).is_some());
    with_texture.unwrap_or(&found.pbr.opacity)
}

/// The texture of opacity, unless it is the colour texture, whose alpha is then the opacity.
fn own_opacity(found: &ufbx::Material) -> Option<&ufbx::Texture> {
    let map = opacity_map(found);
    file_texture(map).filter(|_| !same_file(map, &found.pbr.base_color))
}

/// The opacity of a material as a number. Phong materials have the transparency as a colour times a factor; some
/// programs write 1 for opaque ones.
fn opacity_of(found: &ufbx::Material) -> f32 {
    if found.pbr.opacity.has_value || !is_phong(found) {
        return one(&found.pbr.opacity, 1.0);
    }
    let color = three(&found.fbx.transparency_color, [0.0; 3]);
    let transparency = color.iter().sum::<f32>() / 3.0 * one(&found.fbx.transparency_factor, 1.0);
    match transparency < 1.0 {
        true => 1.0 - transparency,
        false => 1.0,
    }
}

fn is_phong(found: &ufbx::Material) -> bool {
    matches!(
        found.shader_type,
        ufbx::ShaderType::Unknown | ufbx::ShaderType::FbxLambert | ufbx::ShaderType::FbxPhong
    )
}

/// The textures of roughness and metalness; `None` if there is none.
///
/// A texture of the shininess of Phong materials is the inverse of a roughness, except in files of Blender, which writes
/// roughness under this name.
fn surface_maps(found: &ufbx::Material) -> Option<[Option<&ufbx::Texture>; 2]> {
    let maps = &found.pbr;
    if is_phong(found) || found.features.roughness_as_glossiness.enabled {
        return None;
    }
    let both = [&maps.roughness, &maps.metalness].map(file_texture);
    both.iter().any(Option::is_some).then_some(both)
}

/// The strength of a normal map. Other programs than these write the height of bumps under its name.
fn normal_scale_of(found: &ufbx::Material) -> f32 {
    match found.shader_type {
        ufbx::ShaderType::BlenderPhong | ufbx::ShaderType::GltfMaterial => {
            one(&found.fbx.bump_factor, 1.0)
        }
        _ => 1.0,
    }
}

/// The JSON of a material's use of a texture.
fn placed(
    texture: &ufbx::Texture,
    image: usize,
    set: Option<usize>,
    material: &str,
    builder: &mut SceneBuilder,
) -> Option<Value> {
    let Some(set) = set else {
        builder.warn(WarningKind::BadTexture, format!(
            "material \"{material}\": its textures are left out on meshes without texture coordinates"
        ));
        return None;
    };
    let (_, repeats, transform) = place_of((texture, Some(set)));
    let wraps = repeats.map(|repeats| match repeats {
        true => Wrap::Repeat,
        false => Wrap::ClampToEdge,
    });
    Some(builder.texture_use(image, set, wraps, transform))
}

/// Where a texture is on a mesh: its set of coordinates, whether it repeats, and its transform.
type FbxPlace = (Option<usize>, [bool; 2], UvTransform);

fn place_of((texture, set): (&ufbx::Texture, Option<usize>)) -> FbxPlace {
    let wraps = [texture.wrap_u, texture.wrap_v];
    let transform = match texture.has_uv_transform {
        true => transform_of(&texture.uv_to_texture),
        false => UvTransform::default(),
    };
    let repeats = wraps.map(|wrap| wrap == ufbx::WrapMode::Repeat);
    (set, repeats, transform)
}

/// The transform of glTF, whose v points down, for a matrix of coordinates whose v points up.
fn transform_of(matrix: &ufbx::Matrix) -> UvTransform {
    let numbers = [
        matrix.m00, matrix.m01, matrix.m10, matrix.m11, matrix.m03, matrix.m13,
    ];
    let [a, b, c, d, e, f] = numbers.map(|number| number as f32);
    let (rotation, scale_u) = (c.atan2(a), a.hypot(c));
    let (sin, cos) = rotation.sin_cos();
    let transform = UvTransform {
        offset: [b + e, 1.0 - d - f],
        rotation,
        scale: [scale_u, cos * d - sin * b],
    };
    let numbers = [transform.offset, transform.scale].concat();
    match numbers.iter().all(|number| number.is_finite()) {
        true => transform,
        false => UvTransform::default(),
    }
}

/// The set that a texture names, else the first, as the FBX SDK chooses.
fn set_of(map: &ufbx::MaterialMap, set_names: &[&str]) -> Option<usize> {
    let texture = file_texture(map)?;
    let wanted: &str = &texture.uv_set;
    let named = set_names.iter().position(|name| *name == wanted);
    named.or((!set_names.is_empty()).then_some(0))
}

fn one(map: &ufbx::MaterialMap, default: f32) -> f32 {
    if map.has_value {
        map.value_vec4.x as f32
    } else {
        default
    }
}

fn three(map: &ufbx::MaterialMap, default: [f32; 3]) -> [f32; 3] {
    let value = &map.value_vec4;
    match map.has_value {
        true => [value.x as f32, value.y as f32, value.z as f32],
        false => default,
    }
}

/// Whether both use the same texture, or textures of the same file.
fn same_file(a: &ufbx::MaterialMap, b: &ufbx::MaterialMap) -> bool {
    let (Some(a), Some(b)) = (file_texture(a), file_texture(b)) else {
        return false;
    };
    let name = |texture: &ufbx::Texture| texture.filename.to_string();
    a.element.typed_id == b.element.typed_id || !name(a).is_empty() && name(a) == name(b)
}

fn linear_color(map: &ufbx::MaterialMap, default: [f32; 3]) -> [f32; 3] {
    three(map, default).map(|part| linear_of_srgb(part.clamp(0.0, 1.0)))
}
