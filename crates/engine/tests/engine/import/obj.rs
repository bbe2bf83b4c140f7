//! OBJ, with the materials and textures that it names.

use super::texts::{grey_png, import_texts};
use crate::log_lines::LogLines as _;
use assetfs_engine::WarningKind;

pub const SQUARE_OBJ: &[u8] =
    b"mtllib my square.mtl\no Square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n\
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl painted\nf 1/1 2/2 3/3 4/4\n";

#[test]
fn obj_comes_with_its_materials_and_textures() {
    let png = grey_png(&[1, 2, 3, 4]);
    let mtl =
        b"newmtl\tpainted\t\nKd 1 0 0\nd 0.5\nNs 98\nmap_Kd -s 1 1 1 C:\\textures\\my wood.png\n";
    let imported = import_texts(&[
        ("square.obj", SQUARE_OBJ),
        ("my square.mtl", mtl),
        ("my wood.png", &png),
    ])
    .unwrap();
    let scene = &imported.scene;
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert_eq!(scene.drawn_triangles(), 2);
    assert_eq!(scene.meshes[0].name(), Some("Square"));
    assert_eq!(scene.images[0].bytes, png);
    let material = scene.material(Some(0));
    assert_eq!(material.base_color, [1.0, 0.0, 0.0, 0.5]);
    assert!((material.roughness - 0.141_421).abs() < 1e-4);
    assert_eq!(material.base_color_texture.unwrap().image, 0);
    let geometry = &scene.geometries[0];
    assert_eq!(geometry.attribute("NORMAL").unwrap().at(0), [0.0, 0.0, 1.0]);
    assert_eq!(geometry.attribute("TEXCOORD_0").unwrap().at(0), [0.0, 1.0]);
}

#[test]
fn objects_of_one_name_stay_two_meshes_and_groups_of_one_name_are_one() {
    let file = |key: &str| {
        let mut text = String::new();
        for (index, name) in ["Box", "Lid", "Box"].iter().enumerate() {
            let (x, first) = (index * 2, index * 3 + 1);
            text += &format!("{key} {name}\nv {x} 0 0\nv {} 0 0\nv {x} 1 0\n", x + 1);
            text += &format!("f {first} {} {}\n", first + 1, first + 2);
        }
        text.into_bytes()
    };
    let names = |key: &str| -> Vec<(String, u64)> {
        let scene = import_texts(&[("a.obj", &file(key))]).unwrap().scene;
        assert_eq!(scene.drawn_triangles(), 3);
        let meshes = scene.meshes.iter().map(|mesh| {
            let triangles = |primitive: &assetfs_engine::scene::Primitive| {
                scene.geometries[primitive.geometry].triangle_count() as u64
            };
            let count = mesh.primitives.iter().map(triangles).sum();
            (mesh.name().unwrap().to_owned(), count)
        });
        meshes.collect()
    };
    let named = |name: &str, count| (name.to_owned(), count);
    assert_eq!(
        names("o"),
        [named("Box", 1), named("Lid", 1), named("Box", 1)]
    );
    assert_eq!(names("g"), [named("Box", 2), named("Lid", 1)]);
}

#[test]
fn many_objects_of_few_names_are_joined_by_name() {
    let mut text = String::from("v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    for index in 0..2_001 {
        text += &format!("o part {}\nf 1 2 3\n", index % 3);
    }
    let imported = import_texts(&[("a.obj", text.as_bytes())]).unwrap();
    assert_eq!(imported.scene.meshes.len(), 3);
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
}

#[test]
fn a_face_of_very_many_corners_is_read_exactly_and_a_huge_comb_is_named() {
    let disc = |count: usize| -> Vec<[f32; 2]> {
        let angle = |corner: usize| corner as f32 / count as f32 * std::f32::consts::TAU;
        (0..count)
            .map(|at| [angle(at).cos(), angle(at).sin()])
            .collect()
    };
    // Teeth that are askew: the boxes around them overlap.
    let comb = |count: usize| -> Vec<[f32; 2]> {
        let tooth = |at: usize| {
            let reach = (at % 2 * count) as f32;
            [at as f32 + reach, at as f32 / 2.0 + reach]
        };
        let base = [[-1.0, -10.0], [count as f32, count as f32 / 2.0 - 10.0]];
        base.into_iter()
            .chain((0..count - 2).rev().map(tooth))
            .collect()
    };
    for (corners, is_named) in [
        (disc(20_000), false),
        (comb(600), false),
        (comb(12_000), true),
    ] {
        let mut text = String::new();
        for [x, y] in &corners {
            text += &format!("v {x} {y} 0\n");
        }
        let numbers: Vec<String> = (1..=corners.len()).map(|at| at.to_string()).collect();
        text += &format!("f {}\n", numbers.join(" "));
        let imported = import_texts(&[("a.obj", text.as_bytes())]).unwrap();
        assert_eq!(imported.scene.drawn_triangles(), corners.len() as u64 - 2);
        let warnings = imported.warnings.lines();
        let named = warnings
            .iter()
            .any(|it| it.contains("too long to cut exactly"));
        assert_eq!(named, is_named, "{warnings:?}");
    }
}

#[test]
fn a_missing_texture_or_library_is_a_warning() {
    let imported = import_texts(&[("square.obj", SQUARE_OBJ)]).unwrap();
    let warning = &imported.warnings[0];
    assert_eq!(warning.kind, WarningKind::MissingFile);
    assert!(warning.text.contains("my square.mtl"), "{warning}");
    let imported = import_texts(&[
        ("square.obj", SQUARE_OBJ),
        ("my square.mtl", b"newmtl painted\nmap_Kd gone.png\n"),
    ])
    .unwrap();
    assert!(
        imported.warnings.lines()[0].contains("gone.png"),
        "{:?}",
        imported.warnings.lines()
    );
    assert_eq!(imported.scene.drawn_triangles(), 2);
}

#[test]
fn a_damaged_obj_is_refused_with_its_line() {
    for (text, sentence) in [
        (
            &b"v 0 0\nf 1 1 1\n"[..],
            "a.obj: line 1 is not a position: \"v 0 0\"",
        ),
        (
            b"v 0 0 0\nf 1 2 3\n",
            "a.obj: line 2 refers to a vertex that does not exist: \"f 1 2 3\"",
        ),
        (b"# nothing\n", "a.obj: holds no faces"),
    ] {
        assert_eq!(import_texts(&[("a.obj", text)]).unwrap_err(), sentence);
    }
}
