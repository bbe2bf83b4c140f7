//! Skeletons and transforms that change over time.

use glam::Vec3;

use super::{read_one, square};
use crate::log_lines::LogLines as _;

const ARM: &str = r#"def SkelRoot "Root"
{
    def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = ["upper", "upper/lower"]
        uniform matrix4d[] bindTransforms = [( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) ),
            ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 1, 0, 1) )]
        uniform matrix4d[] restTransforms = [( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) ),
            ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 1, 0, 1) )]
        rel skel:animationSource = </Root/Wave>
    }
    def SkelAnimation "Wave"
    {
        uniform token[] joints = ["upper/lower"]
        float3[] translations = [(0, 1, 0)]
        quatf[] rotations.timeSamples = { 0: [(1, 0, 0, 0)], 24: [(0.70710678, 0, 0, 0.70710678)] }
        half3[] scales = [(1, 1, 1)]
    }
    def Mesh "Arm" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]
        uniform token subdivisionScheme = "none"
        int[] primvars:skel:jointIndices = [0, 1, 0, 1, 1, 0] (
            elementSize = 2
            interpolation = "vertex"
        )
        float[] primvars:skel:jointWeights = [1, 0, 1, 0, 1, 0] (
            elementSize = 2
            interpolation = "vertex"
        )
        rel skel:skeleton = </Root/Skel>
    }
}
"#;

#[test]
fn a_skeleton_moves_its_mesh() {
    let imported = read_one(ARM);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let mut scene = imported.scene;
    assert_eq!(scene.list("skins").len(), 1);
    let top = |scene: &assetfs_engine::scene::Scene| scene.bounds().unwrap();
    assert!((top(&scene).max - Vec3::new(1.0, 2.0, 0.0)).length() < 1e-5);
    let animation = &scene.list("animations")[0];
    assert_eq!(animation["name"], "Wave");
    assert_eq!(animation["channels"].as_array().unwrap().len(), 1);
    // Half of a quarter turn around the joint at (0, 1, 0).
    let pose = scene.poses(1)[0].clone();
    let posed = scene.in_pose(&pose, top);
    let expected = 1.0 + std::f32::consts::FRAC_1_SQRT_2;
    assert!((posed.max.y - expected).abs() < 1e-2, "{posed:?}");
    assert!(
        (posed.min.x + std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-2,
        "{posed:?}"
    );
}

#[test]
fn moving_prims_have_keyframes_in_seconds() {
    let body = format!(
        "def Xform \"X\"\n{{\n double3 xformOp:translate.timeSamples = {{ 10: (0, 0, 0), 58: (4, 0, 0) }}\n \
         uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{}}}\n",
        square("M", "")
    );
    let scene = read_one(&body).scene;
    let animation = &scene.list("animations")[0];
    let sampler = &animation["samplers"][0];
    let table = |key: &str| &scene.tables[sampler[key].as_u64().unwrap() as usize].values;
    assert_eq!(animation["channels"][0]["target"]["path"], "translation");
    assert_eq!(
        (table("input")[0], table("input").last()),
        (0.0, Some(&2.0))
    );
    assert_eq!(
        table("output")[table("output").len() - 3..],
        [4.0, 0.0, 0.0]
    );
    let body = body.replace("def Xform", "#\ndef Xform");
    assert!(read_one(&body).scene.bounds().unwrap().max.x - 1.0 < 1e-5);
}

#[test]
fn keyframes_differ_in_seconds() {
    let body = format!(
        "def Xform \"X\"\n{{\n double3 xformOp:translate.timeSamples = {{ 0: (0, 0, 0), 1000000: (1, 0, 0), 1000000.001: (2, 0, 0) }}\n \
         uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{}}}\n",
        square("M", "")
    );
    let scene = read_one(&body).scene;
    let sampler = &scene.list("animations")[0]["samplers"][0];
    let times = &scene.tables[sampler["input"].as_u64().unwrap() as usize].values;
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(times.last(), Some(&(1_000_000.0 / 24.0)));
}

const FACE: &str = r#"def SkelRoot "Root"
{
    def Skeleton "Skel" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = []
        rel skel:animationSource = </Root/Talk>
    }
    def SkelAnimation "Talk"
    {
        uniform token[] blendShapes = ["other", "open"]
        float[] blendShapeWeights.timeSamples = { 0: [1, 0], 24: [1, 0.5] }
    }
    def Mesh "Face" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 2, 0)]
        uniform token subdivisionScheme = "none"
        uniform token[] skel:blendShapes = ["wide", "open"]
        rel skel:blendShapeTargets = [</Root/Face/wide>, </Root/Face/open>]
        rel skel:skeleton = </Root/Skel>
        def BlendShape "wide"
        {
            uniform vector3f[] offsets = [(1, 0, 0), (2, 0, 0), (3, 0, 0)]
        }
        def BlendShape "open"
        {
            uniform vector3f[] offsets = [(0, 4, 0)]
            uniform int[] pointIndices = [2]
        }
    }
}
"#;

#[test]
fn blend_shapes_become_morph_targets_with_their_weights_over_time() {
    let imported = read_one(FACE);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let mut scene = imported.scene;
    let targets = &scene.geometries[0].targets;
    let moves: Vec<&[f32]> = targets.iter().map(|target| &target[0].values[..]).collect();
    assert_eq!(
        moves,
        [
            &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0][..],
            &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0],
        ]
    );
    let mesh = &scene.meshes[0].json;
    assert_eq!(mesh["weights"], serde_json::json!([0.0, 0.0]));
    assert_eq!(
        mesh["extras"]["targetNames"],
        serde_json::json!(["wide", "open"])
    );
    let animation = &scene.list("animations")[0];
    assert_eq!(animation["name"], "Talk");
    assert_eq!(animation["channels"][0]["target"]["path"], "weights");
    let output = animation["samplers"][0]["output"].as_u64().unwrap() as usize;
    assert_eq!(scene.tables[output].values, [0.0, 0.0, 0.0, 0.5]);
    // Half of the time: a quarter of the way up.
    let pose = scene.poses(1)[0].clone();
    let posed = scene.in_pose(&pose, |scene| scene.bounds().unwrap());
    assert!((posed.max.y - 3.0).abs() < 1e-3, "{posed:?}");
}

#[test]
fn visibility_over_time_becomes_a_scale_in_steps() {
    let body = format!(
        "{}{}{}",
        square(
            "A",
            "    token visibility.timeSamples = { 0: \"invisible\", 24: \"inherited\" }"
        ),
        square(
            "B",
            "    token visibility.timeSamples = { 0: \"invisible\", 24: \"invisible\" }"
        ),
        square(
            "C",
            "    token visibility.timeSamples = { 0: \"inherited\", 24: \"inherited\" }"
        ),
    );
    let imported = read_one(&body);
    assert_eq!(
        imported.warnings.lines(),
        ["m.usda: 1 invisible prim is not read [not-read]"]
    );
    let scene = imported.scene;
    let nodes = scene.list("nodes");
    let names: Vec<_> = nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["A", "visibility", "C"]);
    assert_eq!(nodes[1]["scale"], serde_json::json!([0.0, 0.0, 0.0]));
    let animation = &scene.list("animations")[0];
    assert_eq!(animation["channels"].as_array().unwrap().len(), 1);
    assert_eq!(
        animation["channels"][0]["target"],
        serde_json::json!({ "node": 1, "path": "scale" })
    );
    assert_eq!(animation["samplers"][0]["interpolation"], "STEP");
    let output = animation["samplers"][0]["output"].as_u64().unwrap() as usize;
    assert_eq!(scene.tables[output].values, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
}

/// The lines of a prim that is invisible at rest and appears after a second.
const APPEARS: &str = "    token visibility.timeSamples = { 0: \"invisible\", 24: \"inherited\" }";

#[test]
fn parts_hidden_at_rest_are_measured_as_large_as_they_appear() {
    let scene = read_one(&format!("{}{}", square("A", APPEARS), square("B", ""))).scene;
    assert_eq!(scene.bounds().unwrap().size(), Vec3::new(1.0, 1.0, 0.0));
    let names = |draw: &Option<assetfs_engine::scene::Draw>| {
        let draw = draw.as_ref().unwrap();
        draw.world.x_axis.x
    };
    let sizes: Vec<f32> = scene.largest_draws().iter().map(names).collect();
    assert_eq!(sizes, [1.0, 1.0]);
    // At rest it is hidden all the same.
    assert_eq!(scene.draws()[0].world.x_axis.x, 0.0);
}

#[test]
fn skinned_mesh_is_hidden_by_joints_of_its_own() {
    let other = ARM.replace("def Mesh \"Arm\"", "def Mesh \"Other\"");
    let other = &other[other.find("    def Mesh").unwrap()..];
    let hidden = |rate: &str| {
        let second = other.replacen("    {\n", &format!("    {{\n{rate}\n"), 1);
        format!("{}{second}", ARM.trim_end().strip_suffix('}').unwrap())
    };
    let imported = read_one(&hidden(APPEARS));
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let mut scene = imported.scene;
    assert_eq!(scene.list("skins").len(), 2);
    let sizes = |scene: &assetfs_engine::scene::Scene| -> Vec<f32> {
        let draws = scene.draws();
        let size = |draw: &assetfs_engine::scene::Draw| {
            let geometry = &scene.geometries[scene.meshes[draw.mesh].primitives[0].geometry];
            let places = draw.world_positions(geometry);
            (places[0] - places[2]).length()
        };
        draws.iter().map(size).collect()
    };
    // Invisible at rest: all its points are in one place. The other mesh stays as it is.
    assert_eq!(sizes(&scene), [2.0, 0.0]);
    let animation = scene.list("animations")[0].clone();
    let half = scene.pose_at(&animation, 0.5);
    let end = scene.pose_at(&animation, 1.0);
    assert_eq!(scene.in_pose(&half, sizes)[1], 0.0);
    let shown = scene.in_pose(&end, sizes);
    assert!((shown[0] - 2f32.sqrt()).abs() < 1e-3, "{shown:?}");
    assert!((shown[0] - shown[1]).abs() < 1e-6, "{shown:?}");
}

#[test]
fn visibility_of_a_skeleton_that_its_mesh_lacks_is_a_warning() {
    let skeleton = "    def Skeleton \"Skel\" (prepend apiSchemas = [\"SkelBindingAPI\"])\n    {\n";
    let body = ARM.replace(skeleton, &format!("{skeleton}{APPEARS}\n"));
    assert_eq!(
        read_one(&body).warnings.lines(),
        [
            "mesh \"Arm\": its visibility over time is not read, because its skeleton has another one [not-read]"
        ]
    );
}

#[test]
fn instances_have_weights_of_their_own_at_rest() {
    let face = FACE
        .replace("        rel skel:animationSource = </Root/Talk>\n", "")
        .replace("def SkelRoot \"Root\"", "class SkelRoot \"_Face\"")
        .replace("/Root/", "/_Face/");
    let instance = |name: &str, weights: &str| {
        format!(
            "def SkelRoot \"{name}\" (\n instanceable = true\n inherits = </_Face>\n)\n{{\n \
             rel skel:animationSource = </Still{name}>\n}}\n\
             def SkelAnimation \"Still{name}\"\n{{\n uniform token[] blendShapes = [\"wide\", \"open\"]\n \
             float[] blendShapeWeights = {weights}\n}}\n"
        )
    };
    let body = format!(
        "{face}{}{}",
        instance("A", "[1, 0]"),
        instance("B", "[0, 1]")
    );
    let scene = read_one(&body).scene;
    assert_eq!(scene.meshes.len(), 1);
    let weights: Vec<Vec<f32>> = scene.draws().into_iter().map(|draw| draw.weights).collect();
    assert_eq!(weights, [[1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn whole_numbers_in_text_are_interpolated_like_others() {
    for (kind, samples) in [
        ("double", "0: 0, 24: 2"),
        ("float", "0: 0, 24: 2"),
        ("double", "0: 0.0, 24: 2"),
    ] {
        let body = format!(
            "def Xform \"R\"\n{{\n {kind} xformOp:translateX.timeSamples = {{ {samples} }}\n \
             {kind} xformOp:rotateY.timeSamples = {{ 0: 0, 24: 360 }}\n \
             uniform token[] xformOpOrder = [\"xformOp:translateX\", \"xformOp:rotateY\"]\n{}}}\n",
            square("M", "")
        );
        let mut scene = read_one(&body).scene;
        let animation = scene.list("animations")[0].clone();
        let half = scene.pose_at(&animation, 0.5);
        // Half of the way, and half of a turn.
        scene.in_pose(&half, |scene| {
            super::assert_box(scene, [0.0, 0.0, 0.0], [1.0, 1.0, 0.0]);
        });
    }
}
