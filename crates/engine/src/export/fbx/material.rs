//! Materials, with images inside the file: as the glTF materials of 3ds Max, which keep roughness, metalness and opacity,
//! and with the Phong values that other programs read.
//!
//! Some readers multiply a texture with the colour of its property, others replace the colour. So the factors of a texture
//! are multiplied into its image, and the colour next to it is white.

use std::collections::HashMap;

use super::super::super::scene::{AlphaMode, Material, Scene, TextureUse};
use super::super::grey::SurfaceChannel;
use super::super::lit::lit_material;
use super::binary::Record;
use super::document::{FbxDocument, ObjectId, color, number, properties, property};
use super::texture::{FbxTextureObjects, WrittenImage};
use assetfs_render::srgb_of_linear;

/// The materials that are in the file already.
pub(super) struct FbxMaterialObjects<'s> {
    scene: &'s Scene,
    made: HashMap<Option<usize>, ObjectId>,
    textures: FbxTextureObjects<'s>,
}

impl<'s> FbxMaterialObjects<'s> {
    pub(super) fn new(scene: &'s Scene) -> FbxMaterialObjects<'s> {
        FbxMaterialObjects {
            scene,
            made: HashMap::new(),
            textures: FbxTextureObjects::new(scene),
        }
    }

    /// The object of a material.
    pub(super) fn add(&mut self, index: Option<usize>, document: &mut FbxDocument) -> ObjectId {
        if let Some(made) = self.made.get(&index) {
            return *made;
        }
        let material = lit_material(self.scene, index);
        let surfaces = self.surfaces(&material);
        let name = material.name.as_deref().unwrap_or("material");
        let records = vec![
            Record::of("Version", 102),
            // Another word would be taken for the whole of the material.
            Record::of("ShadingModel", "unknown"),
            Record::of("MultiLayer", 0),
            properties(values_of(&material, surfaces.each_ref().map(|it| it.mean))),
        ];
        let made = document.add("Material", (name, "Material"), "", records);
        self.connect_textures(&material, made, document);
        if let Some(texture) = &material.metallic_roughness_texture {
            for surface in surfaces {
                self.connect_surface(texture, surface, made, document);
            }
        }
        self.made.insert(index, made);
        made
    }

    fn connect_textures(
        &mut self,
        material: &Material,
        made: ObjectId,
        document: &mut FbxDocument,
    ) {
        let textures = &mut self.textures;
        let mut connect = |texture: &TextureUse, factors: [f32; 4], properties: &[&str]| {
            let image = WrittenImage::tinted(texture.image, factors);
            let texture = textures.add(texture, image, document);
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

    /// The roughness and the metalness of a material.
    fn surfaces(&mut self, material: &Material) -> [FbxSurface; 2] {
        [SurfaceChannel::Roughness, SurfaceChannel::Metalness].map(|channel| {
            let factor = channel.factor_of(material);
            let texture = material.metallic_roughness_texture.as_ref();
            let grey = texture.and_then(|texture| {
                let image = WrittenImage::channel(texture.image, channel, factor);
                Some((image, self.textures.grey_of(image)?))
            });
            match grey {
                Some((image, grey)) => FbxSurface {
                    channel,
                    mean: grey.mean,
                    image: (!grey.is_uniform).then_some(image),
                },
                None => FbxSurface {
                    channel,
                    mean: factor,
                    image: None,
                },
            }
        })
    }

    /// Blender reads the names of the Phong properties, 3ds Max its own.
    fn connect_surface(
        &mut self,
        texture: &TextureUse,
        surface: FbxSurface,
        made: ObjectId,
        document: &mut FbxDocument,
    ) {
        let Some(image) = surface.image else {
            return;
        };
        let texture = self.textures.add(texture, image, document);
        let properties = match surface.channel {
            SurfaceChannel::Roughness => ["ShininessExponent", "3dsMax|main|roughnessMap"],
            SurfaceChannel::Metalness => ["ReflectionFactor", "3dsMax|main|metalnessMap"],
        };
        for property in properties {
            document.connect_to_property(texture, made, property);
        }
    }
}

/// The roughness or the metalness of a material.
struct FbxSurface {
    channel: SurfaceChannel,
    /// The mean of its image, or its one value.
    mean: f32,
    image: Option<WrittenImage>,
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

/// The values of a material. Shininess and reflection are those that Blender and other programs write for roughness and
/// metalness.
fn values_of(material: &Material, [roughness, metalness]: [f32; 2]) -> Vec<Record> {
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
    let smoothness = f64::from(1.0 - roughness.clamp(0.0, 1.0)) * 10.0;
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
        number("ReflectionFactor", f64::from(metalness.clamp(0.0, 1.0))),
        number("BumpFactor", material.normal_scale.into()),
        color("TransparentColor", [1.0; 3]),
        number("TransparencyFactor", f64::from(1.0 - alpha)),
        number("Opacity", alpha.into()),
        class("3dsMax|ClassIDa", GLTF_MATERIAL[0]),
        class("3dsMax|ClassIDb", GLTF_MATERIAL[1]),
        color("3dsMax|main|baseColor", diffuse),
        number("3dsMax|main|roughness", roughness.into()),
        number("3dsMax|main|metalness", metalness.into()),
        color("3dsMax|main|emissionColor", emitted),
        number("3dsMax|main|Alpha", alpha.into()),
        property(
            "3dsMax|main|DoubleSided",
            "bool",
            "",
            [i32::from(material.double_sided).into()],
        ),
    ]
}
