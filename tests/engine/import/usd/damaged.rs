//! Layers that are damaged, or that cannot be put together.

use assetfs::engine::import::Imported;

use super::super::texts::import_texts;
use super::{layer, read, square};

/// The warnings without those of which file is the model.
fn about_layers(imported: &Imported) -> Vec<&String> {
    let lines = imported.warnings.iter();
    lines.filter(|line| !line.contains(" models")).collect()
}

#[test]
fn parts_that_cannot_be_put_together_are_warnings() {
    let good = layer(&square("A", ""));
    for (arc, part, warning) in [
        (
            "references = @p/b.usda@",
            "#usda 1.0\ndef Mesh \"a\" {",
            "the layer \"p/b.usda\" is left out at </R>: it cannot be read: ",
        ),
        (
            "payload = @p/b.usda@</None>",
            &good,
            "the prim </None> of the layer \"p/b.usda\" is left out at </R>: it does not exist",
        ),
        (
            "references = @p/b.usda@",
            &good,
            "the layer \"p/b.usda\" is left out at </R>: it has no default prim",
        ),
        (
            "references = </R>",
            &good,
            "</R> is put together from itself; ",
        ),
    ] {
        let root = layer(&format!("{}def \"R\" ({arc})\n{{\n}}\n", square("M", "")));
        let imported = read(&[("m.usda", &root), ("p/b.usda", part)]);
        let lines = about_layers(&imported);
        let [line] = lines.as_slice() else {
            panic!("{arc}: {lines:?}");
        };
        assert!(line.starts_with(warning), "{line}");
        assert!(!line.contains("/tmp"), "{line}");
        assert_eq!(imported.scene.drawn_triangles(), 2);
    }
}

#[test]
fn layers_that_nest_without_end_are_refused() {
    let deep = |open: &str, close: &str| {
        let levels = 200_000;
        format!(
            "#usda 1.0\n{}{}{}",
            square("M", ""),
            open.repeat(levels),
            close.repeat(levels)
        )
    };
    for text in [
        deep("def \"a\" {\n", "}\n"),
        deep("def \"a\" (\n", ")\n"),
        deep("[", "]"),
        format!(
            "#usda 1.0\n(\n customLayerData = {{\n{}{}}}\n)\n{}",
            "dictionary a = {\n".repeat(200_000),
            "}\n".repeat(200_000),
            square("M", "")
        ),
    ] {
        let error = import_texts(&[("m.usda", text.as_bytes())]).unwrap_err();
        assert_eq!(
            error,
            "m.usda: cannot be read as USD: the text nests more than 1000 brackets"
        );
        let root = layer(&format!(
            "{}def \"R\" (references = @p/b.usda@</a>)\n{{\n}}\n",
            square("M", "")
        ));
        let imported = import_texts(&[("m.usda", root.as_bytes()), ("p/b.usda", text.as_bytes())]);
        assert_eq!(
            about_layers(&imported.unwrap()),
            [
                "the layer \"p/b.usda\" is left out at </R>: it cannot be read: the text nests more than 1000 brackets"
            ]
        );
    }
}

#[test]
fn brackets_in_texts_and_comments_do_not_nest() {
    let many = "([{".repeat(2_000);
    let body = format!(
        "# {many}\n/* {many} */\n{}",
        square(
            "M",
            &format!(
                " string a = \"\\\"{many}\"\n string b = '{many}'\n string c = \"\"\"\n{many} \"\"\"\n asset d = @{many}@\n asset e = @@@{many}@@@"
            )
        )
    );
    let imported = read(&[("m.usda", &layer(&body))]);
    assert_eq!(imported.scene.drawn_triangles(), 2);
}
