//! Removes cameras, lights, animations, morph targets and unused texture coordinates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::scene::{Scene, drop_extension, index_in, keep_placed, new_places};
use super::super::settings::Discard;

/// Removes what the configuration requests; returns lines for `info.log`.
pub fn discard(scene: &mut Scene, discard: &Discard) -> Vec<String> {
    let mut done = Vec::new();
    let mut note = |count: usize, thing: &str| {
        if count > 0 {
            done.push(format!("{count} {thing} left out"));
        }
    };
    if discard.cameras {
        note(cameras(scene), "cameras");
    }
    if discard.lights {
        note(lights(scene), "lights");
    }
    if discard.animations {
        note(animations(scene), "animations");
    }
    if discard.morph_targets {
        note(morph_targets(scene), "morph targets");
    }
    if discard.unused_uvs {
        note(unused_uvs(scene), "unused sets of texture coordinates");
    }
    done
}

fn cameras(scene: &mut Scene) -> usize {
    for node in scene.list_mut("nodes").into_iter().flatten() {
        remove(node, "camera");
    }
    drop_channels(scene, |target| points_below(target, "/cameras/"));
    take_list(scene, "cameras")
}

fn animations(scene: &mut Scene) -> usize {
    take_list(scene, "animations")
}

fn lights(scene: &mut Scene) -> usize {
    const NAME: &str = "KHR_lights_punctual";
    for node in scene.list_mut("nodes").into_iter().flatten() {
        if let Some(node) = node.as_object_mut() {
            drop_extension(node, NAME);
        }
    }
    drop_channels(scene, |target| {
        points_below(target, "/extensions/KHR_lights_punctual/")
    });
    let extensions = scene.json.get("extensions");
    let lights = extensions.and_then(|all| all[NAME]["lights"].as_array());
    let count = lights.map_or(0, Vec::len);
    drop_extension(&mut scene.json, NAME);
    for list in ["extensionsUsed", "extensionsRequired"] {
        if let Some(names) = scene.list_mut(list) {
            names.retain(|name| name.as_str() != Some(NAME));
        }
    }
    count
}

fn morph_targets(scene: &mut Scene) -> usize {
    let mut count = 0;
    for geometry in &mut scene.geometries {
        count += geometry.targets.len();
        geometry.targets.clear();
    }
    for mesh in &mut scene.meshes {
        mesh.json.shift_remove("weights");
        if let Some(extras) = mesh.json.get_mut("extras") {
            remove(extras, "targetNames");
        }
    }
    for node in scene.list_mut("nodes").into_iter().flatten() {
        remove(node, "weights");
    }
    let is_of_weights = |pointer: &str| {
        let mut words = pointer.split('/').skip(1);
        matches!(words.next(), Some("nodes" | "meshes")) && words.nth(1) == Some("weights")
    };
    drop_channels(scene, |target| {
        target["path"] == "weights" || pointer_of(target).is_some_and(is_of_weights)
    });
    count
}

/// The path of what a channel changes, where the extension `KHR_animation_pointer` names it.
pub(super) fn pointer_of(target: &Value) -> Option<&str> {
    target["extensions"]["KHR_animation_pointer"]["pointer"].as_str()
}

fn points_below(target: &Value, path: &str) -> bool {
    pointer_of(target).is_some_and(|pointer| pointer.starts_with(path))
}

/// Removes the channels with these targets, and animations that then have none.
fn drop_channels(scene: &mut Scene, is_dropped: impl Fn(&Value) -> bool) {
    let Some(animations) = scene.list_mut("animations") else {
        return;
    };
    animations.retain_mut(|animation| {
        let Some(channels) = animation.get_mut("channels").and_then(Value::as_array_mut) else {
            return true;
        };
        let before = channels.len();
        channels.retain(|channel| !is_dropped(&channel["target"]));
        let (left, is_changed) = (channels.len(), channels.len() != before);
        if is_changed {
            drop_unused_samplers(animation);
        }
        left > 0 || !is_changed
    });
}

/// Removes samplers that no channel uses, and updates the channels.
fn drop_unused_samplers(animation: &mut Value) {
    let channels = animation["channels"].as_array().into_iter().flatten();
    let used: BTreeSet<usize> = channels
        .filter_map(|channel| index_in(channel, "sampler"))
        .collect();
    let Some(samplers) = animation.get_mut("samplers").and_then(Value::as_array_mut) else {
        return;
    };
    let places = new_places((0..samplers.len()).map(|sampler| used.contains(&sampler)));
    keep_placed(samplers, &places);
    for channel in animation["channels"].as_array_mut().into_iter().flatten() {
        if let Some(Some(place)) = index_in(channel, "sampler").and_then(|it| places.get(it)) {
            channel["sampler"] = (*place).into();
        }
    }
}

/// Removes the sets above the highest that a material uses. Unused sets below stay, because the numbers must have no
/// gap.
fn unused_uvs(scene: &mut Scene) -> usize {
    let texturings = scene.texturings();
    let mut count = 0;
    for (geometry, texturing) in scene.geometries.iter_mut().zip(texturings) {
        let before = geometry.attributes.len();
        let is_kept = |name: &str| {
            name.strip_prefix("TEXCOORD_")
                .and_then(|set| set.parse::<usize>().ok())
                .is_none_or(|set| set < texturing.coordinate_sets)
        };
        geometry
            .attributes
            .retain(|attribute| is_kept(&attribute.name));
        for target in &mut geometry.targets {
            target.retain(|attribute| is_kept(&attribute.name));
        }
        count += before - geometry.attributes.len();
    }
    count
}

fn take_list(scene: &mut Scene, list: &str) -> usize {
    match scene.json.shift_remove(list) {
        Some(Value::Array(entries)) => entries.len(),
        _ => 0,
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Some(members) = object.as_object_mut() {
        members.shift_remove(key);
    }
}
