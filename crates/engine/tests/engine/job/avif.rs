//! AVIF textures in glTF: read, resized, left out where a format cannot hold them, refused where they are damaged.

use assetfs_engine::import::import;
use assetfs_engine::textures;
use serde_json::{Value, json};

use super::gltf::Model;
use super::shapes::{decode, textured};

macro_rules! image {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../../../../tests/fixtures/textures/",
            $name,
            ".avif"
        ))
    };
}

const LOSSY: &[u8] = image!("lossy");
const WITH_ALPHA: &[u8] = image!("lossy-alpha");

/// Images that another encoder wrote, and whether they have alpha: red is 8·x, green 12·y, blue 100, alpha 255 − 7·x.
const IMAGES: [(&str, &[u8], bool); 6] = [
    ("lossy", LOSSY, false),
    ("lossy-alpha", WITH_ALPHA, true),
    ("lossless", image!("lossless"), false),
    ("10-bit", image!("10-bit"), false),
    ("12-bit", image!("12-bit"), false),
    ("odd", image!("odd"), false),
];

fn size_of(name: &str) -> (u32, u32) {
    match name {
        "odd" => (31, 19),
        _ => (32, 20),
    }
}

/// A square that shows an AVIF image, which is its only one.
fn model_with(image: &[u8]) -> Model {
    let model = textured(
        json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } }, "alphaMode": "BLEND" }),
        &[("colour.avif", image.to_vec())],
    );
    model.change(|gltf| {
        gltf["textures"] = json!([{ "extensions": { "EXT_texture_avif": { "source": 0 } } }]);
        gltf["extensionsUsed"] = json!(["EXT_texture_avif"]);
        gltf["extensionsRequired"] = json!(["EXT_texture_avif"]);
    });
    model
}

fn exported(file: &str, format: &str) -> Value {
    json!({
        "limits": { "textures": { "baseColor": 16 } },
        "compressionAndExport": { "fileExports": [
            { "fileType": file, "textureFormat": { "baseColor": format } },
        ] },
    })
}

/// The file with another size in its description.
fn with_size(bytes: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let kind = bytes.windows(4).position(|four| four == b"ispe").unwrap();
    changed[kind + 8..kind + 12].copy_from_slice(&width.to_be_bytes());
    changed[kind + 12..kind + 16].copy_from_slice(&height.to_be_bytes());
    changed
}

#[test]
fn avif_images_are_decoded_with_their_alpha() {
    for (name, bytes, has_alpha) in IMAGES {
        let size = size_of(name);
        assert_eq!(textures::dimensions(bytes), Some(size), "{name}");
        let channels = textures::channels(bytes);
        assert_eq!(channels, Some(3 + u8::from(has_alpha)), "{name}");
        let image = textures::decode(bytes).unwrap();
        assert_eq!(image.dimensions(), size, "{name}");
        let mut off = [0; 4];
        for (x, y, pixel) in image.enumerate_pixels() {
            let alpha = if has_alpha { 255 - x * 7 } else { 255 };
            for (channel, right) in [x * 8, y * 12, 100, alpha].into_iter().enumerate() {
                let one = u32::from(pixel[channel]).abs_diff(right);
                off[channel] = one.max(off[channel]);
            }
        }
        let most = match name {
            "lossless" => 0,
            // Colours have half the columns and rows.
            "lossy" | "odd" => 8,
            _ => 4,
        };
        assert!(off[..3].iter().all(|off| *off <= most), "{name}: {off:?}");
        assert_eq!(off[3], 0, "{name}: alpha");
    }
}

#[test]
fn grey_avif_images_have_one_channel() {
    let bytes = image!("grey");
    assert_eq!(textures::channels(bytes), Some(1));
    for (x, _, pixel) in textures::decode(bytes).unwrap().enumerate_pixels() {
        assert!(u32::from(pixel[0]).abs_diff(x * 8) <= 1);
        assert_eq!(pixel.0, [pixel[0], pixel[0], pixel[0], 255]);
    }
}

#[test]
fn avif_textures_within_their_limit_keep_their_bytes() {
    for (name, bytes, _) in IMAGES {
        let model = model_with(bytes);
        let report = model
            .optimize(json!({ "limits": { "textures": { "baseColor": 32 } } }))
            .unwrap();
        assert_eq!(report.result.largest_texture, size_of(name).0, "{name}");
        let warnings = model.log("warning.log");
        assert!(!warnings.contains("texture"), "{name}: {warnings}");
        assert_eq!(model.result("model.glb").images[0].bytes, bytes, "{name}");
    }
}

#[test]
fn avif_textures_become_what_is_asked_and_png_or_jpeg_where_they_are_resized() {
    for (asked, bytes, kind) in [
        ("auto", WITH_ALPHA, "image/png"),
        ("png", LOSSY, "image/png"),
        ("jpg", LOSSY, "image/jpeg"),
        ("webp", WITH_ALPHA, "image/webp"),
        ("ktx2", WITH_ALPHA, "image/ktx2"),
    ] {
        let model = model_with(bytes);
        model.optimize(exported("gltf", asked)).unwrap();
        let scene = model.result("model.gltf");
        assert_eq!(scene.images[0].media_type, kind, "{asked}");
        let used = scene.list("extensionsUsed");
        assert!(!used.iter().any(|used| used == "EXT_texture_avif"));
        let image = textures::decode(&scene.images[0].bytes).unwrap();
        let height = if asked == "ktx2" { 8 } else { 10 };
        assert_eq!(image.dimensions(), (16, height), "{asked}");
        let has_alpha = image.pixels().any(|pixel| pixel[3] < 128);
        assert_eq!(has_alpha, bytes == WITH_ALPHA, "{asked}");
    }
}

#[test]
fn formats_without_avif_get_png_or_jpeg() {
    let model = model_with(WITH_ALPHA);
    let files = ["obj", "usdz", "fbx"].map(|file| json!({ "fileType": file }));
    model
        .optimize(json!({ "compressionAndExport": { "fileExports": files } }))
        .unwrap();
    for file in ["model.obj", "model.usdz", "model.fbx"] {
        let scene = model.result(file);
        let size = decode(&scene.images[0].bytes).dimensions();
        assert_eq!(size, (32, 20), "{file}");
    }
}

#[test]
fn avif_images_of_obj_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let model = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl red\nf 1/1 2/1 3/1\n";
    std::fs::write(dir.path().join("m.obj"), model).unwrap();
    std::fs::write(dir.path().join("m.mtl"), "newmtl red\nmap_Kd m.avif\n").unwrap();
    std::fs::write(dir.path().join("m.avif"), LOSSY).unwrap();
    let files = ["m.obj", "m.mtl", "m.avif"].map(str::to_owned);
    let scene = import(dir.path(), &files).unwrap().scene;
    assert_eq!(scene.images[0].media_type, "image/png");
    assert_eq!(decode(&scene.images[0].bytes).dimensions(), (32, 20));
}

#[test]
fn no_beginning_of_an_avif_file_is_an_image() {
    for (name, bytes, ..) in IMAGES {
        for end in 0..bytes.len() {
            assert!(textures::decode(&bytes[..end]).is_err(), "{name}: {end}");
        }
    }
}

#[test]
fn avif_files_that_claim_another_size_are_refused() {
    let refused = |bytes: &[u8]| textures::decode(bytes).unwrap_err();
    let huge = with_size(LOSSY, 65_536, 65_536);
    assert!(refused(&huge).contains("too many"), "{}", refused(&huge));
    let large = with_size(LOSSY, 16_384, 16_384);
    assert!(refused(&large).contains("another size"));
    // Fewer pixels than the AV1 data has: it is refused before memory is taken for them.
    let small = with_size(LOSSY, 16, 10);
    assert!(refused(&small).contains("damaged"), "{}", refused(&small));
    assert_eq!(textures::dimensions(&with_size(LOSSY, 0, 20)), None);
}

#[test]
fn avif_images_that_are_not_read_are_named_and_stay() {
    let mut damaged = LOSSY.to_vec();
    let data = damaged.windows(4).position(|four| four == b"mdat").unwrap();
    damaged[data + 4..].fill(0xff);
    for (name, bytes, reason) in [
        ("tiles", &image!("tiles")[..], "tiles"),
        ("multiplied", image!("multiplied"), "multiplied by alpha"),
        ("damaged", &damaged, "damaged"),
    ] {
        let refused = textures::decode(bytes).unwrap_err();
        assert!(refused.contains(reason), "{name}: {refused}");
        let model = model_with(bytes);
        model
            .optimize(json!({ "limits": { "textures": { "baseColor": 8 } } }))
            .unwrap();
        let warnings = model.log("warning.log");
        assert!(warnings.contains("colour.avif"), "{name}: {warnings}");
        assert_eq!(model.result("model.glb").images[0].bytes, bytes, "{name}");
    }
}
