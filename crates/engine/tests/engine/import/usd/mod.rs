//! USD layers: prims, meshes, composition, materials, purposes. The layers are literals here.

mod damaged;
mod endless;
mod instancers;
mod judged;
mod looks;
mod motion;

use assetfs_engine::import::{ImportOptions, Imported, import_as};
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::UsdPurpose;

use super::texts::import_texts;
use crate::log_lines::LogLines as _;
use assetfs_engine::WarningKind;

/// A layer in metres with y up.
pub fn layer(body: &str) -> String {
    format!("#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n{body}")
}

/// A square from (0, 0) to (1, 1) with these lines in its prim.
pub fn square(name: &str, lines: &str) -> String {
    format!(
        "def Mesh \"{name}\"\n{{\n    int[] faceVertexCounts = [4]\n    int[] faceVertexIndices = [0, 1, 2, 3]\n    \
         point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n    \
         uniform token subdivisionScheme = \"none\"\n{lines}\n}}\n"
    )
}

pub fn read(files: &[(&str, &str)]) -> Imported {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    import_texts(&files).unwrap_or_else(|error| panic!("{error}"))
}

pub fn read_one(body: &str) -> Imported {
    read(&[("m.usda", &layer(body))])
}

/// The corners of the box around everything that is drawn.
fn corners(scene: &Scene) -> [[f32; 3]; 2] {
    let bounds = scene.bounds().expect("something is drawn");
    [bounds.min.to_array(), bounds.max.to_array()]
}

fn assert_box(scene: &Scene, min: [f32; 3], max: [f32; 3]) {
    let found = corners(scene);
    let is_near = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(
        is_near(found[0], min) && is_near(found[1], max),
        "{found:?}"
    );
}

#[test]
fn polygons_become_triangles_without_holes() {
    let mesh = "def Mesh \"M\"\n{\n    int[] faceVertexCounts = [3, 4, 5, 2]\n    \
        int[] faceVertexIndices = [0, 1, 2,  0, 2, 3, 4,  0, 1, 2, 3, 4,  0, 1]\n    int[] holeIndices = [2]\n    \
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 2, 0), (-1, 1, 0)]\n}\n";
    let imported = read_one(mesh);
    assert_eq!(imported.scene.drawn_triangles(), 3);
    assert_eq!(imported.format, "usda");
    let warning = "m.usda: 1 mesh is read as the control cage of a subdivision surface [not-read]";
    assert_eq!(imported.warnings.lines(), [warning]);
}

#[test]
fn layers_of_old_versions_are_read() {
    let text = "#usda 1.0\n(\n    metersPerUnit = .1\n    upAxis = \"Y\"\n)\ndef Mesh \"M\"\n{\n    \
        custom Matrix4d xformOp:transform = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (10., 20, -.5, 1))\n    \
        uniform token[] xformOpOrder = [\"xformOp:transform\"]\n    int[] faceVertexCounts = [3]\n    \
        int[] faceVertexIndices = [0, 1, 2]\n    PointFloat[] points = [(0, 0, 0), (.5, 0, 0), (0, .5, 0)]\n}\n";
    let imported = read(&[("m.usda", text)]);
    assert_box(&imported.scene, [1.0, 2.0, -0.05], [1.05, 2.05, -0.05]);
}

#[test]
fn left_handed_faces_are_turned() {
    let normal = |lines: &str| {
        let scene = read_one(&square("M", lines)).scene;
        let geometry = &scene.geometries[0];
        let [a, b, c] = [0, 1, 2].map(|corner| geometry.position(geometry.indices[corner]));
        (b - a).cross(c - a).z
    };
    assert!(normal("") > 0.0);
    assert!(normal("    uniform token orientation = \"leftHanded\"") < 0.0);
}

#[test]
fn operations_apply_in_their_order_and_units_become_metres() {
    let moved = |lines: &str| {
        let body = format!("def Xform \"X\"\n{{\n{lines}\n{}}}\n", square("M", ""));
        read_one(&body).scene
    };
    let parts = "double3 xformOp:translate = (5, 0, 0)\n float3 xformOp:scale = (2, 3, 1)\n float xformOp:rotateZ = 90\n";
    let order = |names: &str| format!("{parts} uniform token[] xformOpOrder = [{names}]");
    // The last of the list is applied first.
    let scene = moved(&order(
        "\"xformOp:translate\", \"xformOp:scale\", \"xformOp:rotateZ\"",
    ));
    assert_box(&scene, [3.0, 0.0, 0.0], [5.0, 3.0, 0.0]);
    let scene = moved(&order(
        "\"xformOp:rotateZ\", \"xformOp:scale\", \"xformOp:translate\"",
    ));
    assert_box(&scene, [-3.0, 10.0, 0.0], [0.0, 12.0, 0.0]);
    let scene = moved(&order("\"!invert!xformOp:translate\""));
    assert_box(&scene, [-5.0, 0.0, 0.0], [-4.0, 1.0, 0.0]);
    let pivot = "float3 xformOp:rotateXYZ = (90, 0, 90)\n quatf xformOp:orient = (0, 0, 1, 0)\n \
        uniform token[] xformOpOrder = [\"xformOp:rotateXYZ\", \"xformOp:orient\"]";
    assert_box(&moved(pivot), [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]);
    let matrix = "matrix4d xformOp:transform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (7, 8, 9, 1) )\n \
        uniform token[] xformOpOrder = [\"xformOp:transform\"]";
    assert_box(&moved(matrix), [7.0, 8.0, 9.0], [8.0, 9.0, 9.0]);
    // Without units a layer is in centimetres; z up is turned.
    let plain = format!("#usda 1.0\n(\n upAxis = \"Z\"\n)\n{}", square("M", ""));
    let scene = read(&[("m.usda", &plain)]).scene;
    assert_box(&scene, [0.0, 0.0, -0.01], [0.01, 0.0, 0.0]);
}

#[test]
fn sheared_matrices_become_two_nodes() {
    let sheared = |lines: &str| {
        format!(
            "def Xform \"X\"\n{{\n{lines}\n uniform token[] xformOpOrder = [\"xformOp:transform\"]\n{}}}\n",
            square("M", "")
        )
    };
    let matrix = "( (1, 0, 0, 0), (2, 1, 0, 0), (0, 0, 1, 0), (7, 0, 0, 1) )";
    let imported = read_one(&sheared(&format!("matrix4d xformOp:transform = {matrix}")));
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert_box(&imported.scene, [7.0, 0.0, 0.0], [10.0, 1.0, 0.0]);
    let nodes = imported.scene.list("nodes");
    assert!(nodes.iter().all(|node| node.get("matrix").is_none()));
    let moving =
        format!("matrix4d xformOp:transform.timeSamples = {{ 0: {matrix}, 24: {matrix} }}");
    assert_eq!(
        read_one(&sheared(&moving)).warnings.lines(),
        [
            "the moving prim \"X\" is sheared, which glTF has not; it moves without the shear [not-read]"
        ]
    );
}

#[test]
fn a_reset_of_the_stack_leaves_the_parents_out() {
    let body = format!(
        "def Xform \"X\"\n{{\n double3 xformOp:translate = (5, 0, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"]\n\
         def Xform \"Y\"\n{{\n double3 xformOp:translate = (0, 1, 0)\n \
         uniform token[] xformOpOrder = [\"!resetXformStack!\", \"xformOp:translate\"]\n{}}}\n}}\n",
        square("M", "")
    );
    assert_box(&read_one(&body).scene, [0.0, 1.0, 0.0], [1.0, 2.0, 0.0]);
}

const PARTS: &str = "class Xform \"_Chair\"\n{\n    def Mesh \"Seat\"\n    {\n        int[] faceVertexCounts = [3]\n        \
    int[] faceVertexIndices = [0, 1, 2]\n        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n        \
    uniform token subdivisionScheme = \"none\"\n    }\n}\n";

#[test]
fn instances_share_their_geometry() {
    let body = format!(
        "{PARTS}def Xform \"A\" (\n instanceable = true\n inherits = </_Chair>\n)\n{{\n}}\n\
         def Xform \"B\" (\n instanceable = true\n inherits = </_Chair>\n)\n{{\n double3 xformOp:translate = (4, 0, 0)\n \
         uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}\n"
    );
    let scene = read_one(&body).scene;
    assert_eq!(
        (
            scene.drawn_triangles(),
            scene.meshes.len(),
            scene.geometries.len()
        ),
        (2, 1, 1)
    );
    assert_box(&scene, [0.0, 0.0, 0.0], [5.0, 1.0, 0.0]);
}

#[test]
fn layers_are_put_together() {
    let root = "#usda 1.0\n(\n metersPerUnit = 1\n upAxis = \"Y\"\n subLayers = [@over.usda@]\n)\n\
        def \"R\" (references = @sub/a.usda@)\n{\n}\ndef \"P\" (payload = @sub/a.usda@</Other>)\n{\n}\n\
        def \"V\" (references = @sub/a.usda@\n variants = { string size = \"large\" }\n)\n{\n}\n";
    let part = format!(
        "#usda 1.0\n(\n defaultPrim = \"Main\"\n)\ndef Xform \"Main\" (\n variants = {{ string size = \"small\" }}\n \
         prepend variantSets = \"size\"\n)\n{{\n variantSet \"size\" = {{\n \"small\" {{\n{}}}\n\"large\" {{\n{}{}}}\n}}\n}}\n\
         def Xform \"Other\"\n{{\n{}}}\n",
        square("M", ""),
        square("M", ""),
        square("N", ""),
        square("M", "")
    );
    let over = "#usda 1.0\nover \"R\"\n{\n double3 xformOp:translate = (0, 0, 3)\n \
        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}\n";
    let imported = read(&[("m.usda", root), ("over.usda", over), ("sub/a.usda", &part)]);
    assert_eq!(imported.scene.drawn_triangles(), 2 * 4);
    assert_box(&imported.scene, [0.0; 3], [1.0, 1.0, 3.0]);
    let mut kinds = imported.warnings.iter().map(|warning| warning.kind);
    assert!(
        kinds.all(|kind| kind == WarningKind::OtherModels),
        "{:?}",
        imported.warnings
    );
}

#[test]
fn layers_outside_of_the_upload_are_refused_with_a_reason() {
    for (asset, reason) in [
        ("../secret.usda", "its path leads out of the upload"),
        ("a/../../secret.usda", "its path leads out of the upload"),
        ("/etc/secret.usda", "its path leads out of the upload"),
        (
            "file:///etc/secret.usda",
            "its path leads out of the upload",
        ),
        (
            "https://example.com/a.usda",
            "its path leads out of the upload",
        ),
        ("none.usda", "it is not among the uploaded files"),
    ] {
        for arc in ["references", "payload"] {
            let body = format!(
                "{}def \"R\" ({arc} = @{asset}@</A>)\n{{\n}}\n",
                square("M", "")
            );
            let imported = read_one(&body);
            let line = format!("the layer \"{asset}\" is left out: {reason} [missing-file]");
            assert_eq!(imported.warnings.lines(), [line], "{asset}");
            assert_eq!(imported.scene.drawn_triangles(), 2);
        }
        let root = format!("#usda 1.0\n(\n subLayers = [@{asset}@]\n)\n");
        let error = import_texts(&[("m.usda", root.as_bytes())]).unwrap_err();
        let expected =
            format!("m.usda: holds no meshes; the layer \"{asset}\" is left out: {reason}");
        assert_eq!(error, expected);
    }
}

#[test]
fn only_prims_of_the_wanted_purpose_are_read() {
    let purpose = |name: &str| format!("    uniform token purpose = \"{name}\"");
    let body = format!(
        "{}{}{}{}def Scope \"S\"\n{{\n uniform token purpose = \"proxy\"\n{}}}\n",
        square("A", ""),
        square("B", &purpose("render")),
        square("C", &purpose("proxy")),
        square("D", &purpose("guide")),
        square("E", ""),
    );
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("m.usda"), layer(&body)).unwrap();
    for (purpose, triangles) in [
        (UsdPurpose::Default, 2),
        (UsdPurpose::Render, 4),
        (UsdPurpose::Proxy, 6),
        (UsdPurpose::Guide, 4),
    ] {
        let options = ImportOptions {
            purpose,
            ..ImportOptions::default()
        };
        let imported = import_as(dir.path(), &["m.usda".to_owned()], options).unwrap();
        assert_eq!(imported.scene.drawn_triangles(), triangles, "{purpose:?}");
    }
}

#[test]
fn the_nearest_purpose_counts() {
    let purpose = |name: &str| format!("    uniform token purpose = \"{name}\"");
    let body = format!(
        "def Scope \"S\"\n{{\n uniform token purpose = \"proxy\"\n{}{}{}}}\n",
        square("A", &purpose("render")),
        square("B", ""),
        square("C", &purpose("default")),
    );
    assert_eq!(drawn_names(&body, UsdPurpose::Default), ["C"]);
    assert_eq!(drawn_names(&body, UsdPurpose::Render), ["A", "C"]);
    assert_eq!(drawn_names(&body, UsdPurpose::Proxy), ["B", "C"]);
}

/// The names of the meshes that are read with this purpose.
fn drawn_names(body: &str, purpose: UsdPurpose) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("m.usda"), layer(body)).unwrap();
    let options = ImportOptions {
        purpose,
        ..ImportOptions::default()
    };
    let scene = import_as(dir.path(), &["m.usda".to_owned()], options)
        .unwrap()
        .scene;
    let names = scene.meshes.iter().map(|mesh| mesh.json["name"].as_str());
    names.map(|name| name.unwrap().to_owned()).collect()
}

#[test]
fn what_is_hidden_or_inactive_is_not_read() {
    let body = format!(
        "{}{}def Xform \"X\" (active = false)\n{{\n{}}}\nover \"O\"\n{{\n{}}}\n",
        square("A", ""),
        square("B", "    token visibility = \"invisible\""),
        square("C", ""),
        square("D", ""),
    );
    assert_eq!(read_one(&body).scene.drawn_triangles(), 2);
}

#[test]
fn what_is_not_read_is_a_warning() {
    let body = format!(
        "{}def BasisCurves \"C\"\n{{\n}}\ndef SphereLight \"L\"\n{{\n}}\ndef SphereLight \"L2\"\n{{\n}}\n\
         def Mesh \"Broken\"\n{{\n int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0, 1, 9]\n \
         point3f[] points = [(0, 0, 0)]\n}}\n",
        square("M", "")
    );
    assert_eq!(
        read_one(&body).warnings.lines(),
        [
            "mesh \"Broken\" is left out: its faces name points that it does not have [damaged]",
            "m.usda: 1 prim of the type BasisCurves is not read [not-read]",
            "m.usda: 2 prims of the type SphereLight are not read [not-read]",
        ]
    );
}

#[test]
fn damaged_layers_are_refused_with_a_reason() {
    for (name, bytes) in [
        ("m.usda", b"#usda 1.0\ndef Mesh \"a\" {".as_slice()),
        ("m.usda", b"no layer"),
        (
            "m.usdc",
            b"PXR-USDC\0\x08\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        ),
        ("m.usdz", b"PK\x03\x04junk"),
        ("m.usd", b""),
    ] {
        let error = import_texts(&[(name, bytes)]).unwrap_err();
        assert!(error.starts_with(&format!("{name}: ")), "{error}");
        assert!(!error.contains("/tmp"), "{error}");
    }
}

#[test]
fn shapes_become_triangles() {
    for (shape, size) in [
        ("Cube \"C\"\n{\n double size = 3\n", [3.0, 3.0, 3.0]),
        ("Sphere \"C\"\n{\n double radius = 2\n", [4.0, 4.0, 4.0]),
        (
            "Cylinder \"C\"\n{\n double radius = 1\n double height = 5\n token axis = \"X\"\n",
            [5.0, 2.0, 2.0],
        ),
        (
            "Cone \"C\"\n{\n double radius = 1\n double height = 5\n token axis = \"Y\"\n",
            [2.0, 5.0, 2.0],
        ),
        (
            "Capsule \"C\"\n{\n double radius = 1\n double height = 5\n",
            [2.0, 2.0, 7.0],
        ),
        (
            "Plane \"C\"\n{\n double width = 2\n double length = 3\n",
            [2.0, 3.0, 0.0],
        ),
        (
            "Plane \"C\"\n{\n double width = 2\n double length = 3\n token axis = \"Y\"\n",
            [2.0, 0.0, 3.0],
        ),
        (
            "Plane \"C\"\n{\n double width = 2\n double length = 3\n token axis = \"X\"\n",
            [0.0, 3.0, 2.0],
        ),
    ] {
        let imported = read_one(&format!(
            "def {shape} color3f[] primvars:displayColor = [(1, 0, 0)]\n}}\n"
        ));
        let scene = &imported.scene;
        assert_eq!(imported.warnings.lines(), Vec::<String>::new(), "{shape}");
        let is_double_sided = scene.list("materials")[0].get("doubleSided").is_some();
        assert_eq!(is_double_sided, shape.starts_with("Plane"), "{shape}");
        let half = size.map(|length: f32| length / 2.0);
        assert_box(scene, half.map(|length| -length), half);
        let geometry = &scene.geometries[0];
        assert_eq!(
            geometry.attribute("COLOR_0").unwrap().at(0),
            [1.0, 0.0, 0.0, 1.0]
        );
        for corners in geometry.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|corner| geometry.position(corners[corner]));
            let face = (b - a).cross(c - a);
            assert!(face.length() > 1e-6, "{shape}: a triangle without area");
            let normal = geometry
                .attribute("NORMAL")
                .unwrap()
                .at(corners[0] as usize);
            let normal = glam::Vec3::from_slice(normal);
            assert!(
                face.normalize().dot(normal) > 0.5,
                "{shape}: {face} {normal}"
            );
        }
    }
}

#[test]
fn point_instancers_draw_their_prototypes() {
    let body = format!(
        "def PointInstancer \"P\"\n{{\n int[] protoIndices = [0, 0, 1, 0]\n point3f[] positions = [(0, 0, 0), (4, 0, 0), (0, 3, 0), (90, 0, 0)]\n \
         float3[] scales = [(1, 1, 1), (2, 2, 2), (1, 1, 1), (1, 1, 1)]\n \
         quath[] orientations = [(1, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1), (1, 0, 0, 0)]\n int64[] invisibleIds = [3]\n \
         rel prototypes = [</P/A>, </P/B>]\n{}{}}}\n",
        square("A", ""),
        square("B", ""),
    );
    let scene = read_one(&body).scene;
    assert_eq!((scene.drawn_triangles(), scene.meshes.len()), (6, 2));
    assert_box(&scene, [-1.0, 0.0, 0.0], [6.0, 3.0, 0.0]);
}

#[test]
fn inherits_that_repeat_those_of_a_parent_are_followed_once() {
    let body = format!(
        "def Xform \"A\"\n{{\n def Xform \"Robot\"\n{{\n{}}}\n}}\n\
         def Xform \"B\" (\n prepend inherits = </A>\n)\n{{\n over \"Robot\" (\n prepend inherits = </A/Robot>\n)\n{{\n \
         double3 xformOp:translate = (5, 0, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}\n}}\n",
        square("M", "")
    );
    let scene = read_one(&body).scene;
    assert_eq!(scene.drawn_triangles(), 4);
    assert_box(&scene, [0.0, 0.0, 0.0], [6.0, 1.0, 0.0]);
}
