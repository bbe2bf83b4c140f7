//! Point instancers: what is hidden, what moves, and how many there may be.

use super::super::texts::import_texts;
use super::{assert_box, layer, read_one, square};
use crate::log_lines::LogLines as _;

fn instancer(name: &str, metadata: &str, count: usize, lines: &str, prototype: &str) -> String {
    let places: Vec<String> = (0..count).map(|at| format!("({at}, 0, 0)")).collect();
    let chosen = vec!["0"; count].join(", ");
    format!(
        "def PointInstancer \"{name}\" ({metadata})\n{{\n int[] protoIndices = [{chosen}]\n point3f[] positions = [{}]\n{lines}\n{prototype}}}\n",
        places.join(", ")
    )
}

#[test]
fn inactive_instances_are_not_drawn() {
    let body = instancer(
        "P",
        "\n inactiveIds = [1, 3]\n",
        4,
        " int64[] invisibleIds = [2]\n rel prototypes = </P/A>",
        &square("A", ""),
    );
    let imported = read_one(&body);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert_box(&imported.scene, [0.0; 3], [1.0, 1.0, 0.0]);
}

#[test]
fn every_instance_of_a_moving_prototype_moves() {
    let prototype = format!(
        "def Xform \"A\"\n{{\n double3 xformOp:translate.timeSamples = {{ 0: (0, 0, 0), 24: (0, 5, 0) }}\n \
         uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{}}}\n",
        square(
            "M",
            "    token visibility.timeSamples = { 0: \"invisible\", 24: \"inherited\" }"
        )
    );
    let body = instancer("P", "", 3, " rel prototypes = </P/A>", &prototype);
    let imported = read_one(&body);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let mut scene = imported.scene;
    let animation = scene.list("animations")[0].clone();
    assert_eq!(animation["channels"].as_array().unwrap().len(), 6);
    assert_eq!(animation["samplers"].as_array().unwrap().len(), 2);
    let end = scene.pose_at(&animation, 1.0);
    scene.in_pose(&end, |scene| {
        assert_box(scene, [0.0, 5.0, 0.0], [3.0, 6.0, 0.0]);
    });
}

#[test]
fn instances_that_move_are_a_warning() {
    let body = instancer(
        "P",
        "",
        2,
        " float3[] scales.timeSamples = { 0: [(1, 1, 1), (1, 1, 1)], 24: [(2, 2, 2), (1, 1, 1)] }\n rel prototypes = </P/A>",
        &square("A", ""),
    );
    assert_eq!(
        read_one(&body).warnings.lines(),
        ["point instancer \"P\": its instances change over time, which is not read [not-read]"]
    );
}

#[test]
fn instances_in_instances_count_too() {
    let nested = |outer: usize, inner: usize| {
        let prototype = " rel prototypes = </P/B/A>";
        let inner = instancer("B", "", inner, prototype, &square("A", ""));
        instancer("P", "", outer, " rel prototypes = </P/B>", &inner)
    };
    let imported = read_one(&nested(30, 100));
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert_eq!(imported.scene.drawn_triangles(), 30 * 100 * 2);
    let text = layer(&nested(1_000, 1_000));
    let refused = import_texts(&[("m.usda", text.as_bytes())]).unwrap_err();
    assert_eq!(
        refused,
        "m.usda is too large: its point instancers draw more than 1,000,000 instances"
    );
}
