//! The materials of an OBJ in the scene, with the textures that they name.
//!
//! A missing texture is a warning and never refuses the model: old files often refer to paths of other machines.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::super::document::uri::InputFiles;
use super::super::channels::{self, ImageChannel};
use super::super::find_file as find;
use super::super::images::plain_image;
use super::super::scene_builder::SceneBuilder;
use super::mtl::{MtlEntry, base_color, linear, opacity, parse, roughness};

/// The materials of all libraries, and those that are already in the scene.
pub(super) struct Library<'a> {
    dir: &'a InputFiles,
    model: &'a Path,
    entries: HashMap<String, MtlEntry>,
    made: HashMap<String, usize>,
    textures: HashMap<PathBuf, Option<usize>>,
    /// Textures of roughness and metalness by the files that they are made of.
    surfaces: HashMap<(Option<PathBuf>, Option<PathBuf>), Option<usize>>,
    /// Bytes of the model and all files read for it.
    pub(super) size_bytes: u64,
}

impl<'a> Library<'a> {
    pub(super) fn new(dir: &'a InputFiles, model: &'a Path, size_bytes: u64) -> Library<'a> {
        Library {
            dir,
            model,
            entries: HashMap::new(),
            made: HashMap::new(),
            textures: HashMap::new(),
            surfaces: HashMap::new(),
            size_bytes,
        }
    }

    /// Reads the libraries of these names.
    pub(super) fn read(&mut self, names: &[String], warnings: &mut Vec<String>) {
        let mut seen = Vec::new();
        for name in names {
            let Some(path) = self.find_library(name) else {
                warnings.push(format!(
                    "the material file \"{name}\" is not among the uploaded files; its materials get default values"
                ));
                continue;
            };
            if seen.contains(&path) {
                continue;
            }
            match fs::read(&path) {
                Ok(bytes) => {
                    self.size_bytes += bytes.len() as u64;
                    let library = path.strip_prefix(self.dir).unwrap_or(&path).to_owned();
                    self.entries.extend(parse(&bytes, &library));
                }
                Err(error) => warnings.push(format!("{}: {error}", path.display())),
            }
            seen.push(path);
        }
    }

    /// Finds a library file: as written, by the last part of the path, or in the model's folder under the model's name.
    fn find_library(&self, name: &str) -> Option<PathBuf> {
        let model = self.model.file_name()?.to_string_lossy().into_owned();
        let stem = Path::new(&model)
            .file_stem()?
            .to_string_lossy()
            .into_owned();
        [
            name.to_owned(),
            format!("{model}.mtl"),
            format!("{stem}.mtl"),
        ]
        .iter()
        .find_map(|name| find(self.dir, self.model, name).ok())
    }

    /// The scene's material of this name; `None` when no library has it.
    pub(super) fn material(
        &mut self,
        name: &str,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Option<usize> {
        if let Some(made) = self.made.get(name) {
            return Some(*made);
        }
        let Some(entry) = self.entries.remove(name) else {
            if !self.entries.is_empty() {
                warnings.push(format!("no material file defines the material \"{name}\""));
            }
            let made = builder.add_material(json!({
                "name": name,
                "pbrMetallicRoughness": { "metallicFactor": 0.0, "roughnessFactor": 0.9 },
            }));
            self.made.insert(name.to_owned(), made);
            return Some(made);
        };
        let material = self.convert(name, &entry, builder, warnings);
        let made = builder.add_material(material);
        self.made.insert(name.to_owned(), made);
        Some(made)
    }

    fn convert(
        &mut self,
        name: &str,
        entry: &MtlEntry,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Value {
        let color_map = self.texture(entry, "map_kd", builder, warnings);
        let mut pbr = json!({
            "baseColorFactor": base_color(entry, color_map.is_some()),
            "metallicFactor": entry.one("pm").unwrap_or(0.0).clamp(0.0, 1.0),
            "roughnessFactor": roughness(entry),
        });
        if let Some(texture) = color_map {
            pbr["baseColorTexture"] = json!({ "index": texture });
        }
        if let Some(texture) = self.surface_map(entry, builder, warnings) {
            pbr["metallicRoughnessTexture"] = json!({ "index": texture });
            // Next to an image, a factor of zero or a missing factor means that only the image counts.
            for (map, factor) in [("map_pr", "roughnessFactor"), ("map_pm", "metallicFactor")] {
                let own = entry.one(&map[4..]).filter(|factor| *factor > 0.0);
                if entry.maps.contains_key(map) {
                    pbr[factor] = own.unwrap_or(1.0).clamp(0.0, 1.0).into();
                }
            }
        }
        let mut material = json!({ "name": name, "pbrMetallicRoughness": pbr });
        let opacity = opacity(entry);
        let cut_out = entry
            .maps
            .get("map_d")
            .is_some_and(|map| entry.maps.get("map_kd") == Some(map));
        if opacity < 1.0 || cut_out {
            material["alphaMode"] = "BLEND".into();
        }
        let emitted = entry.three("ke").map(linear);
        if let Some(texture) = self.texture(entry, "map_ke", builder, warnings) {
            material["emissiveTexture"] = json!({ "index": texture });
            material["emissiveFactor"] = json!(emitted.unwrap_or([1.0; 3]));
        } else if let Some(emitted) = emitted.filter(|emitted| *emitted != [0.0; 3]) {
            material["emissiveFactor"] = json!(emitted);
        }
        if let Some(texture) = self.normal_map(entry, builder, warnings) {
            material["normalTexture"] = json!({ "index": texture });
        }
        for key in ["map_ks", "map_ns", "disp", "decal"] {
            if entry.maps.contains_key(key) {
                warnings.push(format!("material \"{name}\": {key} is not read"));
            }
        }
        if entry.maps.contains_key("map_d") && !cut_out {
            warnings.push(format!(
                "material \"{name}\": map_d is read only where it names the same image as map_Kd"
            ));
        }
        material
    }

    /// The images of roughness and metalness as one texture.
    fn surface_map(
        &mut self,
        entry: &MtlEntry,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Option<usize> {
        let paths = ["map_pr", "map_pm"].map(|key| self.file_of(entry, key, warnings));
        let known = paths.iter().flatten().next()?;
        let name = super::super::file_name(known);
        let key = (paths[0].clone(), paths[1].clone());
        if let Some(made) = self.surfaces.get(&key) {
            return *made;
        }
        let mut read = |path: &Option<PathBuf>| -> Result<Option<Vec<u8>>, String> {
            let Some(path) = path else { return Ok(None) };
            let bytes = fs::read(path).map_err(|error| error.to_string())?;
            self.size_bytes += bytes.len() as u64;
            Ok(Some(bytes))
        };
        let both = read(&paths[0]).and_then(|rough| {
            let metal = read(&paths[1])?;
            channels::combined(
                [
                    None,
                    rough.as_deref().map(|bytes| (bytes, ImageChannel::Luma)),
                    metal.as_deref().map(|bytes| (bytes, ImageChannel::Luma)),
                ],
                None,
            )
        });
        let texture = match both {
            Ok(bytes) => {
                let stem = Path::new(&name).with_extension("png");
                let image = builder.add_image(&stem.to_string_lossy(), "image/png", bytes);
                Some(builder.add_texture(image))
            }
            Err(error) => {
                warnings.push(format!(
                    "the texture \"{name}\" cannot be read ({error}); it is left out"
                ));
                None
            }
        };
        self.surfaces.insert(key, texture);
        texture
    }

    /// `norm`, or a bump map whose name says that it holds normals; heights are not read.
    fn normal_map(
        &mut self,
        entry: &MtlEntry,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Option<usize> {
        if entry.maps.contains_key("norm") {
            return self.texture(entry, "norm", builder, warnings);
        }
        let key = ["map_bump", "bump"]
            .into_iter()
            .find(|key| entry.maps.contains_key(*key))?;
        let name = entry.maps[key].to_lowercase();
        let says_normal = ["norm", "nrm", "_n."]
            .iter()
            .any(|part| name.contains(part));
        if says_normal {
            return self.texture(entry, key, builder, warnings);
        }
        warnings.push(format!("{name}: bump maps of heights are not read"));
        None
    }

    /// The file of a map, if it was uploaded.
    fn file_of(&self, entry: &MtlEntry, key: &str, warnings: &mut Vec<String>) -> Option<PathBuf> {
        let name = entry.maps.get(key)?;
        match find(self.dir, &entry.library, name) {
            Ok(path) => Some(path),
            Err(why) => {
                warnings.push(format!("the texture \"{name}\" is left out: {why}"));
                None
            }
        }
    }

    fn texture(
        &mut self,
        entry: &MtlEntry,
        key: &str,
        builder: &mut SceneBuilder,
        warnings: &mut Vec<String>,
    ) -> Option<usize> {
        let name = entry.maps.get(key)?;
        let path = self.file_of(entry, key, warnings)?;
        if let Some(known) = self.textures.get(&path) {
            return *known;
        }
        let texture = match fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| {
                self.size_bytes += bytes.len() as u64;
                plain_image(bytes, &path)
            }) {
            Ok((bytes, media_type)) => {
                let file = super::super::file_name(&path);
                let image = builder.add_image(&file, &media_type, bytes);
                Some(builder.add_texture(image))
            }
            Err(error) => {
                warnings.push(format!(
                    "the texture \"{name}\" cannot be read ({error}); it is left out"
                ));
                None
            }
        };
        self.textures.insert(path, texture);
        texture
    }
}
