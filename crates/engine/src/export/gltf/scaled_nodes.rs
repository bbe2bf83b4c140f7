//! Nodes whose meshes have positions in steps: they are scaled by the step. A leaf gets the scale itself; where something
//! else depends on the scale of a node, its mesh gets a node of its own below.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::super::super::scene::{Scene, index_in, indices_in};
use super::super::rounding::Step;

/// Extensions that a scaled node may have.
const OF_NODES: [&str; 3] = [
    "KHR_lights_punctual",
    "KHR_node_visibility",
    "KHR_xmp_json_ld",
];
/// Bytes of JSON that a new node takes besides its content: its index in `children` of its parent, and a comma.
const JSON_OF_CHILD: i64 = 20;

/// What decides how the nodes of a scene may be scaled.
pub(super) struct Nodes<'s> {
    nodes: &'s [Value],
    /// The nodes that draw each mesh.
    of_mesh: HashMap<usize, Vec<usize>>,
    joints: HashSet<usize>,
    /// Nodes of which an animation changes this.
    scaled: HashSet<usize>,
    morphed: HashSet<usize>,
}

impl<'s> Nodes<'s> {
    pub(super) fn of(scene: &'s Scene) -> Nodes<'s> {
        let nodes = scene.list("nodes");
        let mut of_mesh: HashMap<usize, Vec<usize>> = HashMap::new();
        for (node, json) in nodes.iter().enumerate() {
            if let Some(mesh) = index_in(json, "mesh") {
                of_mesh.entry(mesh).or_default().push(node);
            }
        }
        let animated = |path: &str| -> HashSet<usize> {
            let animations = scene.list("animations").iter();
            let channels = animations.flat_map(|animation| animation["channels"].as_array());
            let targets = channels.flatten().map(|channel| &channel["target"]);
            let targets = targets.filter(|target| target["path"] == path);
            targets
                .filter_map(|target| index_in(target, "node"))
                .collect()
        };
        let skins = scene.list("skins").iter();
        Nodes {
            nodes,
            of_mesh,
            joints: skins.flat_map(|skin| indices_in(skin, "joints")).collect(),
            scaled: animated("scale"),
            morphed: animated("weights"),
        }
    }

    /// How many bytes of JSON the scaled nodes of these meshes take more; `None` if one of them must not be scaled.
    pub(super) fn cost(&self, meshes: &[usize], step: Step) -> Option<i64> {
        let costs = meshes.iter().flat_map(|mesh| match self.of_mesh.get(mesh) {
            Some(nodes) => nodes.iter().map(|node| self.cost_of(*node, step)).collect(),
            None => vec![None],
        });
        costs.sum()
    }

    fn cost_of(&self, place: usize, step: Step) -> Option<i64> {
        let node = &self.nodes[place];
        let extensions = node["extensions"].as_object().into_iter().flatten();
        let mut names = extensions.map(|(name, _)| name.as_str());
        if node.get("skin").is_some() || !names.all(|name| OF_NODES.contains(&name)) {
            return None;
        }
        let length = |node: &Value| node.to_string().len() as i64;
        if self.takes_scale(place) {
            return Some(length(&own_scale(node, step)) - length(node));
        }
        let below = own_scale(&json!({ "mesh": 0 }), step);
        (!self.morphed.contains(&place)).then(|| length(&below) + JSON_OF_CHILD)
    }

    /// Whether nothing but its mesh depends on the scale of a node.
    fn takes_scale(&self, place: usize) -> bool {
        let node = &self.nodes[place];
        let is_leaf = indices_in(node, "children").next().is_none();
        let has_light = node["extensions"].get("KHR_lights_punctual").is_some();
        let is_free = !self.joints.contains(&place) && !self.scaled.contains(&place);
        is_leaf && is_free && !has_light && node.get("camera").is_none()
    }

    /// Scales the nodes in `json` that draw these meshes.
    pub(super) fn scale(&self, json: &mut Map<String, Value>, meshes: &[usize], step: Step) {
        let nodes = json.get_mut("nodes").and_then(Value::as_array_mut);
        let Some(nodes) = nodes else { return };
        let drawn = meshes.iter().filter_map(|mesh| self.of_mesh.get(mesh));
        for place in drawn.flatten() {
            if self.takes_scale(*place) {
                nodes[*place] = own_scale(&nodes[*place], step);
                continue;
            }
            let mut below = Map::new();
            let own = nodes.len();
            if let Some(node) = nodes[*place].as_object_mut() {
                for key in ["mesh", "weights"] {
                    below.extend(node.shift_remove(key).map(|value| (key.to_owned(), value)));
                }
                let children = node.entry("children").or_insert_with(|| json!([]));
                if let Some(children) = children.as_array_mut() {
                    children.push(own.into());
                }
            }
            nodes.push(own_scale(&Value::Object(below), step));
        }
    }
}

/// The node with its own transform after a scale by the step.
fn own_scale(node: &Value, step: Step) -> Value {
    let mut node = node.clone();
    let scaled = |numbers: &Value, count: usize| -> Value {
        let numbers = numbers.as_array().into_iter().flatten().enumerate();
        let scaled = numbers.map(|(place, number)| match number.as_f64() {
            Some(exact) if place < count => (exact * step.length()).into(),
            _ => number.clone(),
        });
        scaled.collect()
    };
    // The last column of a matrix is the translation.
    if let Some(matrix) = node.get("matrix") {
        node["matrix"] = scaled(matrix, 12);
    } else {
        let scale = node.get("scale").cloned();
        node["scale"] = scaled(&scale.unwrap_or_else(|| json!([1, 1, 1])), 3);
    }
    node
}
