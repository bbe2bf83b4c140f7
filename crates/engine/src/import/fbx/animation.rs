//! Animations of an FBX file, baked to keyframes of nodes.

use serde_json::{Value, json};

use super::super::super::document::ElementType;
use super::super::super::scene::Scene;
use super::super::animated::{add_table, increasing};

/// Adds the animations that move nodes.
pub(super) fn add(loaded: &ufbx::Scene, scene: &mut Scene, warnings: &mut Vec<String>) {
    let mut animations = Vec::new();
    for stack in loaded.anim_stacks.iter() {
        let options = ufbx::BakeOpts {
            trim_start_time: true,
            key_reduction_enabled: true,
            key_reduction_rotation: true,
            ..Default::default()
        };
        match ufbx::bake_anim(loaded, &stack.anim, options) {
            Ok(baked) => {
                let animation = convert(&baked, &stack.element.name, scene);
                animations.extend(animation);
            }
            Err(error) => warnings.push(format!(
                "the animation \"{}\" cannot be read: {}",
                &*stack.element.name, &*error.description
            )),
        }
    }
    if !loaded.blend_channels.is_empty() && !animations.is_empty() {
        warnings.push("animations of blend shapes are not read; those of nodes are".to_owned());
    }
    if !animations.is_empty() {
        scene
            .json
            .insert("animations".to_owned(), Value::Array(animations));
    }
}

fn convert(baked: &ufbx::BakedAnim, name: &str, scene: &mut Scene) -> Option<Value> {
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    for node in baked.nodes.iter() {
        let mut add = |path: &str, element: ElementType, times: Vec<f32>, values: Vec<f32>| {
            if times.is_empty() {
                return;
            }
            let input = add_table(scene, ElementType::Scalar, times);
            let output = add_table(scene, element, values);
            channels.push(json!({
                "sampler": samplers.len(),
                "target": { "node": node.typed_id, "path": path },
            }));
            samplers.push(json!({ "input": input, "output": output }));
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

fn vectors(keys: &[ufbx::BakedVec3]) -> (Vec<f32>, Vec<f32>) {
    let times = increasing(keys.iter().map(|key| key.time));
    let values = times.iter().flat_map(|(place, _)| {
        let at = &keys[*place].value;
        [at.x, at.y, at.z].map(|part| part as f32)
    });
    let values = values.collect();
    (times.into_iter().map(|(_, time)| time).collect(), values)
}
