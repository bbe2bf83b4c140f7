//! Enforces a rule of glTF on every import: a material reads only sets of texture coordinates that the geometry has.
//!
//! Files of all formats break it: a textured material on a mesh without coordinates, or a texture for the second set on a
//! mesh with one. Such a primitive gets a copy of its material without these textures, and a warning says so.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::super::scene::{Geometry, Scene, coordinate_set_of, remove_textures, slots_of};
use assetfs_formats::warnings::{Warning, WarningKind};

/// A material and the sets of texture coordinates that a geometry lacks for it.
type MissingSets = (usize, BTreeSet<usize>);

/// Replaces the material of each primitive that lacks texture coordinates for it; returns the warnings.
pub(super) fn remove_unreadable_textures(scene: &mut Scene) -> Vec<Warning> {
    let mut materials = scene.list("materials").to_vec();
    let read: Vec<BTreeSet<usize>> = materials.iter().map(sets_of).collect();
    let mut copies: HashMap<MissingSets, usize> = HashMap::new();
    let mut warnings = Vec::new();
    for mesh in &mut scene.meshes {
        let mesh_name = mesh.name().unwrap_or("without a name").to_owned();
        for primitive in &mut mesh.primitives {
            let geometry = &scene.geometries[primitive.geometry];
            let mut fitted = |material: usize| {
                let sets = lacking(geometry, read.get(material)?);
                if sets.is_empty() {
                    return None;
                }
                let key = (material, sets);
                if let Some(copy) = copies.get(&key) {
                    return Some(*copy);
                }
                let copy = without_sets(&materials[material], &key.1);
                warnings.push(warning(&copy, &mesh_name, &key.1));
                materials.push(copy);
                copies.insert(key, materials.len() - 1);
                Some(materials.len() - 1)
            };
            if let Some(copy) = primitive.material.and_then(&mut fitted) {
                primitive.material = Some(copy);
            }
            for reference in primitive.variant_materials_mut() {
                let material = reference.as_u64().map(|index| index as usize);
                if let Some(copy) = material.and_then(&mut fitted) {
                    *reference = copy.into();
                }
            }
        }
    }
    if !copies.is_empty() {
        scene
            .json
            .insert("materials".to_owned(), Value::Array(materials));
    }
    warnings
}

fn sets_of(material: &Value) -> BTreeSet<usize> {
    let textures = slots_of(material).into_iter();
    textures
        .map(|(_, _, texture)| coordinate_set_of(texture))
        .collect()
}

fn lacking(geometry: &Geometry, read: &BTreeSet<usize>) -> BTreeSet<usize> {
    let has = |set: &usize| geometry.attribute(&format!("TEXCOORD_{set}")).is_some();
    read.iter().copied().filter(|set| !has(set)).collect()
}

fn without_sets(material: &Value, sets: &BTreeSet<usize>) -> Value {
    let mut copy = material.clone();
    remove_textures(&mut copy, |texture| {
        sets.contains(&coordinate_set_of(texture))
    });
    copy
}

fn warning(material: &Value, mesh: &str, sets: &BTreeSet<usize>) -> Warning {
    let sets: Vec<String> = sets.iter().map(usize::to_string).collect();
    let text = format!(
        "mesh \"{mesh}\": the material \"{}\" has textures for texture coordinate set {}, which the mesh lacks; they are left out there",
        material["name"].as_str().unwrap_or("without a name"),
        sets.join(" and ")
    );
    Warning::new(WarningKind::BadTexture, text)
}
