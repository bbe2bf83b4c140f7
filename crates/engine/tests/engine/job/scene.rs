//! The data that a job keeps or discards, and its transforms.

use serde_json::json;

use super::gltf::{Maker, Model};
use super::shapes::{bar, boxes, spheres};
use crate::simplify::{cuboid, optimize};
use crate::validators::assert_valid;

#[test]
fn skins_animations_morph_targets_and_unknown_extensions_survive() {
    let model = bar();
    let report = model
        .optimize(json!({ "limits": { "faces": { "percentage": 30 } } }))
        .unwrap();
    assert!(report.result.triangles <= 192 && report.result.triangles > 0);
    let scene = model.result("model.glb");
    assert_eq!(
        scene.json["extensions"]["VENDOR_secret"]["depth"][1]["deeper"],
        true
    );
    assert_eq!(scene.list("nodes")[0]["extras"]["mark"], 42);
    assert_eq!(scene.meshes[0].json["extras"]["targetNames"][0], "swell");
    let animation = &scene.list("animations")[0];
    assert_eq!(animation["channels"].as_array().unwrap().len(), 2);
    let turns = &scene.tables[animation["samplers"][0]["output"].as_u64().unwrap() as usize];
    // Rotations take 16 bits a number where triangles were removed.
    for (turn, before) in turns.values.iter().zip([0., 0., 0., 1., 0., 0., 0.6, 0.8]) {
        assert!((turn - before).abs() < 2e-5, "{:?}", turns.values);
    }
    let geometry = &scene.geometries[0];
    assert_eq!(geometry.targets.len(), 1);
    for vertex in 0..geometry.vertex_count() {
        let height = geometry.position(vertex as u32).y / 10.0;
        let weights = geometry.attribute("WEIGHTS_0").unwrap().at(vertex);
        assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(
            (weights[1] - height).abs() < 1e-4,
            "the weight of its own place"
        );
        let delta = geometry.targets[0][0].at(vertex);
        assert!(
            (delta[2] - height).abs() < 1e-4,
            "the displacement of its own place"
        );
    }
}

#[test]
fn what_is_discarded_is_gone_without_a_trace() {
    let model = bar();
    model
        .optimize(json!({ "import": { "discard": { "animations": true, "morphTargets": true } } }))
        .unwrap();
    let scene = model.result("model.glb");
    assert!(scene.list("animations").is_empty());
    assert!(scene.geometries[0].targets.is_empty());
    assert!(!scene.meshes[0].json.contains_key("weights"));
    assert_eq!(scene.list("skins").len(), 1);
}

#[test]
fn the_scene_is_turned_centred_and_scaled_as_asked() {
    let model = spheres();
    model
        .optimize(json!({
            "sceneManipulation": { "rotateZUp": true, "centerModel": true },
            "compressionAndExport": { "fileExports": [{ "fileType": "glb", "customScaling": 10 }] },
        }))
        .unwrap();
    let bounds = model.result("model.glb").bounds().unwrap();
    assert!(bounds.center().length() < 1e-3, "{bounds:?}");
    assert!((bounds.size().x - 46.5).abs() < 0.05, "{bounds:?}");
}

#[test]
fn every_scene_is_turned_and_scaled_and_shared_roots_keep_one_parent() {
    let maker = &mut Maker::default();
    let primitive = json!({
        "attributes": { "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 0., 1.]) },
    });
    let (json, bin) = std::mem::take(maker).finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1] }, { "nodes": [1, 2] }],
        "nodes": [{ "mesh": 0 }, { "mesh": 0, "translation": [2, 0, 0] }, { "mesh": 0, "translation": [4, 0, 0] }],
        "meshes": [{ "primitives": [primitive] }],
    }));
    let model = Model::new(&json, &bin, &[]);
    let turned = json!({ "sceneManipulation": { "rotateZUp": true } });
    model.optimize(turned).unwrap();
    assert_valid(&model.dir.path().join("out/exports"));
    for shown in [0, 1] {
        let mut scene = model.result("model.glb");
        scene.json.insert("scene".to_owned(), shown.into());
        let bounds = scene.bounds().unwrap();
        assert_eq!(
            scene.list("scenes")[shown]["nodes"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
        assert!(
            (bounds.size().y - 1.0).abs() < 1e-6 && bounds.size().z < 1e-6,
            "{shown}: {bounds:?}"
        );
    }
}

#[test]
fn animations_of_what_is_discarded_go_with_it() {
    let maker = &mut Maker::default();
    let primitive = json!({
        "attributes": { "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 0., 1.]) },
        "material": 0,
    });
    let times = maker.floats("SCALAR", &[0., 1.]);
    let values = maker.floats("SCALAR", &[1., 2.]);
    let pointed = |pointer: &str| json!({ "sampler": 0, "target": { "path": "pointer", "extensions": { "KHR_animation_pointer": { "pointer": pointer } } } });
    let channels = [
        pointed("/cameras/0/perspective/yfov"),
        pointed("/extensions/KHR_lights_punctual/lights/0/intensity"),
        pointed("/materials/0/alphaCutoff"),
    ];
    let (json, bin) = std::mem::take(maker).finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2] }],
        "extensionsUsed": ["KHR_lights_punctual", "KHR_animation_pointer"],
        "extensions": { "KHR_lights_punctual": { "lights": [{ "type": "point" }] } },
        "cameras": [{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }],
        "nodes": [{ "mesh": 0 }, { "camera": 0 }, { "extensions": { "KHR_lights_punctual": { "light": 0 } } }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [{ "alphaMode": "MASK" }],
        "animations": [{ "channels": channels, "samplers": [{ "input": times, "output": values }] }],
    }));
    let model = Model::new(&json, &bin, &[]);
    model
        .optimize(json!({ "import": { "discard": { "cameras": true, "lights": true } } }))
        .unwrap();
    let scene = model.result("model.glb");
    let channels = scene.list("animations")[0]["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 1, "{channels:?}");
}

/// A closed room of 5 by 3 by 5 with a box in the middle, and another box outside below its floor. Walls that face
/// inwards make it a room; walls that face outwards alone make it a closed body.
fn closed_room(dir: &std::path::Path, walls_face_inwards: bool) {
    let walls = cuboid("walls", [0.0; 3], [5.0, 3.0, 5.0], 0);
    let walls = match walls_face_inwards {
        true => walls.lines().map(turned).collect::<Vec<_>>().join("\n") + "\n",
        false => walls,
    };
    let table = cuboid("table", [2.0, 0.5, 2.0], [3.0, 1.0, 3.0], 8);
    std::fs::write(dir.join("room.obj"), walls + &table).unwrap();
}

/// A line of an OBJ file, with its face turned around.
pub(crate) fn turned(line: &str) -> String {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["f", a, b, c] => format!("f {c} {b} {a}"),
        _ => line.to_owned(),
    }
}

#[test]
fn what_is_seen_from_inside_a_closed_room_stays() {
    let asked = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let dir = tempfile::tempdir().unwrap();
    closed_room(dir.path(), true);
    let report = optimize(dir.path(), &["room.obj"], asked.clone(), "room");
    assert_eq!(report.result.triangles, 24, "walls and table");
    closed_room(dir.path(), false);
    let report = optimize(dir.path(), &["room.obj"], asked, "body");
    assert_eq!(report.result.triangles, 12, "the table is inside of a body");
}

#[test]
fn invisible_geometry_is_removed_if_configured() {
    let asked = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let model = boxes(json!({}), |_, _| {});
    assert_eq!(model.optimize(json!({})).unwrap().result.triangles, 36);
    let report = model.optimize(asked.clone()).unwrap();
    assert_eq!(report.result.triangles, 24);
    assert!(
        model
            .log("info.log")
            .contains("12 triangles were removed for being invisible")
    );
    // Visible through glass, or visible during an animation: it stays.
    let glass = json!({ "alphaMode": "BLEND", "pbrMetallicRoughness": { "baseColorFactor": [1, 1, 1, 0.2] } });
    let liquid =
        json!({ "extensions": { "KHR_materials_transmission": { "transmissionFactor": 1 } } });
    for material in [glass, liquid] {
        let report = boxes(material, |_, _| {}).optimize(asked.clone()).unwrap();
        assert_eq!(report.result.triangles, 36);
    }
    for moving in [0, 1] {
        let lid = boxes(json!({}), |maker, json| {
            json["animations"] = json!([{
                "samplers": [{
                    "input": maker.floats("SCALAR", &[0.0, 1.0]),
                    "output": maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 9.0, 0.0]),
                }],
                "channels": [{ "sampler": 0, "target": { "node": moving, "path": "translation" } }],
            }]);
        });
        assert_eq!(lid.optimize(asked.clone()).unwrap().result.triangles, 36);
        let mut still = asked.clone();
        still["sceneManipulation"]["discardAnimations"] = json!(true);
        assert_eq!(lid.optimize(still).unwrap().result.triangles, 24);
    }
}

/// A square that turns by the given keyframes.
fn turning(times: &[f32], turns: &[f32]) -> super::gltf::Model {
    let mut maker = super::gltf::Maker::default();
    let primitive = super::shapes::sphere_primitive(&mut maker, 4, [0.0; 3], 1.0);
    let input = maker.floats("SCALAR", times);
    let output = maker.floats("VEC4", turns);
    let limits = |accessor: &mut serde_json::Value| {
        accessor.as_object_mut().unwrap().remove("min");
        accessor.as_object_mut().unwrap().remove("max");
    };
    limits(&mut maker.accessors[input]);
    limits(&mut maker.accessors[output]);
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "animations": [{
            "samplers": [{ "input": input, "output": output }],
            "channels": [
                { "sampler": 0, "target": { "node": 0, "path": "rotation" } },
                { "sampler": 0, "target": { "node": 0, "path": "rotation" } },
            ],
        }],
    }));
    super::gltf::Model::new(&json, &bin, &[])
}

/// The keyframes of the result, and its number of channels.
fn keyframes(model: &super::gltf::Model, config: serde_json::Value) -> (Vec<f32>, Vec<f32>, usize) {
    model.optimize(config).unwrap();
    let scene = model.result("model.glb");
    let animation = &scene.list("animations")[0];
    let numbers = |key: &str| {
        let table = animation["samplers"][0][key].as_u64().unwrap();
        scene.tables[table as usize].values.clone()
    };
    let channels = animation["channels"].as_array().unwrap().len();
    (numbers("input"), numbers("output"), channels)
}

#[test]
fn fix_animation_data_repairs_keyframes_that_viewers_refuse() {
    let config = json!({ "import": { "general": { "fixAnimationData": true } } });
    let whole = [0.0, 0.0, 0.0, 1.0];
    let half = [0.0, 0.0, 0.6, 0.8];
    // Out of order, twice at one time, before zero; a rotation of length 2; one more keyframe than rotations.
    let times = [1.0, -1.0, 0.0, 0.0, 2.0];
    let turns = [half, whole, half.map(|number| number * 2.0), whole].concat();
    let model = turning(&times, &turns);
    let fixed = keyframes(&model, config.clone());
    assert_eq!(
        fixed,
        (vec![0.0, 1.0, 2.0], [whole, half, half].concat(), 1)
    );
    let log = model.log("info.log");
    assert!(
        log.contains("2 samplers and channels of animations were repaired"),
        "{log}"
    );
    // Without the key nothing is changed.
    let (before, _, channels) = keyframes(&model, json!({}));
    assert_eq!((before.as_slice(), channels), (times.as_slice(), 2));
    let broken = turning(&[0.0, f32::NAN, 2.0], &[whole, half, half].concat());
    let (times, turns, _) = keyframes(&broken, config.clone());
    assert_eq!((times, turns), (vec![0.0, 2.0], [whole, half].concat()));
}

#[test]
fn fix_animation_data_leaves_what_is_right_as_it_is() {
    let model = bar();
    let config = json!({ "import": { "general": { "fixAnimationData": true } } });
    model.optimize(config).unwrap();
    let fixed = std::fs::read(model.dir.path().join("out/exports/model.glb")).unwrap();
    model.optimize(json!({})).unwrap();
    assert!(fixed == std::fs::read(model.dir.path().join("out/exports/model.glb")).unwrap());
}
