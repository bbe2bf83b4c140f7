//! Each format that is written: its files, what is in them, and what it cannot hold.

use std::fs;

use assetfs_engine::scene::{Bounds, Scene};
use serde_json::{Value, json};

use super::shapes::{bar, boxes, decode, png, spheres, textured};
use crate::log_lines::LogLines as _;

#[test]
fn gltf_is_written_with_its_files_and_reads_back() {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
        &[("my wood #1.png", colour.clone())],
    );
    let report = model
        .optimize(json!({ "compressionAndExport": { "fileExports": [
            { "fileType": "gltf", "fileName": "out" }, { "fileType": "glb", "fileName": "out" },
        ] } }))
        .unwrap();
    assert_eq!(
        report.exports[0].parts,
        ["out.gltf", "out.bin", "my wood #1.png"]
    );
    assert_eq!(report.exports[1].parts, ["out.glb"]);
    let scene = model.result("out.gltf");
    assert_eq!(scene.images[0].bytes, colour);
    assert_eq!(scene.drawn_triangles(), 2);
}

#[test]
fn every_format_is_written_and_reads_back() {
    let model = spheres();
    let formats = ["glb", "gltf", "obj", "stl", "ply", "usdz", "fbx"];
    let exports: Vec<Value> = formats
        .iter()
        .map(|format| json!({ "fileType": format }))
        .collect();
    let report = model
        .optimize(json!({
            "limits": { "faces": { "count": 2_000 } },
            "compressionAndExport": { "fileExports": exports },
        }))
        .unwrap();
    let names: Vec<&str> = report
        .exports
        .iter()
        .map(|export| export.format.as_str())
        .collect();
    assert_eq!(names, formats);
    for name in [
        "model.glb",
        "model.gltf",
        "model.obj",
        "model.stl",
        "model.ply",
        "model.usdz",
        "model.fbx",
    ] {
        let scene = model.result(name);
        assert_eq!(scene.drawn_triangles(), report.result.triangles, "{name}");
        let size = scene.bounds().unwrap().size();
        assert!((size.x - 4.65).abs() < 0.02, "{name}: {size}");
    }
    let usdz = fs::read(model.dir.path().join("out/exports/model.usdz")).unwrap();
    assert!(usdz.starts_with(b"PK\x03\x04"));
    let start = usdz.windows(6).position(|part| part == b"#usda ").unwrap();
    assert_eq!(start % 64, 0, "the stage starts at a multiple of 64 bytes");
}

#[test]
fn what_a_format_cannot_hold_is_a_warning() {
    let model = bar();
    let report = model
        .optimize(json!({ "compressionAndExport": { "fileExports": [
            { "fileType": "obj" }, { "fileType": "usdz" }, { "fileType": "fbx" },
        ] } }))
        .unwrap();
    for (format, what) in [
        ("obj", "animations"),
        ("obj", "skins"),
        ("obj", "morph targets"),
        ("usdz", "morph targets"),
        ("fbx", "animations of morph targets"),
    ] {
        let start = format!("{format} cannot hold: ");
        let mut lines = report.warnings.lines().into_iter();
        assert!(
            lines.any(|line| line.starts_with(&start) && line.contains(what)),
            "{start}{what}: {:?}",
            report.warnings.lines()
        );
    }
    let of_usdz = report
        .warnings
        .iter()
        .filter(|warning| warning.text.starts_with("usdz cannot"));
    assert_eq!(of_usdz.count(), 1, "{:?}", report.warnings.lines());
}

#[test]
fn a_job_writes_many_exports() {
    let model = boxes(json!({}), |_, _| {});
    let exports = vec![json!({ "fileType": "glb" }); 12];
    let mut percents = Vec::new();
    let report = model.optimize_with(
        json!({ "compressionAndExport": { "fileExports": exports } }),
        &mut |step| percents.push(step.percent),
    );
    assert_eq!(report.unwrap().exports.len(), 12);
    assert!(percents.is_sorted(), "{percents:?}");
}

#[test]
fn packed_geometry_reads_back_as_it_was() {
    let model = spheres();
    let plain = model.optimize(json!({})).unwrap();
    for method in ["draco", "meshopt"] {
        let report = model
            .optimize(json!({ "compressionAndExport": { "fileExports": [
                { "fileType": "glb", "meshCompressionMethod": method, "fileName": method },
                { "fileType": "gltf", "meshCompressionMethod": method, "fileName": method },
            ] } }))
            .unwrap();
        assert_eq!(report.warnings.lines(), Vec::<String>::new());
        assert!(
            report.exports[0].size_bytes * 2 < plain.exports[0].size_bytes,
            "{method}: {report:?}"
        );
        for name in [format!("{method}.glb"), format!("{method}.gltf")] {
            let scene = model.result(&name);
            assert_eq!(scene.drawn_triangles(), plain.result.triangles, "{name}");
            let bounds = scene.bounds().unwrap();
            assert!((bounds.size().x - 4.65).abs() < 1e-3, "{name}: {bounds:?}");
            for normal in scene.geometries[0]
                .attribute("NORMAL")
                .unwrap()
                .values
                .chunks_exact(3)
            {
                let length = normal.iter().map(|part| part * part).sum::<f32>().sqrt();
                assert!((length - 1.0).abs() < 0.01, "{name}: {normal:?}");
            }
        }
    }
}

#[test]
fn an_export_may_leave_out_what_another_keeps() {
    let model = bar();
    let report = model
        .optimize(json!({ "export": [
            { "fileName": "still", "discard": ["animations", "morphTargets"] },
            { "fileName": "moving" },
        ] }))
        .unwrap();
    let names: Vec<&str> = report
        .exports
        .iter()
        .map(|export| export.name.as_str())
        .collect();
    assert_eq!(names, ["still.glb", "moving.glb"]);
    let has = |name: &str| {
        let scene = model.result(name);
        let morphs = scene
            .geometries
            .iter()
            .any(|geometry| !geometry.targets.is_empty());
        (!scene.list("animations").is_empty(), morphs)
    };
    assert_eq!(has("still.glb"), (false, false));
    assert_eq!(has("moving.glb"), (true, true));
}

#[test]
fn obj_keeps_what_is_rough_and_what_is_metal() {
    let orm = png(64, |x, y| {
        [
            255,
            if x < 32 { 40 } else { 220 },
            if y < 32 { 0 } else { 255 },
            255,
        ]
    });
    let model = textured(
        json!({ "pbrMetallicRoughness": {
            "metallicRoughnessTexture": { "index": 0 }, "roughnessFactor": 0.5,
        } }),
        &[("steel.png", orm)],
    );
    let report = model
        .optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "obj" }] } }))
        .unwrap();
    let parts = &report.exports[0].parts;
    for name in ["steel_roughness.png", "steel_metallic.png"] {
        assert!(parts.iter().any(|part| part == name), "{parts:?}");
    }
    let scene = model.result("model.obj");
    let material = scene.material(Some(0));
    assert_eq!((material.roughness, material.metallic), (1.0, 1.0));
    let image = material.metallic_roughness_texture.unwrap().image;
    let pixels = decode(&scene.images[image].bytes);
    for (x, y, rough, metal) in [(5, 5, 20, 0), (60, 60, 110, 255)] {
        assert_eq!(pixels.get_pixel(x, y).0[1..3], [rough, metal]);
    }
    // One value everywhere needs no image.
    let even = textured(
        json!({ "pbrMetallicRoughness": { "metallicRoughnessTexture": { "index": 0 } } }),
        &[("even.png", png(8, |_, _| [255, 51, 0, 255]))],
    );
    even.optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "obj" }] } }))
        .unwrap();
    let material = even.result("model.obj").material(Some(0));
    assert!((material.roughness - 0.2).abs() < 1e-6 && material.metallic == 0.0);
    assert!(material.metallic_roughness_texture.is_none());
}

#[test]
fn what_is_flat_stays_flat_in_obj() {
    let model = boxes(json!({}), |_, _| {});
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "obj" }] } }))
        .unwrap();
    let scene = model.result("model.obj");
    assert_eq!(scene.drawn_triangles(), 36);
    for geometry in &scene.geometries {
        let normals = geometry.attribute("NORMAL").expect("written with the file");
        for corners in geometry.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|corner| geometry.position(corners[corner]));
            let face = (b - a).cross(c - a).normalize();
            for corner in corners {
                let normal = normals.at(*corner as usize);
                assert!(
                    face.distance(glam::Vec3::from_slice(normal)) < 1e-5,
                    "{normal:?} {face}"
                );
            }
        }
    }
}

#[test]
fn usdz_is_checked_against_the_profile() {
    let model = spheres();
    let profile = |format: &str| {
        let report = model.optimize(json!({
            "import": { "USD": { "profile": "arkit" } },
            "export": [{ "format": { format: {} } }],
        }));
        let warnings = report.unwrap().warnings.lines();
        let of_profile = warnings.into_iter().filter(|line| line.contains("profile"));
        of_profile.collect::<Vec<_>>()
    };
    assert_eq!(profile("usdz"), Vec::<String>::new());
    assert!(
        model
            .log("info.log")
            .contains("model.usdz: keeps the rules of the profile arkit (its layer is text, usda;")
    );
    assert_eq!(
        profile("glb"),
        ["profile arkit: the job writes no usdz, so nothing is checked [setting-ignored]"]
    );
}

/// The box around the model in the middle of its animation, without the axis along which only morph targets move it.
fn posed_box(scene: &mut Scene) -> [[f32; 3]; 2] {
    let pose = scene
        .poses(1)
        .into_iter()
        .next()
        .expect("an animation that moves joints");
    let bounds = scene.in_pose(&pose, |scene| scene.bounds().unwrap());
    [
        bounds.min.with_z(0.0).to_array(),
        bounds.max.with_z(0.0).to_array(),
    ]
}

fn assert_near(a: [[f32; 3]; 2], b: [[f32; 3]; 2], what: &str) {
    let far = a
        .as_flattened()
        .iter()
        .zip(b.as_flattened())
        .any(|(a, b)| (a - b).abs() > 0.02);
    assert!(!far, "{what}: {a:?} {b:?}");
}

#[test]
fn skins_and_clips_survive_in_usdz_and_fbx() {
    let model = bar();
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": [
            { "fileType": "glb" }, { "fileType": "usdz" }, { "fileType": "fbx" },
        ] } }))
        .unwrap();
    let mut plain = model.result("model.glb");
    let (rest, posed) = (plain.bounds().unwrap(), posed_box(&mut plain));
    for name in ["model.usdz", "model.fbx"] {
        let mut scene = model.result(name);
        assert_eq!(scene.drawn_triangles(), plain.drawn_triangles(), "{name}");
        assert_eq!(scene.list("skins").len(), 1, "{name}");
        assert_eq!(scene.list("animations").len(), 1, "{name}");
        assert_eq!(scene.list("animations")[0]["name"], "wave", "{name}");
        let bounds = scene.bounds().unwrap();
        let corners = |it: Bounds| [it.min.to_array(), it.max.to_array()];
        assert_near(corners(bounds), corners(rest), name);
        assert_near(posed_box(&mut scene), posed, name);
    }
    let fbx = model.result("model.fbx");
    assert_eq!(fbx.geometries[0].targets.len(), 1);
    assert_eq!(fbx.meshes[0].json["extras"]["targetNames"][0], "swell");
}

#[test]
fn materials_textures_and_moving_nodes_survive_in_fbx_and_usdz() {
    let colour = png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255]);
    let material = json!({
        "name": "Wood",
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 }, "roughnessFactor": 0.25, "metallicFactor": 0.5,
        },
        "emissiveFactor": [0.5, 0.25, 0.0],
    });
    let model = textured(material, &[("wood.png", colour.clone())]);
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": [
            { "fileType": "usdz" }, { "fileType": "fbx" },
        ] } }))
        .unwrap();
    for name in ["model.usdz", "model.fbx"] {
        let scene = model.result(name);
        let found = scene.material(Some(0));
        assert_eq!(scene.list("materials").len(), 1, "{name}");
        assert_eq!(found.name.as_deref(), Some("Wood"), "{name}");
        assert!((found.roughness - 0.25).abs() < 1e-3, "{name}: {found:?}");
        assert!((found.metallic - 0.5).abs() < 1e-3, "{name}: {found:?}");
        assert!((found.emissive[0] - 0.5).abs() < 1e-3, "{name}: {found:?}");
        assert_eq!(
            scene.images[found.base_color_texture.unwrap().image].bytes,
            colour,
            "{name}"
        );
    }
}

#[test]
fn fbx_has_roughness_in_a_grey_image_and_its_mean_beside_it() {
    let surface = png(8, |x, _| [0, if x < 4 { 255 } else { 51 }, 0, 255]);
    let material = json!({
        "pbrMetallicRoughness": { "metallicRoughnessTexture": { "index": 0 }, "roughnessFactor": 0.5 },
    });
    let model = textured(material, &[("surface.png", surface)]);
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "fbx" }] } }))
        .unwrap();
    let bytes = fs::read(model.dir.path().join("out/exports/model.fbx")).unwrap();
    let loaded = ufbx::load_memory(&bytes, ufbx::LoadOpts::default()).unwrap();
    let written = loaded.materials[0].pbr.roughness.value_vec4.x;
    assert!((written - 0.3).abs() < 1e-2, "{written}");
    let scene = model.result("model.fbx");
    let found = scene.material(Some(0));
    // A texture of one value is a number.
    assert_eq!((found.roughness, found.metallic), (1.0, 0.0), "{found:?}");
    let image = found.metallic_roughness_texture.unwrap().image;
    let pixels = decode(&scene.images[image].bytes);
    assert_eq!([0, 7].map(|x| pixels.get_pixel(x, 0)[1]), [128, 26]);
}
