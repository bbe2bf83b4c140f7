//! Halves the size of keyframes: stores rotations and weights of morph targets as normalized 16-bit integers.
//!
//! The error of a rotation is at most a few thousandths of a degree, far below the error of a simplification. Cubic
//! splines, values outside of the normalized range and tables that have other uses too stay floats.

use std::collections::HashMap;

use serde_json::Value;

use super::super::document::ComponentType;
use super::super::scene::{Scene, index_in};

/// The kind of values in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Rotations,
    Weights,
    Other,
}

/// Stores rotations and weights of morph targets with 16 bits for each number.
pub fn pack_keyframes(scene: &mut Scene) {
    for (table, kind) in kinds_of_tables(scene) {
        let table = &mut scene.tables[table];
        let (component, least) = match kind {
            ValueKind::Rotations => (ComponentType::I16, -1.0),
            ValueKind::Weights => (ComponentType::U16, 0.0),
            ValueKind::Other => continue,
        };
        let fits = |number: &f32| (least..=1.0).contains(number);
        if table.component == ComponentType::F32 && table.values.iter().all(fits) {
            table.component = component;
            table.normalized = true;
        }
    }
}

/// The kind of values of each table that animations, skins and nodes use.
fn kinds_of_tables(scene: &Scene) -> HashMap<usize, ValueKind> {
    let mut kinds: HashMap<usize, ValueKind> = HashMap::new();
    let mut uses = |table: Option<usize>, kind: ValueKind| {
        if let Some(table) = table.filter(|table| *table < scene.tables.len()) {
            let known = kinds.entry(table).or_insert(kind);
            if *known != kind {
                *known = ValueKind::Other;
            }
        }
    };
    for skin in scene.list("skins") {
        uses(index_in(skin, "inverseBindMatrices"), ValueKind::Other);
    }
    for node in scene.list("nodes") {
        let instances = node.pointer("/extensions/EXT_mesh_gpu_instancing/attributes");
        for place in instances.and_then(Value::as_object).into_iter().flatten() {
            uses(
                place.1.as_u64().map(|table| table as usize),
                ValueKind::Other,
            );
        }
    }
    for animation in scene.list("animations") {
        let samplers = animation["samplers"].as_array();
        for (number, sampler) in samplers.into_iter().flatten().enumerate() {
            uses(index_in(sampler, "input"), ValueKind::Other);
            let is_curve = sampler["interpolation"] == "CUBICSPLINE";
            let kind = match is_curve {
                true => ValueKind::Other,
                false => kind_of_sampler(animation, number),
            };
            uses(index_in(sampler, "output"), kind);
        }
    }
    kinds
}

/// The kind of values that all channels of a sampler animate.
fn kind_of_sampler(animation: &Value, sampler: usize) -> ValueKind {
    let channels = animation["channels"].as_array();
    let mut kinds = channels
        .into_iter()
        .flatten()
        .filter(|channel| index_in(channel, "sampler") == Some(sampler))
        .map(|channel| match channel["target"]["path"].as_str() {
            Some("rotation") => ValueKind::Rotations,
            Some("weights") => ValueKind::Weights,
            _ => ValueKind::Other,
        });
    let first = kinds.next().unwrap_or(ValueKind::Other);
    match kinds.all(|kind| kind == first) {
        true => first,
        false => ValueKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::document::ElementType;
    use super::super::super::scene::Table;
    use super::*;

    fn scene(path: &str, interpolation: &str, values: &[f32]) -> Scene {
        let table = |element, values: &[f32]| Table {
            element,
            component: ComponentType::F32,
            normalized: false,
            values: values.to_vec(),
        };
        let tables = vec![
            table(ElementType::Scalar, &[0.0, 1.0]),
            table(ElementType::Vec4, values),
        ];
        let mut scene = Scene {
            tables,
            ..Scene::default()
        };
        let animations = json!([{
            "samplers": [{ "input": 0, "output": 1, "interpolation": interpolation }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": path } }],
        }]);
        scene.json.insert("animations".to_owned(), animations);
        scene
    }

    fn packed(path: &str, interpolation: &str, values: &[f32]) -> [ComponentType; 2] {
        let mut scene = scene(path, interpolation, values);
        pack_keyframes(&mut scene);
        [0, 1].map(|table| scene.tables[table].component)
    }

    #[test]
    fn rotations_and_weights_take_sixteen_bits() {
        use ComponentType::{F32, I16, U16};
        let turned = [0.0, 0.0, -0.6, 0.8, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(packed("rotation", "LINEAR", &turned), [F32, I16]);
        assert_eq!(
            packed("weights", "STEP", &[0.0, 0.25, 0.5, 1.0]),
            [F32, U16]
        );
    }

    #[test]
    fn what_does_not_fit_stays_as_it_is() {
        use ComponentType::F32;
        assert_eq!(packed("translation", "LINEAR", &[0.0; 8]), [F32, F32]);
        assert_eq!(packed("rotation", "CUBICSPLINE", &[0.0; 8]), [F32, F32]);
        assert_eq!(
            packed("weights", "LINEAR", &[0.0, 1.5, 0.0, 0.0]),
            [F32, F32]
        );
        assert_eq!(packed("rotation", "LINEAR", &[f32::NAN; 4]), [F32, F32]);
    }

    #[test]
    fn numbers_that_something_else_uses_stay_as_they_are() {
        let mut scene = scene("rotation", "LINEAR", &[0.0; 16]);
        let skins = json!([{ "inverseBindMatrices": 1, "joints": [0] }]);
        scene.json.insert("skins".to_owned(), skins);
        pack_keyframes(&mut scene);
        assert_eq!(scene.tables[1].component, ComponentType::F32);
    }
}
