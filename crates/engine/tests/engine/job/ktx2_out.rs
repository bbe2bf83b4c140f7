//! KTX2 textures that the engine writes: which codec they get, their sizes, levels and descriptions, and when they are not
//! written.

use assetfs_engine::{scene::Scene, textures};
use serde_json::{Value, json};

use super::gltf::Model;
use super::shapes::{png, textured};
use crate::validators::assert_valid;

const ETC1S: u8 = 163;
const UASTC: u8 = 166;

/// What a KTX2 file says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Description {
    size: (u32, u32),
    levels: u32,
    model: u8,
    /// 1 for those of sRGB, 0 for none.
    primaries: u8,
    /// 2 for sRGB, 1 for linear.
    transfer: u8,
    samples: u32,
    /// 1 for BasisLZ, 2 for Zstandard.
    packing: u32,
}

impl Description {
    fn read(bytes: &[u8]) -> Description {
        assert!(bytes.starts_with(b"\xabKTX 20\xbb\r\n\x1a\n"));
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let format = number(48) as usize;
        assert_eq!(number(format), number(52));
        Description {
            size: (number(20), number(24)),
            levels: number(40),
            model: bytes[format + 12],
            primaries: bytes[format + 13],
            transfer: bytes[format + 14],
            samples: (number(52) - 28) / 16,
            packing: number(44),
        }
    }
}

fn asked(file: &str) -> Value {
    let formats =
        json!({ "baseColor": "ktx2", "normal": "ktx2", "orm": "ktx2", "emissive": "ktx2" });
    json!({ "compressionAndExport": { "fileExports": [{ "fileType": file, "textureFormat": formats }] } })
}

fn colours(size: u32) -> Vec<u8> {
    png(size, |x, y| {
        let part = |at: u32| (at * 255 / size) as u8;
        [part(x), part(y), part((x + y) / 2), 255 - part(x)]
    })
}

fn normals(size: u32) -> Vec<u8> {
    png(size, |x, y| {
        [112 + (x % 32) as u8, 112 + (y % 32) as u8, 250, 255]
    })
}

/// A square with colours, normals, and roughness and metalness.
fn model(size: u32, alpha_mode: &str) -> Model {
    textured(
        json!({
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": 0 },
                "metallicRoughnessTexture": { "index": 2 },
            },
            "normalTexture": { "index": 1 },
            "alphaMode": alpha_mode,
        }),
        &[
            ("colour.png", colours(size)),
            ("normal.png", normals(size)),
            (
                "orm.png",
                png(size, |x, y| [0, (x * 3) as u8, (y * 2) as u8, 255]),
            ),
        ],
    )
}

fn kinds(scene: &Scene) -> Vec<&str> {
    let kinds = scene.images.iter().map(|image| image.media_type.as_str());
    kinds.collect()
}

/// The mean difference of a channel.
fn apart(one: &[u8], other: &[u8], channel: usize) -> f64 {
    let (one, other) = (
        textures::decode(one).unwrap(),
        textures::decode(other).unwrap(),
    );
    assert_eq!(one.dimensions(), other.dimensions());
    let pairs = one.pixels().zip(other.pixels());
    let sum: u32 = pairs
        .map(|(one, other)| u32::from(one[channel].abs_diff(other[channel])))
        .sum();
    f64::from(sum) / f64::from(one.width() * one.height())
}

#[test]
fn ktx2_is_written_with_all_levels_and_the_codec_of_its_use() {
    let model = model(64, "BLEND");
    model.optimize(asked("gltf")).unwrap();
    let exports = model.dir.path().join("out/exports");
    let gltf: Value =
        serde_json::from_slice(&std::fs::read(exports.join("model.gltf")).unwrap()).unwrap();
    for texture in gltf["textures"].as_array().unwrap() {
        assert_eq!(texture.get("source"), None, "there is no fallback");
        assert!(texture["extensions"]["KHR_texture_basisu"]["source"].is_u64());
    }
    assert_eq!(gltf["extensionsUsed"], json!(["KHR_texture_basisu"]));
    assert_eq!(gltf["extensionsRequired"], json!(["KHR_texture_basisu"]));
    let scene = model.result("model.gltf");
    let colour = Description {
        size: (64, 64),
        levels: 7,
        model: ETC1S,
        primaries: 1,
        transfer: 2,
        samples: 2,
        packing: 1,
    };
    let number = || Description {
        model: UASTC,
        primaries: 0,
        transfer: 1,
        samples: 1,
        packing: 2,
        ..Description { ..colour }
    };
    let described: Vec<_> = scene
        .images
        .iter()
        .map(|image| Description::read(&image.bytes))
        .collect();
    assert_eq!(described, [Description { ..colour }, number(), number()]);
    for (image, source, most) in [(0, colours(64), 9.0), (1, normals(64), 2.0)] {
        for channel in 0..4 {
            let apart = apart(&scene.images[image].bytes, &source, channel);
            assert!(apart < most, "image {image}, channel {channel}: {apart}");
        }
    }
    let warnings = model.log("warning.log");
    assert!(!warnings.contains("texture"), "{warnings}");
    assert_valid(&exports);
}

#[test]
fn alpha_that_no_material_uses_is_not_written() {
    let model = model(32, "OPAQUE");
    model.optimize(asked("glb")).unwrap();
    let scene = model.result("model.glb");
    assert_eq!(Description::read(&scene.images[0].bytes).samples, 1);
    assert_eq!(textures::channels(&scene.images[0].bytes), Some(3));
}

#[test]
fn the_same_textures_give_the_same_bytes() {
    let once = || {
        let model = model(128, "BLEND");
        model.optimize(asked("glb")).unwrap();
        std::fs::read(model.dir.path().join("out/exports/model.glb")).unwrap()
    };
    assert!(once() == once());
}

#[test]
fn sides_become_multiples_of_four_and_are_enlarged_only_below_four() {
    for (side, limit, written, levels) in [
        (33, 4096, 32, 6),
        (47, 4096, 44, 6),
        (3, 4096, 4, 3),
        (1, 4096, 4, 3),
        (64, 30, 28, 5),
    ] {
        let model = textured(
            json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }),
            &[("colour.png", colours(side))],
        );
        let mut config = asked("glb");
        config["limits"] = json!({ "textures": { "baseColor": limit } });
        model.optimize(config).unwrap();
        let description = Description::read(&model.result("model.glb").images[0].bytes);
        assert_eq!(
            (description.size, description.levels),
            ((written, written), levels),
            "{side}"
        );
    }
}

#[test]
fn ktx2_stays_ktx2_when_it_is_resized() {
    let first = model(64, "BLEND");
    first.optimize(asked("glb")).unwrap();
    let again = first.again("model.glb");
    again
        .optimize(json!({ "limits": { "textures": { "baseColor": 16, "normal": 32, "orm": 32 } } }))
        .unwrap();
    let scene = again.result("model.glb");
    assert_eq!(kinds(&scene), ["image/ktx2"; 3]);
    let sizes: Vec<_> = scene
        .images
        .iter()
        .map(|image| Description::read(&image.bytes).size.0)
        .collect();
    assert_eq!(sizes, [16, 32, 32]);
    let model = Description::read(&scene.images[1].bytes).model;
    assert_eq!(model, UASTC);
}

#[test]
fn formats_without_ktx2_get_png_or_jpeg_and_a_warning() {
    for (file, has_textures) in [("obj", true), ("usdz", true), ("fbx", true), ("stl", false)] {
        let model = model(32, "BLEND");
        model.optimize(asked(file)).unwrap();
        let scene = model.result(&format!("model.{file}"));
        assert!(!kinds(&scene).contains(&"image/ktx2"), "{file}");
        let warnings = model.log("warning.log");
        let is_named =
            warnings.contains("WebP or KTX2 is asked for, because only glb and gltf hold these");
        assert_eq!(is_named, has_textures, "{file}: {warnings}");
    }
}

#[test]
fn an_image_of_colours_and_numbers_stays_as_it_is() {
    let model = textured(
        json!({ "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 }, "metallicRoughnessTexture": { "index": 0 },
        } }),
        &[("both.png", normals(32))],
    );
    model.optimize(asked("glb")).unwrap();
    assert_eq!(kinds(&model.result("model.glb")), ["image/png"]);
    let warnings = model.log("warning.log");
    assert!(
        warnings.contains("texture both.png is used both as colour and as numbers"),
        "{warnings}"
    );
}
