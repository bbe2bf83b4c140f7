//! Animations of nodes: a stack for each, with curves of translation, angles and scale.

use serde_json::Value;

use super::super::super::scene::Scene;
use super::super::motion::{NodeMotion, Placement};
use super::angles::angles_of;
use super::binary::{FbxValue, Record};
use super::document::{FbxDocument, ObjectId, SECOND, number, properties, property};

/// The longest step between keys in seconds: angles between two keys may turn another way than rotations do.
pub(super) const TURN_STEP: Option<f32> = Some(1.0 / 30.0);
/// Straight lines between keys.
const LINEAR: i32 = 4;

/// Adds an animation; false if it moves nothing that is in the file. `models` are the objects of nodes.
pub(super) fn add(
    scene: &Scene,
    animation: &Value,
    models: &[Option<ObjectId>],
    document: &mut FbxDocument,
) -> bool {
    let Some(motion) = NodeMotion::of(scene, animation, &[], TURN_STEP) else {
        return false;
    };
    let name = motion.name.as_deref().unwrap_or("animation");
    let times: Vec<i64> = motion.times.iter().map(|time| ticks(*time)).collect();
    let Some(last) = times.last().copied() else {
        return false;
    };
    let time = |name: &str, value: i64| property(name, "KTime", "Time", [FbxValue::I64(value)]);
    let span = properties([
        time("LocalStart", 0),
        time("LocalStop", last),
        time("ReferenceStart", 0),
        time("ReferenceStop", last),
    ]);
    let stack = document.add("AnimationStack", (name, "AnimStack"), "", vec![span]);
    let layer = document.add("AnimationLayer", (name, "AnimLayer"), "", Vec::new());
    document.connect(layer, stack);
    for (node, track) in &motion.nodes {
        let Some(model) = models.get(*node).copied().flatten() else {
            continue;
        };
        let mut before = None;
        let angles: Vec<[f64; 3]> = track
            .iter()
            .map(|placement| {
                let angles = angles_of(placement.rotation, before);
                before = Some(angles);
                angles
            })
            .collect();
        let of = |part: fn(&Placement) -> [f64; 3]| -> Vec<[f64; 3]> {
            track.iter().map(part).collect()
        };
        for (curve, target, values) in [
            ("T", "Lcl Translation", of(|it| it.translation.to_array())),
            ("R", "Lcl Rotation", angles),
            ("S", "Lcl Scaling", of(|it| it.scale.to_array())),
        ] {
            add_curves(document, (layer, model), (curve, target), &times, &values);
        }
    }
    true
}

fn ticks(seconds: f32) -> i64 {
    (f64::from(seconds) * SECOND).round() as i64
}

/// Adds the three curves of a property, if it changes or differs from the rest.
fn add_curves(
    document: &mut FbxDocument,
    (layer, model): (ObjectId, ObjectId),
    (name, target): (&str, &str),
    times: &[i64],
    values: &[[f64; 3]],
) {
    let first = values[0];
    let is_still = values.iter().all(|value| *value == first);
    let (times, values) = match is_still {
        true => (&times[..1], &values[..1]),
        false => (times, values),
    };
    let axes = ["d|X", "d|Y", "d|Z"];
    let rest = axes
        .iter()
        .zip(first)
        .map(|(axis, value)| number(axis, value));
    let node = document.add(
        "AnimationCurveNode",
        (name, "AnimCurveNode"),
        "",
        vec![properties(rest)],
    );
    document.connect(node, layer);
    document.connect_to_property(node, model, target);
    for (place, axis) in axes.iter().enumerate() {
        let keys: Vec<f32> = values.iter().map(|value| value[place] as f32).collect();
        let records = vec![
            Record::of("Default", f64::from(keys[0])),
            Record::of("KeyVer", 4008),
            Record::of("KeyTime", FbxValue::I64s(times.to_vec())),
            Record::of("KeyValueFloat", FbxValue::F32s(keys.clone())),
            Record::of("KeyAttrFlags", FbxValue::I32s(vec![LINEAR])),
            Record::of("KeyAttrDataFloat", FbxValue::F32s(vec![0.0; 4])),
            Record::of("KeyAttrRefCount", FbxValue::I32s(vec![keys.len() as i32])),
        ];
        let curve = document.add("AnimationCurve", ("", "AnimCurve"), "", records);
        document.connect_to_property(curve, node, axis);
    }
}
