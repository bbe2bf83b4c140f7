//! The sample models, if they are installed.

use assetfs_engine::import::import;

use crate::samples::samples;

#[test]
fn samples_have_the_counts_that_they_are_known_for() {
    let Some(samples) = samples() else {
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
    let Some(samples) = samples() else {
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
fn other_formats_of_the_samples_are_read() {
    let Some(samples) = samples() else {
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
