//! A model of our own: a wooden chair of about 300,000 triangles, generated in code, with painted textures.
//!
//! The same detail gives the same bytes on every machine: only exact arithmetic, no random numbers, no outside data.
//! All files lie flat in one folder. [`parts`] shapes, [`stuff`] and [`atlas`] paint, [`document`] writes.

mod atlas;
mod document;
mod exact;
mod parts;
mod stuff;
mod surface;
mod turning;

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use atlas::{Atlas, Images};
use document::Painted;
use parts::{Chart, Density, Part, Stuff};

const GLTF_NAME: &str = "chair.gltf";
const BIN_NAME: &str = "chair.bin";

/// How much of the chair is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChairDetail {
    /// About 300,000 triangles and 2048² textures.
    Full,
    /// The same chair with a few thousand triangles and 128² textures, for tests.
    Small,
}

/// What [`write_chair`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChairFiles {
    /// The folder that holds all files, side by side.
    pub dir: PathBuf,
    /// The names, the model first: `chair.gltf`, `chair.bin`, then the images.
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
        /// What could not be written.
        path: PathBuf,
        /// The reason of the system.
        #[source]
        source: std::io::Error,
    },
    /// An image could not be compressed.
    #[error("cannot compress the image {name}")]
    Compress {
        /// The file's name.
        name: String,
        /// The reason of the compressor.
        #[source]
        source: png::EncodingError,
    },
}

impl ChairDetail {
    fn density(self) -> Density {
        match self {
            ChairDetail::Full => Density(0.92),
            ChairDetail::Small => Density(0.14),
        }
    }

    fn texture_size(self) -> usize {
        match self {
            ChairDetail::Full => 2048,
            ChairDetail::Small => 128,
        }
    }
}

/// Writes the full chair as separate files into `dir`, which is made when missing.
pub fn write_chair(dir: &Path) -> Result<ChairFiles, SampleError> {
    write_chair_with(dir, ChairDetail::Full)
}

/// Writes the chair in the given detail.
pub fn write_chair_with(dir: &Path, detail: ChairDetail) -> Result<ChairFiles, SampleError> {
    let files = chair_files(detail)?;
    std::fs::create_dir_all(dir).map_err(|source| SampleError::Write {
        path: dir.to_owned(),
        source,
    })?;
    for (name, bytes) in &files.contents {
        let path = dir.join(name);
        std::fs::write(&path, bytes).map_err(|source| SampleError::Write { path, source })?;
    }
    Ok(ChairFiles {
        dir: dir.to_owned(),
        bytes: files
            .contents
            .iter()
            .map(|(_, bytes)| bytes.len() as u64)
            .sum(),
        names: files.contents.into_iter().map(|(name, _)| name).collect(),
        triangles: files.triangles,
    })
}

/// The chair in memory: names and bytes, the model first.
struct Contents {
    contents: Vec<(String, Vec<u8>)>,
    triangles: u64,
}

fn chair_files(detail: ChairDetail) -> Result<Contents, SampleError> {
    let parts = parts::chair(detail.density());
    let size = detail.texture_size();
    let wood = Atlas::pack(charts_of(&parts, Stuff::Wood), size);
    let fabric = Atlas::pack(charts_of(&parts, Stuff::Fabric), size);
    let painted = [
        Painted {
            stuff: Stuff::Wood,
            file_stem: "wood",
            atlas: &wood,
        },
        Painted {
            stuff: Stuff::Fabric,
            file_stem: "fabric",
            atlas: &fabric,
        },
    ];
    let (images, written) = rayon::join(
        || {
            [
                ("wood", wood.paint(stuff::wood)),
                ("fabric", fabric.paint(stuff::fabric)),
            ]
        },
        || document::write(&parts, &painted),
    );
    let mut contents = vec![
        (GLTF_NAME.to_owned(), written.gltf.into_bytes()),
        (BIN_NAME.to_owned(), written.bin),
    ];
    contents.extend(compressed(&images, size)?);
    Ok(Contents {
        contents,
        triangles: written.triangles,
    })
}

fn charts_of(parts: &[Part], stuff: Stuff) -> Vec<&Chart> {
    parts
        .iter()
        .filter(|part| part.stuff == stuff)
        .flat_map(|part| &part.charts)
        .collect()
}

/// The file names of a stuff's images: base colour, normal, ORM.
fn image_names(file_stem: &str) -> [String; 3] {
    ["baseColor", "normal", "orm"].map(|slot| format!("{file_stem}_{slot}.png"))
}

fn compressed(
    images: &[(&str, Images)],
    size: usize,
) -> Result<Vec<(String, Vec<u8>)>, SampleError> {
    let pixels: Vec<(String, &[u8])> = images
        .iter()
        .flat_map(|(stem, images)| {
            image_names(stem).into_iter().zip([
                &images.base_colour[..],
                &images.normal,
                &images.orm,
            ])
        })
        .collect();
    pixels
        .into_par_iter()
        .map(|(name, pixels)| match encode(pixels, size as u32) {
            Ok(bytes) => Ok((name, bytes)),
            Err(source) => Err(SampleError::Compress { name, source }),
        })
        .collect()
}

fn encode(pixels: &[u8], size: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size, size);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn digest(detail: ChairDetail) -> (String, u64) {
        let chair = chair_files(detail).unwrap();
        let mut hasher = Sha256::new();
        for (name, bytes) in &chair.contents {
            hasher.update(name.as_bytes());
            hasher.update(bytes);
        }
        let hex = hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        (hex, chair.triangles)
    }

    #[test]
    fn small_chair_is_the_same_to_the_byte() {
        assert_eq!(
            digest(ChairDetail::Small),
            (
                "6aff462ae21ba02456f2bf46176f3416086fc621ade9393d1ace1a2fb05435f2".to_owned(),
                12_692
            )
        );
    }

    #[test]
    fn full_chair_is_the_same_to_the_byte() {
        assert_eq!(
            digest(ChairDetail::Full),
            (
                "307337656e9fe3a8e297334f76fbae25604d558735de2f555c2fa412b74a2a19".to_owned(),
                300_652
            )
        );
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
