//! Removes the nodes that drew the source's meshes and now hold nothing.
//!
//! Kept are nodes with a camera, a light or another extension, with extras, with an animation, and those that were empty
//! in the source: a pipeline may look for them by name.

use std::collections::HashSet;

use serde_json::Value;

use super::super::clean::knows_all_extensions;
use super::super::manipulate::animated_nodes;
use super::super::scene::{Scene, index_in, keep_placed, new_places};

/// Removes emptied nodes. `drew_mesh` says for each node whether it drew a mesh in the source.
///
/// Nothing is removed if the scene uses an extension that may refer to nodes in an unknown way.
pub(super) fn remove_emptied_nodes(scene: &mut Scene, drew_mesh: &[bool]) {
    if !knows_all_extensions(scene) {
        return;
    }
    let removed = emptied_nodes(scene, drew_mesh);
    if !removed.contains(&true) {
        return;
    }
    let places = new_places(removed.iter().map(|is_removed| !is_removed));
    if let Some(nodes) = scene.list_mut("nodes") {
        keep_placed(nodes, &places);
        for node in nodes {
            renumber_list(node, "children", &places);
        }
    }
    for shown in scene.list_mut("scenes").into_iter().flatten() {
        renumber_list(shown, "nodes", &places);
    }
    for animation in scene.list_mut("animations").into_iter().flatten() {
        let channels = animation.get_mut("channels").and_then(Value::as_array_mut);
        for channel in channels.into_iter().flatten() {
            renumber_target(&mut channel["target"], &places);
        }
    }
}

/// For each node, whether it is to be removed.
fn emptied_nodes(scene: &Scene, drew_mesh: &[bool]) -> Vec<bool> {
    let nodes = scene.list("nodes");
    let animated: HashSet<usize> = animated_nodes(scene).collect();
    let parents = scene.parents();
    let mut children_left = vec![0usize; nodes.len()];
    for parent in parents.iter().flatten() {
        children_left[*parent] += 1;
    }
    let is_plain: Vec<bool> = nodes
        .iter()
        .enumerate()
        .map(|(number, node)| {
            let holds = ["camera", "extensions", "extras"]
                .iter()
                .any(|key| node.get(key).is_some());
            let held_mesh = drew_mesh[number] || children_left[number] > 0;
            held_mesh && !holds && !animated.contains(&number)
        })
        .collect();
    let mut removed = vec![false; nodes.len()];
    let mut waiting: Vec<usize> = (0..nodes.len())
        .filter(|number| children_left[*number] == 0)
        .collect();
    while let Some(number) = waiting.pop() {
        if !is_plain[number] || removed[number] {
            continue;
        }
        removed[number] = true;
        if let Some(parent) = parents[number] {
            children_left[parent] -= 1;
            if children_left[parent] == 0 {
                waiting.push(parent);
            }
        }
    }
    removed
}

/// Replaces the numbers of nodes in a list; a list that becomes empty goes, because glTF forbids it.
fn renumber_list(holder: &mut Value, key: &str, places: &[Option<usize>]) {
    let Some(list) = holder.get_mut(key).and_then(Value::as_array_mut) else {
        return;
    };
    let kept: Vec<Value> = list
        .iter()
        .filter_map(|node| Some(Value::from((*places.get(node.as_u64()? as usize)?)?)))
        .collect();
    match kept.is_empty() {
        true => {
            holder.as_object_mut().and_then(|it| it.shift_remove(key));
        }
        false => *list = kept,
    }
}

/// Replaces the number of the node that an animation changes. Pointers (`KHR_animation_pointer`) do not occur here: with
/// them no node is removed.
fn renumber_target(target: &mut Value, places: &[Option<usize>]) {
    let place_of = |node: usize| places.get(node).copied().flatten();
    if let Some(node) = index_in(target, "node").and_then(place_of) {
        target["node"] = node.into();
    }
}
