//! WebP textures: written where that is asked for, resized as WebP, left out where a format cannot hold them.

use assetfs_engine::scene::Scene;
use serde_json::{Value, json};

use super::gltf::Model;
use super::shapes::{decode, png, textured};

/// A square with colours and normals.
fn model() -> Model {
    let colour = png(64, |x, y| {
        [x as u8 * 4, y as u8 * 4, (x * y / 16) as u8, 255]
    });
    let normal = png(64, |x, y| {
        [120 + (x % 8) as u8, 120 + (y % 8) as u8, 250, 255]
    });
    textured(
        json!({
            "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
            "normalTexture": { "index": 1 },
        }),
        &[("colour.png", colour), ("normal.png", normal)],
    )
}

fn asked(file: &str, format: &str) -> Value {
    json!({ "compressionAndExport": { "fileExports": [{
        "fileType": file, "textureFormat": { "baseColor": format, "normal": format },
    }] } })
}

fn kinds(scene: &Scene) -> Vec<&str> {
    let kinds = scene.images.iter().map(|image| image.media_type.as_str());
    kinds.collect()
}

#[test]
fn webp_is_written_with_the_extension_that_it_needs_and_without_fallback() {
    let model = model();
    model.optimize(asked("gltf", "webp")).unwrap();
    let path = model.dir.path().join("out/exports/model.gltf");
    let gltf: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for texture in [0, 1] {
        let texture = &gltf["textures"][texture];
        assert_eq!(texture.get("source"), None);
        assert!(texture["extensions"]["EXT_texture_webp"]["source"].is_u64());
    }
    assert_eq!(gltf["extensionsUsed"], json!(["EXT_texture_webp"]));
    assert_eq!(gltf["extensionsRequired"], json!(["EXT_texture_webp"]));
    let scene = model.result("model.gltf");
    assert_eq!(kinds(&scene), ["image/webp", "image/webp"]);
    for image in &scene.images {
        assert!(image.file_name.as_ref().unwrap().ends_with(".webp"));
    }
    let source = png(64, |x, y| {
        [120 + (x % 8) as u8, 120 + (y % 8) as u8, 250, 255]
    });
    assert_eq!(
        decode(&scene.images[1].bytes),
        decode(&source),
        "normals are exact"
    );
}

#[test]
fn webp_stays_webp_when_it_is_resized_and_becomes_png_when_that_is_asked() {
    let first = model();
    first.optimize(asked("glb", "webp")).unwrap();
    let again = first.again("model.glb");
    again
        .optimize(json!({ "limits": { "textures": { "baseColor": 32, "normal": 16 } } }))
        .unwrap();
    let scene = again.result("model.glb");
    assert_eq!(kinds(&scene), ["image/webp", "image/webp"]);
    assert_eq!(decode(&scene.images[0].bytes).dimensions(), (32, 32));
    assert_eq!(decode(&scene.images[1].bytes).dimensions(), (16, 16));

    let plain = first.again("model.glb");
    plain.optimize(asked("glb", "png")).unwrap();
    let scene = plain.result("model.glb");
    assert_eq!(kinds(&scene), ["image/png", "image/png"]);
    assert!(scene.list("extensionsRequired").is_empty());
    assert_eq!(scene.list("textures")[0]["source"], 0);
}

#[test]
fn formats_without_webp_get_png_or_jpeg_and_a_warning() {
    for file in ["obj", "usdz", "fbx"] {
        let model = model();
        model.optimize(asked(file, "webp")).unwrap();
        let scene = model.result(&format!("model.{file}"));
        assert!(!kinds(&scene).contains(&"image/webp"), "{file}");
        let warnings = model.log("warning.log");
        assert!(
            warnings.contains("because only glb and gltf hold these"),
            "{file}: {warnings}"
        );
    }
}

#[test]
fn an_unknown_texture_format_is_refused_with_the_known_ones() {
    let refused = model()
        .optimize(asked("glb", "jxl"))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("\"jxl\"; formats are auto, png, jpg, webp, ktx2"),
        "{refused}"
    );
}

/// Numbers that look like noise.
fn noise(x: u32, y: u32) -> u32 {
    let mixed = (x ^ y.rotate_left(9)).wrapping_mul(0x9e37_79b1);
    mixed ^ mixed >> 15
}

#[test]
fn medium_quality_writes_fewer_bytes_also_for_normals() {
    let pixel = |x, y| {
        [
            (noise(x, y) % 16) as u8 + 120,
            (noise(y, x) % 16) as u8 + 120,
            240,
            255,
        ]
    };
    let model = textured(
        json!({ "normalTexture": { "index": 0 } }),
        &[("normal.png", png(64, pixel))],
    );
    for (format, kind) in [("webp", "image/webp"), ("jpg", "image/jpeg")] {
        let bytes = |quality: &str| {
            let mut config = asked("glb", format);
            config["compressionAndExport"]["fileExports"][0]["textureQuality"] = json!(quality);
            model.optimize(config).unwrap();
            let scene = model.result("model.glb");
            assert_eq!(kinds(&scene), [kind]);
            scene.images[0].bytes.len()
        };
        let (high, medium) = (bytes("high"), bytes("medium"));
        assert!(medium < high, "{format}: {medium} {high}");
    }
}

#[test]
fn pictures_of_few_colours_stay_exact_where_that_is_smaller() {
    let pixel = |x, y| match noise(x / 2, y / 2) % 3 {
        0 => [200, 30, 30, 255],
        1 => [20, 160, 40, 255],
        _ => [240, 240, 240, 255],
    };
    let source = png(96, pixel);
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
        &[("colour.png", source.clone())],
    );
    for quality in ["high", "medium"] {
        let mut config = asked("glb", "webp");
        config["compressionAndExport"]["fileExports"][0]["textureQuality"] = json!(quality);
        model.optimize(config).unwrap();
        let scene = model.result("model.glb");
        assert_eq!(kinds(&scene), ["image/webp"]);
        assert!(scene.images[0].bytes.len() < source.len());
        assert_eq!(decode(&scene.images[0].bytes), decode(&source), "{quality}");
    }
}
