//! Textures whose texture coordinates a mesh lacks: no importer keeps them.

use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::import::Imported;
use assetfs_engine::settings::MeshCompression;

use super::fbx::fbx;
use super::texts::import_texts;
use crate::log_lines::LogLines as _;
use crate::validators::assert_gltf_has_no_error;

/// A square for each list of names of its sets of texture coordinates, all with one material of two textures: the colour
/// is mapped by the set "base", the normals by the set "detail".
fn squares(meshes: &[&[&str]]) -> Vec<u8> {
    let mut objects = String::from(
        r#"
	Material: 3000, "Material::Painted", "" {
		Version: 102
		ShadingModel: "phong"
		Properties70:  {
			P: "DiffuseColor", "Color", "", "A",1,0,0
		}
	}
"#,
    );
    let mut connections = String::from(
        "\tC: \"OP\",4000,3000, \"DiffuseColor\"\n\tC: \"OP\",4001,3000, \"NormalMap\"\n",
    );
    for (id, file, set) in [(4000, "color.png", "base"), (4001, "bumps.png", "detail")] {
        objects += &format!(
            r#"
	Texture: {id}, "Texture::{file}", "" {{
		Type: "TextureVideoClip"
		Version: 202
		TextureName: "Texture::{file}"
		Properties70:  {{
			P: "UVSet", "KString", "", "", "{set}"
		}}
		FileName: "{file}"
		RelativeFilename: "{file}"
	}}
"#
        );
    }
    for (index, sets) in meshes.iter().enumerate() {
        let (mut layers, mut elements) = (String::new(), String::new());
        for (set, name) in sets.iter().enumerate() {
            layers += &format!(
                r#"
		LayerElementUV: {set} {{
			Version: 101
			Name: "{name}"
			MappingInformationType: "ByPolygonVertex"
			ReferenceInformationType: "Direct"
			UV: *8 {{
				a: {set},0,1,0,1,1,0,1
			}}
		}}
"#
            );
            elements += &format!(
                "\t\tLayer: {set} {{\n\t\t\tVersion: 100\n\t\t\tLayerElement:  {{\n\t\t\t\tType: \"LayerElementUV\"\n\t\t\t\tTypedIndex: {set}\n\t\t\t}}\n\t\t}}\n"
            );
        }
        let (geometry, model) = (1000 + index, 2000 + index);
        objects += &format!(
            r#"
	Geometry: {geometry}, "Geometry::square", "Mesh" {{
		Vertices: *12 {{
			a: 0,{index},0,1,{index},0,1,{index},2,0,{index},2
		}}
		PolygonVertexIndex: *4 {{
			a: 0,1,2,-4
		}}
		GeometryVersion: 124
{layers}{elements}
	}}
	Model: {model}, "Model::Square{index}", "Mesh" {{
		Version: 232
	}}
"#
        );
        connections += &format!(
            "\tC: \"OO\",{model},0\n\tC: \"OO\",{geometry},{model}\n\tC: \"OO\",3000,{model}\n"
        );
    }
    fbx(&objects, &connections)
}

fn pixel() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[9, 99, 200]).unwrap();
    writer.finish().unwrap();
    bytes
}

fn import_squares(meshes: &[&[&str]]) -> Imported {
    let (file, pixel) = (squares(meshes), pixel());
    let files = [
        ("squares.fbx", &file[..]),
        ("color.png", &pixel),
        ("bumps.png", &pixel),
    ];
    import_texts(&files).unwrap()
}

/// What the textures of each primitive's material read: of colour and of normals.
fn sets_read(imported: &Imported) -> Vec<[Option<usize>; 2]> {
    let scene = &imported.scene;
    let primitives = scene.meshes.iter().flat_map(|mesh| &mesh.primitives);
    primitives
        .map(|primitive| {
            let material = scene.material(primitive.material);
            [material.base_color_texture, material.normal_texture]
                .map(|texture| texture.map(|texture| texture.tex_coord))
        })
        .collect()
}

fn assert_valid(imported: &Imported) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.glb");
    let bytes = write_glb(&imported.scene, MeshCompression::None).unwrap();
    std::fs::write(&path, bytes).unwrap();
    assert_gltf_has_no_error(&path);
}

#[test]
fn fbx_textures_read_the_set_that_they_name_and_no_set_that_a_mesh_lacks() {
    let imported = import_squares(&[&["base", "detail"], &["detail", "base"], &["base"], &[]]);
    assert_eq!(
        sets_read(&imported),
        [
            [Some(0), Some(1)],
            [Some(1), Some(0)],
            // An unknown name of a set is not an error: the first set is used.
            [Some(0), Some(0)],
            [None, None],
        ]
    );
    let scene = &imported.scene;
    let bare = scene.material(scene.meshes[3].primitives[0].material);
    assert_eq!(bare.base_color, [1.0, 0.0, 0.0, 1.0], "its colour instead");
    assert!(
        imported
            .warnings
            .lines()
            .iter()
            .any(|line| line.contains("without texture coordinates")),
        "{:?}",
        imported.warnings.lines()
    );
    assert_valid(&imported);
}

#[test]
fn an_obj_face_without_coordinates_has_no_texture() {
    let pixel = pixel();
    let obj = b"mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl painted\n\
o Mapped\nf 1/1 2/2 3/3\no Bare\nf 1 2 3\n";
    let imported = import_texts(&[
        ("a.obj", obj),
        ("a.mtl", b"newmtl painted\nmap_Kd color.png\n"),
        ("color.png", &pixel),
    ])
    .unwrap();
    assert_eq!(sets_read(&imported), [[Some(0), None], [None, None]]);
    assert_eq!(
        imported.warnings.lines(),
        [
            "mesh \"Bare\": the material \"painted\" has textures for texture coordinate set 0, which the mesh lacks; they are left out there [bad-texture]"
        ]
    );
    assert_valid(&imported);
}

#[test]
fn a_gltf_keeps_only_textures_whose_coordinates_are_there() {
    let positions: Vec<u8> = [0f32, 0., 0., 1., 0., 0., 0., 1., 0.]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let gltf = br#"{ "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "extensionsUsed": ["KHR_texture_transform", "KHR_materials_variants", "KHR_materials_sheen"],
        "extensions": { "KHR_materials_variants": { "variants": [{ "name": "night" }] } },
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0, "TEXCOORD_0": 1 }, "material": 0,
            "extensions": { "KHR_materials_variants": { "mappings": [{ "material": 1, "variants": [0] }] } } }] }],
        "materials": [
            { "name": "day", "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } }, "normalTexture": { "index": 0, "texCoord": 1 },
              "extensions": { "KHR_materials_sheen": { "sheenColorTexture": { "index": 0,
                  "extensions": { "KHR_texture_transform": { "texCoord": 2 } } } } } },
            { "name": "night", "emissiveFactor": [1, 1, 1], "emissiveTexture": { "index": 0, "texCoord": 1 } }],
        "textures": [{ "source": 0 }], "images": [{ "uri": "color.png" }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0] },
            { "bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2" }],
        "bufferViews": [{ "buffer": 0, "byteLength": 36 }, { "buffer": 0, "byteLength": 24 }],
        "buffers": [{ "uri": "a.bin", "byteLength": 36 }] }"#;
    let pixel = pixel();
    let imported = import_texts(&[
        ("a.gltf", gltf),
        ("a.bin", &positions),
        ("color.png", &pixel),
    ])
    .unwrap();
    assert_eq!(sets_read(&imported), [[Some(0), None]]);
    let scene = &imported.scene;
    let primitive = &scene.meshes[0].primitives[0];
    let own = &scene.list("materials")[primitive.material.unwrap()];
    assert_eq!(
        own["extensions"]["KHR_materials_sheen"],
        serde_json::json!({})
    );
    let mapping = &primitive.json["extensions"]["KHR_materials_variants"]["mappings"][0];
    let night = scene.material(Some(mapping["material"].as_u64().unwrap() as usize));
    assert!(night.emissive_texture.is_none());
    assert_eq!(night.emissive, [0.0; 3], "it does not shine all over");
    assert_valid(&imported);
}
