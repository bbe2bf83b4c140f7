//! Properties of every result: it has triangles, keeps the names of its images, writes each image once, and a warning
//! says if it is larger than its source.

use std::fs;

use assetfs_engine::import::import;
use assetfs_engine::settings::MeshCompression;
use serde_json::{Value, json};

use super::gltf::{Maker, Model};
use super::shapes::{boxes, png, spheres, textured};
use crate::log_lines::LogLines as _;
use assetfs_engine::{Warning, WarningKind};

fn exports(files: Value) -> Value {
    json!({ "compressionAndExport": { "fileExports": files } })
}

/// Two triangles that lie `gap` apart in the mesh's own space, drawn by a node for each scale.
fn near_triangles(gap: f32, scales: &[f32]) -> Model {
    let mut maker = Maker::default();
    let right = 1.0 + gap;
    let primitive = json!({
        "attributes": { "POSITION": maker.floats("VEC3", &[
            0., 0., 0., 1., 0., 0., 1., 1., 0., right, 0., 0., 2., 0., 0., right, 1., 0.,
        ]) },
        "indices": maker.indices(&[0, 1, 2, 3, 4, 5]),
    });
    let nodes: Vec<Value> = scales
        .iter()
        .map(|scale| json!({ "mesh": 0, "scale": [scale, scale, scale] }))
        .collect();
    let roots: Vec<usize> = (0..nodes.len()).collect();
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": roots }], "nodes": nodes,
        "meshes": [{ "primitives": [primitive] }],
    }));
    Model::new(&json, &bin, &[])
}

#[test]
fn vertices_are_merged_by_their_distance_in_the_world() {
    for (gap, scales, distance, vertices) in [
        (0.005, &[1.0][..], 0.01, 4),
        (0.005, &[100.0], 0.01, 6),
        (0.005, &[100.0], 1.0, 4),
        (0.3, &[0.01], 0.004, 4),
        // The same mesh drawn small and large: nowhere may a vertex move farther than asked.
        (0.005, &[1.0, 100.0], 0.01, 6),
    ] {
        let model = near_triangles(gap, scales);
        let merging = json!({ "topologySettings": { "vertexMergingDistance": distance } });
        let report = model
            .optimize(json!({ "assetSimplification": merging }))
            .unwrap();
        assert_eq!(
            report.result.vertices, vertices,
            "{gap} {scales:?} {distance}"
        );
    }
}

#[test]
fn a_part_is_small_where_it_is_drawn_largest() {
    let mut maker = Maker::default();
    let triangle = |maker: &mut Maker| {
        json!({ "primitives": [{
            "attributes": { "POSITION": maker.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]) },
            "indices": maker.indices(&[0, 1, 2]),
        }] })
    };
    let meshes = [triangle(&mut maker)];
    let (json, bin) = maker.finish(json!({
        "scene": 0, "scenes": [{ "nodes": [0, 1] }],
        "nodes": [{ "mesh": 0, "scale": [0.01, 0.01, 0.01] }, { "mesh": 0 }],
        "meshes": meshes,
    }));
    let model = Model::new(&json, &bin, &[]);
    let report = model
        .optimize(
            json!({ "sceneManipulation": { "removeSmallFeatures": { "removalPercentage": 50 } } }),
        )
        .unwrap();
    assert_eq!(report.result.triangles, 2);
}

#[test]
fn a_job_that_leaves_nothing_fails_and_names_the_setting() {
    for (config, sentence) in [
        (
            json!({ "sceneManipulation": { "removeSmallFeatures": { "removalPercentage": 100 } } }),
            "nothing is left of the model: sceneManipulation.removeSmallFeatures.removalPercentage is 100",
        ),
        (
            json!({ "assetSimplification": { "topologySettings": { "vertexMergingDistance": 1e6 } } }),
            "nothing is left of the model: assetSimplification.topologySettings.vertexMergingDistance is 1000000",
        ),
    ] {
        let model = boxes(json!({}), |_, _| {});
        let error = model.optimize(config).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
        assert!(model.log("error.log").starts_with(sentence));
        assert!(!model.dir.path().join("out/exports").exists());
    }
    let flat = Model::of_file("flat.obj", b"v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 2\nf 1 1 3\n");
    let error = flat.optimize(json!({})).unwrap_err().to_string();
    assert_eq!(
        error,
        "nothing is left of the model: no triangle of the source has an area"
    );
}

#[test]
fn points_are_written_where_the_format_holds_them_and_refused_where_not() {
    let points = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
end_header\n0 0 0\n1 0 0\n0 1 0\n";
    let model = Model::of_file("points.ply", points);
    model
        .optimize(exports(json!([{ "fileType": "glb" }])))
        .unwrap();
    for format in ["obj", "stl", "ply", "usdz"] {
        let error = model
            .optimize(exports(json!([{ "fileType": format }])))
            .unwrap_err();
        let sentence = format!(
            "a {format} file holds triangles only, and the model draws none; export it as glb or gltf"
        );
        assert_eq!(error.to_string(), sentence);
    }
}

fn wood() -> Vec<u8> {
    png(8, |x, y| [x as u8 * 30, y as u8 * 30, 9, 255])
}

fn wooden() -> Model {
    let material = json!({
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
        "normalTexture": { "index": 1, "scale": 0.5 },
    });
    textured(
        material,
        &[
            ("my wood.png", wood()),
            ("bumps.png", png(8, |x, _| [x as u8, 128, 255, 255])),
        ],
    )
}

#[test]
fn images_keep_their_names_through_a_glb() {
    let model = wooden();
    model
        .optimize(exports(json!([{ "fileType": "glb" }])))
        .unwrap();
    let scene = model.result("model.glb");
    let names: Vec<&Value> = scene
        .images
        .iter()
        .map(|image| &image.json["name"])
        .collect();
    assert_eq!(names, ["my wood", "bumps"]);
    let again = model.again("model.glb");
    let report = again
        .optimize(exports(json!([{ "fileType": "gltf" }])))
        .unwrap();
    assert_eq!(
        report.exports[0].parts,
        ["model.gltf", "model.bin", "my wood.png", "bumps.png"]
    );
    assert_eq!(again.result("model.gltf").images[0].json["name"], "my wood");
}

#[test]
fn obj_names_its_normal_map_in_both_ways() {
    let model = wooden();
    model
        .optimize(exports(json!([{ "fileType": "obj" }])))
        .unwrap();
    let mtl = fs::read_to_string(model.dir.path().join("out/exports/model.mtl")).unwrap();
    assert!(
        mtl.contains("\nmap_Bump -bm 0.5 bumps.png\nnorm bumps.png\n"),
        "{mtl}"
    );
    let scene = model.result("model.obj");
    assert!(scene.material(Some(0)).normal_texture.is_some());
}

#[test]
fn exports_of_one_job_share_their_texture_files() {
    let model = wooden();
    let report = model
        .optimize(exports(json!([
            { "fileType": "gltf" }, { "fileType": "obj" }, { "fileType": "gltf", "customScaling": 2 },
        ])))
        .unwrap();
    let parts: Vec<&Vec<String>> = report.exports.iter().map(|export| &export.parts).collect();
    let textures = ["my_wood.png", "bumps.png"];
    assert_eq!(parts[0][2..], textures);
    assert_eq!(parts[1][2..], textures);
    assert_eq!(parts[2][2..], textures);
    let mut files: Vec<String> = fs::read_dir(model.dir.path().join("out/exports"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".png"))
        .collect();
    files.sort();
    assert_eq!(files, ["bumps.png", "my_wood.png"]);
    for name in ["model.gltf", "model.obj", "model_2.gltf"] {
        let scene = model.result(name);
        assert!(
            scene.images.iter().any(|image| image.bytes == wood()),
            "{name}"
        );
    }
}

/// Spheres in a GLB that is packed in this way.
fn packed(method: &str) -> Model {
    let model = spheres();
    model
        .optimize(exports(
            json!([{ "fileType": "glb", "meshCompressionMethod": method }]),
        ))
        .unwrap();
    model.again("model.glb")
}

#[test]
fn a_result_larger_than_its_source_says_so() {
    let packed = packed("draco");
    let report = packed
        .optimize(exports(
            json!([{ "fileType": "glb" }, { "fileType": "stl" }]),
        ))
        .unwrap();
    let is_of_size = |warning: &&Warning| warning.kind == WarningKind::NoGain;
    let of_size: Vec<&Warning> = report.warnings.iter().filter(is_of_size).collect();
    for (warning, sentence) in of_size.iter().zip([
        "the source packs its geometry; ask for it with meshCompressionMethod \"draco\"",
        "the source packs its geometry, and stl cannot",
    ]) {
        let is_larger = warning.text.contains(" bytes, more than the source with ");
        assert!(is_larger && warning.text.ends_with(sentence), "{warning}");
    }
    assert_eq!(of_size.len(), 2, "{:?}", report.warnings.lines());
    assert!(
        packed
            .log("warning.log")
            .contains("more than the source with")
    );
    let smaller = spheres();
    let limits = json!({ "limits": { "faces": { "percentage": 10 } } });
    assert_eq!(
        smaller.optimize(limits).unwrap().warnings.lines(),
        Vec::<String>::new()
    );
}

#[test]
fn auto_packs_the_geometry_as_the_source_does() {
    for (method, packing) in [
        ("draco", MeshCompression::Draco),
        ("meshopt", MeshCompression::Meshopt),
        ("none", MeshCompression::None),
    ] {
        let model = packed(method);
        model
            .optimize(exports(
                json!([{ "fileType": "glb", "meshCompressionMethod": "auto" }]),
            ))
            .unwrap();
        let written = import(
            &model.dir.path().join("out/exports"),
            &["model.glb".to_owned()],
        )
        .unwrap();
        assert_eq!(written.packing, packing);
    }
}
