//! The references in the JSON of a scene to numbers and bytes that pass through (in a file to accessors and buffer views, in
//! memory to tables and blobs), and new indices of lists of which entries are removed.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::content::index_in;

/// What numbers that pass through are used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableUse {
    /// Matrices of skins.
    Bind,
    /// Times of keyframes.
    KeyTimes,
    /// Values of keyframes.
    KeyValues,
    /// Values of keyframes that are rotations and nothing else; not those of cubic splines, which have tangents as well.
    KeyRotations,
    /// Instance transforms.
    Instance,
}

/// Calls `change` with every reference from skins, animations and nodes to numbers.
pub fn for_each_table<E>(
    json: &mut Map<String, Value>,
    mut change: impl FnMut(TableUse, &mut Value) -> Result<(), E>,
) -> Result<(), E> {
    for skin in elements(json.get_mut("skins")) {
        if let Some(reference) = skin.get_mut("inverseBindMatrices") {
            change(TableUse::Bind, reference)?;
        }
    }
    for animation in elements(json.get_mut("animations")) {
        let rotations = rotation_samplers(animation);
        for (number, sampler) in elements(animation.get_mut("samplers")).enumerate() {
            let is_curve = sampler["interpolation"] == "CUBICSPLINE";
            let values = match rotations.contains(&number) && !is_curve {
                true => TableUse::KeyRotations,
                false => TableUse::KeyValues,
            };
            for (key, usage) in [("input", TableUse::KeyTimes), ("output", values)] {
                if let Some(reference) = sampler.get_mut(key) {
                    change(usage, reference)?;
                }
            }
        }
    }
    for node in elements(json.get_mut("nodes")) {
        let attributes = node.pointer_mut("/extensions/EXT_mesh_gpu_instancing/attributes");
        let attributes = attributes.and_then(Value::as_object_mut);
        for reference in attributes.into_iter().flat_map(Map::values_mut) {
            change(TableUse::Instance, reference)?;
        }
    }
    Ok(())
}

/// The samplers of which every channel is a rotation.
pub fn rotation_samplers(animation: &Value) -> HashSet<usize> {
    let of_kind = |is_rotation: bool| -> HashSet<usize> {
        let channels = animation["channels"].as_array().into_iter().flatten();
        channels
            .filter(|channel| (channel["target"]["path"] == "rotation") == is_rotation)
            .filter_map(|channel| index_in(channel, "sampler"))
            .collect()
    };
    &of_kind(true) - &of_kind(false)
}

fn elements(list: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

/// Replaces every number by which an extension names bytes with what `change` returns for it.
pub fn for_each_blob<E>(
    json: &mut Map<String, Value>,
    change: &mut impl FnMut(usize) -> Result<usize, E>,
) -> Result<(), E> {
    blobs_of(json, false, change)
}

fn blobs_of<E>(
    members: &mut Map<String, Value>,
    in_extension: bool,
    change: &mut impl FnMut(usize) -> Result<usize, E>,
) -> Result<(), E> {
    // `EXT_structural_metadata` names the bytes of a property.
    let is_property = in_extension && members.get("values").is_some_and(Value::is_u64);
    let metadata = ["values", "arrayOffsets", "stringOffsets"];
    // These are read themselves.
    let read = [
        "extras",
        "KHR_draco_mesh_compression",
        "EXT_mesh_gpu_instancing",
    ];
    for (key, member) in members {
        if read.contains(&key.as_str()) {
            continue;
        }
        let names_bytes =
            in_extension && key == "bufferView" || is_property && metadata.contains(&key.as_str());
        match member.as_u64().filter(|_| names_bytes) {
            Some(blob) => *member = change(blob as usize)?.into(),
            None => blobs_in(member, in_extension || key == "extensions", change)?,
        }
    }
    Ok(())
}

fn blobs_in<E>(
    at: &mut Value,
    in_extension: bool,
    change: &mut impl FnMut(usize) -> Result<usize, E>,
) -> Result<(), E> {
    match at {
        Value::Array(elements) => elements
            .iter_mut()
            .try_for_each(|element| blobs_in(element, in_extension, change)),
        Value::Object(members) => blobs_of(members, in_extension, change),
        _ => Ok(()),
    }
}

/// The new index of each entry of a list of which only some are kept.
pub fn new_places(is_kept: impl IntoIterator<Item = bool>) -> Vec<Option<usize>> {
    let mut next = 0..;
    is_kept
        .into_iter()
        .map(|is_kept| is_kept.then(|| next.next()).flatten())
        .collect()
}

/// Removes the entries without a new index.
pub fn keep_placed(entries: &mut Vec<Value>, places: &[Option<usize>]) {
    let mut place = places.iter();
    entries.retain(|_| place.next().is_some_and(Option::is_some));
}
