//! Rebaking to few triangles: a new surface is tried where parts lie in each other.

use serde_json::{Value, json};

use super::gltf::Model;
use super::rebake::{config, difference, pair, rebaked};
use super::shapes::sphere_primitive;

/// A heap of overlapping spheres: most of their surfaces are inside of others.
fn heap() -> Model {
    pair(|maker, json| {
        let primitives: Vec<Value> = (0..40)
            .map(|number| {
                // Points spread evenly over a sphere (a Fibonacci lattice).
                let height = 1.0 - (number as f32 + 0.5) / 20.0;
                let (turn, reach) = (number as f32 * 2.4, (1.0 - height * height).sqrt());
                let center = [reach * turn.cos(), height, reach * turn.sin()];
                let mut primitive = sphere_primitive(maker, 14, center, 0.6);
                primitive["material"] = json!(number % 2);
                primitive
            })
            .collect();
        json["meshes"] = json!([{ "primitives": primitives }]);
        json["nodes"] = json!([{ "mesh": 0 }]);
        json["scenes"] = json!([{ "nodes": [0] }]);
    })
}

#[test]
fn parts_that_lie_in_each_other_become_one_surface() {
    let model = heap();
    let (report, result) = rebaked(&model, 2.0, json!({}));
    assert!(report.result.triangles <= report.source.triangles / 50);
    let log = model.log("info.log");
    assert!(log.contains("a new surface of"), "{log}");
    let made = difference(&model, &result);
    model
        .optimize(json!({ "limits": { "faces": { "percentage": 2.0 } } }))
        .unwrap();
    let plain = difference(&model, &model.result("model.glb"));
    assert!(made < plain * 0.75, "{made} against {plain}");
}

#[test]
fn a_topology_that_is_to_be_kept_gets_no_new_surface() {
    let model = heap();
    let mut config = config(2.0, json!({}));
    config["assetSimplification"]["topologySettings"] = json!({ "preserveTopology": true });
    model.optimize(config).unwrap();
    let log = model.log("info.log");
    assert!(!log.contains("a new surface"), "{log}");
}
