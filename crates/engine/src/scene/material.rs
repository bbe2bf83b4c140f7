//! Materials with their defaults filled in.
//!
//! This is a read-only view; the exporters write the JSON.

use assetfs_formats::gltf_image_extensions;
use serde_json::{Value, json};

use super::content::{Scene, index_in};
use super::texture_slots::{TextureSlot, coordinate_set_of, slots_of};
use assetfs_render::Wrap;

/// The use of alpha.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AlphaMode {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// Pixels with an alpha below the cutoff are not drawn.
    Mask,
    /// Alpha blends with the background.
    Blend,
}

/// The index of refraction of a material that names none.
pub const DEFAULT_IOR: f32 = 1.5;

/// A material with its defaults filled in.
#[derive(Debug, Clone)]
pub struct Material {
    pub name: Option<String>,
    /// Linear colour and alpha.
    pub base_color: [f32; 4],
    /// Times this texture (sRGB).
    pub base_color_texture: Option<TextureUse>,
    /// 0 to 1.
    pub metallic: f32,
    /// 0 to 1.
    pub roughness: f32,
    /// Roughness in the green channel, metallic in the blue one.
    pub metallic_roughness_texture: Option<TextureUse>,
    /// Tangent-space normals.
    pub normal_texture: Option<TextureUse>,
    /// Factor on x and y of the normal texture.
    pub normal_scale: f32,
    /// Occlusion in the red channel.
    pub occlusion_texture: Option<TextureUse>,
    /// 0 to 1.
    pub occlusion_strength: f32,
    /// Linear emitted colour, its strength extension included.
    pub emissive: [f32; 3],
    /// Times this texture (sRGB).
    pub emissive_texture: Option<TextureUse>,
    pub alpha_mode: AlphaMode,
    /// For [`AlphaMode::Mask`].
    pub alpha_cutoff: f32,
    /// Whether back faces are drawn.
    pub double_sided: bool,
    /// Whether the base colour is shown without light.
    pub unlit: bool,
    /// The strength of a clear coat, 0 to 1.
    pub clearcoat: f32,
    pub clearcoat_roughness: f32,
    /// The index of refraction.
    pub ior: f32,
}

/// A texture in a material.
#[derive(Debug, Clone, PartialEq)]
pub struct TextureUse {
    /// Index into the JSON's textures.
    pub texture: usize,
    /// Index into [`Scene::images`].
    pub image: usize,
    /// The `n` of the `TEXCOORD_n` that it reads.
    pub tex_coord: usize,
    /// The transform of coordinates before the look-up.
    pub transform: UvTransform,
    pub wrap_s: Wrap,
    pub wrap_t: Wrap,
}

/// `KHR_texture_transform`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UvTransform {
    /// Added last.
    pub offset: [f32; 2],
    /// Counter-clockwise, radians.
    pub rotation: f32,
    /// Applied first.
    pub scale: [f32; 2],
}

impl Default for UvTransform {
    fn default() -> Self {
        UvTransform {
            offset: [0.0; 2],
            rotation: 0.0,
            scale: [1.0; 2],
        }
    }
}

impl UvTransform {
    /// The object of the extension.
    pub fn to_json(self) -> Value {
        json!({ "offset": self.offset, "rotation": self.rotation, "scale": self.scale })
    }

    /// The coordinates to look up.
    pub fn apply(&self, uv: [f32; 2]) -> [f32; 2] {
        let (sin, cos) = self.rotation.sin_cos();
        let (u, v) = (uv[0] * self.scale[0], uv[1] * self.scale[1]);
        [
            cos * u + sin * v + self.offset[0],
            -sin * u + cos * v + self.offset[1],
        ]
    }
}

impl Scene {
    /// The material `index` with its defaults filled in.
    pub fn material(&self, index: Option<usize>) -> Material {
        let json = index.and_then(|index| self.list("materials").get(index));
        Material::read(self, json.unwrap_or(&Value::Null))
    }
}

/// Whether the base colour of a material is that of the extension `KHR_materials_pbrSpecularGlossiness`.
fn is_old(json: &Value) -> bool {
    let old = &json["extensions"]["KHR_materials_pbrSpecularGlossiness"];
    old.is_object() && !json["pbrMetallicRoughness"]["baseColorTexture"].is_object()
}

impl Material {
    /// The textures of all slots.
    pub fn textures(&self) -> impl Iterator<Item = &TextureUse> {
        let slots = [
            &self.base_color_texture,
            &self.metallic_roughness_texture,
            &self.normal_texture,
            &self.occlusion_texture,
            &self.emissive_texture,
        ];
        slots.into_iter().flatten()
    }

    /// Where the JSON of a material has the texture of the base colour.
    pub(crate) fn color_pointer(json: &Value) -> &'static str {
        match is_old(json) {
            true => "/extensions/KHR_materials_pbrSpecularGlossiness/diffuseTexture",
            false => "/pbrMetallicRoughness/baseColorTexture",
        }
    }

    pub(super) fn read(scene: &Scene, json: &Value) -> Material {
        let pbr = &json["pbrMetallicRoughness"];
        let extensions = &json["extensions"];
        let old = &extensions["KHR_materials_pbrSpecularGlossiness"];
        let strength = number(
            &extensions["KHR_materials_emissive_strength"]["emissiveStrength"],
            1.0,
        );
        let coat = &extensions["KHR_materials_clearcoat"];
        let is_old = is_old(json);
        let color = if is_old {
            &old["diffuseFactor"]
        } else {
            &pbr["baseColorFactor"]
        };
        let color_texture = json.pointer(Self::color_pointer(json));
        Material {
            name: json["name"].as_str().map(str::to_owned),
            base_color: list(color, [1.0; 4]),
            base_color_texture: scene.texture_use(color_texture.unwrap_or(&Value::Null)),
            metallic: if is_old {
                0.0
            } else {
                number(&pbr["metallicFactor"], 1.0)
            },
            roughness: if is_old {
                1.0 - number(&old["glossinessFactor"], 1.0)
            } else {
                number(&pbr["roughnessFactor"], 1.0)
            },
            metallic_roughness_texture: scene.texture_use(&pbr["metallicRoughnessTexture"]),
            normal_texture: scene.texture_use(&json["normalTexture"]),
            normal_scale: number(&json["normalTexture"]["scale"], 1.0),
            occlusion_texture: scene.texture_use(&json["occlusionTexture"]),
            occlusion_strength: number(&json["occlusionTexture"]["strength"], 1.0),
            emissive: list(&json["emissiveFactor"], [0.0; 3]).map(|part: f32| part * strength),
            emissive_texture: scene.texture_use(&json["emissiveTexture"]),
            alpha_mode: match json["alphaMode"].as_str() {
                Some("MASK") => AlphaMode::Mask,
                Some("BLEND") => AlphaMode::Blend,
                _ => AlphaMode::Opaque,
            },
            alpha_cutoff: number(&json["alphaCutoff"], 0.5),
            double_sided: json["doubleSided"].as_bool().unwrap_or(false),
            unlit: extensions["KHR_materials_unlit"].is_object(),
            clearcoat: number(&coat["clearcoatFactor"], 0.0),
            clearcoat_roughness: number(&coat["clearcoatRoughnessFactor"], 0.0),
            ior: number(&extensions["KHR_materials_ior"]["ior"], DEFAULT_IOR),
        }
    }
}

/// The attributes of a geometry that textures of its materials need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Texturing {
    /// Sets of texture coordinates: the highest one that is read and all below.
    pub coordinate_sets: usize,
    /// Whether a normal map is shown.
    pub has_normal_map: bool,
}

impl Texturing {
    fn of_material(material: &Value) -> Texturing {
        slots_of(material)
            .into_iter()
            .map(|(slot, _, texture)| Texturing {
                coordinate_sets: coordinate_set_of(texture).saturating_add(1),
                has_normal_map: slot == TextureSlot::Normal,
            })
            .fold(Texturing::default(), Texturing::and)
    }

    fn and(self, other: Texturing) -> Texturing {
        Texturing {
            coordinate_sets: self.coordinate_sets.max(other.coordinate_sets),
            has_normal_map: self.has_normal_map || other.has_normal_map,
        }
    }
}

impl Scene {
    /// The texture that an object such as `baseColorTexture` names; `None` when there is none.
    pub fn texture_use(&self, json: &Value) -> Option<TextureUse> {
        let texture = index_in(json, "index")?;
        let image = self.image_of_texture(texture)?;
        let transform = &json["extensions"]["KHR_texture_transform"];
        let sampler = index_in(&self.list("textures")[texture], "sampler")
            .and_then(|sampler| self.list("samplers").get(sampler));
        let wrap = |key| match sampler.and_then(|sampler| sampler[key].as_u64()) {
            Some(33_071) => Wrap::ClampToEdge,
            Some(33_648) => Wrap::MirroredRepeat,
            _ => Wrap::Repeat,
        };
        Some(TextureUse {
            texture,
            image,
            tex_coord: coordinate_set_of(json),
            transform: UvTransform {
                offset: list(&transform["offset"], [0.0; 2]),
                rotation: number(&transform["rotation"], 0.0),
                scale: list(&transform["scale"], [1.0; 2]),
            },
            wrap_s: wrap("wrapS"),
            wrap_t: wrap("wrapT"),
        })
    }

    /// The attributes of each geometry that textures need.
    pub fn texturings(&self) -> Vec<Texturing> {
        let of_materials: Vec<Texturing> = self
            .list("materials")
            .iter()
            .map(Texturing::of_material)
            .collect();
        let all = of_materials
            .iter()
            .copied()
            .fold(Texturing::default(), Texturing::and);
        let mut texturings = vec![Texturing::default(); self.geometries.len()];
        for primitive in self.meshes.iter().flat_map(|mesh| &mesh.primitives) {
            let own = match primitive.material {
                // A material variant may replace the material.
                _ if primitive.json.contains_key("extensions") => all,
                Some(material) => of_materials[material],
                None => Texturing::default(),
            };
            let known = &mut texturings[primitive.geometry];
            *known = known.and(own);
        }
        texturings
    }

    /// The image that a texture shows: the one among its sources that can be decoded best.
    pub fn image_of_texture(&self, texture: usize) -> Option<usize> {
        self.images_of_texture(texture).into_iter().next()
    }

    /// All images that a texture may show, those of extensions included.
    pub fn images_of_texture(&self, texture: usize) -> Vec<usize> {
        let Some(json) = self.list("textures").get(texture) else {
            return Vec::new();
        };
        let extensions = &json["extensions"];
        let extended = gltf_image_extensions().map(|name| index_in(&extensions[name], "source"));
        std::iter::once(index_in(json, "source"))
            .chain(extended)
            .flatten()
            .collect()
    }
}

fn number(json: &Value, default: f32) -> f32 {
    json.as_f64().map_or(default, |number| number as f32)
}

fn list<const N: usize>(json: &Value, default: [f32; N]) -> [f32; N] {
    let Some(array) = json.as_array().filter(|array| array.len() >= N) else {
        return default;
    };
    std::array::from_fn(|index| number(&array[index], default[index]))
}
