//! The textures of a material in its JSON, those of extensions included: what each is for, and how they are removed.

use serde_json::Value;

use super::content::index_in;

/// The purpose of a texture, with the names that texture limits use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextureSlot {
    /// Base colour, and colours of extensions.
    BaseColor,
    /// Emitted colour.
    Emissive,
    /// Normals.
    Normal,
    /// Occlusion, roughness, metallic and other plain numbers.
    Orm,
}

impl TextureSlot {
    /// The name that configurations and reports use.
    pub fn name(self) -> &'static str {
        match self {
            TextureSlot::BaseColor => "baseColor",
            TextureSlot::Emissive => "emissive",
            TextureSlot::Normal => "normal",
            TextureSlot::Orm => "orm",
        }
    }

    /// Whether the pixels are colours in sRGB.
    pub fn is_srgb(self) -> bool {
        matches!(self, TextureSlot::BaseColor | TextureSlot::Emissive)
    }

    /// The slot of the texture under `key` in a material or in one of its extensions.
    fn of_key(key: &str) -> TextureSlot {
        match key {
            "baseColorTexture"
            | "diffuseTexture"
            | "specularGlossinessTexture"
            | "sheenColorTexture"
            | "specularColorTexture"
            | "diffuseTransmissionColorTexture" => TextureSlot::BaseColor,
            "emissiveTexture" => TextureSlot::Emissive,
            "normalTexture" | "clearcoatNormalTexture" => TextureSlot::Normal,
            _ => TextureSlot::Orm,
        }
    }
}

/// Every texture of a material with its slot, those of extensions included: `(slot, key, object)`.
pub fn slots_of(material: &Value) -> Vec<(TextureSlot, String, &Value)> {
    let mut found = Vec::new();
    collect_slots(material, 0, &mut found);
    found
}

fn collect_slots<'a>(
    at: &'a Value,
    depth: usize,
    found: &mut Vec<(TextureSlot, String, &'a Value)>,
) {
    let Some(members) = at.as_object() else {
        return;
    };
    for (key, member) in members.iter().filter(|(key, _)| *key != "extras") {
        if is_texture(key, member) {
            found.push((TextureSlot::of_key(key), key.clone(), member));
        } else if depth < MAX_SLOT_DEPTH {
            collect_slots(member, depth + 1, found);
        }
    }
}

/// Maximum depth at which textures are searched for in a material: extensions nest two or three levels.
const MAX_SLOT_DEPTH: usize = 8;

fn is_texture(key: &str, member: &Value) -> bool {
    key.ends_with("Texture") && index_in(member, "index").is_some()
}

/// The set of texture coordinates that an object such as `baseColorTexture` reads: `KHR_texture_transform` may replace the
/// number in the object itself.
pub fn coordinate_set_of(texture: &Value) -> usize {
    index_in(&texture["extensions"]["KHR_texture_transform"], "texCoord")
        .or_else(|| index_in(texture, "texCoord"))
        .unwrap_or(0)
}

/// Removes the textures of a material, those of extensions included, for which `is_removed` is true. Without its emissive
/// texture a material emits nothing.
pub fn remove_textures(material: &mut Value, is_removed: impl Fn(&Value) -> bool) {
    if material.get("emissiveTexture").is_some_and(&is_removed)
        && let Some(members) = material.as_object_mut()
    {
        members.shift_remove("emissiveFactor");
    }
    remove_slots(material, 0, &is_removed);
}

fn remove_slots(at: &mut Value, depth: usize, is_removed: &dyn Fn(&Value) -> bool) {
    let Some(members) = at.as_object_mut() else {
        return;
    };
    members.retain(|key, member| !(is_texture(key, member) && is_removed(member)));
    for (key, member) in members.iter_mut().filter(|(key, _)| *key != "extras") {
        if depth < MAX_SLOT_DEPTH && !is_texture(key, member) {
            remove_slots(member, depth + 1, is_removed);
        }
    }
}
