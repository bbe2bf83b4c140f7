//! Models inside of zip archives.

use super::obj::SQUARE_OBJ;
use super::texts::import_texts;
use crate::log_lines::LogLines as _;

/// A zip archive of stored or deflated entries.
fn zip_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_zip_is_unpacked_and_its_junk_ignored() {
    let archive = zip_of(&[
        ("__MACOSX/._square.obj", b"junk"),
        ("square/._square.obj", b"junk"),
        ("square/square.obj", SQUARE_OBJ),
        ("square/my square.mtl", b"newmtl painted\nKd 0 1 0\n"),
    ]);
    let imported = import_texts(&[("square.zip", &archive)]).unwrap();
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert_eq!(imported.format, "obj");
    assert_eq!(
        imported.scene.material(Some(0)).base_color,
        [0.0, 1.0, 0.0, 1.0]
    );
}

#[test]
fn a_hostile_zip_is_refused_with_its_reason() {
    let bomb = vec![0u8; 64 << 20];
    let many: Vec<(String, &[u8])> = (0..20_001)
        .map(|index| (format!("{index}.txt"), &b""[..]))
        .collect();
    let many: Vec<(&str, &[u8])> = many
        .iter()
        .map(|(name, bytes)| (name.as_str(), *bytes))
        .collect();
    for (archive, sentence) in [
        (
            zip_of(&[("../evil.obj", SQUARE_OBJ)]),
            "a.zip holds the entry \"../evil.obj\", which leads out of the archive; it is refused",
        ),
        (
            zip_of(&[("/etc/evil.obj", SQUARE_OBJ)]),
            "a.zip holds the entry \"/etc/evil.obj\", which leads out of the archive; it is refused",
        ),
        (
            zip_of(&[("bomb.obj", &bomb)]),
            "a.zip is refused: it unpacks to more than 200 times its size",
        ),
        (
            zip_of(&many),
            "a.zip is refused: it has 20,001 entries; 10,000 are allowed",
        ),
    ] {
        assert_eq!(import_texts(&[("a.zip", &archive)]).unwrap_err(), sentence);
    }
    let error = import_texts(&[("a.zip", b"PK no zip")]).unwrap_err();
    assert!(
        error.starts_with("a.zip is not a readable zip archive"),
        "{error}"
    );
}

const WOOD_OBJ: &[u8] =
    b"mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl wood\nf 1/1 2/1 3/1\n";

#[test]
fn a_long_name_in_a_zip_is_shortened_in_the_reason() {
    let long = "folder/".repeat(600);
    for archive in [
        zip_of(&[(format!("../{long}evil.obj").as_str(), SQUARE_OBJ)]),
        zip_of(&[(format!("{long}square.obj").as_str(), SQUARE_OBJ)]),
        zip_of(&[(format!("{}.obj", "n".repeat(4000)).as_str(), SQUARE_OBJ)]),
    ] {
        let refused = import_texts(&[("a.zip", &archive)]).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("characters …]"), "{said}");
        assert!(said.chars().count() < 500, "{said}");
    }
}

#[test]
fn a_texture_is_found_in_another_folder_of_the_model_and_a_doubtful_one_is_named() {
    let png: &[u8] = &crate::job::shapes::png(2, |_, _| [9, 9, 9, 255]);
    let files = |mtl: &'static [u8], images: &[&'static str]| {
        let mut entries = vec![("cube/cube.obj", WOOD_OBJ), ("cube/m.mtl", mtl)];
        entries.extend(images.iter().map(|name| (*name, png)));
        import_texts(&[("sk_sub.zip", &zip_of(&entries))]).unwrap()
    };
    for (mtl, image) in [
        (
            &b"newmtl wood\nmap_Kd wood.png\n"[..],
            "cube/textures/wood.png",
        ),
        (
            b"newmtl wood\nmap_Kd C:\\Anna\\tex\\Wood.PNG\n",
            "textures/wood.png",
        ),
        (
            "newmtl wood\nmap_Kd B\u{fc}che.png\n".as_bytes(),
            "cube/Bu\u{308}che.png",
        ),
    ] {
        let imported = files(mtl, &[image]);
        assert_eq!(imported.warnings.lines(), Vec::<String>::new(), "{image}");
        assert_eq!(imported.scene.images.len(), 1, "{image}");
    }
    let doubtful = files(
        b"newmtl wood\nmap_Kd wood.png\n",
        &["a/wood.png", "b/wood.png"],
    );
    assert_eq!(
        doubtful.warnings.lines(),
        [
            "the texture \"wood.png\" is left out: several uploaded files could be meant: a/wood.png, b/wood.png [missing-file]"
        ]
    );
    assert!(doubtful.scene.images.is_empty());
}
