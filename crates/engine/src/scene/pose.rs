//! Poses: the nodes of a scene at moments of its animations.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::content::{Scene, index_in};

/// The nodes of a scene at one moment of one of its animations.
#[derive(Debug, Clone)]
pub struct Pose {
    nodes: Vec<Value>,
}

impl Pose {
    /// The nodes of the scene, with the values that they have at the moment.
    pub fn nodes(&self) -> &[Value] {
        &self.nodes
    }
}

impl Scene {
    /// At most `most` poses from the middle of the scene's animations; none if only whole meshes move.
    pub fn poses(&self, most: usize) -> Vec<Pose> {
        let animations = self.list("animations");
        if most == 0 || animations.is_empty() || !self.changes_shapes() {
            return Vec::new();
        }
        // Many animations: some of them, from the first to the last. Few: several moments of each.
        let shown = most.min(animations.len());
        let moments = most.div_ceil(shown);
        let parts = (1..=moments).map(|moment| moment as f32 / (moments + 1) as f32);
        let chosen = (0..shown).map(|at| at * (animations.len() - 1) / (shown - 1).max(1));
        let all = chosen.flat_map(|at| parts.clone().map(move |part| (at, part)));
        all.take(most)
            .map(|(at, part)| self.pose(&animations[at], part))
            .collect()
    }

    /// Calls `look` with the scene in a pose, and restores the scene.
    pub fn in_pose<T>(&mut self, pose: &Pose, look: impl FnOnce(&Scene) -> T) -> T {
        let posed = Value::Array(pose.nodes.clone());
        let rest = self.json.insert("nodes".to_owned(), posed);
        let seen = look(self);
        match rest {
            Some(rest) => self.json.insert("nodes".to_owned(), rest),
            None => self.json.remove("nodes"),
        };
        seen
    }

    /// Whether nodes move parts of a mesh and not only the whole of it.
    fn changes_shapes(&self) -> bool {
        let is_skinned = |node: &Value| node.get("skin").is_some();
        self.list("nodes").iter().any(is_skinned)
            || self
                .geometries
                .iter()
                .any(|known| !known.targets.is_empty())
    }

    /// The pose of an animation at a fraction of its length. Other nodes stay at rest.
    fn pose(&self, animation: &Value, part: f32) -> Pose {
        let samplers = animation["samplers"].as_array();
        let lengths = samplers.into_iter().flatten().filter_map(|sampler| {
            let times = &self.tables.get(index_in(sampler, "input")?)?.values;
            times.last().copied()
        });
        self.pose_at(animation, part * lengths.fold(0.0, f32::max))
    }

    /// The matrices of all nodes to the world in a pose, measured from the scene's origin.
    pub fn worlds_in(&self, pose: &Pose) -> Vec<glam::DMat4> {
        self.worlds_of(&pose.nodes)
    }

    /// The pose of an animation at a time in seconds. Other nodes stay at rest.
    pub fn pose_at(&self, animation: &Value, time: f32) -> Pose {
        let mut nodes = self.list("nodes").to_vec();
        for channel in animation["channels"].as_array().into_iter().flatten() {
            let target = &channel["target"];
            let moved = index_in(target, "node").and_then(|node| nodes.get_mut(node));
            let sampler = index_in(channel, "sampler").map(|at| &animation["samplers"][at]);
            let value = sampler.and_then(|sampler| self.value_at(sampler, time));
            if let (Some(Value::Object(node)), Some(path), Some(value)) =
                (moved, target["path"].as_str(), value)
            {
                // A matrix would take precedence over translation, rotation and scale.
                node.remove("matrix");
                node.insert(path.to_owned(), json!(value));
            }
        }
        Pose { nodes }
    }

    /// The rest pose with each node that has a scale of 0 at the largest scale that an animation gives it; `None` if
    /// there is no such node.
    pub(super) fn shown_pose(&self) -> Option<Pose> {
        let mut largest: HashMap<usize, [f32; 3]> = HashMap::new();
        for animation in self.list("animations") {
            for channel in animation["channels"].as_array().into_iter().flatten() {
                let target = &channel["target"];
                let node = index_in(target, "node").filter(|_| target["path"] == "scale");
                let sampler = index_in(channel, "sampler").map(|at| &animation["samplers"][at]);
                let (Some(node), Some(sampler)) = (node, sampler) else {
                    continue;
                };
                if !self.list("nodes").get(node).is_some_and(is_flat) {
                    continue;
                }
                for scale in self.scales_of(sampler) {
                    let known = largest.entry(node).or_insert([0.0; 3]);
                    if size_of(&scale) > size_of(known) {
                        *known = scale;
                    }
                }
            }
        }
        largest.retain(|_, scale| size_of(scale) > 0.0);
        if largest.is_empty() {
            return None;
        }
        let mut nodes = self.list("nodes").to_vec();
        for (node, scale) in largest {
            nodes[node]["scale"] = json!(scale);
        }
        Some(Pose { nodes })
    }

    /// The values of a sampler of scales, without tangents.
    fn scales_of(&self, sampler: &Value) -> impl Iterator<Item = [f32; 3]> {
        let table = index_in(sampler, "output").and_then(|at| self.tables.get(at));
        let values = table.map_or(&[][..], |table| &table.values);
        let (skipped, every) = match sampler["interpolation"].as_str() {
            Some("CUBICSPLINE") => (1, 3),
            _ => (0, 1),
        };
        let scales = values.chunks_exact(3).skip(skipped).step_by(every);
        scales.map(|scale| [scale[0], scale[1], scale[2]])
    }

    /// The value of a sampler at a time, by the rules of glTF 2.0, appendix C; a rotation is not normalized.
    fn value_at(&self, sampler: &Value, time: f32) -> Option<Vec<f32>> {
        let table = |key| Some(&self.tables.get(index_in(sampler, key)?)?.values);
        let (times, values) = (table("input")?, table("output")?);
        let width = values
            .len()
            .checked_div(times.len())
            .filter(|width| *width > 0)?;
        let after = times.partition_point(|key| *key <= time);
        let (one, two) = (after.saturating_sub(1), after.min(times.len() - 1));
        let span = times[two] - times[one];
        let share = match span > 0.0 {
            true => ((time - times[one]) / span).clamp(0.0, 1.0),
            false => 0.0,
        };
        let key = |at: usize| &values[at * width..(at + 1) * width];
        Some(match sampler["interpolation"].as_str() {
            Some("STEP") => key(one).to_vec(),
            Some("CUBICSPLINE") => on_curve(key(one), key(two), span, share),
            _ => between(key(one), key(two), share),
        })
    }
}

/// Whether a node has no extent along an axis.
fn is_flat(node: &Value) -> bool {
    let scale = node["scale"].as_array();
    scale.is_some_and(|scale| scale.iter().any(|part| part.as_f64() == Some(0.0)))
}

/// The volume of a scale; 0 if it is not finite.
fn size_of(scale: &[f32; 3]) -> f32 {
    let size = scale.iter().product::<f32>().abs();
    if size.is_finite() { size } else { 0.0 }
}

fn between(one: &[f32], two: &[f32], share: f32) -> Vec<f32> {
    let pairs = || one.iter().zip(two);
    // A quaternion and its negative are the same rotation; the shorter way is taken. No other values have four numbers.
    let turns_back = one.len() == 4 && pairs().map(|(one, two)| one * two).sum::<f32>() < 0.0;
    let sign = if turns_back { -1.0 } else { 1.0 };
    pairs()
        .map(|(one, two)| one + (two * sign - one) * share)
        .collect()
}

/// Each key is three values: the tangent that comes in, the value, the tangent that goes out.
fn on_curve(one: &[f32], two: &[f32], span: f32, t: f32) -> Vec<f32> {
    let width = one.len() / 3;
    let (t2, t3) = (t * t, t * t * t);
    (0..width)
        .map(|part| {
            let (from, leaving) = (one[width + part], one[2 * width + part] * span);
            let (to, coming) = (two[width + part], two[part] * span);
            (2.0 * t3 - 3.0 * t2 + 1.0) * from
                + (t3 - 2.0 * t2 + t) * leaving
                + (3.0 * t2 - 2.0 * t3) * to
                + (t3 - t2) * coming
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::document::{ComponentType, ElementType};
    use super::super::Table;
    use super::*;

    fn table(element: ElementType, values: &[f32]) -> Table {
        Table {
            element,
            component: ComponentType::F32,
            normalized: false,
            values: values.to_vec(),
        }
    }

    /// A skinned node that an animation of four seconds moves along x to 8.
    fn moving(interpolation: &str, values: &[f32]) -> Scene {
        let mut scene = Scene {
            tables: vec![
                table(ElementType::Scalar, &[0.0, 1.0, 4.0]),
                table(ElementType::Vec3, values),
            ],
            ..Scene::default()
        };
        let nodes = json!([{ "skin": 0, "mesh": 0, "translation": [7.0, 0.0, 0.0] }]);
        let animations = json!([{
            "samplers": [{ "input": 0, "output": 1, "interpolation": interpolation }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }],
        }]);
        scene.json.insert("nodes".to_owned(), nodes);
        scene.json.insert("animations".to_owned(), animations);
        scene
    }

    fn place(scene: &Scene) -> f64 {
        scene.list("nodes")[0]["translation"][0].as_f64().unwrap()
    }

    #[test]
    fn poses_lie_between_keys_and_the_rest_pose_returns() {
        let values = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 8.0, 0.0, 0.0];
        for (interpolation, expected) in [("LINEAR", [2.0, 4.0, 6.0]), ("STEP", [2.0, 2.0, 2.0])] {
            let mut scene = moving(interpolation, &values);
            let poses = scene.poses(3);
            let places: Vec<f64> = poses
                .iter()
                .map(|pose| scene.in_pose(pose, place))
                .collect();
            assert_eq!(places, expected, "{interpolation}");
            assert_eq!(place(&scene), 7.0);
        }
    }

    #[test]
    fn curve_goes_through_its_keys_along_their_tangents() {
        let key = |place: f32, slope: f32| [slope, 0.0, 0.0, place, 0.0, 0.0, slope, 0.0, 0.0];
        let flat = [key(1.0, 0.0), key(2.0, 0.0), key(8.0, 0.0)].concat();
        let steep = [key(1.0, 0.0), key(2.0, 3.0), key(8.0, 0.0)].concat();
        // A third of the way of three seconds: the cubic with these ends, by hand.
        for (values, expected) in [
            (flat, 2.0 + 6.0 * 7.0 / 27.0),
            (steep, 2.0 + 14.0 / 9.0 + 4.0 / 3.0),
        ] {
            let mut scene = moving("CUBICSPLINE", &values);
            let pose = &scene.poses(1)[0];
            assert!((scene.in_pose(pose, place) - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn hidden_node_is_measured_as_large_as_an_animation_shows_it() {
        let scaled = |interpolation: &str, values: &[f32]| {
            let mut scene = moving(interpolation, values);
            scene.list_mut("nodes").unwrap()[0]["scale"] = json!([0.0, 0.0, 0.0]);
            let channel = &mut scene.list_mut("animations").unwrap()[0]["channels"][0];
            channel["target"]["path"] = "scale".into();
            let shown = scene.shown_pose();
            shown.map(|pose| pose.nodes[0]["scale"].clone())
        };
        let steps = [0.0, 0.0, 0.0, 2.0, 2.0, -2.0, 1.0, 1.0, 1.0];
        assert_eq!(scaled("STEP", &steps), Some(json!([2.0, 2.0, -2.0])));
        let tangents = [[9.0; 3], [0.0; 3], [9.0; 3], [9.0; 3], [0.5; 3], [9.0; 3]].concat();
        let curve = scaled("CUBICSPLINE", &tangents);
        assert_eq!(curve, Some(json!([0.5, 0.5, 0.5])));
        // Nothing shows it, or it is not hidden.
        assert_eq!(scaled("STEP", &[0.0; 9]), None);
        assert_eq!(scaled("STEP", &[f32::INFINITY; 9]), None);
        assert!(moving("STEP", &steps).shown_pose().is_none());
    }

    #[test]
    fn rotation_takes_the_shorter_way() {
        let half = [0.0, 0.0, 0.6, 0.8];
        let back = half.map(|number: f32| -number);
        assert_eq!(between(&half, &back, 0.5), half);
    }

    #[test]
    fn model_that_moves_as_a_whole_has_no_poses_of_interest() {
        let mut scene = moving("LINEAR", &[0.0; 9]);
        scene.list_mut("nodes").unwrap()[0] = json!({ "mesh": 0 });
        assert!(scene.poses(3).is_empty());
    }

    #[test]
    fn animation_without_numbers_leaves_the_rest_pose() {
        let mut scene = moving("LINEAR", &[]);
        let pose = &scene.poses(1)[0];
        assert_eq!(scene.in_pose(pose, place), 7.0);
        scene
            .json
            .insert("animations".to_owned(), json!([{}, { "channels": [{}] }]));
        assert_eq!(scene.poses(2).len(), 2);
    }
}
