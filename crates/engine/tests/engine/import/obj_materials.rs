//! OBJ and MTL as other programs write them: byte order marks, several libraries, options of maps, quotes, line ends.

use assetfs_engine::scene::AlphaMode;

use super::obj::SQUARE_OBJ;
use super::texts::{grey_png, import_texts};
use crate::log_lines::LogLines as _;

fn square(libraries: &str) -> String {
    let text = std::str::from_utf8(SQUARE_OBJ).unwrap();
    text.replacen("my square.mtl", libraries, 1)
}

const RED: &[u8] = b"newmtl painted\nKd 1 0 0\n";

#[test]
fn a_byte_order_mark_and_cr_line_ends_lose_nothing() {
    let text = square("m.mtl");
    let mtl = String::from_utf8(RED.to_vec()).unwrap();
    for (obj, mtl) in [
        (format!("\u{feff}{text}"), format!("\u{feff}{mtl}")),
        (text.replace('\n', "\r"), mtl.replace('\n', "\r")),
    ] {
        let files = [("m.obj", obj.as_bytes()), ("m.mtl", mtl.as_bytes())];
        let imported = import_texts(&files).unwrap();
        assert_eq!(imported.warnings.lines(), Vec::<String>::new());
        let material = imported.scene.material(Some(0));
        assert_eq!(material.base_color, [1.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn a_statement_may_name_several_libraries_and_quote_them() {
    let other: &[u8] = b"newmtl other\nKd 0 1 0\n";
    for (names, second) in [("a.mtl b.mtl", "b.mtl"), ("a.mtl \"b c.mtl\"", "b c.mtl")] {
        let obj = square(names).replace("usemtl painted", "usemtl \"painted\"");
        let files = [("m.obj", obj.as_bytes()), ("a.mtl", other), (second, RED)];
        let imported = import_texts(&files).unwrap();
        assert_eq!(imported.warnings.lines(), Vec::<String>::new());
        let material = imported.scene.material(Some(0));
        assert_eq!(material.base_color, [1.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn options_of_maps_place_the_texture() {
    let obj = square("m.mtl");
    let mtl = b"newmtl painted\nmap_Kd -clamp on -s 2 3 1 -o 0.25 0.5 0 -mm 0 1 tex file.png\n";
    let png = grey_png(&[1, 2, 3, 4]);
    let files: [(&str, &[u8]); 3] = [
        ("m.obj", obj.as_bytes()),
        ("m.mtl", mtl),
        ("tex file.png", &png),
    ];
    let imported = import_texts(&files).unwrap();
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert!(imported.scene.uses_extension("KHR_texture_transform"));
    let texture = imported.scene.material(Some(0)).base_color_texture.unwrap();
    assert_eq!([texture.wrap_s.code(), texture.wrap_t.code()], [33_071; 2]);
    // MTL: place * s + o with v up. glTF has v down.
    let [u, v] = texture.transform.apply([0.5, 1.0 - 0.25]);
    assert!(
        (u - 1.25).abs() < 1e-6 && (1.0 - v - 1.25).abs() < 1e-6,
        "{u} {v}"
    );
}

#[test]
fn map_d_with_an_image_of_its_own_is_the_alpha_of_the_colour() {
    let obj = square("m.mtl");
    let color = grey_png(&[10, 20, 30, 40]);
    let mask = grey_png(&[0, 255, 255, 0]);
    for (mtl, red) in [
        (&b"newmtl painted\nmap_Kd a.png\nmap_d b.png\n"[..], 10),
        (b"newmtl painted\nmap_d b.png\n", 255),
    ] {
        let files: [(&str, &[u8]); 4] = [
            ("m.obj", obj.as_bytes()),
            ("m.mtl", mtl),
            ("a.png", &color),
            ("b.png", &mask),
        ];
        let imported = import_texts(&files).unwrap();
        assert_eq!(imported.warnings.lines(), Vec::<String>::new());
        let material = imported.scene.material(Some(0));
        assert_eq!(material.alpha_mode, AlphaMode::Blend);
        let image = &imported.scene.images[material.base_color_texture.unwrap().image];
        let pixels = image::load_from_memory(&image.bytes).unwrap().into_rgba8();
        assert_eq!(pixels.get_pixel(0, 0).0, [red, red, red, 0]);
        assert_eq!(pixels.get_pixel(1, 0)[3], 255);
    }
}

#[test]
fn vertex_colours_may_have_alpha() {
    let text = b"v 0 0 0 1 0 0 0.5\nv 1 0 0 1 0 0 1\nv 1 1 0 1 0 0 1\nf 1 2 3\n";
    let imported = import_texts(&[("a.obj", text)]).unwrap();
    let colors = imported.scene.geometries[0].attribute("COLOR_0").unwrap();
    assert_eq!(colors.at(0), [1.0, 0.0, 0.0, 0.5]);
    let bytes = b"v 0 0 0 255 0 0\nv 1 0 0 255 0 0\nv 1 1 0 255 0 0\nf 1 2 3\n";
    let imported = import_texts(&[("a.obj", bytes)]).unwrap();
    let colors = imported.scene.geometries[0].attribute("COLOR_0").unwrap();
    assert_eq!(colors.at(0), [1.0, 0.0, 0.0]);
}

#[test]
fn materials_without_a_library_are_named() {
    let obj = square("").replacen("mtllib \n", "", 1);
    let warnings = import_texts(&[("a.obj", obj.as_bytes())])
        .unwrap()
        .warnings
        .lines();
    assert_eq!(
        warnings,
        ["a.obj names no material file; its materials get default values [damaged]"]
    );
}
