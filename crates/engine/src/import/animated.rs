//! Keyframes and skins as glTF has them.

use serde_json::json;

use super::super::document::{ComponentType, ElementType};
use super::super::scene::{Attribute, Scene, Storage, Table};

/// The keys whose times increase strictly as 32-bit floats, as glTF requires, with their places among all.
pub(super) fn increasing(times: impl Iterator<Item = f64>) -> Vec<(usize, f32)> {
    let mut kept: Vec<(usize, f32)> = Vec::new();
    for (place, time) in times.enumerate() {
        let time = time as f32;
        if kept.last().is_none_or(|(_, last)| time > *last) && time >= 0.0 {
            kept.push((place, time));
        }
    }
    kept
}

/// Adds a table of 32-bit floats; returns its index.
pub(super) fn add_table(scene: &mut Scene, element: ElementType, values: Vec<f32>) -> usize {
    scene.tables.push(Table {
        element,
        component: ComponentType::F32,
        normalized: false,
        values,
    });
    scene.tables.len() - 1
}

/// Adds a skin; `binds` are the inverse bind matrices of its joints.
pub(super) fn add_skin(scene: &mut Scene, joints: &[usize], binds: Vec<f32>) {
    let table = add_table(scene, ElementType::Mat4, binds);
    let skin = json!({ "joints": joints, "inverseBindMatrices": table });
    scene.push("skins", skin);
}

/// The attributes of vertices with four joints and four weights each.
pub(super) fn joints_and_weights(joints: Vec<f32>, weights: Vec<f32>) -> Vec<Attribute> {
    let mut joints = Attribute::new("JOINTS_0", 4, joints);
    joints.storage = Storage {
        component: ComponentType::U16,
        normalized: false,
    };
    vec![joints, Attribute::new("WEIGHTS_0", 4, weights)]
}
