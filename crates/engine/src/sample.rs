//! A model of our own: a wooden chair of about 300,000 triangles with painted textures.
//!
//! The program contains it in a small form (`assets/`): geometry packed with Draco, textures as WebP. [`write_chair`] unpacks
//! it to what every tool reads: a glTF, its buffer and PNG images, flat in one folder.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::export::{Names, OutFile, gltf};
use super::import::{import, plain_image};
use super::scene::Scene;
use super::settings::MeshCompression;
use super::textures::settle_sources;

const CHAIR: &[u8] = include_bytes!("../assets/chair.glb");
const SMALL_CHAIR: &[u8] = include_bytes!("../assets/chair_small.glb");

/// The level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChairDetail {
    /// About 300,000 triangles and 2048² textures.
    Full,
    /// The same chair with 12,852 triangles and 128² textures, for tests.
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

/// A file or folder of the chair could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}")]
pub struct SampleError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// Writes the full chair as separate files into `dir`, which is created if it does not exist.
pub fn write_chair(dir: &Path) -> Result<ChairFiles, SampleError> {
    write_chair_with(dir, ChairDetail::Full)
}

/// Writes the chair in the given detail.
pub fn write_chair_with(dir: &Path, detail: ChairDetail) -> Result<ChairFiles, SampleError> {
    let packed = match detail {
        ChairDetail::Full => CHAIR,
        ChairDetail::Small => SMALL_CHAIR,
    };
    let scratch = tempfile::tempdir().map_err(cannot_write(&std::env::temp_dir()))?;
    write(&scratch.path().join("chair.glb"), packed)?;
    let scene = unpacked(scratch.path());
    std::fs::create_dir_all(dir).map_err(cannot_write(dir))?;
    let files = chair_files(&scene);
    for file in &files {
        write(&dir.join(&file.name), &file.bytes)?;
    }
    Ok(ChairFiles {
        dir: dir.to_owned(),
        bytes: files.iter().map(|file| file.bytes.len() as u64).sum(),
        names: files.into_iter().map(|file| file.name).collect(),
        triangles: scene.drawn_triangles(),
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), SampleError> {
    std::fs::write(path, bytes).map_err(cannot_write(path))
}

fn cannot_write(path: &Path) -> impl FnOnce(std::io::Error) -> SampleError {
    let path = path.to_owned();
    |source| SampleError { path, source }
}

/// The chair in a folder, with PNG textures.
fn unpacked(dir: &Path) -> Scene {
    const SOUND: &str = "the chair in the program is sound";
    let mut scene = import(dir, &["chair.glb".to_owned()]).expect(SOUND).scene;
    scene.images.par_iter_mut().for_each(|image| {
        let plain = plain_image(image.bytes.to_vec(), Path::new(""));
        let (bytes, kind) = plain.expect(SOUND);
        (image.bytes, image.media_type) = (bytes, kind.media_type().to_owned());
    });
    settle_sources(&mut scene);
    scene
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_chair_has_its_triangles_and_textures() {
        let dir = tempfile::tempdir().unwrap();
        let chair = write_chair(dir.path()).unwrap();
        assert_eq!(chair.triangles, 298_378);
        for name in ["wood_baseColor.png", "fabric_normal.png"] {
            let size = image::image_dimensions(chair.dir.join(name)).unwrap();
            assert_eq!(size, (2048, 2048), "{name}");
        }
    }

    #[test]
    fn chair_is_written_flat_with_every_file_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let chair = write_chair_with(&dir.path().join("new"), ChairDetail::Small).unwrap();
        assert_eq!(chair.triangles, 12_852);
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
        assert!(document["extensionsUsed"].is_null(), "{document}");
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
