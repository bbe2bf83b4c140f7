//! Animations of an FBX file, baked to keyframes of nodes and of the weights of blend shapes.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::super::super::document::ElementType;
use super::super::super::scene::Scene;
use super::super::animated::{add_table, increasing};
use super::shapes::channels;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Adds the animations that move nodes and shapes, and names the properties that others move.
pub(super) fn add(loaded: &ufbx::Scene, scene: &mut Scene, warnings: &mut Vec<Warning>) {
    let mut animations = Vec::new();
    let mut unread = BTreeSet::new();
    for stack in loaded.anim_stacks.iter() {
        let options = ufbx::BakeOpts {
            trim_start_time: true,
            key_reduction_enabled: true,
            key_reduction_rotation: true,
            ..Default::default()
        };
        match ufbx::bake_anim(loaded, &stack.anim, options) {
            Ok(baked) => {
                let animation = convert(loaded, &baked, &stack.element.name, scene);
                animations.extend(animation);
                unread.extend(unread_properties(loaded, &baked));
            }
            Err(error) => warnings.push(Warning::new(
                WarningKind::Damaged,
                format!(
                    "the animation \"{}\" cannot be read: {}",
                    &*stack.element.name, &*error.description
                ),
            )),
        }
    }
    if !unread.is_empty() {
        let names: Vec<String> = unread.into_iter().collect();
        warnings.push(Warning::new(
            WarningKind::NotRead,
            format!(
                "animations of these properties are not read: {}",
                names.join(", ")
            ),
        ));
    }
    if !animations.is_empty() {
        scene
            .json
            .insert("animations".to_owned(), Value::Array(animations));
    }
}

/// The property of a blend channel that is its weight, in percent.
const SHAPE_WEIGHT: &str = "DeformPercent";

/// The animated properties that are not read, each with the type of its object.
fn unread_properties(loaded: &ufbx::Scene, baked: &ufbx::BakedAnim) -> BTreeSet<String> {
    let mut unread = BTreeSet::new();
    for element in baked.elements.iter() {
        let Some(object) = loaded.elements.get(element.element_id as usize) else {
            continue;
        };
        for property in element.props.iter().filter(|found| !found.constant_value) {
            let name: &str = &property.name;
            if !name.starts_with("Lcl ") && name != SHAPE_WEIGHT {
                unread.insert(format!("{name} ({:?})", object.type_));
            }
        }
    }
    unread
}

fn convert(
    loaded: &ufbx::Scene,
    baked: &ufbx::BakedAnim,
    name: &str,
    scene: &mut Scene,
) -> Option<Value> {
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    let mut add_channel = |scene: &mut Scene,
                           node: u32,
                           path: &str,
                           element: ElementType,
                           (times, values): (Vec<f32>, Vec<f32>)| {
        if times.is_empty() {
            return;
        }
        let input = add_table(scene, ElementType::Scalar, times);
        let output = add_table(scene, element, values);
        channels.push(json!({
            "sampler": samplers.len(),
            "target": { "node": node, "path": path },
        }));
        samplers.push(json!({ "input": input, "output": output }));
    };
    for mesh in loaded.meshes.iter() {
        let weights = weights_of(mesh, baked);
        for node in mesh.element.instances.iter() {
            let (node, weights) = (node.element.typed_id, weights.clone());
            add_channel(scene, node, "weights", ElementType::Scalar, weights);
        }
    }
    for node in baked.nodes.iter() {
        let mut add = |path: &str, element: ElementType, times: Vec<f32>, values: Vec<f32>| {
            add_channel(scene, node.typed_id, path, element, (times, values));
        };
        if !node.constant_translation {
            let (times, values) = vectors(&node.translation_keys);
            add("translation", ElementType::Vec3, times, values);
        }
        if !node.constant_rotation {
            let times = increasing(node.rotation_keys.iter().map(|key| key.time));
            let values = times.iter().flat_map(|(place, _)| {
                let at = &node.rotation_keys[*place].value;
                [at.x, at.y, at.z, at.w].map(|part| part as f32)
            });
            let values = values.collect();
            let times = times.into_iter().map(|(_, time)| time).collect();
            add("rotation", ElementType::Vec4, times, values);
        }
        if !node.constant_scale {
            let (times, values) = vectors(&node.scale_keys);
            add("scale", ElementType::Vec3, times, values);
        }
    }
    if channels.is_empty() {
        return None;
    }
    Some(json!({ "name": name, "samplers": samplers, "channels": channels }))
}

/// The times at which a weight of the mesh's shapes changes, and the weights of all shapes at each.
fn weights_of(mesh: &ufbx::Mesh, baked: &ufbx::BakedAnim) -> (Vec<f32>, Vec<f32>) {
    let moving: HashMap<u32, &[ufbx::BakedVec3]> = baked
        .elements
        .iter()
        .filter_map(|element| {
            let mut moving = element.props.iter().filter(|found| !found.constant_value);
            let weight = moving.find(|found| &*found.name == SHAPE_WEIGHT)?;
            Some((element.element_id, &*weight.keys))
        })
        .collect();
    let keys_of = |channel: &ufbx::BlendChannel| moving.get(&channel.element.element_id).copied();
    let mut times: Vec<f64> = channels(mesh)
        .filter_map(|(channel, _)| keys_of(channel))
        .flatten()
        .map(|key| key.time)
        .collect();
    times.sort_by(f64::total_cmp);
    let times = increasing(times.iter().copied())
        .into_iter()
        .map(|(place, _)| times[place])
        .collect::<Vec<f64>>();
    let values = times.iter().flat_map(|time| {
        channels(mesh).map(|(channel, _)| match keys_of(channel) {
            Some(keys) => (ufbx::evaluate_baked_vec3(keys, *time).x / 100.0) as f32,
            None => channel.weight as f32,
        })
    });
    let values = values.collect();
    (times.iter().map(|time| *time as f32).collect(), values)
}

fn vectors(keys: &[ufbx::BakedVec3]) -> (Vec<f32>, Vec<f32>) {
    let times = increasing(keys.iter().map(|key| key.time));
    let values = times.iter().flat_map(|(place, _)| {
        let at = &keys[*place].value;
        [at.x, at.y, at.z].map(|part| part as f32)
    });
    let values = values.collect();
    (times.into_iter().map(|(_, time)| time).collect(), values)
}
