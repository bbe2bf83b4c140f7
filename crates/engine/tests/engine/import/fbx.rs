//! FBX as text: its units, its axes, its materials.

use super::texts::import_texts;
use crate::log_lines::LogLines as _;
use assetfs_engine::WarningKind;

/// A text FBX file in metres with z up, with the given objects and connections.
pub fn fbx(objects: &str, connections: &str) -> Vec<u8> {
    format!(
        r#"; FBX 7.4.0 project file
FBXHeaderExtension:  {{
	FBXHeaderVersion: 1003
	FBXVersion: 7400
}}
GlobalSettings:  {{
	Version: 1000
	Properties70:  {{
		P: "UpAxis", "int", "Integer", "",2
		P: "UpAxisSign", "int", "Integer", "",1
		P: "FrontAxis", "int", "Integer", "",1
		P: "FrontAxisSign", "int", "Integer", "",-1
		P: "CoordAxis", "int", "Integer", "",0
		P: "CoordAxisSign", "int", "Integer", "",1
		P: "UnitScaleFactor", "double", "Number", "",100
	}}
}}
Objects:  {{
{objects}
}}
Connections:  {{
{connections}
}}
"#
    )
    .into_bytes()
}

/// A square of one material below a moved node.
pub const SQUARE: &str = r#"
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
"#;
pub const SQUARE_CONNECTIONS: &str =
    "\tC: \"OO\",2000,0\n\tC: \"OO\",1000,2000\n\tC: \"OO\",3000,2000";

#[test]
fn fbx_is_read_in_metres_with_y_up() {
    let file = fbx(SQUARE, SQUARE_CONNECTIONS);
    let imported = import_texts(&[("square.fbx", &file)]).unwrap();
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

#[test]
fn an_fbx_whose_texture_is_missing_is_read_without_it_and_with_a_warning() {
    let texture = r#"
	Texture: 4000, "Texture::wood", "" {
		Type: "TextureVideoClip"
		Version: 202
		TextureName: "Texture::wood"
		FileName: "C:\art\wood.png"
		RelativeFilename: "wood.png"
	}
"#;
    let file = fbx(
        &format!("{SQUARE}{texture}"),
        &format!("{SQUARE_CONNECTIONS}\n\tC: \"OP\",4000,3000, \"DiffuseColor\""),
    );
    let imported = import_texts(&[("square.fbx", &file)]).unwrap();
    let mut missing = imported.warnings.iter();
    assert!(
        missing.any(|it| it.kind == WarningKind::MissingFile && it.text.contains("wood.png")),
        "{:?}",
        imported.warnings
    );
    assert_eq!(imported.scene.drawn_triangles(), 2);
    assert!(imported.scene.images.is_empty());
}

pub fn square_with_coordinates() -> String {
    let coordinates = r#"		LayerElementUV: 0 {
			Version: 101
			Name: "UVMap"
			MappingInformationType: "ByPolygonVertex"
			ReferenceInformationType: "Direct"
			UV: *8 {
				a: 0,0,1,0,1,1,0,1
			}
		}
		Layer: 0 {
			Version: 100
			LayerElement:  {
				Type: "LayerElementUV"
				TypedIndex: 0
			}
"#;
    SQUARE.replacen("		Layer: 0 {\n			Version: 100\n", coordinates, 1)
}

#[test]
fn an_fbx_texture_may_be_scaled_and_moved() {
    let square = square_with_coordinates();
    let texture = r#"
	Texture: 4000, "Texture::wood", "" {
		Type: "TextureVideoClip"
		Version: 202
		FileName: "wood.png"
		RelativeFilename: "wood.png"
		Properties70:  {
			P: "Translation", "Vector", "", "A",0.5,0.25,0
			P: "Scaling", "Vector", "", "A",0.5,0.25,1
			P: "WrapModeV", "enum", "", "",1
		}
	}
"#;
    let file = fbx(
        &format!("{square}{texture}"),
        &format!("{SQUARE_CONNECTIONS}\n\tC: \"OP\",4000,3000, \"DiffuseColor\""),
    );
    let wood = one_pixel_png();
    let imported = import_texts(&[("square.fbx", &file), ("wood.png", &wood)]).unwrap();
    let scene = imported.scene;
    let texture = scene.material(Some(0)).base_color_texture.unwrap();
    // FBX moves and scales the texture: a place of the mesh shows (place - translation) / scaling, with v up.
    let expected = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        .map(|[u, v]: [f32; 2]| [(u - 0.5) / 0.5, 1.0 - (v - 0.25) / 0.25]);
    let geometry = &scene.geometries[0];
    let coords = geometry.attribute("TEXCOORD_0").unwrap();
    let mut found: Vec<[f32; 2]> = (0..4)
        .map(|vertex| {
            texture
                .transform
                .apply([coords.at(vertex)[0], coords.at(vertex)[1]])
        })
        .collect();
    let mut expected = expected.to_vec();
    for list in [&mut found, &mut expected] {
        list.sort_by(|a, b| a.partial_cmp(b).unwrap());
    }
    for (a, b) in found.iter().zip(&expected) {
        assert!(
            (a[0] - b[0]).abs() < 1e-5 && (a[1] - b[1]).abs() < 1e-5,
            "{found:?} {expected:?}"
        );
    }
    assert_eq!(
        [texture.wrap_s.code(), texture.wrap_t.code()],
        [10_497, 33_071]
    );
}

pub fn one_pixel_png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(1, 1, image::Rgb([200, 100, 50]))
        .write_to(&mut bytes, image::ImageFormat::Png)
        .unwrap();
    bytes.into_inner()
}

/// A material like those of glTF, with one texture for each of these slots, or one for all.
fn with_surface_textures(textures: &[(&str, &str)], slots: [usize; 2]) -> Vec<u8> {
    let class = r#"		Properties70:  {
			P: "3dsMax|ClassIDa", "Integer", "", "",943849874
			P: "3dsMax|ClassIDb", "Integer", "", "",1174294043
			P: "DiffuseColor""#;
    let square = square_with_coordinates().replacen("\"phong\"", "\"unknown\"", 1);
    let mut square = square.replacen("\t\tProperties70:  {\n\t\t\tP: \"DiffuseColor\"", class, 1);
    for (number, (file, translation)) in textures.iter().enumerate() {
        square += &format!(
            r#"
	Texture: {}, "Texture::{number}", "" {{
		Type: "TextureVideoClip"
		Version: 202
		FileName: "{file}"
		RelativeFilename: "{file}"
		Properties70:  {{
			P: "Translation", "Vector", "", "A",{translation},0,0
		}}
	}}
"#,
            4000 + number
        );
    }
    let [roughness, metalness] = slots.map(|slot| 4000 + slot);
    let connections = format!(
        "{SQUARE_CONNECTIONS}\n\tC: \"OP\",{roughness},3000, \"3dsMax|main|roughnessMap\"\n\tC: \"OP\",{metalness},3000, \"3dsMax|main|metalnessMap\""
    );
    fbx(&square, &connections)
}

#[test]
fn an_fbx_texture_of_roughness_and_metalness_is_read_once() {
    let file = with_surface_textures(&[("both.png", "0")], [0, 0]);
    let both = one_pixel_png();
    let imported = import_texts(&[("square.fbx", &file), ("both.png", &both)]).unwrap();
    assert_eq!(imported.warnings.lines(), Vec::<String>::new());
    assert_eq!(imported.scene.images.len(), 1);
    assert_eq!(imported.size_bytes, (file.len() + both.len()) as u64);
    let missing = import_texts(&[("square.fbx", &file)])
        .unwrap()
        .warnings
        .lines();
    assert_eq!(missing.len(), 1, "{missing:?}");
}

#[test]
fn fbx_textures_of_roughness_and_metalness_at_different_places_are_named() {
    let image = one_pixel_png();
    for (second, is_named) in [("0", false), ("0.5", true)] {
        let file = with_surface_textures(&[("a.png", "0"), ("b.png", second)], [0, 1]);
        let files: [(&str, &[u8]); 3] =
            [("square.fbx", &file), ("a.png", &image), ("b.png", &image)];
        let warnings = import_texts(&files).unwrap().warnings.lines();
        let named = warnings.iter().any(|line| line.contains("is placed as"));
        assert_eq!(named, is_named, "{warnings:?}");
    }
}
