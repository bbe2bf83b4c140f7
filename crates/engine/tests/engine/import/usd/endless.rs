//! Layers of a few lines that say more prims than any machine can hold.

use super::super::texts::import_texts;
use super::{layer, read_one, square};

/// Prims of which each has two children with an arc to the next, and the last ones are squares.
fn doubling(levels: usize, arc: &dyn Fn(usize) -> String) -> String {
    let prims = (0..levels).map(|level| {
        let next = arc(level + 1);
        format!("def \"l{level}\"\n{{\n def \"a\" ({next})\n {{\n }}\n def \"b\" ({next})\n {{\n }}\n}}\n")
    });
    let last = square(&format!("l{levels}"), "");
    prims.collect::<String>() + &last
}

#[test]
fn references_that_double_without_end_are_refused_before_they_are_followed() {
    let reference = |level: usize| format!("references = </l{level}>");
    let payload = |level: usize| format!("payload = </l{level}>");
    let inherit = |level: usize| format!("inherits = </l{level}>");
    let arcs: [&dyn Fn(usize) -> String; 3] = [&reference, &payload, &inherit];
    for arc in arcs {
        let text = layer(&doubling(40, arc));
        let refused = import_texts(&[("m.usda", text.as_bytes())]).unwrap_err();
        assert_eq!(
            refused,
            "m.usda is too large: it has more than 2,000,000 prims once its references are followed"
        );
        // Of each level there are the prim itself and those that refer to it.
        let scene = read_one(&doubling(3, arc)).scene;
        assert_eq!(scene.drawn_triangles(), 2 * (1 + 2 + 4 + 8));
    }
}

#[test]
fn prims_that_are_not_drawn_are_not_counted() {
    let far = doubling(40, &|level| format!("references = </Never/l{level}>"));
    for how in [
        "class \"Never\"\n{\n",
        "over \"Never\"\n{\n",
        "def \"Never\" (active = false)\n{\n",
        "def \"Never\"\n{\n token visibility = \"invisible\"\n",
    ] {
        let imported = read_one(&format!("{how}{far}}}\n{}", square("M", "")));
        assert_eq!(imported.scene.drawn_triangles(), 2, "{how}");
    }
}
