//! Shared code of the fuzz targets: imports and cleans an upload with the given bytes.
//!
//! `cargo +nightly fuzz run glb` in the package's folder; the corpus is written by
//! `cargo test --test engine_mutations -- --ignored write_the_corpus`.

use std::cell::RefCell;

use assetfs_engine::clean;
use assetfs_engine::import::import;
use assetfs_engine::rebake::{RebakeOptions, rebake};
use assetfs_engine::scene::Scene;
use assetfs_engine::settings::Settings;
use assetfs_engine::simplify::Limits;
use assetfs_engine::textures;

thread_local! {
    /// One folder for all inputs of a run: creating one takes longer than most imports.
    static FOLDER: RefCell<tempfile::TempDir> =
        RefCell::new(tempfile::tempdir().expect("a folder for uploads"));
}

/// Imports one file.
pub fn import_bytes(name: &str, data: &[u8]) {
    import_files(&[(name, data)]);
}

/// Imports a glb file and rebakes it to half of its triangles.
pub fn rebake_bytes(data: &[u8]) {
    let options = RebakeOptions::fast(32).with_all_maps();
    if let Some(scene) = import_files(&[("m.glb", data)]) {
        let limits = Limits::of_triangles(scene.drawn_triangles() / 2);
        let _ = rebake(&scene, &limits, &options);
    }
}

/// Imports a triangle with the given materials.
pub fn import_materials(data: &[u8]) {
    let model = b"mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n";
    import_files(&[("m.obj", model), ("m.mtl", data)]);
}

/// Decodes an image.
pub fn decode_image(data: &[u8]) {
    let _ = (textures::dimensions(data), textures::channels(data));
    let _ = textures::decode(data);
}

/// Reads a configuration.
pub fn read_settings(data: &[u8]) {
    if let Ok(config) = serde_json::from_slice(data) {
        let _ = Settings::read(&config);
    }
}

/// The cleaned model, if the files are read.
fn import_files(files: &[(&str, &[u8])]) -> Option<Scene> {
    FOLDER.with_borrow(|folder| {
        for (name, data) in files {
            std::fs::write(folder.path().join(name), data).expect("room for a small file");
        }
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut scene = import(folder.path(), &names).ok()?.scene;
        clean::clean(&mut scene);
        let _ = (scene.bounds(), scene.drawn_triangles());
        Some(scene)
    })
}
