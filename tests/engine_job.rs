//! Whole jobs on small models made here: budgets, textures, what passes through, what is refused.

use std::fs;
use std::path::Path;

use assetfs::engine::import::import;
use assetfs::engine::job::{
    AnalyseTask, OptimizeTask, Pictures, Progress, Report, Task, run, run_with,
};
use assetfs::engine::{EngineError, scene::Scene};
use serde_json::{Value, json};

/// A model written to a folder of its own.
struct Model {
    dir: tempfile::TempDir,
}

impl Model {
    fn new(json: &Value, bin: &[u8], files: &[(&str, Vec<u8>)]) -> Model {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::write(dir.path().join("in/model.gltf"), json.to_string()).unwrap();
        fs::write(dir.path().join("in/model.bin"), bin).unwrap();
        for (name, bytes) in files {
            fs::write(dir.path().join("in").join(name), bytes).unwrap();
        }
        Model { dir }
    }

    fn optimize(&self, config: Value) -> Result<Report, EngineError> {
        let task = Task::Optimize(OptimizeTask {
            input_dir: self.dir.path().join("in"),
            files: vec!["model.gltf".to_owned()],
            output_dir: self.dir.path().join("out"),
            config: config.as_object().unwrap().clone(),
            export_name: None,
            base_name: "model".to_owned(),
        });
        run_with(&task, Pictures::Skipped, &mut |_| {})
    }

    fn result(&self, name: &str) -> Scene {
        import(&self.dir.path().join("out/exports"), &[name.to_owned()])
            .unwrap()
            .scene
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join("out").join(name)).unwrap()
    }
}

/// Buffers and accessors in the making.
#[derive(Default)]
struct Maker {
    bin: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Maker {
    fn floats(&mut self, kind: &str, numbers: &[f32]) -> usize {
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let limits = |start: f32, pick: fn(f32, f32) -> f32| -> Vec<f32> {
            (0..width)
                .map(|part| {
                    numbers
                        .iter()
                        .skip(part)
                        .step_by(width)
                        .fold(start, |a, b| pick(a, *b))
                })
                .collect()
        };
        let (min, max) = (limits(f32::MAX, f32::min), limits(f32::MIN, f32::max));
        self.view(
            numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
        );
        self.accessors.push(json!({
            "bufferView": self.views.len() - 1, "componentType": 5126,
            "count": numbers.len() / width, "type": kind, "min": min, "max": max,
        }));
        self.accessors.len() - 1
    }

    fn indices(&mut self, numbers: &[u32]) -> usize {
        self.view(
            numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
        );
        self.accessors.push(json!({
            "bufferView": self.views.len() - 1, "componentType": 5125,
            "count": numbers.len(), "type": "SCALAR",
        }));
        self.accessors.len() - 1
    }

    fn bytes(&mut self, numbers: Vec<u8>, kind: &str) -> usize {
        let count = numbers.len() / 4;
        self.view(numbers);
        self.accessors.push(json!({
            "bufferView": self.views.len() - 1, "componentType": 5121, "count": count, "type": kind,
        }));
        self.accessors.len() - 1
    }

    fn view(&mut self, bytes: Vec<u8>) {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        self.views.push(json!({
            "buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len(),
        }));
        self.bin.extend(bytes);
    }

    fn finish(self, mut json: Value) -> (Value, Vec<u8>) {
        json["asset"] = json!({ "version": "2.0" });
        json["buffers"] = json!([{ "uri": "model.bin", "byteLength": self.bin.len() }]);
        json["bufferViews"] = self.views.into();
        json["accessors"] = self.accessors.into();
        (json, self.bin)
    }
}

/// Positions, normals, texture coordinates and indices of a sphere.
fn sphere(rings: u32, center: [f32; 3], radius: f32) -> (Vec<f32>, Vec<f32>, Vec<f32>, Vec<u32>) {
    let (mut positions, mut normals, mut coords, mut indices) = (vec![], vec![], vec![], vec![]);
    let segments = rings * 2;
    for ring in 0..=rings {
        for segment in 0..=segments {
            let (v, u) = (ring as f32 / rings as f32, segment as f32 / segments as f32);
            let (polar, around) = (v * std::f32::consts::PI, u * std::f32::consts::TAU);
            let normal = [
                polar.sin() * around.cos(),
                polar.cos(),
                polar.sin() * around.sin(),
            ];
            positions.extend((0..3).map(|axis| center[axis] + normal[axis] * radius));
            normals.extend(normal);
            coords.extend([u, v]);
        }
    }
    let at = |ring: u32, segment: u32| ring * (segments + 1) + segment;
    for ring in 0..rings {
        for segment in 0..segments {
            let (a, b) = (at(ring, segment), at(ring, segment + 1));
            let (c, d) = (at(ring + 1, segment), at(ring + 1, segment + 1));
            if ring > 0 {
                indices.extend([a, b, c]);
            }
            if ring + 1 < rings {
                indices.extend([b, d, c]);
            }
        }
    }
    (positions, normals, coords, indices)
}

fn sphere_primitive(maker: &mut Maker, rings: u32, center: [f32; 3], radius: f32) -> Value {
    let (positions, normals, coords, indices) = sphere(rings, center, radius);
    json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &positions),
            "NORMAL": maker.floats("VEC3", &normals),
            "TEXCOORD_0": maker.floats("VEC2", &coords),
        },
        "indices": maker.indices(&indices),
    })
}

/// A large sphere and nine small ones, each a mesh of its own.
fn spheres() -> Model {
    let mut maker = Maker::default();
    let mut meshes =
        vec![json!({ "primitives": [sphere_primitive(&mut maker, 48, [0.0; 3], 1.0)] })];
    for index in 0..9 {
        let center = [2.0 + index as f32 * 0.2, 0.0, 0.0];
        let primitive = sphere_primitive(&mut maker, 12, center, 0.05);
        meshes.push(json!({ "primitives": [primitive] }));
    }
    let nodes: Vec<Value> = (0..meshes.len())
        .map(|mesh| json!({ "mesh": mesh }))
        .collect();
    let roots: Vec<usize> = (0..nodes.len()).collect();
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": roots }], "nodes": nodes, "meshes": meshes,
    }));
    Model::new(&json, &bin, &[])
}

/// A square with a base colour texture of the given files.
fn textured(material: Value, files: &[(&str, Vec<u8>)]) -> Model {
    let mut maker = Maker::default();
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0.]),
            "TEXCOORD_0": maker.floats("VEC2", &[0., 0., 1., 0., 0., 1., 1., 1.]),
        },
        "indices": maker.indices(&[0, 1, 2, 2, 1, 3]),
        "material": 0,
    });
    let images: Vec<Value> = files
        .iter()
        .map(|(name, _)| json!({ "uri": name }))
        .collect();
    let textures: Vec<Value> = (0..files.len())
        .map(|image| json!({ "source": image }))
        .collect();
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "materials": [material], "textures": textures, "images": images,
    }));
    Model::new(&json, &bin, files)
}

/// A PNG whose pixels `color` gives.
fn png(size: u32, color: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size, size);
    encoder.set_color(png::ColorType::Rgba);
    let data: Vec<u8> = (0..size * size)
        .flat_map(|at| color(at % size, at / size))
        .collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&data).unwrap();
    writer.finish().unwrap();
    bytes
}

fn decode(bytes: &[u8]) -> image::RgbaImage {
    image::load_from_memory(bytes).unwrap().into_rgba8()
}

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
fn textures_shrink_to_their_limit_in_linear_light() {
    let chequered = png(64, |x, y| {
        if (x + y) % 2 == 0 {
            [255; 4]
        } else {
            [0, 0, 0, 255]
        }
    });
    let model = textured(
        json!({
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0 },
                "metallicRoughnessTexture": { "index": 1 },
            },
        }),
        &[
            ("colour.png", chequered.clone()),
            ("numbers.png", chequered),
        ],
    );
    let report = model
        .optimize(json!({
            "limits": { "textures": { "baseColor": 32, "orm": 16 } },
            "compressionAndExport": { "fileExports": [
                { "fileType": "glb", "textureFormat": { "baseColor": "png", "orm": "png" } },
            ] },
        }))
        .unwrap();
    assert_eq!(report.result.largest_texture, 32);
    let images = report.exports[0].images.as_ref().unwrap();
    assert_eq!(
        (images[0].slot.as_str(), images[0].width),
        ("baseColor", 32)
    );
    assert_eq!((images[1].slot.as_str(), images[1].width), ("orm", 16));
    let scene = model.result("model.glb");
    let colour = decode(&scene.images[0].bytes).get_pixel(10, 10)[0];
    let number = decode(&scene.images[1].bytes).get_pixel(8, 8)[0];
    assert!(
        colour.abs_diff(188) <= 1,
        "half of the light is 188 in sRGB, not {colour}"
    );
    assert!(
        number.abs_diff(128) <= 1,
        "half of a number is 128, not {number}"
    );
}

#[test]
fn textures_within_their_limit_keep_their_bytes() {
    let colour = png(64, |x, y| [x as u8 * 4, y as u8 * 4, 7, 255]);
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
        &[("colour.png", colour.clone())],
    );
    model
        .optimize(json!({ "limits": { "textures": { "baseColor": 64, "normal": 16 } } }))
        .unwrap();
    assert_eq!(model.result("model.glb").images[0].bytes, colour);
}

#[test]
fn alpha_that_is_used_is_never_lost_to_jpeg() {
    let leaf = png(64, |x, _| [0, 200, 0, if x < 32 { 255 } else { 0 }]);
    let config = json!({ "compressionAndExport": { "fileExports": [
        { "fileType": "glb", "textureFormat": { "baseColor": "jpg" } },
    ] } });
    let material = |mode: &str| json!({ "alphaMode": mode, "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
    let masked = textured(material("MASK"), &[("leaf.png", leaf.clone())]);
    let report = masked.optimize(config.clone()).unwrap();
    assert_eq!(masked.result("model.glb").images[0].media_type, "image/png");
    assert!(
        report.warnings.iter().any(|line| line.contains("alpha")),
        "{:?}",
        report.warnings
    );
    let opaque = textured(material("OPAQUE"), &[("leaf.png", leaf)]);
    opaque.optimize(config).unwrap();
    let image = &opaque.result("model.glb").images[0];
    // JPEG is only taken where it is smaller.
    assert!(image.media_type == "image/jpeg" || image.media_type == "image/png");
}

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

/// A bar of rings that a skin of two joints bends, with an animation, a morph target and extras.
fn bar() -> Model {
    let mut maker = Maker::default();
    let (mut positions, mut joints, mut weights, mut deltas, mut indices) =
        (vec![], vec![], vec![], vec![], vec![]);
    for ring in 0..=20u32 {
        for corner in 0..16u32 {
            let angle = corner as f32 / 16.0 * std::f32::consts::TAU;
            positions.extend([angle.cos(), ring as f32 * 0.5, angle.sin()]);
            let upper = ring as f32 / 20.0;
            joints.extend([0u8, 1, 0, 0]);
            weights.extend([1.0 - upper, upper, 0.0, 0.0]);
            deltas.extend([0.0, 0.0, upper]);
            if ring < 20 {
                let (a, b) = (ring * 16 + corner, ring * 16 + (corner + 1) % 16);
                indices.extend([a, a + 16, b, b, a + 16, b + 16]);
            }
        }
    }
    let primitive = json!({
        "attributes": {
            "POSITION": maker.floats("VEC3", &positions),
            "JOINTS_0": maker.bytes(joints, "VEC4"),
            "WEIGHTS_0": maker.floats("VEC4", &weights),
        },
        "targets": [{ "POSITION": maker.floats("VEC3", &deltas) }],
        "indices": maker.indices(&indices),
    });
    let identity = [
        1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.,
    ];
    let binds = maker.floats("MAT4", &[identity, identity].concat());
    let times = maker.floats("SCALAR", &[0.0, 1.5]);
    let turns = maker.floats("VEC4", &[0., 0., 0., 1., 0., 0., 0.6, 0.8]);
    let swells = maker.floats("SCALAR", &[0.0, 1.0]);
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1] }],
        "nodes": [{ "mesh": 0, "skin": 0, "extras": { "mark": 42 } }, { "children": [2] }, {}],
        "meshes": [{ "primitives": [primitive], "weights": [0.0], "extras": { "targetNames": ["swell"] } }],
        "skins": [{ "joints": [1, 2], "inverseBindMatrices": binds }],
        "animations": [{
            "name": "wave",
            "samplers": [{ "input": times, "output": turns }, { "input": times, "output": swells }],
            "channels": [
                { "sampler": 0, "target": { "node": 2, "path": "rotation" } },
                { "sampler": 1, "target": { "node": 0, "path": "weights" } },
            ],
        }],
        "extensionsUsed": ["VENDOR_secret"],
        "extensions": { "VENDOR_secret": { "depth": [1, { "deeper": true }] } },
    }));
    Model::new(&json, &bin, &[])
}

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
fn settings_that_are_not_done_stand_in_the_warning_log() {
    let model = spheres();
    let report = model
        .optimize(json!({
            "import": { "CAD": { "tessellationResolution": "fine" } },
            "assetSimplification": { "materialAndTextureBaking": { "bakeAOMap": true } },
        }))
        .unwrap();
    let log = model.log("warning.log");
    for key in [
        "import.CAD.tessellationResolution: CAD files are not read",
        "assetSimplification.materialAndTextureBaking.bakeAOMap",
    ] {
        assert!(log.contains(key), "{log}");
        assert!(report.warnings.iter().any(|line| line.contains(key)));
    }
}

#[test]
fn a_failure_leaves_its_sentence_in_the_error_log() {
    let model = spheres();
    let error = model
        .optimize(json!({ "limits": { "faces": { "count": "few" } } }))
        .unwrap_err();
    let sentence = "the configuration is not valid: limits.faces.count is \"few\"; it has to be a whole number of at least 1";
    assert_eq!(error.to_string(), sentence);
    assert_eq!(model.log("error.log"), format!("{sentence}\n"));
    assert!(model.log("metrics.json").contains("\"succeeded\": false"));
}

#[test]
fn an_analysis_counts_what_is_there_and_progress_only_grows() {
    let model = spheres();
    let out = model.dir.path().join("analysis");
    let task = Task::Analyse(AnalyseTask {
        input_dir: model.dir.path().join("in"),
        files: vec!["model.gltf".to_owned(), "model.bin".to_owned()],
        output_dir: out.clone(),
    });
    let mut steps: Vec<Progress> = Vec::new();
    let report = run(&task, &mut |step| steps.push(step)).unwrap();
    assert!(steps.is_sorted_by_key(|step| step.percent));
    assert_eq!(steps.last().unwrap().percent, 100);
    assert_eq!(report.source.triangles, 13_776);
    let info: Value =
        serde_json::from_slice(&fs::read(out.join("rpd_info.json")).unwrap()).unwrap();
    assert_eq!(info["geometry"]["triangles"], 13_776);
    assert_eq!(info["geometry"]["meshes"], 10);
    for name in [
        "metrics.json",
        "info.log",
        "warning.log",
        "error.log",
        "thumb.jpg",
    ] {
        assert!(Path::new(&out).join(name).is_file(), "{name}");
        assert!(report.files.iter().any(|file| file == name), "{name}");
    }
}

#[test]
fn pictures_and_scores_come_with_every_job() {
    let model = textured(json!({}), &[]);
    let task = Task::Optimize(OptimizeTask {
        input_dir: model.dir.path().join("in"),
        files: vec!["model.gltf".to_owned()],
        output_dir: model.dir.path().join("out"),
        config: serde_json::Map::new(),
        export_name: Some("renamed.glb".to_owned()),
        base_name: "model".to_owned(),
    });
    let report = run(&task, &mut |_| {}).unwrap();
    assert_eq!(report.exports[0].name, "renamed.glb");
    let quality = report.exports[0].quality.expect("compared");
    assert!(quality.avg_score > 99.0, "{quality:?}");
    for name in [
        "thumb.jpg",
        "renders/glb-front.png",
        "renders/original-front.png",
    ] {
        assert!(model.dir.path().join("out").join(name).is_file(), "{name}");
    }
}

#[test]
fn every_format_is_written_and_reads_back() {
    let model = spheres();
    let formats = ["glb", "gltf", "obj", "stl", "ply", "usdz"];
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
fn what_a_format_cannot_hold_is_said() {
    let model = bar();
    let report = model
        .optimize(json!({ "compressionAndExport": { "fileExports": [{ "fileType": "usdz" }] } }))
        .unwrap();
    for what in ["animations", "skins", "morph targets"] {
        let says = |line: &String| line.contains("usdz cannot hold") && line.contains(what);
        assert!(
            report.warnings.iter().any(says),
            "{what}: {:?}",
            report.warnings
        );
    }
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
        assert_eq!(report.warnings, Vec::<String>::new());
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

/// A box with half the size `half` around a point, one vertex for each corner.
fn cuboid(maker: &mut Maker, center: [f32; 3], half: f32) -> Value {
    let corner = |bits: usize| {
        (0..3).map(move |axis| center[axis] + if bits >> axis & 1 == 1 { half } else { -half })
    };
    let positions: Vec<f32> = (0..8).flat_map(corner).collect();
    let indices = [
        0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2,
        1, 3, 7, 1, 7, 5,
    ];
    json!({
        "attributes": { "POSITION": maker.floats("VEC3", &positions) },
        "indices": maker.indices(&indices),
    })
}

/// A box, one inside of it and one beside it; what the material and the rest say is up to the test.
fn boxes(material: Value, mut rest: impl FnMut(&mut Maker, &mut Value)) -> Model {
    let mut maker = Maker::default();
    let meshes: Vec<Value> = [
        ([0.0; 3], 1.0),
        ([0.1, 0.0, 0.0], 0.4),
        ([3.0, 0.0, 0.0], 0.4),
    ]
    .into_iter()
    .map(|(center, half)| {
        let mut primitive = cuboid(&mut maker, center, half);
        primitive["material"] = json!(0);
        json!({ "primitives": [primitive] })
    })
    .collect();
    let nodes: Vec<Value> = ["outer", "inner", "beside"]
        .iter()
        .enumerate()
        .map(|(mesh, name)| json!({ "mesh": mesh, "name": name }))
        .collect();
    let mut json = json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1, 2] }], "nodes": nodes, "meshes": meshes,
        "materials": [material],
    });
    rest(&mut maker, &mut json);
    let (json, bin) = maker.finish(json);
    Model::new(&json, &bin, &[])
}

#[test]
fn what_nobody_can_see_is_removed_when_asked() {
    let asked = json!({ "sceneManipulation": { "removeInvisibleGeometry": true } });
    let model = boxes(json!({}), |_, _| {});
    assert_eq!(model.optimize(json!({})).unwrap().result.triangles, 36);
    let report = model.optimize(asked.clone()).unwrap();
    assert_eq!(report.result.triangles, 24);
    assert!(
        model
            .log("info.log")
            .contains("12 triangles that nobody can see")
    );
    // Seen through, or seen a moment later: it stays.
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
