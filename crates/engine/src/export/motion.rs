//! Animations as keyframes at common times: where nodes and joints are at each.

use std::collections::{BTreeMap, BTreeSet};

use glam::{DMat4, DQuat, DVec3};
use serde_json::Value;

use super::super::keyframes::thinned;
use super::super::scene::{Scene, index_in, local_matrix};
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};

/// The steps of curves, in seconds.
const CURVE_STEP: f32 = 1.0 / 30.0;
/// More moments than this are thinned out.
const MAX_MOMENTS: usize = 5_000;

/// Translation, rotation and scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Placement {
    pub(super) translation: DVec3,
    pub(super) rotation: DQuat,
    pub(super) scale: DVec3,
}

impl Placement {
    pub(super) fn of(matrix: DMat4) -> Placement {
        let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
        let rotation = match rotation.is_finite() {
            true => rotation.normalize(),
            false => DQuat::IDENTITY,
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
                    let above = parent.map_or(DMat4::IDENTITY, |parent| worlds[tree[parent].0]);
                    let placement = Placement::of(to_parent(above, worlds[*node]));
                    track.push(placement.near(track.last()));
                }
            }
        }
        Some(motion)
    }
}

/// The matrix of something to its parent, from those to the world.
pub(super) fn to_parent(parent: DMat4, own: DMat4) -> DMat4 {
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

/// A time of an animation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment {
    time: f32,
    /// For a step, the time just before it, until which the old value lasts.
    held_until: Option<f32>,
}

/// The keyframes of all channels, in order; more of them between those of curves, which USD has not.
fn moments_of(scene: &Scene, animation: &Value, turn_step: Option<f32>) -> Vec<Moment> {
    let channels = animation["channels"].as_array().into_iter().flatten();
    let turning: BTreeSet<usize> = channels
        .filter(|channel| channel["target"]["path"] == "rotation")
        .filter_map(|channel| index_in(channel, "sampler"))
        .collect();
    let mut moments: Vec<Moment> = Vec::new();
    let samplers = animation["samplers"].as_array().into_iter().flatten();
    for (index, sampler) in samplers.enumerate() {
        let Some(keys) = index_in(sampler, "input").and_then(|table| scene.tables.get(table))
        else {
            continue;
        };
        let turn_step = turn_step.filter(|_| turning.contains(&index));
        let interpolation = sampler["interpolation"].as_str();
        add_moments(&keys.values, interpolation, turn_step, &mut moments);
    }
    let is_time = |time: f32| time.is_finite() && time >= 0.0;
    moments.retain(|moment| is_time(moment.time));
    moments.sort_by(|a, b| a.time.total_cmp(&b.time));
    // Several channels may have steps at one time: the last hold is right for all.
    moments.dedup_by(|next, kept| {
        let is_same = next.time == kept.time;
        if is_same {
            let holds = kept.held_until.into_iter().chain(next.held_until);
            kept.held_until = holds.reduce(f32::max);
        }
        is_same
    });
    moments
}

/// Adds the keyframes of one sampler.
fn add_moments(
    keys: &[f32],
    interpolation: Option<&str>,
    turn_step: Option<f32>,
    moments: &mut Vec<Moment>,
) {
    let at = |time: f32| Moment {
        time,
        held_until: None,
    };
    let step = match interpolation {
        Some("STEP") => None,
        Some("CUBICSPLINE") => Some(CURVE_STEP),
        _ => turn_step,
    };
    moments.extend(keys.first().map(|first| at(*first)));
    for pair in keys.windows(2) {
        let length = pair[1] - pair[0];
        if let Some(step) = step {
            let parts = (length / step).ceil().clamp(1.0, 1_000.0) as usize;
            let inner = 1..parts;
            moments.extend(inner.map(|part| at(pair[0] + length * part as f32 / parts as f32)));
        }
        let held_until = pair[1] - (length * 0.01).min(1e-3);
        moments.push(Moment {
            time: pair[1],
            held_until: (interpolation == Some("STEP")).then_some(held_until),
        });
    }
}

/// The times of an animation; steps keep their holds when there are too many.
fn times_of(scene: &Scene, animation: &Value, turn_step: Option<f32>) -> Vec<f32> {
    let moments = thinned(moments_of(scene, animation, turn_step), MAX_MOMENTS);
    let times = moments
        .into_iter()
        .flat_map(|moment| moment.held_until.into_iter().chain([moment.time]));
    let mut times: Vec<f32> = times.collect();
    times.sort_by(f32::total_cmp);
    times.dedup();
    times
}

/// Warnings about animations of which a format gets only some keyframes.
pub(super) fn thinned_animations(
    scene: &Scene,
    animations: &[Value],
    turn_step: Option<f32>,
    format: &str,
) -> Vec<Warning> {
    let mut lines = Vec::new();
    for animation in animations {
        let moments = moments_of(scene, animation, turn_step);
        let count = moments.len();
        let kept = thinned(moments, MAX_MOMENTS).len();
        if kept < count {
            let name = animation["name"].as_str().unwrap_or("without a name");
            let text = format!(
                "{format}: the animation \"{name}\" has {} keyframes; {} of them are written",
                grouped(count as u64),
                grouped(kept as u64)
            );
            lines.push(Warning::new(WarningKind::NotHeld, text));
        }
    }
    lines
}
