//! Animations as keyframes at common times: where nodes and joints are at each.

use std::collections::{BTreeMap, BTreeSet};

use glam::{Mat4, Quat, Vec3};
use serde_json::Value;

use super::super::scene::{Scene, index_in, local_matrix};

/// The steps of curves, in seconds.
const CURVE_STEP: f32 = 1.0 / 30.0;
/// More times than this are thinned out.
const MAX_TIMES: usize = 5_000;

/// Translation, rotation and scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placement {
    pub(super) translation: Vec3,
    pub(super) rotation: Quat,
    pub(super) scale: Vec3,
}

impl Placement {
    pub(super) fn of(matrix: Mat4) -> Placement {
        let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
        let rotation = match rotation.is_finite() {
            true => rotation.normalize(),
            false => Quat::IDENTITY,
        };
        Placement {
            translation,
            rotation,
            scale,
        }
    }

    /// The same, with the sign of the rotation that is nearer to `before`: both are the same rotation, and viewers go the
    /// way between the numbers.
    fn near(mut self, before: Option<&Placement>) -> Placement {
        if before.is_some_and(|before| before.rotation.dot(self.rotation) < 0.0) {
            self.rotation = -self.rotation;
        }
        self
    }
}

/// Where things are at each time.
pub(super) struct NodeMotion {
    /// The name of the animation.
    pub(super) name: Option<String>,
    /// Seconds.
    pub(super) times: Vec<f32>,
    /// The placements of each node that has a channel of its own.
    pub(super) nodes: BTreeMap<usize, Vec<Placement>>,
    /// The placements of each joint of each skeleton, to its parent joint.
    pub(super) joints: Vec<Vec<Vec<Placement>>>,
}

/// A joint and the joint above it, for [`NodeMotion::of`].
pub(super) type JointTree = Vec<(usize, Option<usize>)>;

impl NodeMotion {
    /// The motion of nodes in an animation, and of the joints of `skeletons`; `None` if it moves no node. Rotations have a
    /// key after each `turn_step` seconds, if there is one.
    pub(super) fn of(
        scene: &Scene,
        animation: &Value,
        skeletons: &[&JointTree],
        turn_step: Option<f32>,
    ) -> Option<NodeMotion> {
        let moved = moved_nodes(animation);
        let times = times_of(scene, animation, turn_step);
        if moved.is_empty() || times.is_empty() {
            return None;
        }
        let mut motion = NodeMotion {
            name: animation["name"].as_str().map(str::to_owned),
            nodes: moved.iter().map(|node| (*node, Vec::new())).collect(),
            joints: skeletons
                .iter()
                .map(|tree| vec![Vec::new(); tree.len()])
                .collect(),
            times,
        };
        for time in &motion.times {
            let pose = scene.pose_at(animation, *time);
            for (node, track) in &mut motion.nodes {
                let placement = Placement::of(local_matrix(&pose.nodes()[*node]));
                track.push(placement.near(track.last()));
            }
            if skeletons.is_empty() {
                continue;
            }
            let worlds = scene.worlds_in(&pose);
            for (tree, tracks) in skeletons.iter().zip(&mut motion.joints) {
                for ((node, parent), track) in tree.iter().zip(tracks) {
                    let above = parent.map_or(Mat4::IDENTITY, |parent| worlds[tree[parent].0]);
                    let placement = Placement::of(to_parent(above, worlds[*node]));
                    track.push(placement.near(track.last()));
                }
            }
        }
        Some(motion)
    }
}

/// The matrix of something to its parent, from those to the world.
pub(super) fn to_parent(parent: Mat4, own: Mat4) -> Mat4 {
    match parent.determinant() != 0.0 {
        true => parent.inverse() * own,
        false => own,
    }
}

fn moved_nodes(animation: &Value) -> BTreeSet<usize> {
    let channels = animation["channels"].as_array().into_iter().flatten();
    let moves = channels.filter(|channel| {
        let path = channel["target"]["path"].as_str();
        matches!(path, Some("translation" | "rotation" | "scale"))
    });
    moves
        .filter_map(|channel| index_in(&channel["target"], "node"))
        .collect()
}

/// The keyframes of all channels; more of them between those of curves and steps, which USD has not.
fn times_of(scene: &Scene, animation: &Value, turn_step: Option<f32>) -> Vec<f32> {
    let channels = animation["channels"].as_array().into_iter().flatten();
    let turning: BTreeSet<usize> = channels
        .filter(|channel| channel["target"]["path"] == "rotation")
        .filter_map(|channel| index_in(channel, "sampler"))
        .collect();
    let mut times: Vec<f32> = Vec::new();
    let samplers = animation["samplers"].as_array().into_iter().flatten();
    for (index, sampler) in samplers.enumerate() {
        let Some(keys) = index_in(sampler, "input").and_then(|table| scene.tables.get(table))
        else {
            continue;
        };
        let keys = &keys.values;
        times.extend(keys);
        for pair in keys.windows(2) {
            let length = pair[1] - pair[0];
            let step = match sampler["interpolation"].as_str() {
                // The old value lasts until just before the new one.
                Some("STEP") => {
                    times.push(pair[1] - (length * 0.01).min(1e-3));
                    continue;
                }
                Some("CUBICSPLINE") => Some(CURVE_STEP),
                _ => turn_step.filter(|_| turning.contains(&index)),
            };
            if let Some(step) = step {
                let parts = (length / step).ceil().clamp(1.0, 1_000.0) as usize;
                let inner = 1..parts;
                times.extend(inner.map(|part| pair[0] + length * part as f32 / parts as f32));
            }
        }
    }
    times.retain(|time| time.is_finite() && *time >= 0.0);
    times.sort_by(f32::total_cmp);
    times.dedup();
    let every = times.len().div_ceil(MAX_TIMES).max(1);
    times.into_iter().step_by(every).collect()
}
