//! The use of each image in materials.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::scene::{Scene, TextureSlot, index_in, slots_of};

/// The meaning of an image's alpha channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlphaUse {
    /// No meaning: it may be dropped.
    #[default]
    Unused,
    /// Opacity.
    Coverage,
    /// A number of its own, apart from the colour.
    Data,
}

/// The use of one image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// The slots that show it; empty if no material does.
    pub slots: BTreeSet<TextureSlot>,
    pub alpha: AlphaUse,
}

impl Usage {
    /// Whether the pixels are colours in sRGB.
    pub fn is_srgb(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_srgb())
    }

    /// Whether some slots read the pixels as colours in sRGB and others as numbers.
    pub fn is_mixed(&self) -> bool {
        self.is_srgb() && !self.slots.iter().all(|slot| slot.is_srgb())
    }

    /// Whether the pixels are directions.
    pub fn is_normal(&self) -> bool {
        self.slots.contains(&TextureSlot::Normal)
    }

    /// The slot to report: the first, by the order of their names in configurations.
    pub fn slot_name(&self) -> &'static str {
        self.slots.first().map_or("other", |slot| slot.name())
    }
}

/// The usage of each image of the scene.
pub fn usages(scene: &Scene) -> Vec<Usage> {
    let mut usages = vec![Usage::default(); scene.images.len()];
    for material in scene.list("materials") {
        for (slot, key, texture) in slots_of(material) {
            let Some(texture) = index_in(texture, "index") else {
                continue;
            };
            for image in scene.images_of_texture(texture) {
                let usage = &mut usages[image];
                usage.slots.insert(slot);
                usage.alpha = usage.alpha.max(alpha_of(material, &key));
            }
        }
    }
    usages
}

fn alpha_of(material: &Value, key: &str) -> AlphaUse {
    match key {
        "baseColorTexture" | "diffuseTexture" => match material["alphaMode"].as_str() {
            Some("MASK" | "BLEND") => AlphaUse::Coverage,
            _ => AlphaUse::Unused,
        },
        "metallicRoughnessTexture"
        | "occlusionTexture"
        | "normalTexture"
        | "emissiveTexture"
        | "clearcoatTexture"
        | "clearcoatRoughnessTexture"
        | "clearcoatNormalTexture"
        | "transmissionTexture"
        | "thicknessTexture"
        | "sheenColorTexture"
        | "specularColorTexture"
        | "iridescenceTexture"
        | "iridescenceThicknessTexture"
        | "anisotropyTexture"
        | "diffuseTransmissionColorTexture" => AlphaUse::Unused,
        // Specular, sheen roughness, glossiness and unknown slots.
        _ => AlphaUse::Data,
    }
}
