//! A model of our own: a wooden chair of about 300,000 triangles, generated in code, with painted textures.
//!
//! The same detail gives the same bytes on every machine: only exact arithmetic, no random numbers, no outside data.
//! All files lie flat in one folder. [`chair`] makes the shapes, [`paint`] the textures.

mod chair;
mod exact;
mod paint;

use std::path::{Path, PathBuf};

use assetfs_formats::ImageKind;
use serde_json::{Map, json};

use super::export::{Names, OutFile, gltf};
use super::scene::{Image, Mesh, Primitive, Scene};
use super::settings::MeshCompression;
use chair::ChairPart;

/// The level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChairDetail {
    /// About 300,000 triangles and 2048² textures.
    Full,
    /// The same chair with a few thousand triangles and 128² textures, for tests.
    Small,
}

/// The files that [`write_chair`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChairFiles {
    /// The folder that holds all files, side by side.
    pub dir: PathBuf,
    /// The names of the files, the model first: `chair.gltf`, `chair.bin`, then the images.
    pub names: Vec<String>,
    /// Triangles of all meshes together.
    pub triangles: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// Why the chair was not written.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// A file or the folder could not be written.
    #[error("cannot write {path}")]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// An image could not be compressed.
    #[error("cannot compress the image {name}")]
    Compress {
        name: String,
        #[source]
        source: png::EncodingError,
    },
}

impl ChairDetail {
    fn density(self) -> f64 {
        match self {
            ChairDetail::Full => 0.86,
            ChairDetail::Small => 0.175,
        }
    }

    fn texture_size(self) -> usize {
        match self {
            ChairDetail::Full => 2048,
            ChairDetail::Small => 128,
        }
    }
}

/// Writes the full chair as separate files into `dir`, which is created if it does not exist.
pub fn write_chair(dir: &Path) -> Result<ChairFiles, SampleError> {
    write_chair_with(dir, ChairDetail::Full)
}

/// Writes the chair in the given detail.
pub fn write_chair_with(dir: &Path, detail: ChairDetail) -> Result<ChairFiles, SampleError> {
    let scene = chair_scene(detail)?;
    let files = chair_files(&scene);
    std::fs::create_dir_all(dir).map_err(|source| SampleError::Write {
        path: dir.to_owned(),
        source,
    })?;
    for file in &files {
        let path = dir.join(&file.name);
        std::fs::write(&path, &file.bytes).map_err(|source| SampleError::Write { path, source })?;
    }
    Ok(ChairFiles {
        dir: dir.to_owned(),
        bytes: files.iter().map(|file| file.bytes.len() as u64).sum(),
        names: files.into_iter().map(|file| file.name).collect(),
        triangles: scene.drawn_triangles(),
    })
}

fn chair_files(scene: &Scene) -> Vec<OutFile> {
    let mut files = gltf::write_gltf(scene, "chair", &mut Names::default(), MeshCompression::None)
        .expect("a gltf file has no limit of size");
    // A text file ends with a newline: an editor that saves it unchanged adds none.
    for text in files.iter_mut().filter(|file| file.name.ends_with(".gltf")) {
        text.bytes = [&text.bytes[..], b"\n"].concat().into();
    }
    files
}

fn chair_scene(detail: ChairDetail) -> Result<Scene, SampleError> {
    let parts = chair::parts(detail.density());
    let size = detail.texture_size();
    let (wood, fabric) = rayon::join(
        || paint::images(paint::wood, paint::WOOD_TILE, size),
        || paint::images(paint::fabric, paint::FABRIC_TILE, size),
    );
    let mut images = Vec::new();
    for (material, painted) in [("wood", wood), ("fabric", fabric)] {
        let painted = painted.map_err(|source| SampleError::Compress {
            name: material.to_owned(),
            source,
        })?;
        for (slot, bytes) in ["baseColor", "normal", "orm"].into_iter().zip(painted) {
            images.push(Image {
                json: Map::new(),
                file_name: Some(format!("{material}_{slot}.png")),
                media_type: ImageKind::Png.media_type().to_owned(),
                bytes,
                replaces: None,
            });
        }
    }
    Ok(scene_of(parts, images))
}

fn scene_of(parts: Vec<ChairPart>, images: Vec<Image>) -> Scene {
    let painted = |name: &str, first: usize| {
        json!({
            "name": name,
            "pbrMetallicRoughness": {
                "baseColorTexture": { "index": first },
                "metallicRoughnessTexture": { "index": first + 2 }
            },
            "normalTexture": { "index": first + 1 },
            "occlusionTexture": { "index": first + 2 }
        })
    };
    let brass = json!({
        "name": "Brass",
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.887, 0.626, 0.253, 1.0],
            "metallicFactor": 1.0,
            "roughnessFactor": 0.28
        }
    });
    let children: Vec<usize> = (1..=parts.len()).collect();
    let mut nodes = vec![json!({ "name": "Chair", "children": children })];
    for (mesh, part) in parts.iter().enumerate() {
        nodes.push(json!({ "name": part.name, "mesh": mesh }));
    }
    let textures: Vec<_> = (0..images.len())
        .map(|image| json!({ "sampler": 0, "source": image }))
        .collect();
    let json = json!({
        "asset": { "version": "2.0" },
        "scene": 0,
        "scenes": [{ "name": "Scene", "nodes": [0] }],
        "nodes": nodes,
        "materials": [painted("Oak", 0), painted("Wool", 3), brass],
        "textures": textures,
        "samplers": [{ "magFilter": 9729, "minFilter": 9987 }],
    });
    let mut scene = Scene {
        images,
        ..Scene::default()
    };
    if let serde_json::Value::Object(json) = json {
        scene.json = json;
    }
    for part in parts {
        let mut mesh = Mesh::default();
        mesh.json.insert("name".to_owned(), part.name.into());
        mesh.primitives.push(Primitive {
            geometry: scene.geometries.len(),
            material: Some(part.material as usize),
            json: Map::new(),
        });
        scene.geometries.push(part.geometry);
        scene.meshes.push(mesh);
    }
    scene
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn digest(detail: ChairDetail) -> (String, u64) {
        let scene = chair_scene(detail).unwrap();
        let mut hasher = Sha256::new();
        // The JSON names the version of the program.
        let files = chair_files(&scene).into_iter();
        for file in files.filter(|file| file.name != "chair.gltf") {
            hasher.update(file.name.as_bytes());
            hasher.update(&file.bytes);
        }
        let digest = hasher.finalize();
        let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        (hex, scene.drawn_triangles())
    }

    #[test]
    fn small_chair_is_the_same_to_the_byte() {
        assert_eq!(
            digest(ChairDetail::Small),
            (
                "40fa4a391cbf1c5a7550594922b6f8da7cf3af3b332842133a9cae0f2cdee12b".to_owned(),
                12_852
            )
        );
    }

    #[test]
    fn full_chair_has_its_triangles() {
        let parts = chair::parts(ChairDetail::Full.density());
        let triangles: usize = parts
            .iter()
            .map(|part| part.geometry.triangle_count())
            .sum();
        assert_eq!(triangles, 298_378);
    }

    #[test]
    fn chair_is_written_flat_with_every_file_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let chair = write_chair_with(&dir.path().join("new"), ChairDetail::Small).unwrap();
        let mut found: Vec<String> = std::fs::read_dir(&chair.dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        let mut named = chair.names.clone();
        named.sort();
        assert_eq!(found, named);
        let gltf = std::fs::read(chair.dir.join("chair.gltf")).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&gltf).unwrap();
        let bin = chair
            .dir
            .join(document["buffers"][0]["uri"].as_str().unwrap());
        assert_eq!(
            document["buffers"][0]["byteLength"],
            bin.metadata().unwrap().len()
        );
        for image in document["images"].as_array().unwrap() {
            let image = image::open(chair.dir.join(image["uri"].as_str().unwrap())).unwrap();
            assert_eq!((image.width(), image.height()), (128, 128));
        }
    }

    #[test]
    fn folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = write_chair_with(&file.path().join("below"), ChairDetail::Small).unwrap_err();
        assert!(error.to_string().contains("below"), "{error}");
    }
}
