//! The material and the textures of a class, as glTF. A texture of one value becomes a factor.

use assetfs_formats::ImageKind;
use serde_json::{Map, Value, json};

use super::super::scene::{AlphaMode, Image, Scene, TextureSlot};
use super::super::textures::{AlphaUse, baked};
use super::classes::Class;
use super::maps::{Maps, Pixel};
use super::options::WantedMaps;
use assetfs_render::linear_of_byte;

/// Channels of a texture that differ by at most this much from texel to texel are one value.
const SAME: u8 = 2;

/// How the textures of a class are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct MapPlan {
    /// The kind of the source's textures.
    pub(super) replaces: ImageKind,
    /// Whether the normal map is written.
    pub(super) has_normal_map: bool,
}

/// A material that is being put together.
struct MaterialMaker<'m> {
    scene: &'m mut Scene,
    name: String,
    plan: &'m MapPlan,
    side: u32,
}

/// Adds the material of a class to the scene, with its textures; returns its number.
pub(super) fn add_material(
    scene: &mut Scene,
    class: &Class,
    maps: &Maps,
    plan: &MapPlan,
) -> Result<usize, String> {
    let mut maker = MaterialMaker {
        scene,
        name: class.name(),
        plan,
        side: maps.side,
    };
    let mut material = Map::new();
    material.insert("name".to_owned(), maker.name.clone().into());
    let mut pbr = maker.base_color(class, maps)?;
    if class.unlit {
        pbr.insert("metallicFactor".to_owned(), 0.into());
        material.insert(
            "extensions".to_owned(),
            json!({ "KHR_materials_unlit": {} }),
        );
        maker.uses_extension("KHR_materials_unlit");
    } else {
        let occlusion = maker.orm(maps, &mut pbr)?;
        if let Some(occlusion) = occlusion {
            material.insert("occlusionTexture".to_owned(), occlusion);
        }
        if plan.has_normal_map {
            let texture = maker.texture(&maps.normal, TextureSlot::Normal, AlphaUse::Unused)?;
            material.insert("normalTexture".to_owned(), texture);
        }
        maker.emissive(maps, &mut material)?;
    }
    material.insert("pbrMetallicRoughness".to_owned(), pbr.into());
    match class.alpha {
        AlphaMode::Opaque => {}
        AlphaMode::Mask => {
            material.insert("alphaMode".to_owned(), "MASK".into());
        }
        AlphaMode::Blend => {
            material.insert("alphaMode".to_owned(), "BLEND".into());
        }
    }
    if class.double_sided {
        material.insert("doubleSided".to_owned(), true.into());
    }
    Ok(scene.push("materials", material.into()))
}

/// Gives a material the maps that are wanted, in place of those that it has. Occlusion that darkens nothing is not
/// written. Returns the maps that were set.
pub(super) fn set_maps(
    scene: &mut Scene,
    material: usize,
    maps: &Maps,
    plan: &MapPlan,
    wanted: WantedMaps,
) -> Result<WantedMaps, String> {
    let known = &scene.list("materials")[material];
    let mut maker = MaterialMaker {
        name: known["name"].as_str().unwrap_or("baked").to_owned(),
        scene,
        plan,
        side: maps.side,
    };
    let mut textures = Map::new();
    if wanted.normal {
        let texture = maker.texture(&maps.normal, TextureSlot::Normal, AlphaUse::Unused)?;
        textures.insert("normalTexture".to_owned(), texture);
    }
    let set = WantedMaps {
        normal: wanted.normal,
        occlusion: wanted.occlusion && occludes(maps),
    };
    if set.occlusion {
        let light = maps.orm.iter();
        let light: Vec<Pixel> = light
            .map(|[light, ..]| [*light, *light, *light, 255])
            .collect();
        let texture = maker.texture(&light, TextureSlot::Orm, AlphaUse::Unused)?;
        textures.insert("occlusionTexture".to_owned(), texture);
    }
    let materials = scene.list_mut("materials");
    let known = materials.and_then(|materials| materials[material].as_object_mut());
    known
        .into_iter()
        .for_each(|known| known.extend(textures.clone()));
    Ok(set)
}

/// Whether the occlusion darkens anything.
fn occludes(maps: &Maps) -> bool {
    one_value(&maps.orm, &maps.is_covered, [0, 0, 0, 0])
        .is_none_or(|[light, ..]| light < 255 - SAME)
}

impl MaterialMaker<'_> {
    fn base_color(&mut self, class: &Class, maps: &Maps) -> Result<Map<String, Value>, String> {
        let mut pbr = Map::new();
        if let Some([r, g, b, a]) = one_value(&maps.base_color, &maps.is_covered, [0, 1, 2, 3]) {
            let alpha = f64::from(a) / 255.0;
            let factor = [linear(r), linear(g), linear(b), alpha];
            pbr.insert("baseColorFactor".to_owned(), json!(factor));
            return Ok(pbr);
        }
        let alpha = match class.alpha {
            AlphaMode::Opaque => AlphaUse::Unused,
            AlphaMode::Mask | AlphaMode::Blend => AlphaUse::Coverage,
        };
        let texture = self.texture(&maps.base_color, TextureSlot::BaseColor, alpha)?;
        pbr.insert("baseColorTexture".to_owned(), texture);
        Ok(pbr)
    }

    /// Sets roughness and metallic; returns the occlusion, which is in the same texture.
    fn orm(&mut self, maps: &Maps, pbr: &mut Map<String, Value>) -> Result<Option<Value>, String> {
        let occludes = occludes(maps);
        let plain = one_value(&maps.orm, &maps.is_covered, [1, 2, 1, 2]);
        let texture = match occludes || plain.is_none() {
            true => Some(self.texture(&maps.orm, TextureSlot::Orm, AlphaUse::Unused)?),
            false => None,
        };
        if let Some([_, roughness, metallic, _]) = plain {
            let part = |byte: u8| f64::from(byte) / 255.0;
            pbr.insert("metallicFactor".to_owned(), part(metallic).into());
            pbr.insert("roughnessFactor".to_owned(), part(roughness).into());
        } else if let Some(texture) = &texture {
            pbr.insert("metallicRoughnessTexture".to_owned(), texture.clone());
        }
        Ok(texture.filter(|_| occludes))
    }

    fn emissive(&mut self, maps: &Maps, material: &mut Map<String, Value>) -> Result<(), String> {
        let scale = f64::from(maps.emissive_scale);
        let value = one_value(&maps.emissive, &maps.is_covered, [0, 1, 2, 2]);
        if scale <= 0.0 || value.is_some_and(|[r, g, b, _]| r.max(g).max(b) == 0) {
            return Ok(());
        }
        let part = value.map_or([1.0; 3], |[r, g, b, _]| [r, g, b].map(linear));
        let factor = part.map(|part| part * scale.min(1.0));
        material.insert("emissiveFactor".to_owned(), json!(factor));
        if value.is_none() {
            let texture = self.texture(&maps.emissive, TextureSlot::Emissive, AlphaUse::Unused)?;
            material.insert("emissiveTexture".to_owned(), texture);
        }
        if scale > 1.0 {
            const NAME: &str = "KHR_materials_emissive_strength";
            let strength = json!({ NAME: { "emissiveStrength": scale } });
            material.insert("extensions".to_owned(), strength);
            self.uses_extension(NAME);
        }
        Ok(())
    }

    /// Adds a texture to the scene; returns the reference to it.
    fn texture(
        &mut self,
        pixels: &[Pixel],
        slot: TextureSlot,
        alpha: AlphaUse,
    ) -> Result<Value, String> {
        let image = baked(self.side, pixels.as_flattened(), alpha, self.plan.replaces)?;
        let name = format!("{} {}", self.name, slot.name()).replace(' ', "_");
        self.scene.images.push(Image {
            json: Map::from_iter([("name".to_owned(), Value::from(name))]),
            ..image
        });
        let clamped = json!({
            "magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071,
        });
        let samplers = self.scene.list("samplers");
        let sampler = match samplers.iter().position(|known| *known == clamped) {
            Some(known) => known,
            None => self.scene.push("samplers", clamped),
        };
        let source = self.scene.images.len() - 1;
        let texture = json!({ "sampler": sampler, "source": source });
        Ok(json!({ "index": self.scene.push("textures", texture) }))
    }

    fn uses_extension(&mut self, name: &str) {
        if !self.scene.uses_extension(name) {
            self.scene.push("extensionsUsed", name.into());
        }
    }
}

/// The value of some channels, if it is the same in every baked texel. Other channels are not compared.
fn one_value(pixels: &[Pixel], is_covered: &[bool], channels: [usize; 4]) -> Option<Pixel> {
    let mut baked = pixels
        .iter()
        .zip(is_covered)
        .filter(|(_, covered)| **covered);
    let (first, _) = baked.next()?;
    let is_same = |pixel: &Pixel| {
        channels
            .iter()
            .all(|channel| pixel[*channel].abs_diff(first[*channel]) <= SAME)
    };
    baked.all(|(pixel, _)| is_same(pixel)).then_some(*first)
}

fn linear(byte: u8) -> f64 {
    f64::from(linear_of_byte(byte))
}
