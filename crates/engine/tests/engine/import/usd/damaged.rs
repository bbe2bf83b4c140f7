//! Layers that are damaged, or that cannot be put together.

use assetfs_engine::import::Imported;

use super::super::texts::import_texts;
use super::{layer, read, read_one, square};
use crate::log_lines::LogLines as _;
use assetfs_engine::{Warning, WarningKind};

/// The warnings without those of which file is the model.
fn about_layers(imported: &Imported) -> Vec<String> {
    let warnings = imported.warnings.iter();
    let others = warnings.filter(|it| it.kind != WarningKind::OtherModels);
    others.map(Warning::to_string).collect()
}

#[test]
fn parts_that_cannot_be_put_together_are_warnings() {
    let good = layer(&square("A", ""));
    for (arc, part, warning) in [
        (
            "references = @p/b.usda@",
            "#usda 1.0\ndef Mesh \"a\" {",
            "the layer \"p/b.usda\" is left out at </R>: it cannot be read: its text is damaged or cut off at line 2, column 14",
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
        ("references = </R>", &good, "</R> references itself; "),
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
fn layers_that_are_none_are_named_with_the_reason() {
    let other = "{ \"asset\": { \"version\": \"2.0\" } }";
    for (path, reason) in [
        (
            "../../etc/passwd",
            "its path leads out of the upload [missing-file]",
        ),
        (
            "./missing",
            "it is not among the uploaded files [missing-file]",
        ),
        ("./p/other.json", "it is not a USD file [damaged]"),
    ] {
        let square = square("M", "");
        let sublayer =
            format!("#usda 1.0\n(\n metersPerUnit = 1\n subLayers = [ @{path}@ ]\n)\n{square}");
        let reference = layer(&format!(
            "{square}def \"R\" (references = @{path}@)\n{{\n}}\ndef \"S\" (references = @{path}@)\n{{\n}}\n"
        ));
        let payload = layer(&format!(
            "{square}def \"R\" (payload = @{path}@</A>)\n{{\n}}\n"
        ));
        for root in [sublayer, reference, payload] {
            let imported = read(&[("m.usda", &root), ("p/other.json", other)]);
            let lines = about_layers(&imported);
            let [line] = lines.as_slice() else {
                panic!("{root}: {lines:?}");
            };
            let names = [path, path.trim_start_matches("./")];
            let lines = names.map(|name| format!("the layer \"{name}\" is left out: {reason}"));
            assert!(lines.contains(line), "{line}");
        }
    }
}

#[test]
fn damage_of_the_file_itself_is_said_in_plain_words() {
    let binary = |rest: &[u8]| [b"PXR-USDC".as_slice(), rest].concat();
    for name in ["m.usda", "m.usdc", "m.usd"] {
        let error = import_texts(&[(name, b"")]).unwrap_err();
        assert_eq!(error, format!("{name}: the file is empty"));
    }
    for (name, bytes, reason) in [
        (
            "m.usda",
            b"#usda 1.0\ndef Mesh \"a\" \\".to_vec(),
            "its text is damaged or cut off at line 2, column 14",
        ),
        ("m.usda", b"hello".to_vec(), "it does not begin with #usda"),
        (
            "m.usda",
            b"#usda 1.0\n# \xff\xfe\ndef Mesh \"a\" \\".to_vec(),
            "its text is damaged or cut off at line 3, column 14",
        ),
        (
            "m.usdc",
            binary(b""),
            "the binary layer is damaged or cut off",
        ),
        (
            "m.usdc",
            binary(&[0, 13, 0, 0, 0, 0, 0, 0, 88, 0, 0, 0, 0, 0, 0, 0]),
            "it was written by a newer version of USD (layers 0.13); save it as usda",
        ),
        (
            "m.usdc",
            b"#usda 1.0\n".to_vec(),
            "it does not begin like a binary layer",
        ),
    ] {
        let error = import_texts(&[(name, &bytes)]).unwrap_err();
        assert_eq!(error, format!("{name}: cannot be read as USD: {reason}"));
    }
}

#[test]
fn prims_that_inherit_themselves_are_warnings() {
    let prim =
        |name: &str, arc: &str, inside: &str| format!("def \"{name}\" ({arc})\n{{\n{inside}}}\n");
    for (prims, closed) in [
        (prim("R", "inherits = </R>", &square("M", "")), "</R>"),
        (prim("R", "specializes = </R>", &square("M", "")), "</R>"),
        (
            prim("R", "", &prim("C", "inherits = </R>", &square("M", ""))),
            "</R/C>",
        ),
        (
            prim("R", "inherits = </S>", &square("M", "")) + &prim("S", "inherits = </R>", ""),
            "</R>",
        ),
    ] {
        let imported = read_one(&prims);
        let warning = format!("{closed} references itself; ");
        let is_named = |line: &String| line.starts_with(&warning);
        assert!(
            imported.warnings.lines().iter().any(is_named),
            "{prims}: {:?}",
            imported.warnings.lines()
        );
        assert_eq!(imported.scene.drawn_triangles(), 2, "{prims}");
    }
}

#[test]
fn places_that_are_no_numbers_are_left_out_with_a_warning() {
    let far = format!(
        "def Xform \"R\"\n{{\n double3 xformOp:translate = (1e300, 0, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{}}}\n",
        square("M", "")
    );
    let instances = format!(
        "def PointInstancer \"P\"\n{{\n int[] protoIndices = [0, 0]\n point3f[] positions = [(nan, 0, 0), (1, 0, 0)]\n \
         rel prototypes = </P/A>\n{}}}\n",
        square("A", "")
    );
    for body in [far, instances] {
        let imported = read_one(&body);
        let warnings = &imported.warnings.lines();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("1 prim was placed by numbers"),
            "{warnings:?}"
        );
        assert!(imported.scene.bounds().unwrap().max.is_finite());
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
                "the layer \"p/b.usda\" is left out at </R>: it cannot be read: the text nests more than 1000 brackets [damaged]"
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

#[test]
fn damaged_paths_are_refused_with_their_line() {
    let tail = "</Root/Skin    {\n uniform token[] joints = [a] >";
    let square = |arc: &str| square("M", arc);
    for (path, shown) in [
        (tail, "</Root/Skin    {\n uniform token[] joints = [a] >"),
        ("</R}>", "</R}>"),
        ("</R{a=b{c=d}}>", "</R{a=b{c=d}}>"),
        ("</R{a=b>", "</R{a=b>"),
    ] {
        for text in [
            layer(&square(&format!("    rel material:binding = {path}"))),
            layer(&square(&format!("    rel skel:skeleton = {path}"))),
            layer(&format!(
                "def \"R\" (inherits = {path}) {{}}\n{}",
                square("")
            )),
        ] {
            let error = import_texts(&[("m.usda", text.as_bytes())]).unwrap_err();
            let line = 1 + text[..text.find(path).unwrap()].matches('\n').count();
            let wanted = format!("m.usda: cannot be read as USD: line {line}: {shown} is no path");
            assert_eq!(error, wanted, "{text}");
        }
    }
    let plain = "    rel other = [</R{a=b}c.d>, <../M>, <>]";
    assert_eq!(read_one(&square(plain)).scene.drawn_triangles(), 2);
}

#[test]
fn damaged_names_of_prims_are_refused_with_their_line() {
    for name in ["Wo}od", "a b", "}}", "a/b"] {
        for specifier in ["def", "over", "class", "def Xform", "class  Mesh \n"] {
            let text = layer(&format!("{}{specifier} \"{name}\" {{}}\n", square("M", "")));
            let error = import_texts(&[("m.usda", text.as_bytes())]).unwrap_err();
            assert!(
                error.ends_with(&format!(": \"{name}\" is no name of a prim")),
                "{error}"
            );
        }
    }
    // A string elsewhere may be anything, and words may hold the same letters.
    let lines = "    string class_ = \"a } b\"\n    string undef = \"}\"";
    assert_eq!(read_one(&square("M", lines)).scene.drawn_triangles(), 2);
}

#[test]
fn operations_with_damaged_names_are_left_out() {
    let lines = "    double3 xformOp:translate = (1, 0, 0)\n    uniform token[] xformOpOrder = [\"xformOp:trans}late\", \"xformOp:translate\"]";
    let imported = read_one(&square("M", lines));
    assert_eq!(imported.scene.drawn_triangles(), 2);
    let moved = imported.scene.bounds().unwrap().min.x
        - read_one(&square("M", "")).scene.bounds().unwrap().min.x;
    assert_eq!(moved, 1.0);
}

#[test]
fn normals_that_fit_nothing_are_made_anew_with_a_warning() {
    let lines = "    normal3f[] normals = [(1, 0, 0), (1, 0, 0), (1, 0, 0)] (\n        interpolation = \"vertex\"\n    )";
    for lines in [
        lines,
        &lines.replace(" (\n        interpolation = \"vertex\"\n    )", ""),
    ] {
        let imported = read_one(&square("M", lines));
        assert_eq!(
            imported.warnings.lines(),
            ["mesh \"M\": its normals do not fit its points; they are made anew [damaged]"]
        );
        let normals = imported.scene.geometries[0].attribute("NORMAL");
        let is_flat = |values: &[f32]| values.chunks(3).all(|it| it == [0.0, 0.0, 1.0]);
        assert!(normals.is_none_or(|normals| is_flat(&normals.values)));
    }
}

#[test]
fn what_a_mesh_loses_is_a_warning() {
    let warned = |lines: &str, warning: &str| {
        let warnings = read_one(&format!("{}{}", square("A", ""), square("M", lines)))
            .warnings
            .lines();
        assert_eq!(warnings, [warning]);
    };
    warned(
        "    token visibility = \"invisible\"",
        "m.usda: 1 invisible prim is not read [not-read]",
    );
    warned(
        "    uniform token purpose = \"guide\"",
        "m.usda: 1 mesh of another purpose is not read [not-read]",
    );
    warned(
        "    point3f[] points.timeSamples = { 0: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], 1: [(0, 0, 0), (2, 0, 0), (1, 1, 0), (0, 1, 0)] }",
        "mesh \"M\": its points move over time; they are read at the first time [not-read]",
    );
    let sets: String = (0..5)
        .map(|set| {
            format!("    texCoord2f[] primvars:set{set} = [(0, 0)] (\n        interpolation = \"constant\"\n    )\n")
        })
        .collect();
    warned(
        &sets,
        "mesh \"M\": it has more than 4 sets of texture coordinates; the others are not read [not-read]",
    );
    warned(
        "    uniform token[] skel:blendShapes = [\"smile\"]\n    rel skel:blendShapeTargets = </M/smile>\n    \
         def BlendShape \"smile\"\n    {\n        uniform vector3f[] offsets = [(0, 0, 1)]\n    }",
        "mesh \"M\": its blend shape \"smile\" does not fit its points and is left out [damaged]",
    );
}
