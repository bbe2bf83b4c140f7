//! Known glTF extensions outside of materials: each is read, or passes through unchanged.

use assetfs_engine::document::glb;
use assetfs_engine::export::gltf::write_glb;
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::MeshCompression;
use serde_json::{Value, json};

use super::super::texts::{grey_png, import_texts};
use crate::log_lines::LogLines as _;
use crate::made::with_grid;
use crate::square_glb::changed_glb;

/// The parts of a GLB.
fn split(bytes: Vec<u8>) -> (Value, Vec<u8>) {
    let parts = glb::split("m.glb", &bytes.into()).unwrap();
    let json = serde_json::from_slice(&parts.json).unwrap();
    (json, parts.bin.unwrap().to_vec())
}

/// Reads a file without a warning.
#[track_caller]
fn read(name: &str, bytes: &[u8]) -> Scene {
    let imported = import_texts(&[("m.glb", bytes)]).unwrap();
    assert!(
        imported.warnings.is_empty(),
        "{name}: {:?}",
        imported.warnings.lines()
    );
    imported.scene
}

fn written(scene: &Scene) -> Value {
    split(write_glb(scene, MeshCompression::None).unwrap()).0
}

/// What stands under the extension `name`, wherever in the document it is.
fn contents(at: &Value, name: &str) -> Vec<String> {
    let mut found: Vec<String> = match at {
        Value::Array(elements) => elements.iter().flat_map(|it| contents(it, name)).collect(),
        Value::Object(members) => {
            let own = members.get("extensions").and_then(|it| it.get(name));
            let inner = members.values().flat_map(|it| contents(it, name));
            own.map(Value::to_string).into_iter().chain(inner).collect()
        }
        _ => Vec::new(),
    };
    found.sort();
    found
}

/// A square with a texture, which shows the image of these bytes.
fn textured(image: &[u8], media_type: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (mut json, mut bin) = split(changed_glb(|_| {}));
    let view = json!({ "buffer": 0, "byteOffset": bin.len(), "byteLength": image.len() });
    json["bufferViews"].as_array_mut().unwrap().push(view);
    bin.extend(image);
    bin.resize(bin.len().next_multiple_of(4), 0);
    json["buffers"][0]["byteLength"] = bin.len().into();
    json["images"] = json!([{ "bufferView": 2, "mimeType": media_type }]);
    json["textures"] = json!([{ "source": 0 }]);
    json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }]);
    let coordinates = json!({ "bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC2" });
    json["accessors"].as_array_mut().unwrap().push(coordinates);
    let primitive = &mut json["meshes"][0]["primitives"][0];
    primitive["attributes"]["TEXCOORD_0"] = 2.into();
    primitive["material"] = 0.into();
    change(&mut json);
    glb::join(json.to_string().as_bytes(), &bin)
}

#[test]
fn extensions_that_pass_through_keep_their_content() {
    let plain = |change: fn(&mut Value)| changed_glb(change);
    let png = grey_png(&[1, 2, 3, 4]);
    let shown = |change: fn(&mut Value)| textured(&png, "image/png", change);
    let rows = [
        (
            "KHR_lights_punctual",
            2,
            plain(|json| {
                let lights =
                    json!({ "lights": [{ "type": "point", "intensity": 5, "name": "lamp" }] });
                json["extensions"] = json!({ "KHR_lights_punctual": lights });
                json["nodes"][0]["extensions"] = json!({ "KHR_lights_punctual": { "light": 0 } });
            }),
        ),
        (
            "KHR_materials_variants",
            2,
            plain(|json| {
                json["materials"] = json!([{ "name": "a" }, { "name": "b" }]);
                let primitive = &mut json["meshes"][0]["primitives"][0];
                primitive["material"] = 0.into();
                let mappings = json!([{ "material": 1, "variants": [0] }]);
                primitive["extensions"] =
                    json!({ "KHR_materials_variants": { "mappings": mappings } });
                let variants = json!([{ "name": "red" }]);
                json["extensions"] = json!({ "KHR_materials_variants": { "variants": variants } });
            }),
        ),
        (
            "KHR_xmp_json_ld",
            6,
            plain(|json| {
                let packet = json!({ "@context": { "dc": "http://purl.org/dc/elements/1.1/" }, "dc:title": "chair" });
                json["extensions"] = json!({ "KHR_xmp_json_ld": { "packets": [packet] } });
                json["materials"] = json!([{}]);
                json["meshes"][0]["primitives"][0]["material"] = 0.into();
                for place in [
                    "/asset",
                    "/scenes/0",
                    "/nodes/0",
                    "/meshes/0",
                    "/materials/0",
                ] {
                    let owner = json.pointer_mut(place).unwrap();
                    owner["extensions"] = json!({ "KHR_xmp_json_ld": { "packet": 0 } });
                }
            }),
        ),
        (
            "EXT_lights_image_based",
            2,
            shown(|json| {
                let light = json!({
                    "intensity": 1.0, "rotation": [0, 0, 0, 1], "specularImageSize": 1,
                    "specularImages": [[0, 0, 0, 0, 0, 0]], "irradianceCoefficients": vec![[1, 1, 1]; 9],
                });
                json["extensions"] = json!({ "EXT_lights_image_based": { "lights": [light] } });
                json["scenes"][0]["extensions"] =
                    json!({ "EXT_lights_image_based": { "light": 0 } });
            }),
        ),
        (
            "KHR_texture_transform",
            1,
            shown(|json| {
                let place = json!({ "offset": [0.25, 0.5], "rotation": 0.5, "scale": [2, 3] });
                json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["extensions"] =
                    json!({ "KHR_texture_transform": place });
            }),
        ),
        (
            "KHR_materials_pbrSpecularGlossiness",
            1,
            shown(|json| {
                let finish = json!({
                    "diffuseFactor": [1, 0, 0, 1], "specularFactor": [0, 1, 0], "glossinessFactor": 0.5,
                    "diffuseTexture": { "index": 0 }, "specularGlossinessTexture": { "index": 0 },
                });
                json["materials"][0]["extensions"] =
                    json!({ "KHR_materials_pbrSpecularGlossiness": finish });
            }),
        ),
    ];
    for (name, places, mut bytes) in rows {
        let (mut json, bin) = split(bytes);
        json["extensionsUsed"] = json!([name]);
        bytes = glb::join(json.to_string().as_bytes(), &bin);
        let result = written(&read(name, &bytes));
        assert_eq!(contents(&json, name).len(), places, "{name}");
        assert_eq!(contents(&result, name), contents(&json, name), "{name}");
        assert_eq!(result["extensionsUsed"], json!([name]));
    }
}

#[test]
fn instances_keep_the_numbers_that_place_them() {
    let name = "EXT_mesh_gpu_instancing";
    let bytes = changed_glb(|json| {
        let attributes = json!({ "TRANSLATION": 0 });
        json["nodes"][0]["extensions"] = json!({ name: { "attributes": attributes } });
        json["extensionsUsed"] = json!([name]);
    });
    let scene = read(name, &bytes);
    assert_eq!(
        scene.drawn_triangles(),
        8,
        "four instances of two triangles"
    );
    let result = written(&scene);
    let accessor = &result["nodes"][0]["extensions"][name]["attributes"]["TRANSLATION"];
    let accessor = &result["accessors"][accessor.as_u64().unwrap() as usize];
    assert_eq!(
        (&accessor["count"], &accessor["type"]),
        (&json!(4), &json!("VEC3"))
    );
}

#[test]
fn packed_and_quantized_geometry_is_that_of_the_plain_file() {
    let square = read("the plain file", &changed_glb(|_| {}));
    let plain = with_grid(square.clone());
    let geometry = |scene: &Scene| {
        let only = &scene.geometries[0];
        (only.indices.clone(), only.positions().to_vec())
    };
    for (name, packing) in [
        ("KHR_draco_mesh_compression", MeshCompression::Draco),
        ("EXT_meshopt_compression", MeshCompression::Meshopt),
    ] {
        let bytes = write_glb(&plain, packing).unwrap();
        let (json, bin) = split(bytes.clone());
        assert!(json.to_string().contains(name), "{name}");
        let scene = read(name, &bytes);
        assert_eq!(scene.drawn_triangles(), plain.drawn_triangles(), "{name}");
        assert_eq!(scene.bounds(), plain.bounds(), "{name}");
        if name == "EXT_meshopt_compression" {
            // The streams of the older extension are valid in the newer one.
            let newer = json.to_string().replace(name, "KHR_meshopt_compression");
            let scene = read(
                "KHR_meshopt_compression",
                &glb::join(newer.as_bytes(), &bin),
            );
            assert_eq!(scene.drawn_triangles(), plain.drawn_triangles());
            assert_eq!(scene.bounds(), plain.bounds());
        }
    }
    // The same places as 16-bit numbers, each padded to 8 bytes.
    let places = [[0u16, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]];
    let indices = [0u16, 1, 2, 2, 1, 3];
    let bin: Vec<u8> = places
        .iter()
        .flatten()
        .chain(&indices)
        .flat_map(|it| it.to_le_bytes())
        .collect();
    let (mut json, _) = split(changed_glb(|_| {}));
    json["buffers"][0]["byteLength"] = bin.len().into();
    json["bufferViews"] = json!([
        { "buffer": 0, "byteLength": 32, "byteStride": 8 }, { "buffer": 0, "byteOffset": 32, "byteLength": 12 },
    ]);
    json["accessors"][0]["componentType"] = 5123.into();
    json["extensionsUsed"] = json!(["KHR_mesh_quantization"]);
    json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    let quantized = read(
        "KHR_mesh_quantization",
        &glb::join(json.to_string().as_bytes(), &bin),
    );
    assert_eq!(geometry(&quantized), geometry(&square));
}

#[test]
fn images_of_extensions_are_read() {
    macro_rules! image {
        ($name:literal) => {
            include_bytes!(concat!("../../../../../../tests/fixtures/textures/", $name)).as_slice()
        };
    }
    for (name, media_type, image) in [
        ("EXT_texture_webp", "image/webp", image!("lossy.webp")),
        ("EXT_texture_avif", "image/avif", image!("lossy.avif")),
        ("KHR_texture_basisu", "image/ktx2", image!("etc1s.ktx2")),
    ] {
        let bytes = textured(image, media_type, |json| {
            json["textures"] = json!([{ "extensions": { name: { "source": 0 } } }]);
            json["extensionsUsed"] = json!([name]);
            json["extensionsRequired"] = json!([name]);
        });
        let scene = read(name, &bytes);
        assert_eq!(scene.images.len(), 1, "{name}");
        assert_eq!(scene.images[0].media_type, media_type);
        assert_eq!(&*scene.images[0].bytes, image, "{name}");
        let (result, bin) = split(write_glb(&scene, MeshCompression::None).unwrap());
        assert_eq!(contents(&result, name), [r#"{"source":0}"#], "{name}");
        let is_there = bin.windows(image.len()).any(|part| part == image);
        assert!(is_there, "{name}: the image is written as it was");
    }
}
