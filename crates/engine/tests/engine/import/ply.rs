//! PLY: values of corners and faces, lines with more numbers, triangle strips, and what is refused.

use assetfs_engine::scene::Scene;

use super::texts::{grey_png, import_texts};
use crate::log_lines::LogLines as _;

const SQUARE: &str = "property float x\nproperty float y\nproperty float z\n";
const FACES: &str = "element face 2\nproperty list uchar int vertex_indices\n";
const PLACES: &str = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n";

fn ply(comments: &str, declared: &str, body: &str) -> Vec<u8> {
    format!(
        "ply\nformat ascii 1.0\n{comments}element vertex 4\n{SQUARE}{declared}end_header\n{body}"
    )
    .into_bytes()
}

fn at(scene: &Scene, name: &str) -> Vec<Vec<f32>> {
    let values = scene.geometries[0].attribute(name).unwrap();
    (0..values.count())
        .map(|vertex| values.at(vertex).to_vec())
        .collect()
}

#[test]
fn more_numbers_on_a_line_than_declared_do_not_shift_the_others() {
    let body = "0 0 0 99 98\n1 0 0 97 96\n1 1 0 1 1\n0 1 0 5 5\n3 0 1 2 9 9 9\n3 0 2 3 9 9 9\n";
    let imported = import_texts(&[("extra.ply", &ply("", FACES, body))]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 2);
    let size = imported.scene.bounds().unwrap().size();
    assert_eq!(size.to_array(), [1.0, 1.0, 0.0]);
    assert_eq!(
        imported.warnings.lines(),
        [
            "extra.ply: 6 lines have more numbers than the header declares; the others on these lines are ignored [damaged]"
        ]
    );
}

#[test]
fn elements_may_be_wrapped_or_share_a_line() {
    let faces = "3 0 1 2\n3 0 2 3\n";
    for body in [
        format!("{PLACES}{faces}").replace('\n', " "),
        format!("{PLACES}{faces}").replace(' ', "\n"),
    ] {
        let imported = import_texts(&[("a.ply", &ply("", FACES, &body))]).unwrap();
        assert_eq!(imported.scene.drawn_triangles(), 2);
        assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    }
    let short = format!("{PLACES}3 0 1\n3 0 2 3\n");
    let error = import_texts(&[("a.ply", &ply("", FACES, &short))]).unwrap_err();
    assert!(error.starts_with("a.ply: is truncated"), "{error}");
}

#[test]
fn texture_coordinates_of_corners_come_with_their_texture() {
    let declared = format!("{FACES}property list uchar float texcoord\n");
    let body = format!("{PLACES}3 0 1 2 6 0 0 1 0 1 1\n3 0 2 3 6 0 0 .5 .5 0 1\n");
    let file = ply("comment TextureFile my wood.png\n", &declared, &body);
    let wood = grey_png(&[1, 2, 3, 4]);
    let imported = import_texts(&[("wedge.ply", &file), ("my wood.png", &wood)]).unwrap();
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let scene = imported.scene;
    assert_eq!(scene.images[0].bytes, wood);
    assert!(scene.material(Some(0)).base_color_texture.is_some());
    let coords = at(&scene, "TEXCOORD_0");
    assert_eq!(coords.len(), 5, "corner 2 has two places in the image");
    assert_eq!(coords[2], [1.0, 0.0]);
    assert!(coords.contains(&vec![0.5, 0.5]));
}

#[test]
fn each_texture_of_a_ply_gets_its_faces() {
    let declared = format!("{FACES}property list uchar float texcoord\nproperty int texnumber\n");
    let body = format!("{PLACES}3 0 1 2 6 0 0 1 0 1 1 1\n3 0 2 3 6 0 0 1 1 0 1 0\n");
    let comments = "comment TextureFile a.png\ncomment TextureFile b.png\n";
    let file = ply(comments, &declared, &body);
    let images = [grey_png(&[1, 2, 3, 4]), grey_png(&[5, 6, 7, 8])];
    let files: [(&str, &[u8]); 3] = [
        ("a.ply", &file),
        ("a.png", &images[0]),
        ("b.png", &images[1]),
    ];
    let scene = import_texts(&files).unwrap().scene;
    let parts = &scene.meshes[0].primitives;
    assert_eq!(parts.len(), 2);
    for (part, image) in parts.iter().zip(&images) {
        let texture = scene.material(part.material).base_color_texture.unwrap();
        assert_eq!(scene.images[texture.image].bytes, image);
    }
    let one = import_texts(&files[..2]).unwrap();
    assert!(
        one.warnings.lines()[0].contains("b.png"),
        "{:?}",
        one.warnings.lines()
    );
}

#[test]
fn colours_of_faces_are_read() {
    let rgb = "property uchar red\nproperty uchar green\nproperty uchar blue\n";
    let body = format!("{PLACES}3 0 1 2 255 0 0\n3 0 2 3 0 255 0\n");
    let file = ply("", &format!("{FACES}{rgb}"), &body);
    let imported = import_texts(&[("facecolor.ply", &file)]).unwrap();
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    let colors = at(&imported.scene, "COLOR_0");
    assert_eq!(colors.len(), 6, "each face has its own corners");
    for color in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
        assert_eq!(colors.iter().filter(|own| own[..] == color).count(), 3);
    }
}

#[test]
fn triangle_strips_are_read() {
    let declared = "element tristrips 1\nproperty list int int vertex_indices\n";
    let file = ply("", declared, &format!("{PLACES}8 0 1 3 2 -1 0 1 2\n"));
    let imported = import_texts(&[("strips.ply", &file)]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 3);
    let normals = at(&imported.scene, "NORMAL");
    assert!(normals.iter().all(|normal| normal[2] == 1.0), "{normals:?}");
}

/// The same file in binary form.
fn binary(text: &[u8], big_endian: bool) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap();
    let (header, body) = text.split_once("end_header\n").unwrap();
    let form = match big_endian {
        true => "binary_big_endian",
        false => "binary_little_endian",
    };
    let mut bytes = header.replace("ascii", form).into_bytes();
    bytes.extend(b"end_header\n");
    let mut numbers = body
        .split_whitespace()
        .map(|word| word.parse::<f64>().unwrap());
    let mut put = |kind: &str| {
        let number = numbers.next().unwrap();
        let mut written = match kind {
            "uchar" => vec![number as u8],
            "int" => (number as i32).to_le_bytes().to_vec(),
            "float" => (number as f32).to_le_bytes().to_vec(),
            other => panic!("{other}"),
        };
        if big_endian {
            written.reverse();
        }
        bytes.extend(written);
        number as usize
    };
    let mut elements: Vec<(usize, Vec<Vec<&str>>)> = Vec::new();
    for line in header.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["element", _, count] => elements.push((count.parse().unwrap(), Vec::new())),
            ["property", ..] => elements.last_mut().unwrap().1.push(words),
            _ => {}
        }
    }
    for (count, properties) in elements {
        for _ in 0..count {
            for property in &properties {
                match property[..] {
                    ["property", "list", length, kind, _] => {
                        for _ in 0..put(length) {
                            put(kind);
                        }
                    }
                    ["property", kind, _] => drop(put(kind)),
                    _ => panic!("{property:?}"),
                }
            }
        }
    }
    assert!(numbers.next().is_none());
    bytes
}

#[test]
fn binary_files_of_both_byte_orders_are_read_as_their_texts() {
    let corners = format!("{FACES}property list uchar float texcoord\nproperty int texnumber\n");
    let corners = ply(
        "comment TextureFile a.png\ncomment TextureFile b.png\n",
        &corners,
        &format!("{PLACES}3 0 1 2 6 0 0 1 0 1 1 1\n3 0 2 3 6 0 0 .5 .5 0 1 0\n"),
    );
    let rgb = "property uchar red\nproperty uchar green\nproperty uchar blue\n";
    let colours = ply(
        "",
        &format!("{FACES}{rgb}"),
        &format!("{PLACES}3 0 1 2 255 0 0\n3 0 2 3 0 255 0\n"),
    );
    let strips = ply(
        "",
        "element tristrips 1\nproperty list int int vertex_indices\n",
        &format!("{PLACES}8 0 1 3 2 -1 0 1 2\n"),
    );
    let png = grey_png(&[1, 2, 3, 4]);
    for (name, text) in [
        ("corners", corners),
        ("colours", colours),
        ("strips", strips),
    ] {
        let read = |file: &[u8]| {
            let files: [(&str, &[u8]); 3] = [("a.ply", file), ("a.png", &png), ("b.png", &png)];
            import_texts(&files).unwrap()
        };
        let expected = read(&text);
        for big_endian in [false, true] {
            let found = read(&binary(&text, big_endian));
            assert_eq!(found.warnings.lines(), expected.warnings.lines(), "{name}");
            let (found, expected) = (found.scene, &expected.scene);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}");
        }
    }
}

#[test]
fn concave_faces_of_a_ply_keep_their_outline() {
    let declared = "element face 1\nproperty list uchar int vertex_indices\n";
    let file = ply("", declared, "0 0 0\n2 2 0\n0 1 0\n-2 2 0\n4 1 2 3 0\n");
    let scene = import_texts(&[("arrow.ply", &file)]).unwrap().scene;
    let geometry = &scene.geometries[0];
    let area: f32 = geometry
        .indices
        .chunks_exact(3)
        .map(|corners| {
            let [a, b, c] = [0, 1, 2].map(|at| geometry.position(corners[at]));
            (b - a).cross(c - a).length() / 2.0
        })
        .sum();
    assert!((area - 2.0).abs() < 1e-6, "{area}");
}

#[test]
fn gaussian_splats_are_refused_by_name() {
    let splat = |properties: &[&str]| {
        let mut header = "ply\nformat ascii 1.0\nelement vertex 1\n".to_owned();
        for property in properties {
            header += &format!("property float {property}\n");
        }
        let values = vec!["0"; properties.len()].join(" ");
        format!("{header}end_header\n{values}\n").into_bytes()
    };
    let trained = splat(&["x", "y", "z", "f_dc_0", "opacity", "scale_0", "rot_0"]);
    let packed = splat(&["packed_position", "packed_rotation", "packed_scale"]);
    for (name, bytes) in [
        ("a.ply", &trained[..]),
        ("a.ply", &packed),
        ("a.spz", b"x"),
        ("a.splat", b"x"),
        ("A.KSPLAT", b"x"),
        ("a.sog", b"x"),
    ] {
        let error = import_texts(&[(name, bytes)]).unwrap_err();
        let start = format!("{name}: this is a Gaussian splat");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn a_ply_without_places_is_no_model() {
    let file = b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nend_header\n0 0\n";
    assert_eq!(
        import_texts(&[("flat.ply", file)]).unwrap_err(),
        "flat.ply: holds no model: its vertices have no x, y and z"
    );
}

#[test]
fn a_header_of_cr_lines_is_read() {
    let text = String::from_utf8(ply("", FACES, &format!("{PLACES}3 0 1 2\n3 0 2 3\n"))).unwrap();
    let imported = import_texts(&[("mac.ply", text.replace('\n', "\r").as_bytes())]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 2);
}
