//! Repairs animations that viewers refuse or play wrongly: keyframes that are not numbers, out of order, at one time or
//! before zero; rotations that are no unit quaternions; samplers whose times and values differ in number; channels
//! that animate what an earlier channel of the same animation already does.
//!
//! Tables may have other uses, so a repaired sampler gets tables of its own.

use std::collections::{HashMap, HashSet};

use glam::Vec4;
use serde_json::Value;

use super::super::scene::{Scene, Table, index_in, rotation_samplers};

/// A quaternion whose length differs from 1 by more is normalized.
const UNIT_TOLERANCE: f32 = 0.000_5;

/// Repairs the animations of a scene; returns the number of samplers and channels that were changed or removed.
pub fn fix_animations(scene: &mut Scene) -> usize {
    let Some(animations) = scene.list_mut("animations") else {
        return 0;
    };
    let mut animations = std::mem::take(animations);
    let mut fixed = 0;
    for animation in &mut animations {
        fixed += remove_repeated_channels(animation);
        fixed += fix_samplers(scene, animation);
    }
    animations.retain(|animation| has_members(animation, "channels"));
    if let Some(list) = scene.list_mut("animations") {
        *list = animations;
    }
    if scene.list("animations").is_empty() {
        scene.json.remove("animations");
    }
    fixed
}

fn has_members(object: &Value, list: &str) -> bool {
    object[list].as_array().is_some_and(|list| !list.is_empty())
}

/// Removes channels whose target an earlier channel of the animation has; returns their number.
fn remove_repeated_channels(animation: &mut Value) -> usize {
    let Some(channels) = animation.get_mut("channels").and_then(Value::as_array_mut) else {
        return 0;
    };
    let before = channels.len();
    let mut known = HashSet::new();
    channels.retain(|channel| {
        let target = &channel["target"];
        let is_pointer = target["extensions"].is_object();
        let place = (index_in(target, "node"), target["path"].as_str());
        is_pointer || known.insert((place.0, place.1.map(str::to_owned)))
    });
    before - channels.len()
}

/// Repairs the samplers of an animation, and removes the channels of those without a keyframe; returns the number of
/// samplers changed.
fn fix_samplers(scene: &mut Scene, animation: &mut Value) -> usize {
    let turning = rotation_samplers(animation);
    let shift = time_before_zero(scene, animation);
    let samplers = animation.get_mut("samplers").and_then(Value::as_array_mut);
    let mut fixed = 0;
    let mut empty = HashSet::new();
    // Samplers with the same times share them afterwards as well.
    let mut shared: HashMap<(usize, Vec<u32>), usize> = HashMap::new();
    for (number, sampler) in samplers.into_iter().flatten().enumerate() {
        let tables = index_in(sampler, "input").zip(index_in(sampler, "output"));
        let Some((input, output)) = tables else {
            continue;
        };
        let keys = Keyframes::of(&scene.tables, (input, output), sampler);
        let is_rotation = turning.contains(&number);
        let repaired = keys.repaired(shift, is_rotation);
        if repaired.times.is_empty() {
            empty.insert(number);
            fixed += 1;
            continue;
        }
        if repaired.is_same(&keys, &scene.tables[output]) {
            continue;
        }
        fixed += 1;
        let bits = repaired.times.iter().map(|time| time.to_bits()).collect();
        let times = *shared.entry((input, bits)).or_insert_with(|| {
            let table = scene.tables[input].clone();
            push(scene, table, repaired.times.clone())
        });
        let table = scene.tables[output].clone();
        sampler["input"] = times.into();
        sampler["output"] = push(scene, table, repaired.values).into();
    }
    let channels = animation.get_mut("channels").and_then(Value::as_array_mut);
    if let Some(channels) = channels {
        channels.retain(|channel| {
            index_in(channel, "sampler").is_none_or(|sampler| !empty.contains(&sampler))
        });
    }
    fixed
}

fn push(scene: &mut Scene, table: Table, values: Vec<f32>) -> usize {
    scene.tables.push(Table { values, ..table });
    scene.tables.len() - 1
}

/// How much later an animation must begin so that no keyframe is before zero.
fn time_before_zero(scene: &Scene, animation: &Value) -> f32 {
    let samplers = animation["samplers"].as_array().into_iter().flatten();
    let times = samplers
        .filter_map(|sampler| scene.tables.get(index_in(sampler, "input")?))
        .flat_map(|table| &table.values);
    let first = times.filter(|time| time.is_finite());
    first.fold(0.0, |least: f32, time| least.min(*time)).abs()
}

/// The keyframes of a sampler.
#[derive(Debug, Default)]
struct Keyframes {
    times: Vec<f32>,
    /// `width` numbers for each keyframe.
    values: Vec<f32>,
    width: usize,
    /// The first and the last of the numbers of a keyframe that are a value; tangents are around them.
    value: (usize, usize),
}

impl Keyframes {
    fn of(tables: &[Table], (input, output): (usize, usize), sampler: &Value) -> Keyframes {
        let (Some(times), Some(values)) = (tables.get(input), tables.get(output)) else {
            return Keyframes::default();
        };
        let elements = if sampler["interpolation"] == "CUBICSPLINE" {
            3
        } else {
            1
        };
        let least = values.element.components() * elements;
        // Weights of morph targets are several scalars for each keyframe.
        let width = values.values.len() / times.values.len().max(1);
        let width = if values.element.components() > 1 {
            least
        } else {
            width / elements * elements
        };
        let value = match elements {
            3 => (width / 3, width * 2 / 3),
            _ => (0, width),
        };
        Keyframes {
            times: times.values.clone(),
            values: values.values.clone(),
            width,
            value,
        }
    }

    fn repaired(&self, shift: f32, is_rotation: bool) -> Keyframes {
        let mut kept: Vec<(f32, &[f32])> = Vec::new();
        if self.width > 0 {
            let keys = self
                .times
                .iter()
                .copied()
                .zip(self.values.chunks_exact(self.width));
            kept.extend(keys.filter(|(time, values)| {
                time.is_finite() && values.iter().all(|number| number.is_finite())
            }));
        }
        // The sort is stable; of keyframes at one time the first stays.
        kept.sort_by(|one, other| one.0.total_cmp(&other.0));
        kept.dedup_by(|later, first| later.0 <= first.0);
        let mut repaired = Keyframes {
            width: self.width,
            value: self.value,
            ..Keyframes::default()
        };
        for (time, values) in kept {
            let start = repaired.values.len();
            repaired.times.push(time + shift);
            repaired.values.extend_from_slice(values);
            if is_rotation && self.value.1 - self.value.0 == 4 {
                unit(&mut repaired.values[start + self.value.0..start + self.value.1]);
            }
        }
        repaired
    }

    /// Whether nothing was repaired. Rotations that are stored as integers cannot be more exact.
    fn is_same(&self, before: &Keyframes, table: &Table) -> bool {
        let is_near = |(one, other): (&f32, &f32)| {
            one == other || table.normalized && (one - other).abs() < UNIT_TOLERANCE
        };
        self.times == before.times
            && self.values.len() == before.values.len()
            && self.values.iter().zip(&before.values).all(is_near)
    }
}

/// Gives a quaternion the length 1; one without a length becomes no rotation.
fn unit(quaternion: &mut [f32]) {
    let known = Vec4::from_slice(quaternion);
    if (known.length() - 1.0).abs() > UNIT_TOLERANCE {
        let unit = known.try_normalize().unwrap_or(Vec4::W);
        quaternion.copy_from_slice(&unit.to_array());
    }
}
