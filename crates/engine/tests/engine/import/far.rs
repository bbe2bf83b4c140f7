//! Models in map coordinates: positions that 32-bit floats cannot tell apart stay apart, and places keep their digits.

use assetfs_engine::scene::Scene;
use glam::{DVec3, Vec3};
use serde_json::json;

use super::fbx::{SQUARE_CONNECTIONS, fbx};
use super::texts::import_texts;
use super::usd::{layer, read_one};

/// Points on each side of a square of small squares, and the distance between two.
const SIDE: usize = 5;
const STEP: f64 = 0.1;
const PLACE: [f64; 3] = [448_262.123, 5_411_932.456, 100.0];

fn points(place: [f64; 3]) -> Vec<[f64; 3]> {
    let at = |part: usize| (part as f64 * STEP * 1e3).round() / 1e3;
    let rows = (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (row, column)));
    rows.map(|(row, column)| [place[0] + at(column), place[1] + at(row), place[2]])
        .collect()
}

fn squares() -> Vec<[usize; 4]> {
    let cells = (0..SIDE - 1).flat_map(|row| (0..SIDE - 1).map(move |column| row * SIDE + column));
    cells
        .map(|at| [at, at + 1, at + SIDE + 1, at + SIDE])
        .collect()
}

fn written(points: &[[f64; 3]], form: impl Fn(&[f64; 3]) -> String, between: &str) -> String {
    let texts: Vec<String> = points.iter().map(form).collect();
    texts.join(between)
}

/// The squares as OBJ, each row of them an object.
pub fn obj() -> Vec<u8> {
    let mut text = written(
        &points(PLACE),
        |[x, y, z]| format!("v {x:.3} {y:.3} {z:.3}\n"),
        "",
    );
    for (index, square) in squares().iter().enumerate() {
        if index.is_multiple_of(SIDE - 1) {
            text += &format!("o row {index}\n");
        }
        let [a, b, c, d] = square.map(|corner| corner + 1);
        text += &format!("f {a} {b} {c} {d}\n");
    }
    text.into_bytes()
}

fn ply(is_text: bool) -> Vec<u8> {
    let form = if is_text {
        "ascii"
    } else {
        "binary_little_endian"
    };
    let mut file = format!(
        "ply\nformat {form} 1.0\nelement vertex {}\nproperty double x\nproperty double y\nproperty double z\n\
         element face {}\nproperty list uchar int vertex_indices\nend_header\n",
        SIDE * SIDE,
        squares().len()
    )
    .into_bytes();
    if is_text {
        let text = written(
            &points(PLACE),
            |[x, y, z]| format!("{x:.3} {y:.3} {z:.3}\n"),
            "",
        );
        file.extend(text.bytes());
        for [a, b, c, d] in squares() {
            file.extend(format!("4 {a} {b} {c} {d}\n").bytes());
        }
        return file;
    }
    for point in points(PLACE) {
        file.extend(point.iter().flat_map(|number| number.to_le_bytes()));
    }
    for square in squares() {
        file.push(4);
        file.extend(
            square
                .iter()
                .flat_map(|corner| (*corner as i32).to_le_bytes()),
        );
    }
    file
}

fn stl() -> Vec<u8> {
    let points = points(PLACE);
    let mut text = String::from("solid a\n");
    for [a, b, c, d] in squares() {
        for corners in [[a, b, c], [a, c, d]] {
            text += "facet normal 0 0 1\nouter loop\n";
            for [x, y, z] in corners.map(|corner| points[corner]) {
                text += &format!("vertex {x:.3} {y:.3} {z:.3}\n");
            }
            text += "endloop\nendfacet\n";
        }
    }
    (text + "endsolid a\n").into_bytes()
}

/// A mesh of USD with these points and lines.
fn usd_mesh(name: &str, kind: &str, place: [f64; 3], lines: &str) -> String {
    let counts = vec!["4"; squares().len()].join(", ");
    let corners: Vec<String> = squares()
        .as_flattened()
        .iter()
        .map(usize::to_string)
        .collect();
    let points = written(
        &points(place),
        |[x, y, z]| format!("({x:.3}, {y:.3}, {z:.3})"),
        ", ",
    );
    format!(
        "def Mesh \"{name}\"\n{{\n int[] faceVertexCounts = [{counts}]\n int[] faceVertexIndices = [{}]\n \
         {kind}[] points = [{points}]\n uniform token subdivisionScheme = \"none\"\n {lines}\n}}\n",
        corners.join(", ")
    )
}

/// The squares as FBX, which is in metres with z up.
fn fbx_squares() -> Vec<u8> {
    let points = written(
        &points(PLACE),
        |[x, y, z]| format!("{x:.3},{y:.3},{z:.3}"),
        ",",
    );
    let corners: Vec<String> = squares()
        .iter()
        .map(|[a, b, c, d]| format!("{a},{b},{c},{}", -(*d as i64) - 1))
        .collect();
    let geometry = format!(
        "Geometry: 1000, \"Geometry::square\", \"Mesh\" {{\nVertices: *{} {{\na: {points}\n}}\n\
         PolygonVertexIndex: *{} {{\na: {}\n}}\nGeometryVersion: 124\n}}\n\
         Model: 2000, \"Model::Square\", \"Mesh\" {{\nVersion: 232\n}}\n\
         Material: 3000, \"Material::Red\", \"\" {{\nVersion: 102\n}}\n",
        SIDE * SIDE * 3,
        squares().len() * 4,
        corners.join(",")
    );
    fbx(&geometry, SQUARE_CONNECTIONS)
}

/// Whether all squares are there with their areas, and the box is where it should be.
#[track_caller]
pub fn assert_squares(scene: &Scene, [low, high]: [DVec3; 2], accuracy: f64) {
    let mut areas = Vec::new();
    for draw in scene.draws() {
        for primitive in &scene.meshes[draw.mesh].primitives {
            let geometry = &scene.geometries[primitive.geometry];
            let places: Vec<Vec3> = draw.world_positions(geometry);
            areas.extend(geometry.indices.chunks_exact(3).map(|corners| {
                let [a, b, c] = [0, 1, 2].map(|at| places[corners[at] as usize]);
                f64::from((b - a).cross(c - a).length()) / 2.0
            }));
        }
    }
    let wanted = STEP * STEP / 2.0;
    assert_eq!(areas.len(), squares().len() * 2);
    let is_right = |area: &f64| (area - wanted).abs() < wanted * 1e-3;
    assert!(areas.iter().all(is_right), "{areas:?}");
    let found = scene.in_world(scene.bounds().unwrap());
    for (found, wanted) in [(found.0, low), (found.1, high)] {
        let apart = (found - wanted).abs().max_element();
        assert!(apart <= accuracy, "{found} {wanted}");
    }
}

pub fn corners() -> [DVec3; 2] {
    let low = DVec3::from_array(PLACE);
    let side = (SIDE - 1) as f64 * STEP;
    [low, low + DVec3::new(side, side, 0.0)]
}

#[test]
fn points_in_map_coordinates_stay_apart_in_every_format() {
    for (name, file) in [
        ("m.obj", obj()),
        ("m.ply", ply(true)),
        ("m.ply", ply(false)),
        ("m.stl", stl()),
    ] {
        let scene = import_texts(&[(name, &file)]).unwrap().scene;
        assert_squares(&scene, corners(), 1e-6);
        let nodes = scene.list("nodes");
        assert!(
            nodes
                .iter()
                .all(|node| node["translation"] == nodes[0]["translation"]),
            "{name}: one offset for all: {nodes:?}"
        );
    }
    let scene = import_texts(&[("m.fbx", &fbx_squares())]).unwrap().scene;
    let [low, high] = corners();
    let turned = [
        DVec3::new(low.x, low.z, -high.y),
        DVec3::new(high.x, high.z, -low.y),
    ];
    assert_squares(&scene, turned, 1e-6);
}

#[test]
fn double_points_and_places_of_usd_keep_their_digits() {
    let [x, y, z] = PLACE;
    let order = "uniform token[] xformOpOrder";
    let translate =
        format!("double3 xformOp:translate = ({x}, {y}, {z})\n {order} = [\"xformOp:translate\"]");
    let matrix = format!(
        "matrix4d xformOp:transform = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), ({x}, {y}, {z}, 1))\n \
         {order} = [\"xformOp:transform\"]"
    );
    for body in [
        usd_mesh("M", "point3d", PLACE, ""),
        usd_mesh("M", "point3f", [0.0; 3], &translate),
        usd_mesh("M", "point3f", [0.0; 3], &matrix),
    ] {
        let scene = read_one(&body).scene;
        assert_squares(&scene, corners(), 1e-6);
    }
    // Two meshes with double points that touch get one offset.
    let beside = [x + 0.4, y, z];
    let two = usd_mesh("A", "point3d", PLACE, "") + &usd_mesh("B", "point3d", beside, "");
    let scene = read_one(&two).scene;
    let nodes = scene.list("nodes").iter();
    let offsets: Vec<_> = nodes.filter_map(|node| node.get("translation")).collect();
    assert_eq!(offsets.len(), 2, "{:?}", scene.list("nodes"));
    assert_eq!(offsets[0], offsets[1]);
}

#[test]
fn a_prim_that_moves_far_away_keeps_the_steps_of_its_way() {
    let [x, y, z] = PLACE;
    let samples = format!(
        "double3 xformOp:translate.timeSamples = {{ 0: ({x}, {y}, {z}), 24: ({}, {y}, {z}) }}\n \
         uniform token[] xformOpOrder = [\"xformOp:translate\"]",
        x + 0.01
    );
    let scene = read_one(&usd_mesh("M", "point3f", [0.0; 3], &samples)).scene;
    let animation = scene.list("animations").first().expect("an animation");
    let place = |time: f32| {
        let mut scene = scene.clone();
        let pose = scene.pose_at(animation, time);
        scene.in_pose(&pose, |scene| scene.in_world(scene.bounds().unwrap()).0)
    };
    let way = place(1.0) - place(0.0);
    assert!((way - DVec3::new(0.01, 0.0, 0.0)).length() < 1e-5, "{way}");
    assert!((place(0.0) - DVec3::from_array(PLACE)).length() < 1e-5);
}

#[test]
fn models_near_the_origin_for_their_size_have_no_offset() {
    let file = b"v 10 20 30\nv 11 20 30\nv 10 21 30\nf 1 2 3\nv 448262.1 5411932.4 100\n";
    let scene = import_texts(&[("m.obj", file)]).unwrap().scene;
    assert_eq!(scene.list("nodes")[0].get("translation"), None);
    assert_eq!(scene.geometries[0].position(0), Vec3::new(10.0, 20.0, 30.0));
    assert_eq!(scene.origin, DVec3::ZERO);
    let still = layer("def Cube \"C\"\n{\n double size = 1\n}\n");
    let scene = import_texts(&[("m.usda", still.as_bytes())]).unwrap().scene;
    assert_eq!(
        scene.json["nodes"][0].get("translation"),
        None,
        "{}",
        json!(scene.json)
    );
}
