//! Materials, with images inside the file: as the glTF materials of 3ds Max, which keep roughness, metalness and opacity,
//! and with the Phong values that other programs read.

use std::collections::HashMap;

use super::super::super::import::images::extension_of;
use super::super::super::scene::{AlphaMode, Material, Scene, TextureUse};
use super::super::flat::srgb_of_linear;
use super::binary::{FbxValue, Record};
use super::document::{FbxDocument, ObjectId, color, number, properties, property, text};
use super::mesh::uv_name;

/// The materials and textures that are in the file already.
pub(super) struct FbxMaterialObjects<'s> {
    scene: &'s Scene,
    made: HashMap<Option<usize>, ObjectId>,
    /// By image and set of texture coordinates.
    textures: HashMap<(usize, usize), ObjectId>,
    videos: HashMap<usize, (ObjectId, String)>,
}

impl<'s> FbxMaterialObjects<'s> {
    pub(super) fn new(scene: &'s Scene) -> FbxMaterialObjects<'s> {
        FbxMaterialObjects {
            scene,
            made: HashMap::new(),
            textures: HashMap::new(),
            videos: HashMap::new(),
        }
    }

    /// The object of a material.
    pub(super) fn add(&mut self, index: Option<usize>, document: &mut FbxDocument) -> ObjectId {
        if let Some(made) = self.made.get(&index) {
            return *made;
        }
        let mut material = self.scene.material(index);
        // The texture of both cannot be held; its mean is nearer to it than its factors are.
        if let Some([roughness, metallic]) = self.mean_surface(&material) {
            material.roughness *= roughness;
            material.metallic *= metallic;
        }
        let name = material.name.as_deref().unwrap_or("material");
        let records = vec![
            Record::of("Version", 102),
            // Another word would be taken for the whole of the material.
            Record::of("ShadingModel", "unknown"),
            Record::of("MultiLayer", 0),
            properties(surface(&material)),
        ];
        let made = document.add("Material", (name, "Material"), "", records);
        let mut connect = |texture: &Option<TextureUse>, property: &str| {
            if let Some(texture) = texture {
                let texture = self.texture(texture, document);
                document.connect_to_property(texture, made, property);
            }
        };
        connect(&material.base_color_texture, "DiffuseColor");
        connect(&material.base_color_texture, "3dsMax|main|baseColorMap");
        if material.alpha_mode != AlphaMode::Opaque {
            connect(&material.base_color_texture, "TransparentColor");
            connect(&material.base_color_texture, "3dsMax|main|AlphaMap");
        }
        connect(&material.normal_texture, "NormalMap");
        connect(&material.normal_texture, "3dsMax|main|normalMap");
        connect(&material.emissive_texture, "EmissiveColor");
        connect(&material.emissive_texture, "3dsMax|main|emissionMap");
        self.made.insert(index, made);
        made
    }

    /// The mean roughness and metalness of a material's texture.
    fn mean_surface(&self, material: &Material) -> Option<[f32; 2]> {
        let image = material.metallic_roughness_texture.as_ref()?.image;
        let pixels = image::load_from_memory(&self.scene.images[image].bytes).ok()?;
        let pixels = pixels.into_rgb8();
        let count = pixels.pixels().len().max(1) as f64;
        let mean = |channel: usize| {
            let sum: u64 = pixels.pixels().map(|pixel| u64::from(pixel[channel])).sum();
            (sum as f64 / count / 255.0) as f32
        };
        Some([mean(1), mean(2)])
    }

    fn texture(&mut self, texture: &TextureUse, document: &mut FbxDocument) -> ObjectId {
        let key = (texture.image, texture.tex_coord);
        if let Some(made) = self.textures.get(&key) {
            return *made;
        }
        let (video, file) = self.video(texture.image, document);
        let records = vec![
            Record::of("Type", "TextureVideoClip"),
            Record::of("Version", 202),
            Record::of("TextureName", format!("{file}\0\u{1}Texture")),
            properties([
                text("UVSet", &uv_name(texture.tex_coord)),
                property("UseMaterial", "bool", "", [1.into()]),
            ]),
            Record::of("Media", format!("{file}\0\u{1}Video")),
            Record::of("FileName", file.as_str()),
            Record::of("RelativeFilename", file.as_str()),
        ];
        let made = document.add("Texture", (&file, "Texture"), "", records);
        document.connect(video, made);
        self.textures.insert(key, made);
        made
    }

    /// The object that holds the bytes of an image, and the name of its file.
    fn video(&mut self, index: usize, document: &mut FbxDocument) -> (ObjectId, String) {
        if let Some(made) = self.videos.get(&index) {
            return made.clone();
        }
        let image = &self.scene.images[index];
        let own = image.json.get("name").and_then(|name| name.as_str());
        let stem = image.file_stem().or(own).unwrap_or("texture");
        let stem = stem.replace(['/', '\\'], "_");
        let file = format!("{stem}_{index}.{}", extension_of(&image.media_type));
        let records = vec![
            Record::of("Type", "Clip"),
            properties([text("Path", &file)]),
            Record::of("UseMipMap", 0),
            Record::of("Filename", file.as_str()),
            Record::of("RelativeFilename", file.as_str()),
            Record::of("Content", FbxValue::Raw(image.bytes.clone())),
        ];
        let made = document.add("Video", (&file, "Video"), "Clip", records);
        self.videos.insert(index, (made, file.clone()));
        (made, file)
    }
}

/// The class of glTF materials in 3ds Max.
const GLTF_MATERIAL: [i32; 2] = [0x3842_0192, 0x45fe_4e1b];

/// The numbers of a surface. Shininess and reflection are those that Blender and other programs write for roughness and
/// metalness.
fn surface(material: &Material) -> Vec<Record> {
    let [red, green, blue, alpha] = material.base_color;
    let alpha = if material.alpha_mode == AlphaMode::Opaque {
        1.0
    } else {
        alpha
    };
    let diffuse = [red, green, blue].map(srgb_of_linear);
    let strength = material.emissive.into_iter().fold(1.0f32, f32::max);
    let emitted = material
        .emissive
        .map(|part| srgb_of_linear(part / strength));
    let smoothness = f64::from(1.0 - material.roughness.clamp(0.0, 1.0)) * 10.0;
    let class = |name: &str, number: i32| property(name, "int", "Integer", [number.into()]);
    vec![
        color("DiffuseColor", diffuse),
        number("DiffuseFactor", 1.0),
        color("EmissiveColor", emitted),
        number("EmissiveFactor", f64::from(strength)),
        color("SpecularColor", [1.0; 3]),
        number("SpecularFactor", 0.25),
        number("Shininess", smoothness * smoothness),
        number("ShininessExponent", smoothness * smoothness),
        color("ReflectionColor", [1.0; 3]),
        number(
            "ReflectionFactor",
            f64::from(material.metallic.clamp(0.0, 1.0)),
        ),
        color("TransparentColor", [1.0; 3]),
        number("TransparencyFactor", f64::from(1.0 - alpha.clamp(0.0, 1.0))),
        number("Opacity", f64::from(alpha.clamp(0.0, 1.0))),
        class("3dsMax|ClassIDa", GLTF_MATERIAL[0]),
        class("3dsMax|ClassIDb", GLTF_MATERIAL[1]),
        color("3dsMax|main|baseColor", diffuse),
        number("3dsMax|main|roughness", material.roughness.into()),
        number("3dsMax|main|metalness", material.metallic.into()),
        color("3dsMax|main|emissionColor", emitted),
        number("3dsMax|main|Alpha", alpha.into()),
    ]
}
