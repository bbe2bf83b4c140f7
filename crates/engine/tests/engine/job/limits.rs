//! Limits of faces and bytes of a result, and how they are distributed over its parts.

use assetfs_formats::number_text::grouped;
use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{png, sphere_primitive, spheres, textured};
use crate::loose_pieces::{NOISE, Sight};
use assetfs_engine::WarningKind;

#[test]
fn the_face_limit_is_never_passed_and_no_part_vanishes() {
    let model = spheres();
    for (limits, most) in [
        (json!({ "percentage": 25 }), 3_444),
        (json!({ "percentage": 10 }), 1_377),
        (json!({ "count": 500 }), 500),
        (json!({ "count": 160 }), 160),
    ] {
        let report = model
            .optimize(json!({ "limits": { "faces": limits } }))
            .unwrap();
        assert!(
            report.result.triangles <= most,
            "{:?} of {most}",
            report.result
        );
        assert!(
            report.result.triangles * 10 >= most * 7,
            "{:?} of {most}",
            report.result
        );
        let scene = model.result("model.glb");
        assert_eq!(scene.drawn_triangles(), report.result.triangles);
        assert_eq!(
            scene.meshes.len(),
            10,
            "every sphere is still there at {most}"
        );
    }
}

#[test]
fn the_older_key_for_faces_means_the_same() {
    let model = spheres();
    let config = json!({ "workflowSettings": { "targetMeshResolution": { "faceCount": 700 } } });
    assert!(model.optimize(config).unwrap().result.triangles <= 700);
}

#[test]
fn a_small_part_keeps_its_shape_while_a_dense_one_pays() {
    let model = spheres();
    model
        .optimize(json!({ "limits": { "faces": { "percentage": 10 } } }))
        .unwrap();
    let scene = model.result("model.glb");
    for geometry in &scene.geometries {
        let size = geometry.bounds().unwrap().size();
        let source = if size.x > 1.0 { 2.0 } else { 0.1 };
        assert!((size.x / source - 1.0).abs() < 0.2, "{size} of {source}");
        for normal in geometry.attribute("NORMAL").unwrap().values.chunks_exact(3) {
            let length = normal.iter().map(|part| part * part).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 5e-4);
        }
    }
}

#[test]
fn an_instanced_mesh_counts_each_time_it_is_drawn() {
    let mut maker = Maker::default();
    let primitive = sphere_primitive(&mut maker, 24, [0.0; 3], 1.0);
    let nodes: Vec<Value> = (0..5)
        .map(|index| json!({ "mesh": 0, "translation": [index as f32 * 3.0, 0.0, 0.0] }))
        .collect();
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2, 3, 4] }], "nodes": nodes,
        "meshes": [{ "primitives": [primitive] }],
    }));
    let model = Model::new(&json, &bin, &[]);
    let report = model
        .optimize(json!({ "limits": { "faces": { "count": 1000 } } }))
        .unwrap();
    assert_eq!(report.source.triangles, 5 * 2 * 48 * 23);
    assert!(report.result.triangles <= 1000);
    let scene = model.result("model.glb");
    assert_eq!(scene.meshes.len(), 1, "still stored once");
    assert!(scene.geometries[0].triangle_count() <= 200);
}

#[test]
fn a_target_size_is_met_by_faces_and_textures() {
    let model = spheres();
    for (megabytes, most) in [(0.2, 200_000), (0.05, 50_000)] {
        let report = model
            .optimize(json!({ "workflowSettings": { "targetMBSize": megabytes } }))
            .unwrap();
        let size = report.exports[0].size_bytes;
        assert!(size <= most && size * 2 > most, "{size} of {most}");
    }
    let noise = png(256, |x, y| {
        let mixed = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761);
        [mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8, 255]
    });
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
        &[("noise.png", noise)],
    );
    let report = model
        .optimize(json!({ "workflowSettings": { "targetMBSize": 0.03 } }))
        .unwrap();
    assert!(report.exports[0].size_bytes <= 30_000, "{report:?}");
}

/// A sphere of 3,480 triangles, with spots that only large textures show, in a texture of many bytes.
fn spotted() -> Model {
    let mut maker = Maker::default();
    let mut primitive = sphere_primitive(&mut maker, 30, [0.0; 3], 1.0);
    primitive["material"] = json!(0);
    let spots = png(256, |x, y| {
        let noise = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761) >> 26;
        let base = if (x / 32 + y / 32) % 2 == 0 { 170 } else { 60 };
        [(base + noise) as u8, base as u8, 80, 255]
    });
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }],
        "textures": [{ "source": 0 }], "images": [{ "uri": "spots.png" }],
    }));
    Model::new(&json, &bin, &[("spots.png", spots)])
}

#[test]
fn what_is_called_the_smallest_result_is_the_smallest() {
    let model = spotted();
    let tiny = json!({ "workflowSettings": { "targetMBSize": 0.000_1 } });
    let report = model.optimize(tiny).unwrap();
    let size = report.exports[0].size_bytes;
    let mut warnings = report.warnings.iter();
    let missed = warnings.find(|warning| warning.kind == WarningKind::LimitMissed);
    let said = format!(
        "the smallest that the engine makes, with {} bytes",
        grouped(size)
    );
    assert!(missed.unwrap().text.ends_with(&said), "{missed:?}, {said}");
    for format in ["auto", "png", "jpg"] {
        let files = json!([{ "fileType": "glb", "textureFormat": { "baseColor": format } }]);
        let by_hand = json!({
            "limits": { "faces": { "count": 1 }, "textures": { "baseColor": 4 } },
            "compressionAndExport": { "fileExports": files },
        });
        let bytes = model.optimize(by_hand).unwrap().exports[0].size_bytes;
        assert!(size <= bytes, "{size}, by hand {bytes} as {format}");
    }
}

/// A target packs the geometry only where the packing is left to the engine.
#[test]
fn a_target_size_looks_no_worse_than_limits_by_hand_of_as_many_bytes() {
    const BYTES: u64 = 25_000;
    let model = spotted();
    let source = model.source();
    let sight = Sight::of(&source);
    let looks_of = |config: Value| {
        let report = model.optimize(config).unwrap();
        let score = sight.similarity(&model.result("model.glb"));
        (score, report.exports[0].size_bytes)
    };
    let target = BYTES as f64 / 1e6;
    let (reached, bytes) = looks_of(json!({ "workflowSettings": { "targetMBSize": target } }));
    assert!(bytes <= BYTES, "{bytes}");
    let mut compared = 0;
    for (faces, side) in [(900, 32), (500, 64), (250, 128)] {
        let sides = json!({ "baseColor": side });
        let config = json!({ "limits": { "faces": { "count": faces }, "textures": sides } });
        let (by_hand, bytes) = looks_of(config);
        if bytes > BYTES {
            continue;
        }
        compared += 1;
        assert!(
            reached > by_hand - NOISE,
            "{faces} faces and {side} pixels look like {by_hand}, the target like {reached}"
        );
    }
    assert!(compared > 0, "no limits by hand have so few bytes");
}

#[test]
fn a_target_size_packs_geometry_only_if_it_may() {
    let model = spotted();
    let triangles = |packing: Value| {
        let files = json!([{ "fileType": "glb", "meshCompressionMethod": packing }]);
        let config = json!({
            "workflowSettings": { "targetMBSize": 0.02 },
            "compressionAndExport": { "fileExports": files },
        });
        let report = model.optimize(config).unwrap();
        assert!(report.exports[0].size_bytes <= 20_000, "{report:?}");
        let log = model.log("info.log");
        (report.result.triangles, log.contains("packed with meshopt"))
    };
    let (plain, is_packed) = triangles(json!("none"));
    assert!(!is_packed);
    let (packed, is_packed) = triangles(json!("auto"));
    assert!(
        is_packed && packed > plain,
        "{packed} and {plain} triangles"
    );
}

#[test]
fn a_source_without_geometry_is_refused_as_such() {
    for meshes in [json!([]), json!([{ "primitives": [] }])] {
        let mut source = json!({
            "asset": { "version": "2.0" },
            "scenes": [{ "nodes": [0] }],
            "nodes": [{ "name": "empty" }],
        });
        if meshes[0].is_object() {
            source["nodes"][0]["mesh"] = json!(0);
            source["meshes"] = meshes;
        }
        let model = Model::new(&source, b"", &[]);
        let refused = model.optimize(json!({})).unwrap_err().to_string();
        assert!(
            refused.starts_with("model.gltf has no geometry"),
            "{refused}"
        );
    }
}
