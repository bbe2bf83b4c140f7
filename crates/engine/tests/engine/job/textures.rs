//! Sizes and encodings of textures.

use serde_json::json;

use super::shapes::{decode, png, textured};
use crate::log_lines::LogLines as _;

#[test]
fn textures_shrink_to_their_limit_in_linear_light() {
    let chequered = png(64, |x, y| {
        if (x + y) % 2 == 0 {
            [255; 4]
        } else {
            [0, 0, 0, 255]
        }
    });
    let model = textured(
        json!({
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0 },
                "metallicRoughnessTexture": { "index": 1 },
            },
        }),
        &[
            ("colour.png", chequered.clone()),
            ("numbers.png", chequered),
        ],
    );
    let report = model
        .optimize(json!({
            "limits": { "textures": { "baseColor": 32, "orm": 16 } },
            "compressionAndExport": { "fileExports": [
                { "fileType": "glb", "textureFormat": { "baseColor": "png", "orm": "png" } },
            ] },
        }))
        .unwrap();
    assert_eq!(report.result.largest_texture, 32);
    let images = report.exports[0].images.as_ref().unwrap();
    assert_eq!(
        (images[0].slot.as_str(), images[0].width),
        ("baseColor", 32)
    );
    assert_eq!((images[1].slot.as_str(), images[1].width), ("orm", 16));
    let scene = model.result("model.glb");
    let colour = decode(&scene.images[0].bytes).get_pixel(10, 10)[0];
    let number = decode(&scene.images[1].bytes).get_pixel(8, 8)[0];
    assert!(
        colour.abs_diff(188) <= 1,
        "half of the light is 188 in sRGB, not {colour}"
    );
    assert!(
        number.abs_diff(128) <= 1,
        "half of a number is 128, not {number}"
    );
}

#[test]
fn textures_within_their_limit_keep_their_bytes() {
    let colour = png(64, |x, y| [x as u8 * 4, y as u8 * 4, 7, 255]);
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
        &[("colour.png", colour.clone())],
    );
    model
        .optimize(json!({ "limits": { "textures": { "baseColor": 64, "normal": 16 } } }))
        .unwrap();
    assert_eq!(model.result("model.glb").images[0].bytes, colour);
}

#[test]
fn alpha_that_is_used_is_never_lost_to_jpeg() {
    let leaf = png(64, |x, _| [0, 200, 0, if x < 32 { 255 } else { 0 }]);
    let config = json!({ "compressionAndExport": { "fileExports": [
        { "fileType": "glb", "textureFormat": { "baseColor": "jpg" } },
    ] } });
    let material = |mode: &str| json!({ "alphaMode": mode, "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
    let masked = textured(material("MASK"), &[("leaf.png", leaf.clone())]);
    let report = masked.optimize(config.clone()).unwrap();
    assert_eq!(masked.result("model.glb").images[0].media_type, "image/png");
    assert!(
        report
            .warnings
            .lines()
            .iter()
            .any(|line| line.contains("alpha")),
        "{:?}",
        report.warnings.lines()
    );
    let opaque = textured(material("OPAQUE"), &[("leaf.png", leaf)]);
    opaque.optimize(config).unwrap();
    let image = &opaque.result("model.glb").images[0];
    // JPEG is only taken where it is smaller.
    assert!(image.media_type == "image/jpeg" || image.media_type == "image/png");
}

#[test]
fn a_gltf_whose_images_are_missing_is_read_without_them_and_with_a_warning_each() {
    let colour = png(16, |x, y| [x as u8 * 4, y as u8 * 4, 7, 255]);
    let model = textured(
        json!({
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0 },
                "metallicRoughnessTexture": { "index": 1 },
            },
            "emissiveTexture": { "index": 0 },
            "emissiveFactor": [1, 1, 1],
        }),
        &[
            ("colour.png", colour.clone()),
            ("numbers.png", colour.clone()),
        ],
    );
    std::fs::remove_file(model.dir.path().join("in/colour.png")).unwrap();
    let exports = ["glb", "gltf", "obj", "usdz"].map(|kind| json!({ "fileType": kind }));
    let config = json!({ "compressionAndExport": { "fileExports": exports } });
    let report = model.optimize(config.clone()).unwrap();
    let log = model.log("warning.log");
    assert!(
        log.contains("\"colour.png\"") && !log.contains("\"numbers.png\""),
        "{log}"
    );
    assert_eq!(report.exports.len(), 4);
    let scene = model.result("model.glb");
    assert_eq!(scene.images.len(), 1);
    assert_eq!(scene.images[0].bytes, colour);
    let material = scene.material(Some(0));
    assert!(material.base_color_texture.is_none());
    assert_eq!(
        material.emissive, [0.0; 3],
        "nothing glows without its texture"
    );

    std::fs::remove_file(model.dir.path().join("in/numbers.png")).unwrap();
    model.optimize(config.clone()).unwrap();
    assert!(model.result("model.glb").images.is_empty());
    assert_eq!(model.result("model.glb").drawn_triangles(), 2);

    // Without its geometry there is no model.
    std::fs::remove_file(model.dir.path().join("in/model.bin")).unwrap();
    let refused = model.optimize(config).unwrap_err().to_string();
    assert!(refused.contains("\"model.bin\""), "{refused}");
}

#[test]
fn a_texture_with_another_form_of_a_missing_image_is_kept() {
    let colour = png(16, |x, y| [x as u8 * 4, y as u8 * 4, 7, 255]);
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
        &[
            ("colour.png", colour.clone()),
            ("colour.webp", colour.clone()),
        ],
    );
    model.change(|gltf| {
        gltf["textures"] =
            json!([{ "source": 0, "extensions": { "EXT_texture_webp": { "source": 1 } } }]);
        gltf["extensionsUsed"] = json!(["EXT_texture_webp"]);
    });
    std::fs::remove_file(model.dir.path().join("in/colour.webp")).unwrap();
    model.optimize(json!({})).unwrap();
    assert_eq!(model.result("model.glb").images[0].bytes, colour);
}

#[test]
fn an_image_without_bytes_is_left_out_with_a_warning_and_the_result_can_be_read() {
    let material = json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } });
    for image in [
        json!({ "uri": "no%20bytes.png" }),
        json!({ "uri": "data:image/png;base64," }),
        json!({ "bufferView": 0, "mimeType": "image/png" }),
    ] {
        let model = textured(material.clone(), &[("no bytes.png", Vec::new())]);
        model.change(|json| {
            let views = json["bufferViews"].as_array_mut().unwrap();
            views.push(json!({ "buffer": 0, "byteOffset": 0, "byteLength": 0 }));
            let empty = views.len() - 1;
            json["images"][0] = image.clone();
            if image.get("bufferView").is_some() {
                json["images"][0]["bufferView"] = empty.into();
            }
        });
        let report = model.optimize(json!({})).unwrap();
        let said = report.warnings.lines().join("\n");
        assert!(said.contains("is an empty image"), "{image}: {said}");
        let is_file = image["uri"] == "no%20bytes.png";
        assert_eq!(said.contains("(\"no bytes.png\")"), is_file, "{said}");
        let scene = model.result("model.glb");
        assert!(scene.images.is_empty(), "{image}");
        model.again("model.glb").optimize(json!({})).unwrap();
    }
}
