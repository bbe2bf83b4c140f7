//! An estimate of the memory that a job needs, for the message of a job that has too little.
//!
//! It is the address space that a worker's limit counts. The constants are measured: a line through the peaks of models
//! of 1 and 5 million triangles, with and without normals and texture coordinates.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use super::super::process_memory::status_field;
use super::super::scene::{Geometry, Image, Scene};
use super::super::textures::dimensions;
use super::task::Pictures;
use assetfs_formats::ImageKind;

/// What each thread reserves when it allocates.
const THREAD: u64 = 66 << 20;
/// For each triangle of the stored meshes, besides its vertices.
const TRIANGLE: u64 = 70;
/// For each byte of the vertices of the stored meshes.
const VERTEX_BYTE: u64 = 13;
/// In addition where pictures are drawn, for each triangle of the stored meshes.
const PICTURED_TRIANGLE: u64 = 100;
/// For each byte of the files of a model that is not read yet: what a packed model grows by.
const FILE_BYTE: u64 = 8;
/// For each pixel of the textures that are changed at a time, one for each thread: the largest ones count.
const CHANGED_PIXEL: u64 = 16;
/// The same where they are written as KTX2.
const KTX2_PIXEL: u64 = 70;
/// The part of the used memory that is reserved in addition.
const RESERVED: u64 = 3;
/// For each pixel of all textures where pictures are drawn, and the most of them that are kept for these.
const PICTURED_PIXEL: u64 = 8;
const PICTURED_PIXELS: u64 = 1 << 27;

/// The bytes that a job needs whose files are not read yet. `process` is what [`of_process`] said before.
pub(super) fn of_files(dir: &Path, files: &[String], process: u64) -> u64 {
    let size = |file: &String| fs::metadata(dir.join(file)).map_or(0, |found| found.len());
    process + files.iter().map(size).sum::<u64>() * FILE_BYTE
}

/// The bytes that a job needs for a scene that was read. `writes_ktx2` says whether the configuration asks for KTX2.
pub(super) fn of_scene(scene: &Scene, pictures: Pictures, writes_ktx2: bool, process: u64) -> u64 {
    let triangles: u64 = scene
        .geometries
        .iter()
        .map(|geometry| geometry.triangle_count() as u64)
        .sum();
    let vertices: u64 = scene.geometries.iter().map(vertex_bytes).sum();
    let mut pixels: Vec<u64> = scene
        .images
        .iter()
        .filter_map(|image| dimensions(&image.bytes))
        .map(|(width, height)| u64::from(width) * u64::from(height))
        // What a header claims beyond that is refused before it is decoded.
        .map(|pixels| pixels.min(PICTURED_PIXELS))
        .collect();
    let encoded: u64 = scene
        .images
        .iter()
        .map(|image| image.bytes.len() as u64)
        .sum();
    pixels.sort_unstable_by_key(|count| Reverse(*count));
    let at_a_time: u64 = pixels.iter().take(rayon::current_num_threads()).sum();
    let pixel_cost = if writes_ktx2 || scene.images.iter().any(is_ktx2) {
        KTX2_PIXEL
    } else {
        CHANGED_PIXEL
    };
    let pictured = match pictures {
        Pictures::Skipped => 0,
        Pictures::Drawn | Pictures::Shown => {
            let pixels: u64 = pixels.iter().sum();
            triangles * PICTURED_TRIANGLE + pixels.min(PICTURED_PIXELS) * PICTURED_PIXEL
        }
    };
    let used = process
        + triangles * TRIANGLE
        + vertices * VERTEX_BYTE
        + encoded * 2
        + at_a_time * pixel_cost
        + pictured;
    // The limit counts address space, of which more is reserved than used.
    used + used / RESERVED
}

/// Whether an image is KTX2, which it stays if nothing else is asked.
fn is_ktx2(image: &Image) -> bool {
    image.kind() == Some(ImageKind::Ktx2)
}

/// The bytes of a geometry's vertices after equal ones are joined, which leaves fewer vertices than triangles.
fn vertex_bytes(geometry: &Geometry) -> u64 {
    let numbers: usize = geometry.all_attributes().map(|it| it.components).sum();
    let vertices = geometry.vertex_count().min(geometry.triangle_count());
    (numbers * vertices * 4) as u64
}

/// The address space of this process before it reads a model, with all its threads.
pub(super) fn of_process() -> u64 {
    let threads = rayon::current_num_threads() as u64;
    status_field("VmSize").unwrap_or(0) + threads * THREAD
}
