//! Materials and textures of an FBX file.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::super::srgb::linear_of_srgb;
use super::super::find_file;
use super::super::images::plain_image;
use super::super::scene_builder::SceneBuilder;

/// The set of texture coordinates that the base colour, normal and emission textures of a material read on some mesh;
/// `None` where the mesh has no coordinates.
type CoordinateSets = [Option<usize>; 3];

/// The materials and textures that are in the scene already.
pub(super) struct FbxMaterials<'a> {
    dir: &'a Path,
    model: &'a Path,
    made: HashMap<(u32, CoordinateSets), usize>,
    textures: HashMap<u32, Option<usize>>,
    /// Bytes of the model and all files read for it.
    pub(super) size_bytes: u64,
}

impl<'a> FbxMaterials<'a> {
    pub(super) fn new(dir: &'a Path, model: &'a Path, size_bytes: u64) -> FbxMaterials<'a> {
        FbxMaterials {
            dir,
            model,
            made: HashMap::new(),
            textures: HashMap::new(),
            size_bytes,
        }
    }

    /// Returns the scene's material for a material of the file. `set_names` are the names of the mesh's sets of texture
    /// coordinates: FBX textures refer to a set by name, and each mesh has its own order of sets.
    pub(super) fn add(
        &mut self,
        found: &ufbx::Material,
        set_names: &[&str],
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> usize {
        let maps = &found.pbr;
        let sets = [&maps.base_color, &maps.normal_map, &maps.emission_color]
            .map(|map| set_of(map, set_names));
        let key = (found.element.typed_id, sets);
        if let Some(made) = self.made.get(&key) {
            return *made;
        }
        let json = self.convert(found, sets, builder, warnings);
        let made = builder.add_material(json);
        self.made.insert(key, made);
        made
    }

    fn convert(
        &mut self,
        found: &ufbx::Material,
        [color_set, normal_set, emission_set]: CoordinateSets,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Value {
        let maps = &found.pbr;
        let name: &str = &found.element.name;
        let mut texture = |map: &ufbx::MaterialMap, set: Option<usize>| -> Option<Value> {
            let index = self.texture(map, builder, warnings)?;
            let Some(set) = set else {
                warnings.push(format!(
                    "material \"{name}\": its textures are left out on meshes without texture coordinates"
                ));
                return None;
            };
            Some(match set {
                0 => json!({ "index": index }),
                set => json!({ "index": index, "texCoord": set }),
            })
        };
        let color_texture = texture(&maps.base_color, color_set);
        let normal_texture = texture(&maps.normal_map, normal_set);
        let emission_texture = texture(&maps.emission_color, emission_set);
        let has_color_texture = color_texture.is_some();
        let opacity = one(&maps.opacity, 1.0).clamp(0.0, 1.0);
        let color = match color_texture {
            // In FBX a texture replaces the colour; in glTF they are multiplied.
            Some(_) => [1.0; 3],
            None => linear_color(&maps.base_color, [0.8; 3]),
        };
        let mut pbr = json!({
            "baseColorFactor": [color[0], color[1], color[2], opacity],
            "metallicFactor": one(&maps.metalness, 0.0).clamp(0.0, 1.0),
            "roughnessFactor": one(&maps.roughness, 0.8).clamp(0.0, 1.0),
        });
        if let Some(texture) = color_texture {
            pbr["baseColorTexture"] = texture;
        }
        let mut json = json!({ "name": name, "pbrMetallicRoughness": pbr });
        let is_cut_out = has_color_texture && same_file(&maps.opacity, &maps.base_color);
        if opacity < 1.0 || is_cut_out {
            json["alphaMode"] = "BLEND".into();
        }
        if let Some(texture) = normal_texture {
            json["normalTexture"] = texture;
        }
        let strength = one(&maps.emission_factor, 1.0);
        let emitted = linear_color(&maps.emission_color, [0.0; 3])
            .map(|part| (part * strength).clamp(0.0, 1.0));
        if let Some(texture) = emission_texture {
            json["emissiveTexture"] = texture;
            json["emissiveFactor"] = json!([1.0, 1.0, 1.0]);
        } else if emitted != [0.0; 3] {
            json["emissiveFactor"] = json!(emitted);
        }
        warn_of_unread_textures(found, warnings);
        json
    }

    fn texture(
        &mut self,
        map: &ufbx::MaterialMap,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Option<usize> {
        let texture = file_texture(map)?;
        let id = texture.element.typed_id;
        if let Some(known) = self.textures.get(&id) {
            return *known;
        }
        let made = match self.read(texture) {
            Ok((name, media_type, bytes)) => {
                let image = builder.add_image(&name, &media_type, bytes);
                Some(builder.add_texture(image))
            }
            Err(why) => {
                let name: &str = &texture.relative_filename;
                warnings.push(format!("the texture \"{name}\" is left out: {why}"));
                None
            }
        };
        self.textures.insert(id, made);
        made
    }

    /// Reads the embedded bytes, else the file that one of the texture's names leads to.
    fn read(&mut self, texture: &ufbx::Texture) -> Result<(String, String, Bytes), String> {
        let names: [&str; 3] = [
            &texture.relative_filename,
            &texture.filename,
            &texture.absolute_filename,
        ];
        let name = names
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or("texture");
        let last = name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned();
        let content: &[u8] = &texture.content;
        if !content.is_empty() {
            let (bytes, media_type) = plain_image(content.to_vec(), Path::new(&last))?;
            return Ok((last, media_type, bytes));
        }
        let path = names
            .into_iter()
            .filter(|name| !name.is_empty())
            .find_map(|name| find_file(self.dir, self.model, name))
            .ok_or("it is not among the uploaded files")?;
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        self.size_bytes += bytes.len() as u64;
        let (bytes, media_type) = plain_image(bytes, &path)?;
        Ok((last, media_type, bytes))
    }
}

/// The set that a texture names, else the first, as the FBX SDK chooses.
fn set_of(map: &ufbx::MaterialMap, set_names: &[&str]) -> Option<usize> {
    let texture = file_texture(map)?;
    let wanted: &str = &texture.uv_set;
    let named = set_names.iter().position(|name| *name == wanted);
    named.or((!set_names.is_empty()).then_some(0))
}

/// The file texture of a map; of several layers the first.
fn file_texture(map: &ufbx::MaterialMap) -> Option<&ufbx::Texture> {
    let texture = map.texture.as_ref().filter(|_| map.texture_enabled)?;
    Some(texture.file_textures.first().unwrap_or(texture))
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

/// Whether both use the same texture.
fn same_file(a: &ufbx::MaterialMap, b: &ufbx::MaterialMap) -> bool {
    match (&a.texture, &b.texture) {
        (Some(a), Some(b)) => a.element.typed_id == b.element.typed_id,
        _ => false,
    }
}

fn linear_color(map: &ufbx::MaterialMap, default: [f32; 3]) -> [f32; 3] {
    three(map, default).map(|part| linear_of_srgb(part.clamp(0.0, 1.0)))
}

fn warn_of_unread_textures(found: &ufbx::Material, warnings: &mut Vec<String>) {
    let maps = &found.pbr;
    let name: &str = &found.element.name;
    for (map, what) in [
        (&maps.roughness, "roughness"),
        (&maps.metalness, "metalness"),
        (&maps.ambient_occlusion, "occlusion"),
        (&maps.displacement_map, "displacement"),
    ] {
        if map.texture.is_some() {
            warnings.push(format!(
                "material \"{name}\": its {what} texture is not read"
            ));
        }
    }
}
