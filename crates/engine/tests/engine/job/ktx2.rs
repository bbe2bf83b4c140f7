//! KTX2 textures in glTF: read, resized, left out where a format cannot hold them, refused where they are damaged.

use assetfs_engine::textures;
use serde_json::{Value, json};

use super::gltf::Model;
use super::shapes::{decode, textured};

/// Images of 32 by 20 pixels that another encoder wrote: red is 8·x, green 12·y, blue 100, alpha 255 − 8·x.
const IMAGES: [(&str, &[u8], bool); 4] = [
    (
        "etc1s",
        include_bytes!("../../../../../tests/fixtures/textures/etc1s.ktx2"),
        false,
    ),
    (
        "etc1s-alpha",
        include_bytes!("../../../../../tests/fixtures/textures/etc1s-alpha.ktx2"),
        true,
    ),
    (
        "uastc",
        include_bytes!("../../../../../tests/fixtures/textures/uastc.ktx2"),
        false,
    ),
    (
        "uastc-zstd",
        include_bytes!("../../../../../tests/fixtures/textures/uastc-zstd.ktx2"),
        true,
    ),
];

/// A square that shows a KTX2 image, which is its only one.
fn model_with(image: &[u8]) -> Model {
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } }, "alphaMode": "BLEND" }),
        &[("colour.ktx2", image.to_vec())],
    );
    model.change(|gltf| {
        gltf["textures"] = json!([{ "extensions": { "KHR_texture_basisu": { "source": 0 } } }]);
        gltf["extensionsUsed"] = json!(["KHR_texture_basisu"]);
        gltf["extensionsRequired"] = json!(["KHR_texture_basisu"]);
    });
    model
}

fn written(model: &Model, file: &str) -> Value {
    let text = std::fs::read(model.dir.path().join("out/exports").join(file)).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn ktx2_images_are_decoded_with_their_alpha() {
    for (name, bytes, has_alpha) in IMAGES {
        assert_eq!(textures::dimensions(bytes), Some((32, 20)), "{name}");
        assert_eq!(textures::channels(bytes), Some(3 + u8::from(has_alpha)));
        let image = textures::decode(bytes).unwrap();
        assert_eq!(image.dimensions(), (32, 20), "{name}");
        let mut off = [0; 4];
        for (x, y, pixel) in image.enumerate_pixels() {
            let alpha = if has_alpha { 255 - x * 8 } else { 255 };
            for (channel, right) in [x * 8, y * 12, 100, alpha].into_iter().enumerate() {
                off[channel] += u32::from(pixel[channel]).abs_diff(right);
            }
        }
        // On average; ETC1S has few colours for so steep a gradient.
        let most = if name.starts_with("etc1s") { 16 } else { 4 };
        let means = off.map(|sum| sum / (32 * 20));
        assert!(means.iter().all(|mean| *mean <= most), "{name}: {means:?}");
    }
}

/// Width and height stand at 20 and 24. An ETC1S image with few different blocks has very few bytes, so a size alone proves nothing.
#[test]
fn a_small_ktx2_file_that_claims_a_huge_image_is_not_decoded() {
    let (_, small, _) = IMAGES[0];
    let claiming = |side: u32, length: usize| {
        let mut bytes = small.to_vec();
        bytes[20..24].copy_from_slice(&side.to_le_bytes());
        bytes[24..28].copy_from_slice(&side.to_le_bytes());
        bytes.resize(length.max(small.len()), 0);
        textures::dimensions(&bytes)
    };
    assert_eq!(claiming(4096, 0), Some((4096, 4096)));
    assert_eq!(claiming(16_384, 0), None);
    assert_eq!(claiming(16_384, 16_383), None);
    assert_eq!(claiming(16_384, 16_384), Some((16_384, 16_384)));
}

/// A file that ends anywhere, as after a copy that was broken off, is a reason and not a panic.
#[test]
fn every_beginning_of_a_ktx2_file_is_refused() {
    for (name, bytes, _) in IMAGES {
        for length in 0..bytes.len() {
            let refused = textures::decode(&bytes[..length]);
            assert!(refused.is_err(), "{name}: {length} of {}", bytes.len());
        }
    }
}

#[test]
fn ktx2_textures_within_their_limit_keep_their_bytes() {
    for (name, bytes, _) in IMAGES {
        let model = model_with(bytes);
        let report = model
            .optimize(json!({ "limits": { "textures": { "baseColor": 32 } } }))
            .unwrap();
        assert_eq!(report.result.largest_texture, 32, "{name}");
        let warnings = model.log("warning.log");
        assert!(!warnings.contains("texture"), "{name}: {warnings}");
        assert_eq!(model.result("model.glb").images[0].bytes, bytes, "{name}");
    }
}

#[test]
fn ktx2_textures_become_png_where_that_is_asked_and_need_no_extension_then() {
    for (name, bytes, has_alpha) in IMAGES {
        let model = model_with(bytes);
        model
            .optimize(json!({
                "limits": { "textures": { "baseColor": 16 } },
                "compressionAndExport": { "fileExports": [
                    { "fileType": "gltf", "textureFormat": { "baseColor": "png" } },
                ] },
            }))
            .unwrap();
        let gltf = written(&model, "model.gltf");
        assert_eq!(gltf["textures"], json!([{ "source": 0 }]), "{name}");
        assert_eq!(gltf.get("extensionsUsed"), None, "{name}");
        assert_eq!(gltf.get("extensionsRequired"), None, "{name}");
        assert_eq!(gltf["images"][0]["uri"], "colour.png", "{name}");
        let image = decode(&model.result("model.gltf").images[0].bytes);
        assert_eq!(image.dimensions(), (16, 10), "{name}");
        assert_eq!(image.pixels().any(|pixel| pixel[3] < 128), has_alpha);
    }
}

#[test]
fn formats_without_ktx2_get_png() {
    let model = model_with(IMAGES[2].1);
    let files = [
        json!({ "fileType": "obj" }),
        json!({ "fileType": "usdz" }),
        json!({ "fileType": "fbx" }),
    ];
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": files } }))
        .unwrap();
    for file in ["model.obj", "model.usdz", "model.fbx"] {
        let scene = model.result(file);
        assert_eq!(
            decode(&scene.images[0].bytes).dimensions(),
            (32, 20),
            "{file}"
        );
    }
}

#[test]
fn damaged_ktx2_images_are_refused_before_memory_is_taken() {
    let right = IMAGES[3].1;
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = right.to_vec();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let far = &u64::MAX.to_le_bytes()[..];
    let level = 80;
    for (what, bytes, reason) in [
        ("width", with(20, &[255; 4]), "too few for"),
        (
            "a smaller width",
            with(20, &[64, 0, 0, 0]),
            "another length than its size",
        ),
        ("no height", with(24, &[0; 4]), "one flat image"),
        ("volume", with(28, &[1, 0, 0, 0]), "one flat image"),
        ("cube", with(36, &[6, 0, 0, 0]), "one flat image"),
        ("levels", with(40, &[255; 4]), "levels"),
        ("packing", with(44, &[9, 0, 0, 0]), "unknown way"),
        ("GPU format", with(12, &[37, 0, 0, 0]), "ETC1S or UASTC"),
        ("description", with(48, &[255; 4]), "outside of the file"),
        ("codebooks", with(64, far), "outside of the file"),
        ("level", with(level, far), "outside of the file"),
        ("unpacked", with(level + 16, far), "another length"),
        ("cut", right[..90].to_vec(), "KTX2 file"),
    ] {
        assert_eq!(textures::dimensions(&bytes), None, "{what}");
        let refused = textures::decode(&bytes).unwrap_err();
        assert!(refused.contains(reason), "{what}: {refused}");
    }
    // Right lengths around damaged data.
    let start = u64::from_le_bytes(right[level..level + 8].try_into().unwrap()) as usize;
    let refused = textures::decode(&with(start, &[0; 8])).unwrap_err();
    assert!(refused.contains("damaged"), "{refused}");
}

#[test]
fn a_damaged_ktx2_texture_stays_and_is_named() {
    let mut bytes = IMAGES[0].1.to_vec();
    bytes.truncate(120);
    let model = model_with(&bytes);
    model
        .optimize(json!({ "limits": { "textures": { "baseColor": 8 } } }))
        .unwrap();
    assert!(model.log("warning.log").contains("colour.ktx2"));
    assert_eq!(model.result("model.glb").images[0].bytes, bytes);
}
