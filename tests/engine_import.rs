//! Importing: what is in the file is in the scene, and a damaged file is refused with its reason.

#![allow(clippy::print_stderr, reason = "what is skipped is said loudly")]

use std::path::{Path, PathBuf};

use assetfs::engine::import::import;

/// The folder of sample models, or `None` (said loudly) when it is not there.
fn samples(test: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/samples");
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: {test}: ../shared/samples is not there");
    None
}

#[test]
fn samples_have_the_counts_that_they_are_known_for() {
    let Some(samples) = samples("samples_have_the_counts_that_they_are_known_for") else {
        return;
    };
    for (dir, file, triangles, images, animations) in [
        ("01-cube-textured", "Cube.gltf", 12, 2, 0),
        ("02-flight-helmet", "FlightHelmet.gltf", 94_722, 15, 0),
        (".", "03-exploding-barrel.glb", 8_150, 3, 0),
        (".", "04-fox-animated.glb", 576, 1, 3),
        (".", "05-morph-stress-test.gltf", 2_412, 3, 3),
        (".", "05b-sparse-morph-cube.glb", 12, 0, 1),
        (".", "10-usd-shaderball.glb", 63_856, 2, 0),
        ("13-unusual names", "CubeImageUriSpaces.gltf", 12, 1, 0),
        (
            "13-unusual names",
            "CubeImageUriMultipleSpaces.gltf",
            12,
            1,
            0,
        ),
        (
            "13-unusual names",
            "Füchs – лиса (copy) #2 & 100%.GLB",
            576,
            1,
            3,
        ),
    ] {
        let imported = import(&samples.join(dir), &[file.to_owned()]).expect(file);
        let scene = &imported.scene;
        assert_eq!(scene.drawn_triangles(), triangles, "{file}");
        assert_eq!(scene.images.len(), images, "{file}");
        assert!(
            scene
                .images
                .iter()
                .all(|image| image.media_type.starts_with("image/")),
            "{file}"
        );
        assert_eq!(scene.list("animations").len(), animations, "{file}");
        assert!(
            scene.bounds().is_some_and(|bounds| bounds.diagonal() > 0.0),
            "{file}"
        );
    }
}

#[test]
fn broken_samples_are_refused_with_file_place_and_reason() {
    let Some(samples) = samples("broken_samples_are_refused_with_file_place_and_reason") else {
        return;
    };
    let dir = samples.join("14-broken");
    for (file, sentence) in [
        (
            "truncated-barrel.glb",
            "truncated-barrel.glb is truncated: the header says 2,890,908 bytes, the file has 1,800,000",
        ),
        (
            "integer-out-of-bounds.gltf",
            "integer-out-of-bounds.gltf: bufferViews[0].byteLength is 1e+300, which is not a whole number in range",
        ),
        (
            "invalid-buffer-index.gltf",
            "invalid-buffer-index.gltf: bufferViews[1].buffer refers to buffer 1, but the file has only 1 buffer",
        ),
        (
            "invalid-primitive-indices.gltf",
            "invalid-primitive-indices.gltf: bufferViews[0].buffer refers to buffer 0, but the file has no buffers",
        ),
    ] {
        let error = import(&dir, &[file.to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), sentence);
    }
}

#[test]
fn cad_and_unknown_files_are_refused_clearly() {
    let dir = tempfile::tempdir().unwrap();
    for (file, start) in [
        ("part.STEP", "part.STEP: CAD files are not supported"),
        ("scene.blend", "scene.blend: this format is not supported"),
        (
            "notes.txt",
            "no 3D model found: the upload holds only notes.txt",
        ),
    ] {
        std::fs::write(dir.path().join(file), b"x").unwrap();
        let error = import(dir.path(), &[file.to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with(start), "{error}");
    }
    let empty = import(dir.path(), &[]).unwrap_err();
    assert_eq!(empty.to_string(), "no 3D model found: the upload is empty");
}

/// Writes the files into a folder and imports them.
fn import_texts(files: &[(&str, &[u8])]) -> Result<assetfs::engine::import::Imported, String> {
    let dir = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        names.push((*name).to_owned());
    }
    import(dir.path(), &names).map_err(|error| error.to_string())
}

const SQUARE_OBJ: &[u8] = b"mtllib my square.mtl\no Square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n\
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl painted\nf 1/1 2/2 3/3 4/4\n";

#[test]
fn obj_comes_with_its_materials_and_textures() {
    let png = {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 2);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[1, 2, 3, 4]).unwrap();
        writer.finish().unwrap();
        bytes
    };
    let mtl =
        b"newmtl\tpainted\t\nKd 1 0 0\nd 0.5\nNs 98\nmap_Kd -s 1 1 1 C:\\textures\\my wood.png\n";
    let imported = import_texts(&[
        ("square.obj", SQUARE_OBJ),
        ("my square.mtl", mtl),
        ("my wood.png", &png),
    ])
    .unwrap();
    let scene = &imported.scene;
    assert_eq!(imported.warnings, Vec::<String>::new());
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
fn a_missing_texture_or_library_is_a_warning() {
    let imported = import_texts(&[("square.obj", SQUARE_OBJ)]).unwrap();
    assert!(
        imported.warnings[0].contains("my square.mtl"),
        "{:?}",
        imported.warnings
    );
    let imported = import_texts(&[
        ("square.obj", SQUARE_OBJ),
        ("my square.mtl", b"newmtl painted\nmap_Kd gone.png\n"),
    ])
    .unwrap();
    assert!(
        imported.warnings[0].contains("gone.png"),
        "{:?}",
        imported.warnings
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
            "a.obj: line 2 names a vertex that is not there: \"f 1 2 3\"",
        ),
        (b"# nothing\n", "a.obj: holds no faces"),
    ] {
        assert_eq!(import_texts(&[("a.obj", text)]).unwrap_err(), sentence);
    }
}

fn binary_stl(count: u32, triangles: usize) -> Vec<u8> {
    let mut bytes = vec![b's'; 80];
    bytes.extend(count.to_le_bytes());
    for triangle in 0..triangles {
        for number in [
            0.0,
            0.0,
            1.0,
            0.0,
            0.0,
            0.0,
            1.0,
            0.0,
            0.0,
            0.0,
            1.0,
            triangle as f32,
        ] {
            bytes.extend(f32::to_le_bytes(number));
        }
        bytes.extend([0, 0]);
    }
    bytes
}

#[test]
fn stl_is_read_as_text_and_as_binary() {
    let text = b"solid part\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n\
vertex 0 1 0\nendloop\nendfacet\nendsolid part\n";
    assert_eq!(
        import_texts(&[("a.stl", text)])
            .unwrap()
            .scene
            .drawn_triangles(),
        1
    );
    let binary = binary_stl(2, 2);
    let imported = import_texts(&[("A.STL", &binary)]).unwrap();
    assert_eq!(imported.scene.drawn_triangles(), 2);
    assert_eq!(imported.scene.geometries[0].vertex_count(), 4);
    assert_eq!(
        import_texts(&[("a.stl", &binary_stl(3_000, 2))]).unwrap_err(),
        "a.stl: is truncated: the header says 3,000 triangles, which take 150,084 bytes, the file has 184"
    );
}

#[test]
fn ply_is_read_in_every_encoding() {
    let header = |format: &str| {
        format!(
            "ply\nformat {format} 1.0\ncomment made here\nelement vertex 4\nproperty float x\nproperty float y\n\
property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n\
property list uchar int vertex_indices\nelement odd 1\nproperty list uchar short s\nend_header\n"
        )
        .into_bytes()
    };
    let corners = [[0f32, 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]];
    let mut text = header("ascii");
    text.extend(b"0 0 0 255 0 0\n1 0 0 255 0 0\n1 1 0 255 0 0\n0 1 0 255 0 0\n4 0 1 2 3\n2 7 8\n");
    let (mut little, mut big) = (header("binary_little_endian"), header("binary_big_endian"));
    for corner in corners {
        for number in corner {
            little.extend(number.to_le_bytes());
            big.extend(number.to_be_bytes());
        }
        little.extend([255, 0, 0]);
        big.extend([255, 0, 0]);
    }
    little.push(4);
    big.push(4);
    for index in 0..4i32 {
        little.extend(index.to_le_bytes());
        big.extend(index.to_be_bytes());
    }
    little.extend([1, 9, 0]);
    big.extend([1, 0, 9]);
    for bytes in [&text, &little, &big] {
        let imported = import_texts(&[("scan.ply", bytes)]).unwrap();
        let scene = imported.scene;
        assert_eq!(scene.drawn_triangles(), 2);
        assert_eq!(
            scene.geometries[0].attribute("COLOR_0").unwrap().at(3),
            [1.0, 0.0, 0.0]
        );
        assert_eq!(scene.bounds().unwrap().size().to_array(), [1.0, 1.0, 0.0]);
    }
    little.truncate(little.len() - 9);
    let error = import_texts(&[("scan.ply", &little)]).unwrap_err();
    assert!(error.starts_with("scan.ply: is truncated"), "{error}");
}

#[test]
fn ply_with_a_huge_count_asks_for_no_memory() {
    let text =
        b"ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n0\n";
    let error = import_texts(&[("scan.ply", text)]).unwrap_err();
    assert!(error.starts_with("scan.ply: is truncated"), "{error}");
}

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
    assert_eq!(imported.warnings, Vec::<String>::new());
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

#[test]
fn other_formats_of_the_samples_are_read() {
    let Some(samples) = samples("other_formats_of_the_samples_are_read") else {
        return;
    };
    for (dir, file, format, triangles, images) in [
        ("06-fuze-obj", "fuze.obj", "obj", 1_000, 1),
        (".", "07-featuretype.STL", "stl", 3_476, 0),
        (".", "08-spot.zip", "obj", 5_856, 0),
        (".", "15-flight-helmet.zip", "gltf", 94_722, 15),
    ] {
        let imported = import(&samples.join(dir), &[file.to_owned()]).expect(file);
        assert_eq!(imported.format, format, "{file}");
        assert_eq!(imported.scene.drawn_triangles(), triangles, "{file}");
        assert_eq!(imported.scene.images.len(), images, "{file}");
    }
}

/// A square of two materials below a moved node, as a text FBX file.
const SQUARE_FBX: &str = r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {
	FBXHeaderVersion: 1003
	FBXVersion: 7400
}
GlobalSettings:  {
	Version: 1000
	Properties70:  {
		P: "UpAxis", "int", "Integer", "",2
		P: "UpAxisSign", "int", "Integer", "",1
		P: "FrontAxis", "int", "Integer", "",1
		P: "FrontAxisSign", "int", "Integer", "",-1
		P: "CoordAxis", "int", "Integer", "",0
		P: "CoordAxisSign", "int", "Integer", "",1
		P: "UnitScaleFactor", "double", "Number", "",100
	}
}
Objects:  {
	Geometry: 1000, "Geometry::square", "Mesh" {
		Vertices: *12 {
			a: 0,0,0,1,0,0,1,0,2,0,0,2
		}
		PolygonVertexIndex: *4 {
			a: 0,1,2,-4
		}
		GeometryVersion: 124
		LayerElementMaterial: 0 {
			Version: 101
			Name: ""
			MappingInformationType: "AllSame"
			ReferenceInformationType: "IndexToDirect"
			Materials: *1 {
				a: 0
			}
		}
		Layer: 0 {
			Version: 100
			LayerElement:  {
				Type: "LayerElementMaterial"
				TypedIndex: 0
			}
		}
	}
	Model: 2000, "Model::Square", "Mesh" {
		Version: 232
		Properties70:  {
			P: "Lcl Translation", "Lcl Translation", "", "A",5,0,0
		}
	}
	Material: 3000, "Material::Red", "" {
		Version: 102
		ShadingModel: "phong"
		Properties70:  {
			P: "DiffuseColor", "Color", "", "A",1,0,0
		}
	}
}
Connections:  {
	C: "OO",2000,0
	C: "OO",1000,2000
	C: "OO",3000,2000
}
"#;

#[test]
fn fbx_is_read_in_metres_with_y_up() {
    let imported = import_texts(&[("square.fbx", SQUARE_FBX.as_bytes())]).unwrap();
    let scene = imported.scene;
    assert_eq!(scene.drawn_triangles(), 2);
    let bounds = scene.bounds().unwrap();
    assert!(
        (bounds.size() - glam::Vec3::new(1.0, 2.0, 0.0)).length() < 1e-4,
        "{bounds:?}"
    );
    assert!((bounds.min.x - 5.0).abs() < 1e-4, "{bounds:?}");
    assert_eq!(scene.material(Some(0)).base_color, [1.0, 0.0, 0.0, 1.0]);
    let error = import_texts(&[("broken.fbx", b"Kaydara FBX Binary  \0\x1a\0junk")]).unwrap_err();
    assert!(
        error.starts_with("broken.fbx: cannot be read as FBX"),
        "{error}"
    );
}
