//! Materials, with images inside the file: as the glTF materials of 3ds Max, which keep roughness, metalness and opacity,
//! and with the Phong values that other programs read.
//!
//! Some readers multiply a texture with the colour of its property, others replace the colour. So the factors of a texture
//! are multiplied into its image, and the colour next to it is white.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::super::import::images::extension_of;
use super::super::super::scene::{AlphaMode, Image, Material, Scene, TextureUse};
use super::super::super::srgb::srgb_of_linear;
use super::super::super::textures::tinted;
use super::super::lit::lit_material;
use super::binary::{FbxValue, Record};
use super::document::{FbxDocument, ObjectId, color, number, properties, property, text};
use super::mesh::uv_name;

/// The materials and textures that are in the file already.
pub(super) struct FbxMaterialObjects<'s> {
    scene: &'s Scene,
    made: HashMap<Option<usize>, ObjectId>,
    /// By image with its factors, and set of texture coordinates.
    textures: HashMap<(FactoredImage, usize), ObjectId>,
    videos: HashMap<FactoredImage, (ObjectId, String)>,
}

/// An image, and the bits of the factors that its pixels are multiplied with.
type FactoredImage = (usize, [u32; 4]);

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
        let mut material = lit_material(self.scene, index);
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
        self.connect_textures(&material, made, document);
        self.made.insert(index, made);
        made
    }

    fn connect_textures(
        &mut self,
        material: &Material,
        made: ObjectId,
        document: &mut FbxDocument,
    ) {
        let mut connect = |texture: &TextureUse, factors: [f32; 4], properties: &[&str]| {
            let texture = self.texture(texture, factors, document);
            for property in properties {
                document.connect_to_property(texture, made, property);
            }
        };
        if let Some(texture) = &material.base_color_texture {
            let [red, green, blue, _] = material.base_color;
            let factors = [red, green, blue, alpha_of(material)];
            connect(
                texture,
                factors,
                &["DiffuseColor", "3dsMax|main|baseColorMap"],
            );
            if material.alpha_mode != AlphaMode::Opaque {
                connect(
                    texture,
                    factors,
                    &["TransparentColor", "3dsMax|main|AlphaMap"],
                );
            }
        }
        if let Some(texture) = &material.normal_texture {
            connect(texture, [1.0; 4], &["NormalMap", "3dsMax|main|normalMap"]);
        }
        let (_, [red, green, blue]) = emission_of(material);
        if let Some(texture) = &material.emissive_texture
            && material.emissive != [0.0; 3]
        {
            connect(
                texture,
                [red, green, blue, 1.0],
                &["EmissiveColor", "3dsMax|main|emissionMap"],
            );
        }
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

    fn texture(
        &mut self,
        texture: &TextureUse,
        factors: [f32; 4],
        document: &mut FbxDocument,
    ) -> ObjectId {
        let key = (
            (texture.image, factors.map(f32::to_bits)),
            texture.tex_coord,
        );
        if let Some(made) = self.textures.get(&key) {
            return *made;
        }
        let (video, file) = self.video(texture.image, factors, document);
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
    fn video(
        &mut self,
        index: usize,
        factors: [f32; 4],
        document: &mut FbxDocument,
    ) -> (ObjectId, String) {
        let key = (index, factors.map(f32::to_bits));
        if let Some(made) = self.videos.get(&key) {
            return made.clone();
        }
        let image = &self.scene.images[index];
        let own = image.json.get("name").and_then(|name| name.as_str());
        let stem = image.file_stem().or(own).unwrap_or("texture");
        let mut stem = format!("{}_{index}", stem.replace(['/', '\\'], "_"));
        let mut written: Cow<'_, Image> = Cow::Borrowed(image);
        // An image that cannot be decoded is written as it is.
        if factors != [1.0; 4]
            && let Ok(tinted) = tinted(image, factors)
        {
            stem = format!("{stem}_tinted_{}", self.videos.len());
            written = Cow::Owned(tinted);
        }
        let file = format!("{stem}.{}", extension_of(&written.media_type));
        let records = vec![
            Record::of("Type", "Clip"),
            properties([text("Path", &file)]),
            Record::of("UseMipMap", 0),
            Record::of("Filename", file.as_str()),
            Record::of("RelativeFilename", file.as_str()),
            Record::of("Content", FbxValue::Raw(written.bytes.clone())),
        ];
        let made = document.add("Video", (&file, "Video"), "Clip", records);
        self.videos.insert(key, (made, file.clone()));
        (made, file)
    }
}

/// The alpha that a material shows.
fn alpha_of(material: &Material) -> f32 {
    match material.alpha_mode {
        AlphaMode::Opaque => 1.0,
        AlphaMode::Mask | AlphaMode::Blend => material.base_color[3].clamp(0.0, 1.0),
    }
}

/// The strength of an emission, at least 1, and its linear colour.
fn emission_of(material: &Material) -> (f32, [f32; 3]) {
    let strength = material.emissive.into_iter().fold(1.0f32, f32::max);
    (strength, material.emissive.map(|part| part / strength))
}

/// The class of glTF materials in 3ds Max.
const GLTF_MATERIAL: [i32; 2] = [0x3842_0192, 0x45fe_4e1b];

/// The numbers of a surface. Shininess and reflection are those that Blender and other programs write for roughness and
/// metalness.
fn surface(material: &Material) -> Vec<Record> {
    let [red, green, blue, _] = material.base_color;
    let (diffuse, alpha) = match material.base_color_texture {
        Some(_) => ([1.0; 3], 1.0),
        None => ([red, green, blue].map(srgb_of_linear), alpha_of(material)),
    };
    let (strength, emitted) = emission_of(material);
    let emitted = match material.emissive_texture {
        Some(_) if material.emissive != [0.0; 3] => [1.0; 3],
        _ => emitted.map(srgb_of_linear),
    };
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
        number("TransparencyFactor", f64::from(1.0 - alpha)),
        number("Opacity", alpha.into()),
        class("3dsMax|ClassIDa", GLTF_MATERIAL[0]),
        class("3dsMax|ClassIDb", GLTF_MATERIAL[1]),
        color("3dsMax|main|baseColor", diffuse),
        number("3dsMax|main|roughness", material.roughness.into()),
        number("3dsMax|main|metalness", material.metallic.into()),
        color("3dsMax|main|emissionColor", emitted),
        number("3dsMax|main|Alpha", alpha.into()),
    ]
}
