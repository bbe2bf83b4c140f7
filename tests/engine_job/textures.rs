//! Sizes and encodings of textures.

use serde_json::json;

use crate::shapes::{decode, png, textured};

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
        report.warnings.iter().any(|line| line.contains("alpha")),
        "{:?}",
        report.warnings
    );
    let opaque = textured(material("OPAQUE"), &[("leaf.png", leaf)]);
    opaque.optimize(config).unwrap();
    let image = &opaque.result("model.glb").images[0];
    // JPEG is only taken where it is smaller.
    assert!(image.media_type == "image/jpeg" || image.media_type == "image/png");
}
