//! What becomes of the extensions that a glTF file uses.
//!
//! A known extension is read, or passes through because it has no indices that a job changes. An unknown extension passes
//! through with a warning: its references to nodes, meshes or accessors may not fit the result.

use std::collections::BTreeSet;

use assetfs_formats::gltf_image_extensions;
use assetfs_formats::warnings::{Warning, WarningKind};
use serde_json::Value;

/// Extensions that are read, or that pass through without loss to glb and gltf, besides those of image formats.
const KNOWN: &[&str] = &[
    "EXT_lights_image_based",
    "EXT_mesh_features",
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_structural_metadata",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
];

/// A warning for each extension of a document that is not known, whether it is declared or not.
pub(super) fn name_unknown(json: &Value) -> Vec<Warning> {
    let mut used = BTreeSet::new();
    for name in json["extensionsUsed"].as_array().into_iter().flatten() {
        used.extend(name.as_str());
    }
    collect(json, &mut used);
    used.retain(|name| !KNOWN.contains(name) && !gltf_image_extensions().any(|it| it == *name));
    used.into_iter()
        .map(|name| match name {
            "KHR_gaussian_splatting" => format!(
                "the extension {name} is not read: its Gaussian splats are taken for points, and only glb and gltf keep them"
            ),
            _ => format!(
                "the extension {name} is not read; only glb and gltf keep it, and its references may not fit the result"
            ),
        })
        .map(|text| Warning::new(WarningKind::NotRead, text))
        .collect()
}

/// The names of the extensions that objects have.
fn collect<'a>(at: &'a Value, used: &mut BTreeSet<&'a str>) {
    match at {
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, used)),
        Value::Object(members) => {
            for (key, member) in members.iter().filter(|(key, _)| *key != "extras") {
                if key == "extensions"
                    && let Some(extensions) = member.as_object()
                {
                    used.extend(extensions.keys().map(String::as_str));
                }
                collect(member, used);
            }
        }
        _ => {}
    }
}
