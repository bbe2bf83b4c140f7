//! The materials of an OBJ in the scene, with the textures that they name.
//!
//! A missing texture is a warning and never refuses the model: old files often refer to paths of other machines.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::channels::{self, ImageChannel};
use super::super::file_names::find_file as find;
use super::super::scene_builder::SceneBuilder;
use super::images::{ChannelFile, MtlImages, texture_json};
use super::map_options::MapUse;
use super::mtl::{MtlEntry, MtlFile, base_color, linear, opacity, parse, roughness};
use assetfs_formats::input_files::InputFiles;
use assetfs_formats::warnings::WarningKind;

/// Maps that are read.
const READ_MAPS: &[&str] = &[
    "map_kd", "map_d", "map_ke", "map_pr", "map_pm", "norm", "map_bump", "bump",
];

/// The materials of all libraries, and those that are already in the scene.
pub(super) struct Library<'a> {
    dir: &'a InputFiles,
    model: &'a Path,
    entries: HashMap<String, MtlEntry>,
    made: HashMap<String, usize>,
    pub(super) images: MtlImages<'a>,
}

impl<'a> Library<'a> {
    pub(super) fn new(dir: &'a InputFiles, model: &'a Path, size_bytes: u64) -> Library<'a> {
        Library {
            dir,
            model,
            entries: HashMap::new(),
            made: HashMap::new(),
            images: MtlImages::new(dir, size_bytes),
        }
    }

    /// Reads the libraries of these names.
    pub(super) fn read(&mut self, names: &[String], builder: &mut SceneBuilder) {
        let mut seen = Vec::new();
        for name in names {
            let Some(path) = self.find_library(name) else {
                builder.warn(WarningKind::MissingFile, format!(
                    "the material file \"{name}\" is not among the uploaded files; its materials get default values"
                ));
                continue;
            };
            if seen.contains(&path) {
                continue;
            }
            match fs::read(&path) {
                Ok(bytes) => {
                    self.images.size_bytes += bytes.len() as u64;
                    let library = path.strip_prefix(self.dir).unwrap_or(&path).to_owned();
                    self.add(parse(&bytes, &library), &library, builder);
                }
                Err(error) => {
                    builder.warn(WarningKind::Damaged, format!("{}: {error}", path.display()))
                }
            }
            seen.push(path);
        }
    }

    /// Adds the materials of a library. Libraries are searched in the order of their names, so the first one counts.
    fn add(&mut self, file: MtlFile, library: &Path, builder: &mut SceneBuilder) {
        let name = library.display();
        if !file.unread.is_empty() {
            let unread: Vec<String> = file.unread.into_iter().collect();
            builder.warn(
                WarningKind::NotRead,
                format!(
                    "{name}: these statements are not read: {}",
                    unread.join(", ")
                ),
            );
        }
        let mut own = HashMap::new();
        for (material, entry) in file.materials {
            if own.insert(material.clone(), entry).is_some() {
                builder.warn(WarningKind::Damaged, format!(
                    "{name}: the material \"{material}\" is defined twice; the last definition counts"
                ));
            }
        }
        for (material, entry) in own {
            self.entries.entry(material).or_insert(entry);
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
    pub(super) fn material(&mut self, name: &str, builder: &mut SceneBuilder) -> Option<usize> {
        if let Some(made) = self.made.get(name) {
            return Some(*made);
        }
        let Some(entry) = self.entries.remove(name) else {
            if !self.entries.is_empty() {
                builder.warn(
                    WarningKind::Damaged,
                    format!("no material file defines the material \"{name}\""),
                );
            }
            let made = builder.add_material(json!({
                "name": name,
                "pbrMetallicRoughness": { "metallicFactor": 0.0, "roughnessFactor": 0.9 },
            }));
            self.made.insert(name.to_owned(), made);
            return Some(made);
        };
        let material = self.convert(name, &entry, builder);
        let made = builder.add_material(material);
        self.made.insert(name.to_owned(), made);
        Some(made)
    }

    fn convert(&mut self, name: &str, entry: &MtlEntry, builder: &mut SceneBuilder) -> Value {
        let color_map = self.color_map(name, entry, builder);
        let mut pbr = json!({
            "baseColorFactor": base_color(entry, color_map.is_some()),
            "metallicFactor": entry.one("pm").unwrap_or(0.0).clamp(0.0, 1.0),
            "roughnessFactor": roughness(entry),
        });
        let has_cut_outs = color_map.as_ref().is_some_and(|(_, has_alpha)| *has_alpha);
        if let Some((texture, _)) = color_map {
            pbr["baseColorTexture"] = texture;
        }
        if let Some(texture) = self.surface_map(name, entry, builder) {
            pbr["metallicRoughnessTexture"] = texture;
            // Next to an image, a factor of zero or a missing factor means that only the image counts.
            for (map, factor) in [("map_pr", "roughnessFactor"), ("map_pm", "metallicFactor")] {
                let own = entry.one(&map[4..]).filter(|factor| *factor > 0.0);
                if entry.maps.contains_key(map) {
                    pbr[factor] = own.unwrap_or(1.0).clamp(0.0, 1.0).into();
                }
            }
        }
        let mut material = json!({ "name": name, "pbrMetallicRoughness": pbr });
        if opacity(entry) < 1.0 || has_cut_outs {
            material["alphaMode"] = "BLEND".into();
        }
        let emitted = entry.three("ke").map(linear);
        if let Some(texture) = self.images.texture(entry, "map_ke", builder) {
            material["emissiveTexture"] = texture;
            material["emissiveFactor"] = json!(emitted.unwrap_or([1.0; 3]));
        } else if let Some(emitted) = emitted.filter(|emitted| *emitted != [0.0; 3]) {
            material["emissiveFactor"] = json!(emitted);
        }
        if let Some(texture) = self.normal_map(name, entry, builder) {
            material["normalTexture"] = texture;
        }
        name_unread_maps(name, entry, builder);
        material
    }

    /// The texture of the base colour, and whether it has the alpha of `map_d`.
    fn color_map(
        &mut self,
        name: &str,
        entry: &MtlEntry,
        builder: &mut SceneBuilder,
    ) -> Option<(Value, bool)> {
        let (color, mask) = (entry.maps.get("map_kd"), entry.maps.get("map_d"));
        let Some(mask) = mask else {
            let texture = self.images.texture(entry, "map_kd", builder);
            return texture.map(|texture| (texture, false));
        };
        let is_placed_as_color = color.is_none_or(|color| color.place() == mask.place());
        if !is_placed_as_color {
            builder.warn(WarningKind::NotRead, format!(
                "material \"{name}\": map_d is left out, because its placement differs from that of map_Kd"
            ));
            let texture = self.images.texture(entry, "map_kd", builder);
            return texture.map(|texture| (texture, false));
        }
        let is_same = color.is_some_and(|color| color.file == mask.file);
        let of_mask = if is_same && mask.channel().is_none() {
            None
        } else {
            self.images.file_of(entry, "map_d", builder)
        };
        let Some(of_mask) = of_mask else {
            let texture = self.images.texture(entry, "map_kd", builder);
            return texture.map(|texture| (texture, is_same));
        };
        let of_color = color.and_then(|_| self.images.file_of(entry, "map_kd", builder));
        let files = vec![(of_color, None), (Some(of_mask), mask.channel())];
        let image = self.images.combine(files, builder, |files, read| {
            let [color, mask] = read else {
                return Err("it has no mask".to_owned());
            };
            let channel = match files[1].1 {
                Some(channel) => channel,
                None => channels::mask_channel(mask.as_deref().unwrap_or_default())?,
            };
            let color = |channel| color.as_deref().map(|bytes| (bytes, channel));
            channels::combined(
                [ImageChannel::Red, ImageChannel::Green, ImageChannel::Blue].map(color),
                mask.as_deref().map(|bytes| (bytes, channel)),
            )
        })?;
        Some((texture_json(image, mask.place(), builder), true))
    }

    /// The images of roughness and metalness as one texture.
    fn surface_map(
        &mut self,
        name: &str,
        entry: &MtlEntry,
        builder: &mut SceneBuilder,
    ) -> Option<Value> {
        let maps = ["map_pr", "map_pm"];
        let uses: Vec<_> = maps.iter().filter_map(|key| entry.maps.get(*key)).collect();
        let place = uses.first()?.place();
        if uses.iter().any(|own| own.place() != place) {
            builder.warn(
                WarningKind::NotRead,
                format!(
                    "material \"{name}\": map_Pm is placed as map_Pr, although its options differ"
                ),
            );
        }
        let files: Vec<ChannelFile> = maps
            .iter()
            .map(|key| {
                let channel = entry.maps.get(*key).and_then(|own| own.channel());
                let channel = channel.unwrap_or(ImageChannel::Luma);
                (self.images.file_of(entry, key, builder), Some(channel))
            })
            .collect();
        let image = self.images.combine(files, builder, |files, read| {
            let source = |at: usize| Some((read[at].as_deref()?, files[at].1?));
            channels::combined([None, source(0), source(1)], None)
        })?;
        Some(texture_json(image, place, builder))
    }

    /// `norm`, or a bump map whose name says that it holds normals; heights are not read.
    fn normal_map(
        &mut self,
        material: &str,
        entry: &MtlEntry,
        builder: &mut SceneBuilder,
    ) -> Option<Value> {
        let says_normal = |file: &str| {
            let name = file.to_lowercase();
            ["norm", "nrm", "_n."]
                .iter()
                .any(|part| name.contains(part))
        };
        let given = ["norm", "map_bump", "bump"].map(|key| (key, entry.maps.get(key)));
        let mut read: Option<(&str, &MapUse)> = None;
        for (key, map) in given {
            let Some(map) = map else { continue };
            match read {
                Some((_, read)) if read.file == map.file => {}
                None if key == "norm" || says_normal(&map.file) => read = Some((key, map)),
                _ => builder.warn(
                    WarningKind::NotRead,
                    format!(
                        "material \"{material}\": {key} \"{}\": bump maps of heights are not read",
                        map.file
                    ),
                ),
            }
        }
        let (key, map) = read?;
        let mut texture = self.images.texture(entry, key, builder)?;
        if map.strength() != 1.0 {
            texture["scale"] = map.strength().into();
        }
        Some(texture)
    }
}

/// Names the maps of a material that are not read, and the options of those that are.
fn name_unread_maps(material: &str, entry: &MtlEntry, builder: &mut SceneBuilder) {
    let mut maps: Vec<_> = entry.maps.iter().collect();
    maps.sort_by_key(|(key, _)| key.as_str());
    let color = entry.maps.get("map_kd").map(|map| map.file.as_str());
    for (key, map) in maps {
        if !READ_MAPS.contains(&key.as_str()) {
            // Many programs name the image of the colour as that of the ambient colour, too.
            if key != "map_ka" || color != Some(&map.file) {
                builder.warn(
                    WarningKind::NotRead,
                    format!("material \"{material}\": {key} is not read"),
                );
            }
            continue;
        }
        let is_normal = ["norm", "map_bump", "bump"].contains(&key.as_str());
        let is_scalar = ["map_d", "map_pr", "map_pm"].contains(&key.as_str());
        let options = map.unread(is_scalar).into_iter();
        let options: Vec<String> = options
            .filter(|option| !(is_normal && *option == "bm"))
            .map(|option| format!("-{option}"))
            .collect();
        if !options.is_empty() {
            builder.warn(
                WarningKind::NotRead,
                format!(
                    "material \"{material}\": of {key} these options are not read: {}",
                    options.join(", ")
                ),
            );
        }
    }
}
